import { eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { issues, mergeRequests, milestones, notes, projectShares, projects, snippets } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { aGroup, anAdmin, aProject, aUser, type TestProject, type TestUser } from '../../support/factories.js'
import { aMergeRequest } from '../../support/merge-requests.js'

const t = testApp()

let keeper: TestUser
let stranger: TestUser
let external: TestUser
let admin: TestUser
let group: { id: number; path: string; fullPath: string }
let below: { id: number; path: string; fullPath: string }
const place = {} as Record<'open' | 'internal' | 'private' | 'below' | 'shared', TestProject>

const GROUP_SCOPES = ['projects', 'issues', 'merge_requests', 'milestones'] as const
const ALL = {
  '/search': [...GROUP_SCOPES, 'snippet_titles', 'snippet_blobs'],
  '/groups/:id/-/search': GROUP_SCOPES,
  '/groups/:id/search': GROUP_SCOPES,
  '/projects/:id/-/search': ['issues', 'merge_requests', 'milestones', 'notes', 'wiki_blobs', 'commits', 'blobs'],
  '/projects/:id/search': ['issues', 'merge_requests', 'milestones', 'notes', 'wiki_blobs', 'commits', 'blobs'],
}
const paths = Object.keys(ALL) as (keyof typeof ALL)[]
const at = (path: string) => path.replace(':id', String(path.startsWith('/groups') ? group.id : place.open.id))

beforeAll(async () => {
  keeper = await aUser(t.ctx)
  stranger = await aUser(t.ctx)
  external = await aUser(t.ctx, { external: true })
  admin = await anAdmin(t.ctx)
  group = await aGroup(t.ctx, { creator: keeper, visibility: 'public' })
  below = await aGroup(t.ctx, { creator: keeper, visibility: 'public', parent_id: group.id })
  const files = { 'readme.md': 'one\n' }
  place.open = await aProject(t.ctx, { creator: keeper, visibility: 'public', namespace_id: group.id, files })
  place.internal = await aProject(t.ctx, { creator: keeper, visibility: 'internal', files })
  place.private = await aProject(t.ctx, { creator: keeper, namespace_id: group.id, files })
  place.below = await aProject(t.ctx, { creator: keeper, visibility: 'public', namespace_id: below.id, files })
  place.shared = await aProject(t.ctx, { creator: keeper, visibility: 'public', files })
  await t.ctx.db.write.insert(projectShares).values({ project_id: place.shared.id, group_id: group.id, group_access: 30 })
})

const ask = (path: string, scope: string, search: string, caller: TestUser | null, more = '') =>
  t.api('get', `${path}?scope=${scope}&search=${encodeURIComponent(search)}${more}`, caller)
const found = async (path: string, scope: string, search: string, caller: TestUser = keeper, more = '') =>
  (await ask(path, scope, search, caller, more).expect(200)).body as Record<string, unknown>[]
const ids = async (...given: Parameters<typeof found>) => (await found(...given)).map(({ id }) => id as number)
const say = async (path: string, body: object, caller = keeper) => (await t.api('post', path, caller).send(body).expect(201)).body
const issue = (of: TestProject, body: object, caller = keeper) => say(`${of.path}/issues`, body, caller)
const close = async (
  of: TestProject,
  column: 'issues' | 'merge_requests' | 'snippets' | 'repository' | 'wiki',
  level: number,
  work: () => Promise<void>,
) => {
  const set = async (value: number) => {
    await t.ctx.db.write
      .update(projects)
      .set({ [`${column}_access_level`]: value })
      .where(eq(projects.id, of.id))
  }
  await set(level)
  await work()
  await set(20)
}

describe('refused searches, by all five paths (S-1, S-2, S-4, X-1)', () => {
  it.each(paths)('%s needs a caller, a text and a scope of its list (S-1, S-2)', async (path) => {
    const url = at(path)
    expect((await t.api('get', url).expect(401)).body).toEqual({ message: '401 Unauthorized' })
    const refusals: [string, string][] = [
      ['', 'search is missing, scope is missing, scope does not have a valid value'],
      ['?search=x', 'scope is missing, scope does not have a valid value'],
      ['?scope=issues', 'search is missing'],
      ['?search=x&scope=', 'scope does not have a valid value'],
      ['?search=x&scope=users', 'scope does not have a valid value'],
      ['?search=x&scope=Issues', 'scope does not have a valid value'],
      [`?search=x&scope=${path === '/search' ? 'blobs' : 'snippet_titles'}`, 'scope does not have a valid value'],
      ['?search=x&scope[]=issues', 'scope is invalid'],
      [`?search=${'x'.repeat(256)}&scope=issues`, 'search is too long (maximum is 255 characters)'],
      ['?search=x&scope=issues&page=a', 'page is invalid'],
    ]
    for (const [query, error] of refusals) {
      const { body } = await t.api('get', `${url}${query}`, stranger).expect(400)
      if (!query.includes('[]')) expect([query, body]).toEqual([query, { error }])
    }
  })

  it('hidden projects are 404, after the parameters were checked (S-4, SEC-33)', async () => {
    const hidden = await aGroup(t.ctx, { creator: keeper })
    for (const [path, kind] of [
      [`/groups/${hidden.id}/-/search`, 'Group'],
      ['/groups/999999/search', 'Group'],
      [`/projects/${place.private.id}/-/search`, 'Project'],
      [`/projects/${encodeURIComponent(place.private.fullPath)}/search`, 'Project'],
      ['/projects/999999/-/search', 'Project'],
    ] as const) {
      expect((await ask(path, 'issues', 'x', stranger).expect(404)).body).toEqual({ message: `404 ${kind} Not Found` })
      await t.api('get', path, stranger).expect(400)
    }
    await ask(`${place.internal.path}/search`, 'issues', 'x', stranger).expect(200)
    await ask(`${place.internal.path}/search`, 'issues', 'x', external).expect(404)
    await ask(`${place.private.path}/search`, 'issues', 'x', admin).expect(200)
    await ask(`/projects/${encodeURIComponent(place.open.fullPath)}/-/search`, 'issues', 'x', external).expect(200)
  })

  it('every scope of every path answers a list, under either spelling the same (X-1, S-2)', async () => {
    for (const path of paths)
      for (const scope of ALL[path]) {
        const answer = await ask(at(path), scope, 'one', keeper).expect(200)
        expect(Array.isArray(answer.body)).toBe(true)
        expect(answer.headers).toMatchObject({ 'x-page': '1', 'x-per-page': '20', 'x-total': String(answer.body.length) })
        if (path.includes('/-/')) expect((await ask(at(path.replace('/-/', '/')), scope, 'one', keeper).expect(200)).body).toEqual(answer.body)
      }
  })
})

describe('short words (G-77, G-78)', () => {
  it('finds words of two letters in everything, and letters within a project; wildcards are letters (G-79)', async () => {
    const project = await aProject(t.ctx, { creator: keeper, visibility: 'public', name: '日本 no' })
    const text = '日本 C# 5%_\\ su'
    const { id, iid } = await issue(project, { title: 'first', description: text })
    await issue(project, { title: 'second', description: 'zz' })
    const request = await aMergeRequest(t, { project, files: null, title: text })
    const milestone = await say(`${project.path}/milestones`, { title: 'm', description: text })
    const note = await say(`${project.path}/issues/${iid}/notes`, { body: text })
    const snippet = await say('/snippets', { title: text, file_name: 'a', content: text, visibility: 'private' })
    const inProject = `${project.path}/search`
    for (const word of ['日本', 'C#', 'su', '%_', '_\\', 'c# SU', 'su 日']) {
      expect([word, await ids(inProject, 'issues', word)]).toEqual([word, [id]])
      expect([word, await ids(inProject, 'merge_requests', word)]).toEqual([word, [request.id]])
      expect([word, await ids(inProject, 'milestones', word)]).toEqual([word, [milestone.id]])
      expect([word, await ids(inProject, 'notes', word)]).toEqual([word, [note.id]])
      expect([word, await ids('/search', 'issues', word)]).toContainEqual([id])
      expect([word, await ids('/search', 'milestones', word)]).toContainEqual([milestone.id])
      for (const scope of ['snippet_titles', 'snippet_blobs']) expect([word, await ids('/search', scope, word)]).toEqual([word, [snippet.id]])
    }
    for (const letter of ['日', '#', '%', '_', '\\']) {
      expect([letter, await ids(inProject, 'issues', letter)]).toEqual([letter, [id]])
      expect([letter, await ids(inProject, 'notes', letter)]).toEqual([letter, [note.id]])
      expect([letter, await ids('/search', 'issues', letter)]).toEqual([letter, []])
      expect([letter, await ids('/search', 'snippet_blobs', letter)]).toEqual([letter, []])
    }
    expect(await ids(inProject, 'issues', 'first zz')).toEqual([])
    expect(await ids('/search', 'projects', '本 n')).toEqual([project.id])
    const list = async (path: string) => ((await t.api('get', path, keeper).expect(200)).body as { id: number }[]).map((each) => each.id)
    expect(await list(`${project.path}/issues?search=${encodeURIComponent('日本')}`)).toEqual([id])
    expect(await list(`${project.path}/merge_requests?search=${encodeURIComponent('C#')}`)).toEqual([request.id])
    expect(await list(`${project.path}/milestones?search=s`)).toEqual([milestone.id])
  })
})

describe('states and orders (S-30)', () => {
  it('limits issues and merge requests to a state, and issues to confidential ones, in the order of their creation', async () => {
    const project = await aProject(t.ctx, { creator: keeper, visibility: 'public' })
    const path = `${project.path}/search`
    const open = await issue(project, { title: 'Tapir one', created_at: '2020-01-03' })
    const closed = await issue(project, { title: 'Tapir two', created_at: '2020-01-01' })
    const secret = await issue(project, { title: 'Tapir three', confidential: true, created_at: '2020-01-02' })
    await t.api('put', `${project.path}/issues/${closed.iid}`, keeper).send({ state_event: 'close' }).expect(200)
    const search = (more: string, scope = 'issues') => ids(path, scope, 'tapir', keeper, more)
    expect((await search('')).sort()).toEqual([open.id, closed.id, secret.id].sort())
    expect((await search('&state=all')).sort()).toEqual([open.id, closed.id, secret.id].sort())
    expect(await search('&state=opened&order_by=created_at&sort=asc')).toEqual([secret.id, open.id])
    expect(await search('&state=opened&order_by=created_at')).toEqual([open.id, secret.id])
    expect(await search('&state=closed')).toEqual([closed.id])
    expect(await search('&state=merged')).toEqual([])
    expect(await search('&confidential=true')).toEqual([secret.id])
    expect((await search('&confidential=false&order_by=created_at')).sort()).toEqual([open.id, closed.id].sort())
    expect(await ids('/search', 'issues', 'tapir', stranger, '&confidential=true')).toEqual([])
    const request = await aMergeRequest(t, { project, files: null, title: 'Tapir four' })
    const merged = await aMergeRequest(t, { project, files: null, title: 'Tapir five' })
    await t.ctx.db.write.update(mergeRequests).set({ state: 'merged' }).where(eq(mergeRequests.id, merged.id))
    expect(await search('&state=merged', 'merge_requests')).toEqual([merged.id])
    expect(await search('&state=opened', 'merge_requests')).toEqual([request.id])
    expect(await search('&order_by=created_at&sort=asc', 'merge_requests')).toEqual([request.id, merged.id])
    for (const [query, error] of [
      ['state=open', 'state does not have a valid value'],
      ['confidential=x', 'confidential is invalid'],
      ['order_by=id', 'order_by does not have a valid value'],
      ['sort=up', 'sort does not have a valid value'],
    ])
      await t.api('get', `${path}?scope=issues&search=x&${query}`, keeper).expect(400, { error })
  })
})

describe('projects (S-7)', () => {
  it('by path, name and description, newest first, archived ones too, where they are seen (S-7, S-17)', async () => {
    const made = await Promise.all([
      aProject(t.ctx, { creator: keeper, visibility: 'public', name: 'Marmot burrow', namespace_id: group.id }),
      aProject(t.ctx, { creator: keeper, visibility: 'internal', path: 'marmot-two', name: 'x', description: 'A burrow' }),
      aProject(t.ctx, { creator: keeper, description: 'of a MARMOT in a burrow', name: 'quiet', namespace_id: below.id }),
      aProject(t.ctx, { creator: keeper, visibility: 'public', name: 'no such animal' }),
    ])
    await t.api('post', `${made[0].path}/archive`, keeper).expect(201)
    const [a, b, c] = made.map(({ id }) => id)
    const newest = (list: (number | undefined)[]) => [...(list as number[])].sort((x, y) => y - x)
    expect(await ids('/search', 'projects', 'marmot')).toEqual(newest([a, b, c]))
    expect(await ids('/search', 'projects', 'burrow marmot')).toEqual(newest([a, c]))
    expect(await ids('/search', 'projects', 'marmot', stranger)).toEqual(newest([a, b]))
    expect(await ids('/search', 'projects', 'marmot', external)).toEqual([a])
    expect(await ids('/search', 'projects', 'marmot', admin)).toEqual(newest([a, b, c]))
    expect(await ids(`${group.path}/search`, 'projects', 'marmot')).toEqual(newest([a, c]))
    expect(await ids(`${group.path}/search`, 'projects', 'marmot', stranger)).toEqual([a])
    expect(await ids(`${below.path}/-/search`, 'projects', 'marmot')).toEqual([c])
    // not what is only shared with the group
    expect(await ids(`${group.path}/search`, 'projects', '')).not.toContain(place.shared.id)
    expect(await ids('/search', 'projects', '', admin, '&per_page=100')).toContain(place.shared.id)
  })

  it('in the search view (S-27)', async () => {
    const { id } = await aProject(t.ctx, { creator: keeper, name: 'Viewed once' })
    const [element] = await found('/search', 'projects', 'viewed once')
    const { body } = await t.api('get', `/projects?simple=true&search=viewed`, keeper).expect(200)
    expect(element).toEqual((body as { id: number }[]).find((project) => project.id === id))
    for (const field of ['id', 'description', 'name_with_namespace', 'path_with_namespace', 'tag_list', 'star_count', 'last_activity_at'])
      expect(element).toHaveProperty(field)
  })
})

describe('issues (S-8, S-18, S-28)', () => {
  it('by title and description, what changed last first; whole and in the list’s shape (S-8, S-28)', async () => {
    const first = await issue(place.open, { title: 'A pelican', labels: 'a,b', assignee_id: keeper.id, due_date: '2030-01-02' })
    const second = await issue(place.below, { title: 'x', description: 'about the PELICAN that flies' })
    const third = await issue(place.private, { title: 'pelican flies', confidential: true })
    await t.api('put', `${place.open.path}/issues/${first.iid}`, keeper).send({ state_event: 'close', description: 'fed' }).expect(200)
    expect(await ids('/search', 'issues', 'pelican')).toEqual([first.id, third.id, second.id])
    expect(await ids('/search', 'issues', 'flies pelican')).toEqual([third.id, second.id])
    expect(await ids('/search', 'issues', 'pelican', stranger)).toEqual([first.id, second.id])
    expect(await ids(`${group.path}/-/search`, 'issues', 'pelican', stranger)).toEqual([first.id, second.id])
    expect(await ids(`${below.path}/-/search`, 'issues', 'pelican')).toEqual([second.id])
    expect(await ids(`${place.open.path}/search`, 'issues', 'pelican', external)).toEqual([first.id])
    const [shown] = await found(`${place.open.path}/search`, 'issues', 'pelican')
    const [listed] = (await t.api('get', `${place.open.path}/issues?search=pelican`, keeper).expect(200)).body
    expect(shown).toEqual(listed)
    expect(shown).toMatchObject({ state: 'closed', labels: ['a', 'b'], assignees: [{ id: keeper.id }], assignee: { id: keeper.id } })
    expect(shown?.['closed_at']).toMatch(/Z$/)
    for (const field of ['subscribed', 'changes_count']) expect(shown).not.toHaveProperty(field)
    const [open] = await found(`${below.path}/search`, 'issues', 'pelican')
    expect(open).toMatchObject({ assignees: [], assignee: null, closed_at: null, upvotes: 0, downvotes: 0, user_notes_count: 0 })
    expect(open?.['time_stats']).toMatchObject({ time_estimate: 0, human_time_estimate: null })
    expect(shown?.['references']).toMatchObject({ relative: `#${first.iid}` })
    const [everywhere] = await found('/search', 'issues', 'flies pelican', stranger)
    expect(everywhere?.['references']).toMatchObject({ relative: `${place.below.fullPath}#${second.iid}` })
  })

  it('a text that ends in a number means that number, and nothing else (S-8)', async () => {
    const one = await issue(place.open, { title: 'numbered ostrich' })
    const other = await issue(await aProject(t.ctx, { creator: keeper }), { title: `ostrich of #${one.iid}` })
    expect(other.iid).not.toBe(one.iid)
    expect(await ids(`${place.open.path}/search`, 'issues', `#${one.iid}`)).toEqual([one.id])
    expect(await ids(`${place.open.path}/search`, 'issues', `whatever #00${one.iid} `)).toEqual([one.id])
    expect(await ids('/search', 'issues', `ostrich #${one.iid}`)).not.toContain(other.id)
    expect(await ids('/search', 'issues', `x#${one.iid}`)).toContain(one.id)
    for (const none of ['#0', '#2147483648', `#${'9'.repeat(200)}`]) expect(await ids('/search', 'issues', none)).toEqual([])
    expect(await ids(`${place.open.path}/search`, 'issues', `!${one.iid}`)).toEqual([])
    expect(await ids(`${place.open.path}/search`, 'issues', 'numbered ostrich #')).toEqual([])
  })

  it('confidential ones for the author, the assignee, members from reporter up and administrators (S-18, SEC-35)', async () => {
    const [guest, reporter, author, assignee] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: keeper, visibility: 'public', guest, reporter })
    await t.api('post', `${project.path}/members`, keeper).send({ user_id: assignee.id, access_level: 10 }).expect(201)
    const secret = await issue(project, { title: 'confidential condor', confidential: true, assignee_id: assignee.id }, keeper)
    await t.ctx.db.write.update(issues).set({ author_id: author.id }).where(eq(issues.id, secret.id))
    await say(`${project.path}/issues/${secret.iid}/notes`, { body: 'a condor was here' })
    for (const [who, sees] of [
      [guest, false],
      [stranger, false],
      [external, false],
      [reporter, true],
      [author, true],
      [assignee, true],
      [keeper, true],
      [admin, true],
    ] as const) {
      for (const path of ['/search', `${project.path}/-/search`]) {
        const answer = await ask(path, 'issues', 'confidential condor', who).expect(200)
        expect([path, answer.body.length, answer.headers['x-total']]).toEqual([path, sees ? 1 : 0, sees ? '1' : '0'])
        expect([who.username, (await ids(path, 'issues', `#${secret.iid}`, who)).includes(secret.id)]).toEqual([who.username, sees])
      }
      // S-18 holds for what is said of it
      expect(await ids(`${project.path}/search`, 'notes', 'condor', who)).toHaveLength(sees ? 1 : 0)
    }
  })
})

