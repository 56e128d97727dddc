// @module-tag long
import { beforeAll, describe, expect, it } from 'vitest'
import { forms, pages } from '../../src/web/index.js'
import { CALLERS, MATRIX, rowOf } from '../access/matrix.js'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aGroup, anAdmin, aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'
import { furnish } from '../support/furnished.js'
import { addressOf, asking, bare, type Place } from '../support/site-walk.js'

const t = testApp()
/** Stands in hidden things only. */
const SENTINEL = 'zyzzyva'

let keeper: TestUser
let cast: Record<(typeof CALLERS)[number], TestUser>
let open: TestProject
let hidden: TestProject
/** The project of each visibility for the matrix, all with the same members. */
const ofVisibility = {} as Record<'private' | 'internal' | 'public', TestProject>
/** Those whose profile is private; the second is blocked, too. */
let recluses: TestUser[]
let groupPath: string
let hiddenGroup: string
const browsers = {} as Record<(typeof CALLERS)[number], TestBrowser>
/** Those who may see nothing of what is hidden. */
const OUTSIDE = ['anonymous', 'external', 'user', 'guest', 'developer', 'maintainer'] as const

beforeAll(async () => {
  keeper = await aUser(t.ctx)
  cast = {} as typeof cast
  for (const name of CALLERS)
    cast[name] = name === 'owner' ? keeper : name === 'admin' ? await anAdmin(t.ctx) : await aUser(t.ctx, { external: name === 'external' })
  const group = await aGroup(t.ctx, { creator: keeper, visibility: 'public' })
  const pathOf = async ({ path }: { path: string }) => (await t.api('get', path, keeper).expect(200)).body.full_path as string
  groupPath = await pathOf(group)
  const roles = { guest: cast.guest, reporter: cast.reporter, developer: cast.developer, maintainer: cast.maintainer }
  const files = { 'a.txt': 'one\ntwo\n' }
  open = await aProject(t.ctx, { creator: keeper, namespace_id: group.id, visibility: 'public', files, ...roles })
  const say = (project: TestProject, path: string, body: object) => t.api('post', `${project.path}${path}`, keeper).send(body).expect(201)
  const fill = async (project: TestProject, text: string) => {
    const actions = [{ action: 'update', file_path: 'a.txt', content: 'one\nTWO\n' }]
    await say(project, '/repository/commits', { branch: 'topic', start_branch: 'main', commit_message: text, actions })
    await say(project, '/labels', { name: text, color: '#112233' })
    await say(project, '/milestones', { title: text, description: text })
    await say(project, '/issues', { title: text, description: text, labels: text })
    await say(project, '/merge_requests', { title: text, source_branch: 'topic', target_branch: 'main' })
    await say(project, '/snippets', { title: text, file_name: 'one.txt', content: text, visibility: 'public' })
    await say(project, '/wikis', { title: text, content: text })
    await say(project, '/repository/tags', { tag_name: `tag-${text}`, ref: 'main' })
    await say(project, '/releases', { tag_name: `tag-${text}`, name: text, description: text })
    await furnish(t, project, text, keeper)
    await t.ctx.jobs.drain()
  }
  await fill(open, 'shown')
  ofVisibility.public = open
  for (const visibility of ['private', 'internal'] as const) {
    ofVisibility[visibility] = await aProject(t.ctx, { creator: keeper, visibility, files, ...roles })
    await fill(ofVisibility[visibility], 'kept')
  }
  // what only some see, in a project that everybody sees
  await say(open, '/issues', { title: SENTINEL, description: SENTINEL, confidential: true })
  await say(open, '/issues/2/notes', { body: SENTINEL })
  await say(open, '/issues/1/notes', { body: 'See #2, and !1' })
  await say(open, '/snippets', { title: SENTINEL, file_name: SENTINEL, content: SENTINEL, visibility: 'private' })
  await say(open, '/merge_requests/1/draft_notes', { note: SENTINEL })
  hidden = await aProject(t.ctx, { creator: keeper, visibility: 'private', name: SENTINEL, path: 'kept', description: SENTINEL, files })
  await fill(hidden, SENTINEL)
  await say(open, '/issues/1/notes', { body: `Elsewhere: ${hidden.fullPath}#1 and ${hidden.fullPath}!1` })
  await say(hidden, '/issues/1/notes', { body: `There: ${open.fullPath}#1` })
  hiddenGroup = await pathOf(
    await aGroup(t.ctx, { creator: keeper, visibility: 'private', name: SENTINEL, path: 'kept-group', description: SENTINEL }),
  )
  await t.api('post', '/snippets', keeper).send({ title: SENTINEL, file_name: SENTINEL, content: SENTINEL, visibility: 'private' }).expect(201)
  recluses = [await aUser(t.ctx), await aUser(t.ctx)]
  for (const { id, username } of recluses) {
    const details = { bio: SENTINEL, location: SENTINEL, organization: SENTINEL, website_url: `https://${SENTINEL}.example`, skype: SENTINEL }
    await t
      .api('put', `/users/${id}`, cast.admin)
      .send({ private_profile: true, ...details })
      .expect(200)
    // they take part in what is hidden, and in what is shown
    await t.api('post', `${hidden.path}/members`, keeper).send({ user_id: id, access_level: 40 }).expect(201)
    await t
      .api('post', `${open.path}/issues/1/notes`, keeper)
      .send({ body: `@${username} said so` })
      .expect(201)
  }
  for (const each of recluses) {
    await t.api('post', `${hidden.path}/issues`, each).send({ title: SENTINEL }).expect(201)
    await t.api('post', `${open.path}/issues/1/notes`, each).send({ body: 'shown' }).expect(201)
  }
  await t.api('post', `/users/${recluses[1]?.id}/block`, cast.admin).expect(201)
  await t.ctx.jobs.drain()
  for (const name of CALLERS) {
    browsers[name] = new TestBrowser(t.url)
    if (name === 'anonymous') await browsers[name].open('/users/sign_in')
    else await browsers[name].signIn(cast[name])
  }
}, 180_000)

