import { eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { mergeRequests, notes, projects } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { aCast, type Cast, type Role, statuses } from '../../support/cast.js'
import { aCommit, aGroup, anAdmin, aProject, aUser, type TestProject, type TestUser } from '../../support/factories.js'
import { aMergeRequest } from '../../support/merge-requests.js'
import { bareOf } from '../../support/repositories.js'

const t = testApp()

/** A project with a request by the developer, and one person for each role. */
async function aPlace(given: object = {}, sent: object = {}): Promise<Cast & { id: number; at: string }> {
  const cast = await aCast(t.ctx, { visibility: 'public', ...given })
  const at = `${cast.project.path}/merge_requests/1`
  const { body } = await t
    .api('post', `${cast.project.path}/merge_requests`, cast.as.developer)
    .send({ title: 'A change', source_branch: 'feature', target_branch: 'main', ...sent })
    .expect(201)
  return { ...cast, id: body.id, at }
}
const post = (path: string, caller: TestUser | null, sent: object = {}) => t.api('post', path, caller).send(sent)
const ids = (list: { id: number }[]) => list.map(({ id }) => id).sort((a, b) => a - b)
const stamp = (id: number, values: Partial<typeof mergeRequests.$inferInsert>) =>
  t.ctx.db.write.update(mergeRequests).set(values).where(eq(mergeRequests.id, id))
const hide = (project: TestProject) => t.ctx.db.write.update(projects).set({ visibility: 0 }).where(eq(projects.id, project.id))

describe('time tracking', () => {
  let place: Awaited<ReturnType<typeof aPlace>>
  beforeAll(async () => {
    place = await aPlace()
  })
  const WRITES = [
    ['time_estimate', { duration: '1h' }, 200],
    ['reset_time_estimate', {}, 200],
    ['add_spent_time', { duration: '1h' }, 201],
    ['reset_spent_time', {}, 200],
  ] as const

  it.each(WRITES)('permissions to call %s (TT-1, TT-3, TT-5, TT-7, TT-9, SEC-120, X-14)', async (verb, sent, ok) => {
    const secret = await aPlace({ visibility: 'private' })
    for (const [role, status] of statuses(403, { anonymous: 401, developer: ok, maintainer: ok, owner: ok, admin: ok }))
      expect([role, (await post(`${place.at}/${verb}`, place.as[role as Role], sent)).status]).toEqual([role, status])
    for (const [role, status] of statuses(ok, { anonymous: 401, stranger: 404, guest: 403, reporter: 403 }))
      expect([role, (await post(`${secret.at}/${verb}`, secret.as[role as Role], sent)).status]).toEqual([role, status])
    await post(`${secret.at}/${verb}`, secret.as.guest, sent).expect(403, { message: '403 Forbidden' })
    await post(`${place.project.path}/merge_requests/99/${verb}`, place.as.owner, sent).expect(404, { message: '404 Not found' })
  })

  it('who reads the request reads its times (TT-1, TT-10, SEC-120)', async () => {
    const secret = await aPlace({ visibility: 'private' })
    for (const [role, status] of statuses(200, { anonymous: 401 }))
      expect([role, (await t.api('get', `${place.at}/time_stats`, place.as[role as Role])).status]).toEqual([role, status])
    for (const [role, status] of statuses(200, { anonymous: 401, stranger: 404, guest: 403 }))
      expect([role, (await t.api('get', `${secret.at}/time_stats`, secret.as[role as Role])).status]).toEqual([role, status])
  })

  it('estimated and spent time, also in the merge request (TT-2, TT-3, TT-4, TT-5, TT-6, TT-7, TT-8, TT-9, TT-14, TT-15)', async () => {
    const here = await aPlace()
    const { as, at } = here
    const time = (verb: string, duration?: string) => post(`${at}/${verb}`, as.developer, duration === undefined ? {} : { duration })
    for (const verb of ['time_estimate', 'add_spent_time']) await time(verb).expect(400, { error: 'duration is missing' })
    await time('time_estimate', '3h30m').expect(200, {
      time_estimate: 12_600,
      total_time_spent: 0,
      human_time_estimate: '3h 30m',
      human_total_time_spent: null,
    })
    for (const bad of ['', '0h', '-1h', 'soon'])
      await time('time_estimate', bad).expect(400, { message: { time_estimate: ['has an invalid format'] } })
    await time('add_spent_time', '1d').expect(201)
    for (const bad of ['', '0h', 'soon']) await time('add_spent_time', bad).expect(400, { message: { time_spent: ['has an invalid format'] } })
    await time('add_spent_time', '-9h').expect(400, { message: { time_spent: ['Time to subtract exceeds the total time spent'] } })
    const stats = { time_estimate: 12_600, total_time_spent: 23_400, human_time_estimate: '3h 30m', human_total_time_spent: '6h 30m' }
    await time('add_spent_time', '-1h 30m').expect(201, stats)
    await t.api('get', `${at}/time_stats`, as.guest).expect(200, stats)
    expect((await t.api('get', at, as.guest).expect(200)).body.time_stats).toEqual(stats)
    await time('add_spent_time', '-6.5h').expect(201)
    await time('reset_spent_time').expect(200)
    await time('reset_time_estimate').expect(200, {
      time_estimate: 0,
      total_time_spent: 0,
      human_time_estimate: null,
      human_total_time_spent: null,
    })
  })

  it.each(['closed', 'merged'] as const)('also of a request that is %s (TT-1)', async (state) => {
    const here = await aPlace()
    await stamp(here.id, { state })
    await post(`${here.at}/add_spent_time`, here.as.developer, { duration: '1h' }).expect(201)
  })
})

describe('subscriptions', () => {
  it.each(['subscribe', 'unsubscribe'])('permissions to %s (SB-2, SB-3, SEC-119)', async (verb) => {
    const here = await aPlace()
    const secret = await aPlace({ visibility: 'private' })
    const other = verb === 'subscribe' ? 201 : 304
    for (const [role, status] of statuses(403, {
      anonymous: 401,
      developer: verb === 'subscribe' ? 304 : 201,
      maintainer: other,
      owner: other,
      admin: other,
    }))
      expect([role, (await post(`${here.at}/${verb}`, here.as[role as Role])).status]).toEqual([role, status])
    await post(`${secret.at}/${verb}`, secret.as.guest).expect(403)
    await post(`${secret.at}/${verb}`, secret.as.stranger).expect(404)
  })

  it('twice is 304; a word beats taking part, of the caller alone (SB-1, SB-3, SB-4, MR-11)', async () => {
    const { at, as } = await aPlace()
    const subscribed = async (who: TestUser) => (await t.api('get', at, who).expect(200)).body.subscribed
    const { text } = await post(`${at}/subscribe`, as.developer).expect(304)
    expect(text).toBe('')
    expect((await post(`${at}/unsubscribe`, as.developer).expect(201)).body.subscribed).toBe(false)
    await post(`${at}/unsubscribe`, as.developer).expect(304)
    expect((await post(`${at}/subscribe`, as.owner).expect(201)).body.subscribed).toBe(true)
    await post(`${at}/subscribe`, as.owner).expect(304)
    expect([await subscribed(as.developer), await subscribed(as.owner), await subscribed(as.maintainer)]).toEqual([false, true, false])
    await post(`${at}/subscribe`, as.developer).expect(201)
    expect(await subscribed(as.developer)).toBe(true)
  })

  it('assignees, authors and mentioned users take part (SB-1)', async () => {
    const here = await aPlace()
    const { at, as, project } = here
    const subscribed = async (who: TestUser) => (await t.api('get', at, who).expect(200)).body.subscribed
    await t
      .api('put', at, as.owner)
      .send({ assignee_id: as.reporter.id, description: `@${as.guest.username}` })
      .expect(200)
    const now = new Date()
    await t.ctx.db.write.insert(notes).values({
      project_id: project.id,
      noteable_type: 'MergeRequest',
      noteable_id: here.id,
      author_id: as.stranger.id,
      note: 'Well',
      created_at: now,
      updated_at: now,
    })
    for (const who of [as.reporter, as.guest, as.stranger, as.owner]) expect(await subscribed(who)).toBe(true)
    expect(await subscribed(as.maintainer)).toBe(false)
  })
})

describe('todos', () => {
  it('made by everyone who reads it, for themselves (TD-1, TO-1, TO-4)', async () => {
    const { at, as, project } = await aPlace()
    const { body } = await post(`${at}/todo`, as.guest).expect(201)
    expect(body).toMatchObject({
      action_name: 'marked',
      state: 'pending',
      author: { id: as.guest.id },
      body: 'A change',
      target_type: 'MergeRequest',
      target: { iid: 1, project_id: project.id, subscribed: true },
      target_url: `http://roost.test/${project.fullPath}/merge_requests/1`,
      project: { id: project.id, path_with_namespace: project.fullPath },
    })
    expect((await t.api('get', '/todos?type=MergeRequest', as.guest).expect(200)).body).toEqual([body])
    expect((await t.api('get', '/todos?type=Issue', as.guest).expect(200)).body).toEqual([])
    expect((await t.api('get', '/todos', as.owner).expect(200)).body).toEqual([])
    expect((await post(`/todos/${body.id}/mark_as_done`, as.guest).expect(201)).body).toMatchObject({ id: body.id, state: 'done' })
  })

  it('304 while one is pending, whatever it is; done ones do not count (TD-2, SEC-119)', async () => {
    const { at, as } = await aPlace()
    await t.api('put', at, as.owner).send({ assignee_id: as.reporter.id }).expect(200)
    await post(`${at}/todo`, as.reporter).expect(304)
    await post('/todos/mark_as_done', as.reporter).expect(204)
    await post(`${at}/todo`, as.reporter).expect(201)
    await post(`${at}/todo`, as.reporter).expect(304)
  })

  it('users who may not read it make none, and have none after losing access (TD-1, SEC-119)', async () => {
    const { at, as, project } = await aPlace()
    await post(`${at}/todo`, as.stranger).expect(201)
    await post(`${at}/todo`, as.guest).expect(201)
    await hide(project)
    for (const who of [as.stranger, as.guest]) expect((await t.api('get', '/todos', who).expect(200)).body).toEqual([])
    await post(`${at}/todo`, as.stranger).expect(404)
    await post(`${at}/todo`, as.guest).expect(403)
    await post(`${at}/todo`, null).expect(401)
  })
})

describe('GET …/participants', () => {
  it('author, assignee, commenters and mentioned users, each once, as far as they may read it (MR-86, SEC-44)', async () => {
    const blocked = await aUser(t.ctx, { state: 'blocked' })
    const here = await aPlace()
    const { at, as, project } = here
    await t
      .api('put', at, as.owner)
      .send({ assignee_id: as.reporter.id, title: `@${as.guest.username}`, description: `@${as.developer.username} @${blocked.username}` })
      .expect(200)
    const { body, headers } = await t.api('get', `${at}/participants`, as.stranger).expect(200)
    expect(ids(body)).toEqual(ids([as.developer, as.reporter, as.guest, as.owner]))
    expect(headers['x-total']).toBe('4')
    expect(Object.keys(body[0]).sort()).toEqual(['avatar_url', 'id', 'name', 'state', 'username', 'web_url'])
    expect((await t.api('get', `${at}/participants?per_page=3&page=2`, as.stranger).expect(200)).body).toHaveLength(1)
    await hide(project)
    expect(ids((await t.api('get', `${at}/participants`, as.owner).expect(200)).body)).toEqual(ids([as.developer, as.reporter, as.owner]))
    await t.api('get', `${at}/participants`, as.guest).expect(403)
  })
})

describe('what a request closes', () => {
  const anIssue = (project: TestProject, caller: TestUser, sent: object = {}) =>
    post(`${project.path}/issues`, caller, { title: 'An issue', ...sent }).expect(201)
  const numbers = async (path: string, who: TestUser) =>
    (await t.api('get', path, who).expect(200)).body.map((each: { iid?: number; id: unknown }) => each.iid ?? each.id)

  it('named in texts and commits, each once; keys of other trackers are none (MR-81, MR-82, MR-83, MR-84, SEC-122)', async () => {
    const here = await aPlace({ files: { 'a.txt': 'a' } })
    const { at, as, project } = here
    for (let i = 0; i < 6; i++) await anIssue(project, as.owner, { confidential: i === 4 })
    await post(`${project.path}/issues/2`, as.owner).expect(405)
    await t.api('put', `${project.path}/issues/2`, as.owner).send({ state_event: 'close' }).expect(200)
    await aCommit(
      t.ctx,
      project,
      { 'b.txt': 'b' },
      { branch: 'topic', start_branch: 'main', message: 'Fixes #3\n\nFixes UTF-8 handling and closes PRJ-7' },
    )
    const { body } = await post(`${project.path}/merge_requests`, as.developer, {
      title: 'Resolves #1',
      description: `Closes #1, #2 and ${project.fullPath}#5. Not #6. Implements PRJ-12 and PRJ-7. Closes \`#6\` and \`PRJ-1\``,
      source_branch: 'topic',
      target_branch: 'main',
    }).expect(201)
    const closes = `${project.path}/merge_requests/${body.iid}/closes_issues`
    expect((await numbers(closes, as.reporter)).slice().sort()).toEqual([1, 2, 3, 5])
    expect((await numbers(closes, as.stranger)).slice().sort()).toEqual([1, 2, 3])
    const { body: shown } = await t.api('get', closes, as.stranger).expect(200)
    expect(shown[0]).toMatchObject({ changes_count: '1', project_id: project.id })
    // MR-7: as in every list that has it
    const lists = [
      `issues/1/closed_by`,
      `issues/1/related_merge_requests`,
      'merge_requests?source_branch=topic',
      `repository/commits/topic/merge_requests`,
    ]
    for (const list of lists)
      expect((await t.api('get', `${project.path}/${list}`, as.reporter).expect(200)).body).toMatchObject([{ iid: body.iid, changes_count: '1' }])
    const { body: rest, headers } = await t.api('get', `${closes}?per_page=2&page=2`, as.stranger).expect(200)
    expect([rest.length, headers['x-total']]).toEqual([1, '3'])
    await t.api('put', `${project.path}/merge_requests/${body.iid}`, as.developer).send({ target_branch: 'stable' }).expect(200)
    expect(await numbers(closes, as.reporter)).toEqual([])
    expect(await numbers(`${at}/closes_issues`, as.reporter)).toEqual([])
    await t.api('get', closes, null).expect(401)
  })

  it('the oldest of more than a thousand commits closes, too, and the version has them all (MR-82, MR-92)', async () => {
    const { project, as } = await aCast(t.ctx, { files: { 'a.txt': 'a' } })
    for (let i = 0; i < 2; i++) await anIssue(project, as.owner)
    const bare = bareOf(t, project)
    const parent = bare.git('rev-parse', 'main').trim()
    // more mentions of one issue than are looked up
    const message = (i: number) => (i === 0 ? 'Fixes #1' : 'Closes #2')
    bare.commits(...Array.from({ length: 1_100 }, (_, i) => ({ branch: 'topic', message: message(i), ...(i === 0 && { parents: [parent] }) })))
    const { body } = await post(`${project.path}/merge_requests`, as.owner, { title: 'x', source_branch: 'topic', target_branch: 'main' }).expect(201)
    const request = `${project.path}/merge_requests/${body.iid}`
    expect((await numbers(`${request}/closes_issues`, as.owner)).sort()).toEqual([1, 2])
    const { body: versions } = await t.api('get', `${request}/versions`, as.owner).expect(200)
    const { body: version, headers } = await t.api('get', `${request}/versions/${versions[0].id}`, as.owner).expect(200)
    expect([version.commits.length, version.commits.at(-1).title, headers['x-diff-overflow']]).toEqual([1_100, 'Fixes #1', undefined])
    await t.api('put', `${request}/merge`, as.owner).expect(200)
    await t.ctx.jobs.drain()
    expect((await t.api('get', `${project.path}/issues?state=closed`, as.owner).expect(200)).body).toHaveLength(2)
  })

  it('a merge request in a fork closes no issues of its source, and no hidden ones (MR-85, SEC-122)', async () => {
    const { project, as } = await aCast(t.ctx, { visibility: 'public', files: { 'a.txt': 'a' } })
    await anIssue(project, as.owner)
    const secret = await aProject(t.ctx, { creator: as.owner })
    await anIssue(secret, as.owner)
    const { body: fork } = await post(`${project.path}/fork`, as.stranger).expect(201)
    await t.ctx.jobs.drain()
    const { body } = await post(`/projects/${fork.id}/merge_requests`, as.stranger, {
      title: 'x',
      description: `Closes ${project.fullPath}#1 and ${secret.fullPath}#1`,
      source_branch: 'topic',
      target_branch: 'main',
    }).expect(201)
    expect(await numbers(`/projects/${fork.id}/merge_requests/${body.iid}/closes_issues`, as.stranger)).toEqual([])
  })

  it('section 15: from the side of the issue, following every change (IS-14, IS-15)', async () => {
    const here = await aPlace({ files: { 'a.txt': 'a' } }, { description: 'Closes #1, see #2' })
    const { project, as } = here
    for (let i = 0; i < 2; i++) await anIssue(project, as.owner, { description: i === 1 ? 'Needs !2' : '' })
    const of = async (iid: number, what: string, who: TestUser | null = as.owner) =>
      (await t.api('get', `${project.path}/issues/${iid}/${what}`, who).expect(200)).body.map((each: { iid: number }) => each.iid)
    const count = async (iid: number) => (await t.api('get', `${project.path}/issues/${iid}`, as.owner).expect(200)).body.merge_requests_count
    const change = (iid: number, sent: object) => t.api('put', `${project.path}/merge_requests/${iid}`, as.developer).send(sent).expect(200)
    await change(1, { description: 'Closes #1, see #2!' })
    expect([
      await of(1, 'closed_by'),
      await of(2, 'closed_by'),
      await of(1, 'related_merge_requests'),
      await of(2, 'related_merge_requests'),
    ]).toEqual([[1], [], [1], [1]])
    expect([await count(1), await count(2)]).toEqual([1, 0])
    await post(`${project.path}/merge_requests`, as.developer, { title: 'Second', source_branch: 'topic', target_branch: 'main' }).expect(201)
    expect(await of(2, 'related_merge_requests')).toEqual([1, 2])
    await aCommit(t.ctx, project, { 'b.txt': 'b' }, { branch: 'topic', start_branch: 'main', message: 'Closes #1' })
    await t.ctx.jobs.drain()
    expect(await of(1, 'closed_by')).toEqual([1, 2])
    expect(await count(1)).toBe(2)
    await change(1, { description: 'Nothing' })
    expect([await of(1, 'closed_by'), await of(2, 'related_merge_requests')]).toEqual([[2], [2]])
    await change(2, { target_branch: 'stable' })
    expect([await of(1, 'closed_by'), await of(1, 'related_merge_requests'), await count(1)]).toEqual([[], [2], 0])
    expect(await of(1, 'closed_by', null)).toEqual([])
    await t.api('get', `${project.path}/issues/1/related_merge_requests`, null).expect(401)
  })

  it('only what the reader may read (IS-14, IS-15, SEC-33)', async () => {
    const here = await aPlace({ visibility: 'private' })
    const { project, as } = here
    await anIssue(project, as.owner)
    await t.api('put', here.at, as.developer).send({ description: 'Closes #1' }).expect(200)
    const of = async (who: TestUser) => (await t.api('get', `${project.path}/issues/1/related_merge_requests`, who).expect(200)).body.length
    expect([await of(as.reporter), await of(as.guest)]).toEqual([1, 0])
    await stamp(here.id, { author_id: as.guest.id })
    expect(await of(as.guest)).toBe(1)
  })
})

describe('labels, milestones and projects of merge requests', () => {
  it('labels count the open ones that the caller may read, and are renamed and taken away there (LB-1, LB-9)', async () => {
    const here = await aPlace({ visibility: 'private' }, { labels: 'a' })
    const { project, as, at } = here
    await post(`${project.path}/merge_requests`, as.developer, { title: 'x', source_branch: 'b', target_branch: 'c', labels: 'a' }).expect(201)
    const count = async (who: TestUser) => (await t.api('get', `${project.path}/labels/a`, who).expect(200)).body.open_merge_requests_count
    expect([await count(as.reporter), await count(as.guest)]).toEqual([2, 0])
    await t.api('put', at, as.developer).send({ state_event: 'close' }).expect(200)
    expect(await count(as.reporter)).toBe(1)
    const total = async (query: string) =>
      (await t.api('get', `${project.path}/merge_requests?per_page=1&${query}`, as.owner).expect(200)).headers['x-total']
    expect([await total('labels=a'), await total('labels=b')]).toEqual(['2', '0'])
    await t.api('put', `${project.path}/labels`, as.owner).send({ name: 'a', new_name: 'b' }).expect(200)
    expect([await total('labels=a'), await total('labels=b')]).toEqual(['0', '2'])
    await t.api('delete', `${project.path}/labels?name=b`, as.owner).expect(204)
    expect([await total('labels=b'), await total('labels=None')]).toEqual(['0', '2'])
  })

  it('a deleted milestone is removed from them (MI-5)', async () => {
    const { project, as, at } = await aPlace()
    const { body } = await post(`${project.path}/milestones`, as.owner, { title: 'v1' }).expect(201)
    await t.api('put', at, as.developer).send({ milestone_id: body.id }).expect(200)
    const total = async () => (await t.api('get', `${project.path}/merge_requests?milestone=v1`, as.owner).expect(200)).body.length
    expect(await total()).toBe(1)
    await t.api('delete', `${project.path}/milestones/${body.id}`, as.owner).expect(204)
    expect(await total()).toBe(0)
    expect((await t.api('get', at, as.owner).expect(200)).body.milestone).toBe(null)
  })
})

describe('deleted users and projects', () => {
  it('a member who leaves keeps no assignment where they no longer see anything (ME-12)', async () => {
    const owner = await aUser(t.ctx)
    const group = await aGroup(t.ctx, { creator: owner })
    const member = await aUser(t.ctx)
    const stays = await aProject(t.ctx, { creator: owner, namespace_id: group.id, reporter: member })
    const project = await aProject(t.ctx, { creator: owner, namespace_id: group.id })
    await post(`${group.path}/members`, owner, { user_id: member.id, access_level: 30 }).expect(201)
    for (const path of [stays.path, project.path]) {
      await post(`${path}/issues`, owner, { title: 'x', assignee_id: member.id }).expect(201)
      await post(`${path}/merge_requests`, owner, { title: 'x', source_branch: 'a', target_branch: 'b', assignee_id: member.id }).expect(201)
    }
    const assigned = async (path: string, what: string) =>
      (await t.api('get', `${path}/${what}?assignee_id=Any`, owner).expect(200)).headers['x-total']
    const all = async () => {
      const found: unknown[] = []
      for (const path of [stays.path, project.path]) for (const what of ['issues', 'merge_requests']) found.push(await assigned(path, what))
      return found
    }
    expect(await all()).toEqual(['1', '1', '1', '1'])
    expect((await t.api('get', '/todos', member).expect(200)).body).toHaveLength(4)
    await t.api('delete', `${group.path}/members/${member.id}`, owner).expect(204)
    expect(await all()).toEqual(['1', '1', '0', '0'])
    await post(`${project.path}/members`, owner, { user_id: member.id, access_level: 30 }).expect(201)
    expect((await t.api('get', '/todos', member).expect(200)).body).toHaveLength(2)
  })

  it('merge requests of a deleted user belong to the ghost user, or are deleted (U-34, U-36)', async () => {
    const admin = await anAdmin(t.ctx)
    for (const [hard, status] of [
      [false, 200],
      [true, 404],
    ] as const) {
      const { project, as, at, id } = await aPlace({}, { description: 'Closes #1' })
      await post(`${project.path}/issues`, as.owner, { title: 'One' }).expect(201)
      await t.api('put', at, as.developer).send({ description: 'Closes  #1', assignee_id: as.maintainer.id }).expect(200)
      await stamp(id, { merge_when_pipeline_succeeds: true, merge_user_id: as.maintainer.id })
      await t.api('delete', `/users/${as.maintainer.id}`, admin).expect(204)
      await t.api('delete', `/users/${as.developer.id}?hard_delete=${hard}`, admin).expect(204)
      const { body } = await t.api('get', at, as.owner).expect(status)
      if (!hard) expect(body).toMatchObject({ author: { username: 'ghost' }, assignee: null, merge_when_pipeline_succeeds: false })
      expect((await t.api('get', `${project.path}/merge_requests`, as.owner).expect(200)).body).toHaveLength(hard ? 0 : 1)
      expect((await t.api('get', `${project.path}/issues/1`, as.owner).expect(200)).body.merge_requests_count).toBe(hard ? 0 : 1)
    }
  })

  it('requests from a deleted fork are closed and stay readable (PR-26, SEC-42, SEC-117, G-90)', async () => {
    const { project, as } = await aCast(t.ctx, { visibility: 'public', files: { 'a.txt': 'a' } })
    const { body: made } = await post(`${project.path}/fork`, as.stranger).expect(201)
    await t.ctx.jobs.drain()
    const fork: TestProject = { id: made.id, path: `/projects/${made.id}`, fullPath: made.path_with_namespace, creator: as.stranger }
    const head = await aCommit(t.ctx, fork, { 'b.txt': 'b' }, { branch: 'topic', start_branch: 'main' })
    const { body: request } = await post(`${fork.path}/merge_requests`, as.stranger, {
      title: 'From afar',
      source_branch: 'topic',
      target_branch: 'main',
      target_project_id: project.id,
    }).expect(201)
    expect(request).toMatchObject({ source_project_id: fork.id, sha: head, merge_status: 'can_be_merged' })
    await t.api('delete', fork.path, as.stranger).expect(202)
    await t.ctx.jobs.drain()
    const at = `${project.path}/merge_requests/1`
    const { body } = await t.api('get', at, as.owner).expect(200)
    expect(body).toMatchObject({ state: 'closed', source_project_id: fork.id, sha: head })
    for (const what of ['commits', 'versions', 'participants', 'closes_issues', 'pipelines'])
      await t.api('get', `${at}/${what}`, as.owner).expect(200)
    expect((await t.api('get', `${at}/changes`, as.owner).expect(200)).body.changes).toHaveLength(1)
    expect((await t.api('get', `${project.path}/merge_requests?state=closed`, as.owner).expect(200)).body).toHaveLength(1)
    expect((await t.api('put', at, as.owner).send({ state_event: 'reopen' }).expect(200)).body.state).toBe('closed')
  })

  it('shows merge requests with reversed, missing and deleted branches (SEC-117)', async () => {
    const { project, as } = await aCast(t.ctx, { visibility: 'public', files: { 'a.txt': 'a' } })
    await aCommit(t.ctx, project, { 'b.txt': 'b' }, { branch: 'one', start_branch: 'main' })
    await aCommit(t.ctx, project, { 'c.txt': 'c' }, { branch: 'two', start_branch: 'main' })
    const { body: fork } = await post(`${project.path}/fork`, as.stranger).expect(201)
    await t.ctx.jobs.drain()
    const open = (path: string, source_branch: string, target_branch: string, more: object = {}, who = as.owner) =>
      post(`${path}/merge_requests`, who, { title: `${source_branch} to ${target_branch}`, source_branch, target_branch, ...more }).expect(201)
    await open(project.path, 'one', 'two')
    await open(project.path, 'two', 'one')
    await open(project.path, 'nowhere', 'main')
    await open(project.path, 'one', 'nowhere')
    await open(`/projects/${fork.id}`, 'main', 'main', { target_project_id: project.id }, as.stranger)
    await t.api('delete', `${project.path}/repository/branches/two`, as.owner).expect(204)
    await t.ctx.jobs.drain()
    const { body: list } = await t.api('get', `${project.path}/merge_requests?state=all`, as.owner).expect(200)
    expect(list).toHaveLength(5)
    for (const { iid } of list)
      for (const what of ['', '/changes', '/commits', '/versions', '/closes_issues', '/participants'])
        await t.api('get', `${project.path}/merge_requests/${iid}${what}`, as.owner).expect(200)
  })
})

describe('todos of all kinds', () => {
  it('each says why it is there, and is found by that (TD-3, TO-1, TO-5)', async () => {
    const [person, other] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { visibility: 'public', files: { a: 'a' }, developer: [person, other] })
    const request = await aMergeRequest(t, { project, caller: person })
    const named = await aMergeRequest(t, { project, sent: { description: `Look, @${person.username}` } })
    await t
      .api('post', `${named.path}/notes`, other)
      .send({ body: `@${person.username} now` })
      .expect(201)
    await t.api('put', named.path, project.creator).send({ assignee_id: person.id }).expect(200)
    await t.api('post', `${project.path}/issues`, other).send({ title: 'x', assignee_id: person.id }).expect(201)
    await t.api('post', `${project.path}/issues`, other).send({ title: 'y' }).expect(201)
    await t.api('post', `${project.path}/issues/2/todo`, person).expect(201)
    const { sha } = (await t.api('get', request.path, person).expect(200)).body
    await t.api('post', `${project.path}/statuses/${sha}`, other).send({ state: 'failed', ref: request.source }).expect(201)

    const list = async (query: string) => (await t.api('get', `/todos?${query}`, person).expect(200)).body
    for (const [action, count] of [
      ['assigned', 2],
      ['mentioned', 1],
      ['directly_addressed', 1],
      ['marked', 1],
      ['build_failed', 1],
      ['unmergeable', 0],
      ['approval_required', 0],
    ] as const) {
      const found = await list(`action=${action}`)
      expect([action, found.length]).toEqual([action, count])
      for (const { action_name, state } of found) expect([action_name, state]).toEqual([action, 'pending'])
    }
    await t.api('get', '/todos?action=asked', person).expect(400)
    await t.api('post', '/todos/mark_as_done?action=approval_required', person).expect(204)
    expect(await list('')).toHaveLength(6)
    await t.api('post', '/todos/mark_as_done?action=assigned', person).expect(204)
    expect((await list('state=done')).map(({ action_name }: { action_name: string }) => action_name)).toEqual(['assigned', 'assigned'])
    expect(await list('')).toHaveLength(4)
  })
})