describe('merge requests (S-9, S-19)', () => {
  it('by title and description, or by number with # or !; without fields that searches leave out (S-9, S-27)', async () => {
    const one = await aMergeRequest(t, { project: place.open, title: 'Feed the walrus' })
    const two = await aMergeRequest(t, { project: place.private, title: 'x', sent: { description: 'the WALRUS again' } })
    expect(await ids('/search', 'merge_requests', 'walrus')).toEqual([two.id, one.id])
    expect(await ids('/search', 'merge_requests', 'walrus', stranger)).toEqual([one.id])
    expect(await ids(`${group.path}/search`, 'merge_requests', 'walrus')).toEqual([two.id, one.id])
    for (const mark of ['#', '!']) expect(await ids(`${place.open.path}/search`, 'merge_requests', `x ${mark}${one.iid}`)).toEqual([one.id])
    expect(await ids(`${place.open.path}/search`, 'merge_requests', `walrus ${one.iid}`)).toEqual([])
    const [shown] = await found(`${place.open.path}/search`, 'merge_requests', 'walrus')
    const [listed] = (await t.api('get', `${place.open.path}/merge_requests?search=walrus`, keeper).expect(200)).body
    const { changes_count: _, ...rest } = listed
    expect(shown).toEqual(rest)
    for (const field of ['changes_count', 'subscribed']) expect(shown).not.toHaveProperty(field)
    // what was deleted is not found (MR-58)
    await t.ctx.db.write.update(mergeRequests).set({ deleted_at: new Date() }).where(eq(mergeRequests.id, one.id))
    expect(await ids('/search', 'merge_requests', 'walrus')).toEqual([two.id])
  })

  it('of a private project for reporters and above; guests find their own (S-19, S-6)', async () => {
    const [guest, reporter] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: keeper, guest, reporter, files: { a: 'a\n' } })
    const request = await aMergeRequest(t, { project, title: 'private puffin' })
    expect(await ids(`${project.path}/search`, 'merge_requests', 'puffin', reporter)).toEqual([request.id])
    for (const path of ['/search', `${project.path}/search`]) expect(await ids(path, 'merge_requests', 'puffin', guest)).toEqual([])
    await t.ctx.db.write
      .update(mergeRequests)
      .set({ assignee_ids: [guest.id] })
      .where(eq(mergeRequests.id, request.id))
    for (const path of ['/search', `${project.path}/search`]) expect(await ids(path, 'merge_requests', 'puffin', guest)).toEqual([request.id])
  })

  it('a feature that is off for the caller finds nothing, and is no error (S-6, S-19)', async () => {
    const project = await aProject(t.ctx, { creator: keeper, visibility: 'public', files: { 'a.txt': 'a gannet\n' } })
    await issue(project, { title: 'gannet issue' })
    await aMergeRequest(t, { project, title: 'gannet request' })
    await say(`${project.path}/snippets`, { title: 'gannet', file_name: 'a', content: 'gannet', visibility: 'public' })
    await say(`${project.path}/wikis`, { title: 'page', content: 'the gannet' })
    const count = async (path: string, scope: string, who: TestUser) => (await found(path, scope, 'gannet', who)).length
    const checks: [Parameters<typeof close>[1], string, string][] = [
      ['issues', '/search', 'issues'],
      ['issues', `${project.path}/search`, 'issues'],
      ['merge_requests', '/search', 'merge_requests'],
      ['merge_requests', `${project.path}/search`, 'merge_requests'],
      ['repository', `${project.path}/search`, 'merge_requests'],
      ['repository', `${project.path}/search`, 'blobs'],
      ['wiki', `${project.path}/search`, 'wiki_blobs'],
      ['snippets', '/search', 'snippet_titles'],
      ['snippets', '/search', 'snippet_blobs'],
    ]
    for (const [feature, path, scope] of checks) {
      expect([scope, await count(path, scope, stranger)]).toEqual([scope, 1])
      await close(project, feature, 10, async () => {
        expect([scope, await count(path, scope, stranger), await count(path, scope, keeper)]).toEqual([scope, 0, 1])
      })
      await close(project, feature, 0, async () => {
        expect([scope, await count(path, scope, stranger), await count(path, scope, keeper), await count(path, scope, admin)]).toEqual([
          scope,
          0,
          0,
          0,
        ])
      })
    }
  })
})