const shownPlace = (): Place => ({ project: open.fullPath, group: groupPath, user: keeper.username })
/** Nothing of these is there for those outside; of the second, for no caller. */
const hiddenPlace = (): Place => ({ project: hidden.fullPath, group: hiddenGroup, user: keeper.username })
const gonePlace = (): Place => ({ project: `${hidden.fullPath.split('/')[0]}/gone`, group: 'gone-group', user: keeper.username })

const heard = (browser: TestBrowser, path: string, form?: { method: string }) => asking(t.url)(browser, path, form && { _method: form.method })

const QUERIES = ['', `?search=${SENTINEL.slice(0, 5)}&state=all&scope=all`, '?type=issues&term=zyz', '?sort=title_asc&page=1']
/** Those that the page reads something of; the first for every page. */
const queriesOf = ({ input }: { input: { shape: object } }) =>
  QUERIES.filter((query) => query === '' || [...new URLSearchParams(query).keys()].some((key) => key in input.shape))
const isBelow = ({ at }: { at: string }) => /^[PG]/.test(at)

describe('what is hidden', () => {
  it('is on no page for those who may not see it, whatever is asked (SEC-33, SEC-35, SEC-36, WB-342)', async () => {
    const found: string[] = []
    let read = 0
    for (const name of OUTSIDE)
      for (const page of pages) {
        const { at, access } = page
        // members see private snippets of the project, those with a higher role also its confidential issues
        const sees = name === 'developer' || name === 'maintainer' || (name === 'guest' && at.includes('/snippets'))
        if (/sign_out|confirmation|unlock/.test(at)) continue
        for (const query of queriesOf(page)) {
          const { status, text } = await heard(browsers[name], addressOf(at, shownPlace()) + query)
          if (status === 200) read++
          if (status >= 500 || (!sees && text.includes(SENTINEL))) found.push(`${name} ${at}${query} (${access.rule}): ${status}`)
        }
      }
    for (const name of OUTSIDE)
      for (const { username } of recluses)
        for (const page of pages.filter(({ at }) => /^U|:username/.test(at) && !at.startsWith('/admin'))) {
          const path = addressOf(page.at.replace(':username', username), { ...shownPlace(), user: username })
          for (const query of queriesOf(page)) {
            const { status, text } = await heard(browsers[name], path + query)
            if (status >= 500 || text.includes(SENTINEL)) found.push(`${name} ${path}${query}: ${status}`)
          }
        }
    expect(found).toEqual([])
    expect(read).toBeGreaterThan(500)
    // the keeper sees it
    const own = new TestBrowser(t.url)
    await own.signIn(keeper)
    for (const path of [`/${open.fullPath}/-/issues`, `/${hidden.fullPath}`, `/${open.fullPath}/-/merge_requests/1`])
      expect([path, (await own.open(path)).html.includes(SENTINEL)]).toEqual([path, true])
  })

  it('is a page that is missing, for every page and form (SEC-30, WB-3)', async () => {
    const different: string[] = []
    let compared = 0
    // those who are signed in take turns
    for (const [i, each] of [...pages, ...forms].filter(isBelow).entries())
      for (const name of ['anonymous', OUTSIDE[1 + (i % (OUTSIDE.length - 1))]] as (typeof OUTSIDE)[number][]) {
        const form = 'submit' in each ? { method: each.method } : undefined
        const hear = async (place: Place) => bare(await heard(browsers[name], addressOf(each.at, place), form), place)
        const [there, gone] = [await hear(hiddenPlace()), await hear(gonePlace())]
        compared++
        if (there !== gone || there.includes(SENTINEL) || there.startsWith('200'))
          different.push(`${name} ${form?.method ?? 'GET'} ${each.at}: ${there.slice(0, 60)}, gone ${gone.slice(0, 60)}`)
      }
    expect(different).toEqual([])
    expect(compared).toBeGreaterThan(500)
  })
})

