// @module-tag long
import { eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { projectShares, projects } from '../../src/db/schema/index.js'
import { families } from '../../src/routes/index.js'
import { basic } from '../routes/packages/packages.js'
import { testApp } from '../support/app.js'
import { aCommit, aGroup, anAdmin, aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'
import { furnish } from '../support/furnished.js'
import { BODIES } from './matrix.js'

const t = testApp()
/** Stands in hidden things only. */
const SENTINEL = 'zyzzyva'

let keeper: TestUser
const callers: Record<string, TestUser | null> = { anonymous: null }
const open = { project: 0, group: 0, others: [] as number[], closed: null as TestProject | null }
const hidden = { projects: [] as { id: number; path: string }[], groups: [] as { id: number; path: string }[] }

beforeAll(async () => {
  keeper = await aUser(t.ctx)
  callers['external'] = await aUser(t.ctx, { external: true })
  callers['user'] = await aUser(t.ctx)
  callers['member'] = await aUser(t.ctx)
  const member = callers['member'] as TestUser
  await anAdmin(t.ctx)
  const parent = await aGroup(t.ctx, { creator: keeper, visibility: 'public' })
  await aGroup(t.ctx, { creator: keeper, visibility: 'public', parent_id: parent.id })
  open.group = parent.id
  const shown = await aProject(t.ctx, {
    ...{ creator: keeper, namespace_id: parent.id, visibility: 'public', developer: member, files: { 'a.txt': 'a\n', 'go.mod': 'module x\n' } },
  })
  open.project = shown.id
  // something of every kind under the number that the routes are asked with, where everybody sees it
  const say = (path: string, body: object) => t.api('post', `/projects/${open.project}${path}`, keeper).send(body).expect(201)
  await say('/issues', { title: 'one', labels: 'one', description: 'two' })
  await say('/milestones', { title: 'one' })
  await say('/snippets', { title: 'one', file_name: 'one.txt', content: 'one', visibility: 'public' })
  await say('/wikis', { title: 'one', content: 'one' })
  await furnish(t, shown, 'shown')
  for (let i = 0; i < 3; i++)
    open.others.push((await aProject(t.ctx, { creator: keeper, visibility: i === 0 ? 'internal' : 'public', files: { 'a.txt': 'a\n' } })).id)
  // one whose features are for members alone
  const closed = await aProject(t.ctx, { creator: keeper, visibility: 'public', files: { 'a.txt': 'a\n' } })
  await t.ctx.db.write
    .update(projects)
    .set({ issues_access_level: 10, merge_requests_access_level: 10, repository_access_level: 10, wiki_access_level: 10, snippets_access_level: 10 })
    .where(eq(projects.id, closed.id))
  open.others.push(closed.id)
  open.closed = closed
  await aGroup(t.ctx, { creator: member })
})

/** Everything hidden there can be: alone, in a hidden group, below and in and shared with what everybody sees. */
async function hide() {
  const named = (n: number) => ({ name: `${SENTINEL} ${n}`, path: `${SENTINEL}${n}`, description: `about ${SENTINEL}` })
  const project = async (n: number, given: object = {}) => {
    const made = await aProject(t.ctx, { creator: keeper, ...named(n), topics: [SENTINEL], files: { [`${SENTINEL}.txt`]: SENTINEL }, ...given })
    hidden.projects.push({ id: made.id, path: made.fullPath })
    furnished.push(made)
    return made
  }
  const group = async (n: number, given: { parent_id?: number } = {}) => {
    const made = await aGroup(t.ctx, { creator: keeper, ...named(n), ...given })
    const { body } = await t.api('get', made.path, keeper).expect(200)
    hidden.groups.push({ id: made.id, path: (body as { full_path: string }).full_path })
    return made
  }
  const furnished: TestProject[] = []
  const shared = await project(1)
  const top = await group(2)
  const below = await group(3, { parent_id: top.id })
  await project(4, { namespace_id: below.id })
  const inside = await group(5, { parent_id: open.group })
  await project(6, { namespace_id: inside.id })
  await project(7, { namespace_id: open.group })
  await t.ctx.db.write.insert(projectShares).values({ project_id: shared.id, group_id: open.group, group_access: 30 })
  for (const { id } of hidden.projects) {
    await t.api('post', `/projects/${id}/star`, keeper).expect(201)
    await t.api('post', `/projects/${id}/repository/tags`, keeper).send({ tag_name: SENTINEL, ref: 'main' }).expect(201)
    const say = (path: string, body: object) => t.api('post', `/projects/${id}${path}`, keeper).send(body).expect(201)
    await say('/releases', { tag_name: SENTINEL, name: SENTINEL, description: SENTINEL })
    await say('/labels', { name: SENTINEL, color: '#112233', description: SENTINEL })
    const milestone = (await say('/milestones', { title: SENTINEL, description: SENTINEL })).body.id
    await say('/issues', { title: SENTINEL, description: SENTINEL, labels: SENTINEL, milestone_id: milestone, assignee_id: keeper.id })
    await say('/snippets', { title: SENTINEL, file_name: `${SENTINEL}.txt`, content: SENTINEL, visibility: 'public' })
    await say('/wikis', { title: SENTINEL, content: SENTINEL })
  }
  for (const each of furnished) await furnish(t, each, SENTINEL, keeper)
  for (const { id } of hidden.groups) {
    await t
      .api('post', `/groups/${id}/labels`, keeper)
      .send({ name: `${SENTINEL} of ${id}`, color: '#112233' })
      .expect(201)
    await t
      .api('post', `/groups/${id}/milestones`, keeper)
      .send({ title: `${SENTINEL} of ${id}` })
      .expect(201)
  }
  // forks of what everybody sees are as hidden as other projects
  const fork = await t
    .api('post', `/projects/${open.project}/fork`, keeper)
    .send({ name: `${SENTINEL} fork`, path: `${SENTINEL}-fork` })
    .expect(201)
  await t.ctx.jobs.drain()
  await t.api('put', `/projects/${fork.body.id}`, keeper).send({ visibility: 'private' }).expect(200)
  // everybody who sees it sees that it was forked; what and where is not shown
  await t.ctx.db.write.update(projects).set({ forks_count: 0 }).where(eq(projects.id, open.project))
  // what is confidential or private, in projects that everybody sees (SEC-35, SEC-36)
  const secret = { title: SENTINEL, description: SENTINEL, confidential: true }
  for (const id of open.others) {
    const [before] = await t.ctx.db.write.select().from(projects).where(eq(projects.id, id))
    const say = async (path: string, body: object) => (await t.api('post', `/projects/${id}${path}`, keeper).send(body).expect(201)).body
    const { iid } = await say('/issues', secret)
    await say(`/issues/${iid}/notes`, { body: SENTINEL })
    const snippet = await say('/snippets', { title: SENTINEL, file_name: SENTINEL, content: SENTINEL, visibility: 'private' })
    await say(`/snippets/${snippet.id}/notes`, { body: SENTINEL })
    if (id === open.closed?.id) {
      // what only members may read of it
      await say('/issues', { title: SENTINEL, description: SENTINEL })
      await say('/wikis', { title: SENTINEL, content: SENTINEL })
      await say('/snippets', { title: SENTINEL, file_name: SENTINEL, content: SENTINEL, visibility: 'public' })
      const { id: sha } = await say('/repository/commits', {
        branch: 'main',
        commit_message: SENTINEL,
        actions: [{ action: 'create', file_path: SENTINEL, content: SENTINEL }],
      })
      await say(`/repository/commits/${sha}/comments`, { note: SENTINEL })
      await aCommit(t.ctx, open.closed, { b: SENTINEL }, { branch: SENTINEL, start_branch: 'main' })
      const request = await say('/merge_requests', { title: SENTINEL, description: SENTINEL, source_branch: SENTINEL, target_branch: 'main' })
      await say(`/merge_requests/${request.iid}/notes`, { body: SENTINEL })
    }
    // everybody who sees the project sees that something happened there (G-86)
    await t.ctx.jobs.drain()
    await t.ctx.db.write.update(projects).set({ last_activity_at: before?.last_activity_at }).where(eq(projects.id, id))
  }
  await t.api('post', '/snippets', keeper).send({ title: SENTINEL, file_name: SENTINEL, content: SENTINEL, visibility: 'private' }).expect(201)
  await t
    .api('put', `/groups/${top.id}`, keeper)
    .send({ description: `${SENTINEL} again` })
    .expect(200)
}

const endpoints = families.flat().map(({ method, path, access }) => ({
  method,
  path: path.replace(/\([^)]*\)/g, ''),
  kind: /project: |any project/.test(access.rule) ? ('project' as const) : /group: |any group/.test(access.rule) ? ('group' as const) : null,
}))

const urlOf = (path: string, id: number | string) =>
  `/api/v4${path.replace(/:[a-z_]+/g, (name) => ({ ':id': String(id), ':user_id': String(keeper.id), ':file_path': 'a.txt', ':sha': 'main', ':branch': 'main', ':format': 'tar' })[name] ?? '1')}`

/** All of an answer but what differs from call to call. */
async function heard(method: string, url: string, caller: TestUser | null, body?: object) {
  const answer = await t.app.inject({
    method: method as 'GET',
    url,
    headers: {
      ...(caller && (url.startsWith('/v2/') ? basic('anyone', caller.token) : { 'private-token': caller.token })),
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { payload: JSON.stringify(body) }),
  })
  const { 'x-request-id': _, date: __, ...headers } = answer.headers
  return JSON.stringify([answer.statusCode, headers, answer.body])
}

/** Runs calls, a few at once. */
async function each<T>(list: T[], work: (one: T) => Promise<void>) {
  const next = list.values()
  const run = async () => {
    for (const one of next) await work(one)
  }
  await Promise.all(Array.from({ length: 8 }, run))
}

const QUERIES = [
  '',
  `?search=${SENTINEL}&all_available=true&sort=desc&per_page=2`,
  '?all_available=true&order_by=path&page=2&per_page=1&include_subgroups=true',
  `?query=${SENTINEL}&topic=${SENTINEL}&simple=true&statistics=true`,
  '?scope=all&state=all&with_counts=true&with_labels_details=true',
  `?scope=all&labels=${SENTINEL}&milestone=${SENTINEL}&title=${SENTINEL}`,
]

/** Each scope that any search has, where it has none of it a refusal. */
const SCOPES = 'projects issues merge_requests milestones notes snippet_titles snippet_blobs commits blobs wiki_blobs'.split(' ')
const SEARCHES = SCOPES.flatMap((scope) => [SENTINEL, '', '#2', '!1'].map((text) => `?scope=${scope}&search=${encodeURIComponent(text)}`))

/** The same by GraphQL (GQL-4). */
const graphql = () =>
  [
    `{ projects(ids: [${[open.project, ...open.others].map((id) => `"${id}"`).join(' ')}]) { count nodes { fullPath openIssuesCount forksCount starCount
      issues(search: "${SENTINEL}") { count } mergeRequests { count nodes { title } } labels { count nodes { title } } } } }`,
    `{ projects(ids: ["${open.project}"]) { nodes { issues { count nodes { title userNotesCount notes { nodes { body } } } } milestones { nodes { title } }
      snippets { count nodes { title } } projectMembers(relations: [DIRECT INHERITED INVITED_GROUPS]) { nodes { user { username } } } pipelines { count }
      repository { rootRef branchNames(searchPattern: "*" offset: 0 limit: 100) tree { blobs { nodes { path } } } } group { parent { name } } } } }`,
    `{ projects(search: "${SENTINEL}" searchNamespaces: true) { count } topic: projects(topics: ["${SENTINEL}"]) { count } all: projects { count nodes {
      fullPath lastActivityAt } } found: groups(search: "${SENTINEL}") { count } groups { count nodes { fullPath parent { fullPath } } } }`,
    `{ groups { nodes { descendantGroups { count nodes { fullPath } } projects(includeSubgroups: true) { count nodes { fullPath } } } } }`,
    `{ groups { nodes { issues(includeSubgroups: true) { count } mergeRequests(includeSubgroups: true) { count } groupMembers(relations:
      [DIRECT INHERITED DESCENDANTS SHARED_FROM_GROUPS]) { nodes { user { username } group { fullPath } } } labels { count } milestones { nodes { title } } } } }`,
    `{ user(id: "${keeper.id}") { authoredMergeRequests { count nodes { title project { fullPath } } } assignedMergeRequests { count }
      reviewRequestedMergeRequests { count } starredProjects { count nodes { fullPath } } } }`,
  ].map((query) => `/api/graphql?${new URLSearchParams({ query: query.replace(/\s+/g, ' ') })}`)

/** What clients of packages and images ask a project for, by its id or path; of packages that are called `name`. */
const protocols = (id: string | number, name: string): [method: string, url: string][] => {
  const at = `/api/v4/projects/${id}/packages`
  return [
    ['GET', `${at}/generic/${name}/1.0/${name}.bin`],
    ['GET', `${at}/npm/@${name}%2f${name}`],
    ['GET', `${at}/npm/@${name}/${name}/-/${name}-1.0.0.tgz`],
    ['GET', `${at}/npm/-/package/@${name}%2f${name}/dist-tags`],
    ['GET', `${at}/pypi/simple`],
    ['GET', `${at}/pypi/simple/${name}`],
    ['GET', `${at}/nuget/metadata/${name}/index.json`],
    ['GET', `${at}/nuget/download/${name}/1.0.0/${name}.1.0.0.nupkg`],
    ['GET', `${at}/nuget/query?q=${name}`],
    ['PUT', `${at}/nuget/`],
    ['DELETE', `${at}/nuget/${name}/1.0.0`],
    ['GET', `${at}/maven/org/${name}/app/1.0/${name}-1.0.jar`],
    ['GET', `${at}/maven/org/${name}/app/maven-metadata.xml`],
    ['GET', `${at}/go/roost.test%2f${name}/@v/list`],
    ['PUT', `${at}/generic/${name}/1.0/${name}.bin`],
    ['PUT', `${at}/npm/@${name}%2f${name}`],
    ['PUT', `${at}/maven/org/${name}/app/1.0/${name}-1.0.jar`],
    ['POST', `${at}/pypi`],
    ['DELETE', `${at}/npm/-/package/@${name}%2f${name}/dist-tags/latest`],
  ]
}
const images = (path: string, name: string): [method: string, url: string][] => {
  const at = `/v2/${path.toLowerCase()}/${name}`
  return [
    ['GET', `${at}/tags/list`],
    ['GET', `${at}/manifests/${name}`],
    ['HEAD', `${at}/manifests/${name}`],
    ['GET', `${at}/referrers/sha256:${'0'.repeat(64)}`],
    ['POST', `${at}/blobs/uploads/`],
    ['PUT', `${at}/manifests/${name}`],
    ['DELETE', `${at}/manifests/${name}`],
  ]
}

/** The same by clients of packages, of everything that a group, or the service, has for the caller. */
const packed = () =>
  ['shown', SENTINEL].flatMap((name) => [
    ...[open.project, ...open.others].flatMap((id) => protocols(id, name).flatMap(([method, url]) => (method === 'GET' ? [url] : []))),
    ...[open.group].flatMap((id) => [
      `/api/v4/groups/${id}/-/packages/pypi/simple`,
      `/api/v4/groups/${id}/-/packages/pypi/simple/${name}`,
      `/api/v4/groups/${id}/-/packages/nuget/metadata/${name}/index.json`,
      `/api/v4/groups/${id}/-/packages/nuget/query?q=${name}`,
      `/api/v4/groups/${id}/-/packages/maven/org/${name}/app/1.0/${name}-1.0.jar`,
      `/api/v4/groups/${id}/-/packages/maven/org/${name}/app/maven-metadata.xml`,
    ]),
    `/api/v4/packages/npm/@${name}%2f${name}`,
    `/api/v4/packages/npm/@${name}1%2f${name}`,
    `/api/v4/packages/maven/org/${name}/app/maven-metadata.xml`,
    ...images(`${keeper.username}/${name}1`, name).flatMap(([method, url]) => (method === 'GET' ? [url] : [])),
  ])

/** Every GET of what everybody sees, as everybody. Tokens show when they were last used, by design. */
async function everything() {
  const asked = endpoints
    .filter(({ method, path }) => method === 'GET' && !path.startsWith('/personal_access_tokens'))
    .flatMap(({ path, kind }) => {
      if (path.endsWith('/search')) return searchesOf(path, kind)
      const id = kind === 'project' ? open.project : kind === 'group' ? open.group : path.startsWith('/users') ? keeper.id : open.group
      // what is read from a repository is of one project
      return (path.includes('/repository/') ? [''] : QUERIES).map((query) => urlOf(path, id) + query)
    })
  asked.push(...graphql(), ...packed())
  const found = new Map<string, string>()
  for (const [name, caller] of Object.entries(callers))
    await each(asked, async (url) => {
      found.set(`${name} ${url}`, await heard('GET', url, caller))
    })
  return found
}

/** Searches of what everybody sees; of a project also where what is hidden stands within it. */
const searchesOf = (path: string, kind: 'project' | 'group' | null) =>
  (kind !== 'project' ? [open.group] : path.includes('/-/') ? [open.project, ...open.others] : [open.project]).flatMap((id) =>
    SEARCHES.map((query) => urlOf(path, id) + query),
  )

/** An archive is sent as it is made, and with its length once it is kept. */
const withoutFraming = (answer: string) => answer.replace(/,"(content-length":"\d+|transfer-encoding":"chunked)"/, '')
const same = (call: string, before = '', after: string) =>
  call.includes('/archive') ? withoutFraming(before) === withoutFraming(after) : before === after

/** Where two answers begin to differ. */
function apart(call: string, before = '', after: string) {
  const at = [...after].findIndex((letter, i) => letter !== before[i])
  return [call, before.slice(at - 60, at + 60), after.slice(at - 60, at + 60)]
}

describe('what is hidden changes no answer for callers who may not see it', () => {
  it('no byte and no header of any list, count or page (SEC-33, SEC-35, SEC-36, SEC-38, SEC-39, SEC-48)', async () => {
    await t.ctx.jobs.drain()
    const before = await everything()
    await hide()
    const after = await everything()
    expect(before.size).toBeGreaterThan(900)
    expect(
      [...after].filter(([call, answer]) => !same(call, before.get(call), answer)).map(([call, answer]) => apart(call, before.get(call), answer)),
    ).toEqual([])
    expect([...before].filter(([call, answer]) => call.includes('/api/graphql') && /errors|^\[[^2]/.test(answer))).toEqual([])
    // what may be read says something, and its keeper sees the rest
    expect([...before.values()].filter((answer) => answer.startsWith('[200')).length).toBeGreaterThan(300)
    for (const path of [
      '/issues?scope=all',
      '/projects',
      '/groups',
      `/groups/${open.group}/projects`,
      `/groups/${open.group}/subgroups`,
      `/groups/${open.group}`,
    ])
      expect([path, (await heard('GET', `/api/v4${path}`, keeper)).includes(SENTINEL)]).toEqual([path, true])
  })

  it('hidden is missing, by number and by path, for every method (SEC-30, G-40)', async () => {
    const different: string[] = []
    const work = endpoints
      .filter(({ kind }) => kind !== null)
      .flatMap(({ method, path, kind }, turn) =>
        (kind === 'project' ? hidden.projects : hidden.groups).flatMap(({ id, path: fullPath }, i) =>
          // callers take turns, so that each is asked about most of what is hidden
          Object.entries(callers)
            .filter((_, n, { length }) => n === (turn + i) % length)
            .flatMap(([name, caller]) => [
              { name, caller, method, path, there: String(id), gone: '999999' },
              { name, caller, method, path, there: encodeURIComponent(fullPath), gone: encodeURIComponent(fullPath.replace(/.$/, '0')) },
            ]),
        ),
      )
    const called = hidden.projects.flatMap(({ id, path }) => {
      const other = path.replace(/.$/, '0')
      const [there, gone] = [
        [...protocols(id, SENTINEL), ...protocols(encodeURIComponent(path), SENTINEL), ...images(path, SENTINEL)],
        [...protocols(999_999, SENTINEL), ...protocols(encodeURIComponent(other), SENTINEL), ...images(other, SENTINEL)],
      ]
      return there.flatMap(([method, url], at) =>
        Object.entries(callers).map(([name, caller]) => ({ name, caller, method, url, other: gone[at]?.[1] ?? '' })),
      )
    })
    await each(called, async ({ name, caller, method, url, other }) => {
      const body = method === 'GET' || method === 'HEAD' || method === 'DELETE' ? undefined : {}
      const [a, b] = [await heard(method, url, caller, body), await heard(method, other, caller, body)]
      // a refusal of the registry names the repository that was asked for
      const repository = (text: string) => text.replace(/repository:[^:]+:/g, 'repository')
      if (repository(a) !== repository(b) || /^\[2/.test(a)) different.push(`${method} ${url} as ${name}: ${a}, ${b} for ${other}`)
    })
    await each(work, async ({ name, caller, method, path, there, gone }) => {
      const given = BODIES[`${method} ${path}`] ?? {}
      const query = method === 'GET' && path.endsWith('/search') ? `?${new URLSearchParams({ ...given })}` : ''
      const body = method === 'GET' || method === 'HEAD' ? undefined : given
      const hear = (id: string) => heard(method, urlOf(path, id) + query, caller, body)
      const [a, b] = [await hear(there), await hear(gone)]
      if (a !== b || a.includes(SENTINEL)) different.push(`${method} ${path} as ${name}: ${a} for ${there}, ${b} for ${gone}`)
    })
    expect(work.length).toBeGreaterThan(1_000)
    expect(different).toEqual([])
  })

  it('what a body names is hidden in the same way (SEC-32)', async () => {
    const user = callers['user'] as TestUser
    const [group] = hidden.groups
    const [project] = hidden.projects
    const pairs: [string, string, object, object][] = [
      ['POST', '/api/v4/groups', { name: 'x', path: 'x-here', parent_id: group?.id }, { name: 'x', path: 'x-here', parent_id: 999_999 }],
      ['POST', '/api/v4/projects', { name: 'x', namespace_id: group?.id }, { name: 'x', namespace_id: 999_999 }],
    ]
    for (const [method, url, there, gone] of pairs) expect(await heard(method, url, user, there)).toBe(await heard(method, url, user, gone))
    const namespaces = [group?.id, group?.path].map((named) => heard('GET', `/api/v4/namespaces/${encodeURIComponent(String(named))}`, user))
    for (const answer of await Promise.all(namespaces)) expect(answer).toBe(await heard('GET', '/api/v4/namespaces/999999', user))
    const images = (kind: string, id: number | undefined) => heard('GET', `/uploads/-/system/${kind}/avatar/${id}/0123456789abcdef.png`, user)
    expect(await images('group', group?.id)).toBe(await images('group', 999_999))
    expect(await images('project', project?.id)).toBe(await images('project', 999_999))
  })

  it('a membership that ends hides again with the next request (SEC-41, AC-15)', async () => {
    const [project] = hidden.projects
    const user = callers['user'] as TestUser
    const count = async () => Number((await t.api('get', '/projects', user).expect(200)).headers['x-total'])
    const before = await count()
    await t.api('post', `/projects/${project?.id}/members`, keeper).send({ user_id: user.id, access_level: 20 }).expect(201)
    expect(await count()).toBe(before + 1)
    await t.api('get', `/projects/${project?.id}`, user).expect(200)
    await t.api('delete', `/projects/${project?.id}/members/${user.id}`, keeper).expect(204)
    expect(await count()).toBe(before)
    await t.api('get', `/projects/${project?.id}`, user).expect(404)
  })
})