describe('milestones (S-10)', () => {
  it('of projects alone, by title and description, what changed last first (S-10, S-27)', async () => {
    const first = await say(`${place.open.path}/milestones`, { title: 'The heron flies' })
    const second = await say(`${place.private.path}/milestones`, { title: 'x', description: 'until the HERON lands' })
    const third = await say(`${place.below.path}/milestones`, { title: 'heron below' })
    await say(`${group.path}/milestones`, { title: 'heron of the group' })
    await t.ctx.db.write
      .update(milestones)
      .set({ updated_at: new Date('2040-01-01') })
      .where(eq(milestones.id, first.id))
    expect(await ids('/search', 'milestones', 'heron')).toEqual([first.id, third.id, second.id])
    expect(await ids('/search', 'milestones', 'heron', stranger)).toEqual([first.id, third.id])
    expect(await ids(`${group.path}/search`, 'milestones', 'heron', stranger)).toEqual([first.id, third.id])
    expect(await ids(`${below.path}/search`, 'milestones', 'heron')).toEqual([third.id])
    expect(await ids(`${place.private.path}/search`, 'milestones', 'heron')).toEqual([second.id])
    const [shown] = await found(`${place.below.path}/search`, 'milestones', 'heron')
    expect(shown).toEqual((await t.api('get', `${place.below.path}/milestones/${third.id}`, keeper).expect(200)).body)
    expect(shown).toMatchObject({ project_id: place.below.id })
  })
})