describe('what belongs to people who are blocked, private, or both', () => {
  it('is on their pages for those whom the API shows it, and for no others (U-44, WB-342, WB-381)', async () => {
    const wrong: string[] = []
    const shown = new Map<string, number>()
    const { admin, user, guest } = cast
    for (const [i, [isPrivate, isBlocked]] of [
      [false, false],
      [false, true],
      [true, false],
      [true, true],
    ].entries()) {
      const each = await aUser(t.ctx)
      const words = { details: `bio${i}zyx`, activity: `did${i}zyx`, projects: `own${i}zyx` }
      await t.api('put', `/users/${each.id}`, admin).send({ bio: words.details, private_profile: isPrivate }).expect(200)
      await t.api('post', `${open.path}/issues`, each).send({ title: words.activity }).expect(201)
      await aProject(t.ctx, { creator: each, visibility: 'public', name: words.projects })
      if (isBlocked) await t.api('post', `/users/${each.id}/block`, admin).expect(201)
      await t.ctx.jobs.drain()
      for (const [name, who] of Object.entries({ anonymous: undefined, user, guest, admin })) {
        const answers = ['', '/events', '/projects'].map(async (path) => JSON.stringify((await t.api('get', `/users/${each.id}${path}`, who)).body))
        const api = (await Promise.all(answers)).join('\n')
        const texts = []
        for (const path of ['', '?tab=activity', '.atom'])
          texts.push((await heard(browsers[name as keyof typeof browsers], `/${each.username}${path}`)).text)
        const page = texts.join('\n')
        for (const [what, word] of Object.entries(words)) {
          const [there, here] = [api.includes(word), page.includes(word)]
          if (there && here) shown.set(name, (shown.get(name) ?? 0) + 1)
          if (there !== here)
            wrong.push(`${name}, ${isPrivate ? 'private' : 'open'}${isBlocked ? ' and blocked' : ''}, ${what}: API ${there}, page ${here}`)
        }
      }
    }
    expect(wrong).toEqual([])
    expect(Math.min(...shown.values(), shown.size)).toBeGreaterThan(3)
  })
})

describe('the forms', () => {
  it('turn away whom the API turns away, by the same rule (SEC-6)', async () => {
    const wrong: string[] = []
    let compared = 0
    // what a rule says of each visibility is tested once for each rule (test/access/matrix.test.ts); forms take turns
    const places = Object.entries(ofVisibility) as [keyof typeof ofVisibility, TestProject][]
    for (const [turn, { at, method, access }] of forms.entries())
      for (const [visibility, { fullPath }] of places.filter((_, i) => i === turn % places.length))
        for (const [i, name] of CALLERS.entries()) {
          const expected = at.startsWith('P') ? MATRIX[rowOf(access.rule)]?.[visibility].trim().split(/\s+/)[i] : undefined
          if (!expected || expected === 'in') continue
          compared++
          const { status } = await heard(browsers[name], addressOf(at, { ...shownPlace(), project: fullPath }), { method })
          if (String(status) !== expected) wrong.push(`${visibility} ${name} ${method} ${at} (${access.rule}): ${status}, not ${expected}`)
        }
    expect(wrong).toEqual([])
    expect(compared).toBeGreaterThan(400)
  })
})