describe('snippets (S-11, S-12, S-21)', () => {
  it('own and public ones, and those of projects where they may be read (S-11, S-12, S-21, SEC-36)', async () => {
    const snippet = (title: string, visibility: string, caller = keeper, of = '') =>
      say(`${of}/snippets`, { title: `ibis ${title}`, file_name: 'file.rb', content: `puts "${title}"\nthe Curlew`, visibility }, caller)
    const made: Record<string, { id: number; project_id: number | null }> = {
      own: await snippet('own', 'private', stranger),
      private: await snippet('private', 'private'),
      internal: await snippet('internal', 'internal'),
      public: await snippet('public', 'public'),
      inOpen: await snippet('in open', 'public', keeper, place.open.path),
      inOpenInternal: await snippet('in open, internal', 'internal', keeper, place.open.path),
      inOpenPrivate: await snippet('in open, private', 'private', keeper, place.open.path),
      inPrivate: await snippet('in private', 'public', keeper, place.private.path),
    }
    const names = async (scope: string, text: string, who: TestUser) =>
      (await ids('/search', scope, text, who)).map((id) => Object.keys(made).find((name) => made[name]?.id === id))
    for (const [scope, text] of [
      ['snippet_titles', 'ibis'],
      ['snippet_titles', 'FILE.rb'],
      ['snippet_blobs', 'curlew'],
    ] as const) {
      expect(await names(scope, text, stranger)).toEqual(['inOpenInternal', 'inOpen', 'public', 'internal', 'own'])
      expect(await names(scope, text, external)).toEqual(['inOpen', 'public'])
      const keepers = ['inPrivate', 'inOpenPrivate', 'inOpenInternal', 'inOpen', 'public', 'internal', 'private']
      expect(await names(scope, text, keeper)).toEqual(keepers)
      expect(await names(scope, text, admin)).toEqual([...keepers, 'own'])
    }
    // by what they hold, not by how they are called, and the other way round
    expect(await names('snippet_blobs', 'ibis', admin)).toEqual([])
    expect(await names('snippet_titles', 'curlew', admin)).toEqual([])
    expect(await names('snippet_blobs', 'in open, private', keeper)).toEqual(['inOpenPrivate'])
    const [shown] = await found('/search', 'snippet_titles', 'ibis public', stranger)
    expect(shown).toEqual((await t.api('get', `/snippets/${made['public']?.id}`, stranger).expect(200)).body)
    expect(shown).toMatchObject({ project_id: null, description: null, file_name: 'file.rb' })
    const [inProject] = await found('/search', 'snippet_titles', '"in open, internal"', stranger)
    expect(inProject).toEqual((await t.api('get', `${place.open.path}/snippets/${made['inOpenInternal']?.id}`, stranger).expect(200)).body)
    // as the project is now (SEC-36)
    await t.ctx.db.write.update(projects).set({ visibility: 0 }).where(eq(projects.id, place.open.id))
    expect(await names('snippet_titles', 'ibis', stranger)).toEqual(['public', 'internal', 'own'])
    await t.ctx.db.write.update(projects).set({ visibility: 20 }).where(eq(projects.id, place.open.id))
    await t.ctx.db.write.delete(snippets)
  })
})

describe('notes (S-13, S-20)', () => {
  it('on issues, merge requests, commits and snippets, oldest first; what the service wrote is not found (S-13, S-20)', async () => {
    const guest = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: keeper, visibility: 'public', guest, files: { a: 'a\n' } })
    const { iid, id: issueId } = await issue(project, { title: 'talked about' })
    const request = await aMergeRequest(t, { project, title: 'talked about, too' })
    const [{ id: sha }] = (await t.api('get', `${project.path}/repository/commits`, keeper).expect(200)).body
    const open = await say(`${project.path}/snippets`, { title: 's', file_name: 'a', content: 'a', visibility: 'public' })
    const hidden = await say(`${project.path}/snippets`, { title: 's', file_name: 'a', content: 'a', visibility: 'private' })
    const on: Record<string, number> = {}
    on['issue'] = (await say(`${project.path}/issues/${iid}/notes`, { body: 'a Kestrel, 1' })).id
    on['request'] = (await say(`${request.path}/notes`, { body: 'a kestrel, 2' })).id
    await say(`${project.path}/repository/commits/${sha}/comments`, { note: 'the KESTREL of a commit' })
    on['open snippet'] = (await say(`${project.path}/snippets/${open.id}/notes`, { body: 'kestrel, 4' })).id
    on['hidden snippet'] = (await say(`${project.path}/snippets/${hidden.id}/notes`, { body: 'kestrel, 5' })).id
    const [comment] = await t.ctx.db.write.select().from(notes).where(eq(notes.commit_id, sha))
    on['commit'] = comment?.id ?? 0
    await t.ctx.db.write.insert(notes).values({
      project_id: project.id,
      noteable_type: 'Issue',
      noteable_id: issueId,
      author_id: keeper.id,
      note: 'kestrel of the service',
      system: true,
    })
    const about = async (who: TestUser, text = 'kestrel') =>
      (await ids(`${project.path}/search`, 'notes', text, who)).map((id) => Object.keys(on).find((name) => on[name] === id))
    const all = ['issue', 'request', 'commit', 'open snippet', 'hidden snippet']
    expect(await about(keeper)).toEqual(all)
    expect(await about(admin)).toEqual(all)
    expect(await about(guest)).toEqual(all)
    const outside = ['issue', 'request', 'commit', 'open snippet']
    expect(await about(stranger)).toEqual(outside)
    expect(await about(stranger, '')).toEqual(outside)
    expect(await about(stranger, 'kestrel commit')).toEqual(['commit'])

    const shown = await found(`${project.path}/-/search`, 'notes', 'kestrel')
    expect(shown[0]).toEqual((await t.api('get', `${project.path}/issues/${iid}/notes/${on['issue']}`, keeper).expect(200)).body)
    expect(
      shown.map((note) => [note['noteable_type'], note['noteable_iid'], note['noteable_id'] !== null, note['attachment'], note['system']]),
    ).toEqual([
      ['Issue', iid, true, null, false],
      ['MergeRequest', request.iid, true, null, false],
      ['Commit', null, false, null, false],
      ['Snippet', null, true, null, false],
      ['Snippet', null, true, null, false],
    ])

    const without = async (feature: Parameters<typeof close>[1], ...gone: string[]) =>
      close(project, feature, 10, async () => {
        expect([feature, await about(stranger)]).toEqual([feature, outside.filter((name) => !gone.includes(name))])
        expect(await about(keeper)).toEqual(all)
      })
    await without('issues', 'issue')
    await without('merge_requests', 'request')
    await without('repository', 'request', 'commit')
    await without('snippets', 'open snippet')
    // SEC-34, S-20: a guest of a private project reads neither its code nor others' merge requests
    await t.ctx.db.write.update(projects).set({ visibility: 0 }).where(eq(projects.id, project.id))
    expect(await about(guest)).toEqual(['issue', 'open snippet', 'hidden snippet'])
    await t.ctx.db.write.update(mergeRequests).set({ deleted_at: new Date() }).where(eq(mergeRequests.id, request.id))
    expect(await about(keeper)).toEqual(all.filter((name) => name !== 'request'))
  })
})

describe('pages and queries (S-3, S-5)', () => {
  it('a blank text filters no rows (S-3)', async () => {
    const project = await aProject(t.ctx, { creator: keeper, visibility: 'public', files: { a: 'a\n' } })
    const { iid } = await issue(project, { title: 'only one' })
    const request = await aMergeRequest(t, { project })
    await say(`${project.path}/milestones`, { title: 'only one' })
    await say(`${project.path}/issues/${iid}/notes`, { body: 'only one' })
    for (const text of ['', '   ', '\t\n']) {
      for (const scope of ['issues', 'milestones', 'notes']) expect(await found(`${project.path}/search`, scope, text)).toHaveLength(1)
      expect(await ids(`${project.path}/search`, 'merge_requests', text)).toEqual([request.id])
      expect((await found('/search', 'projects', text)).length).toBeGreaterThan(1)
    }
  })

  it('exact totals, whole pages and all links, for every scope of rows (S-5, SEC-33)', async () => {
    const own = await aGroup(t.ctx, { creator: keeper, visibility: 'public' })
    for (let i = 0; i < 7; i++) {
      const project = await aProject(t.ctx, { creator: keeper, name: `stork ${i}`, visibility: i % 2 ? 'private' : 'public', namespace_id: own.id })
      await issue(project, { title: `stork ${i}` })
      await say(`${project.path}/milestones`, { title: `stork ${i}` })
      await say('/snippets', { title: `stork ${i}`, file_name: 'a', content: `stork ${i}`, visibility: i % 2 ? 'private' : 'public' })
    }
    for (const path of ['/search', `${own.path}/search`])
      for (const scope of path === '/search'
        ? ['projects', 'issues', 'milestones', 'snippet_titles', 'snippet_blobs']
        : ['projects', 'issues', 'milestones'])
        for (const [who, total] of [
          [keeper, 7],
          [stranger, 4],
        ] as const) {
          const pages = Math.ceil(total / 3)
          const seen: number[] = []
          for (let page = 1; page <= pages + 1; page++) {
            const answer = await ask(path, scope, 'stork', who, `&per_page=3&page=${page}`).expect(200)
            expect([scope, answer.headers['x-total'], answer.headers['x-total-pages']]).toEqual([scope, String(total), String(pages)])
            expect(answer.headers['x-next-page']).toBe(page < pages ? String(page + 1) : '')
            expect(answer.headers['link']).toContain(`page=${pages}&per_page=3&scope=${scope}&search=stork>; rel="last"`)
            seen.push(...(answer.body as { id: number }[]).map(({ id }) => id))
          }
          expect(new Set(seen).size).toBe(total)
          expect(seen).toEqual(await ids(path, scope, 'stork', who))
        }
  })

  it('the number of queries does not depend on how many are found', async () => {
    const few = await aProject(t.ctx, { creator: keeper, visibility: 'public' })
    const many = await aProject(t.ctx, { creator: keeper, visibility: 'public' })
    for (const [project, n] of [
      [few, 2],
      [many, 9],
    ] as const)
      for (let i = 0; i < n; i++) {
        const { iid } = await issue(project, { title: `egret ${project.id} ${i}`, labels: 'a,b' })
        await say(`${project.path}/issues/${iid}/notes`, { body: `egret ${project.id} ${i}` })
        await say(`${project.path}/milestones`, { title: `egret ${project.id} ${i}` })
      }
    const queries = async (project: TestProject, scope: string) => {
      const work = () => found(`${project.path}/search`, scope, `egret ${project.id}`, keeper, '&per_page=100')
      await work()
      return (await t.queriesOf(work)).length
    }
    for (const scope of ['issues', 'milestones', 'notes']) {
      expect(await queries(many, scope)).toBe(await queries(few, scope))
      expect(await queries(many, scope)).toBeLessThan(7)
    }
  })
})
