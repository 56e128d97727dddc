import { eq } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { notes } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { aCast, statuses } from '../../support/cast.js'
import { gitClient, gitRun } from '../../support/clients/git-client.js'
import { aCommit, aGroup, aProject, type TestProject, type TestUser } from '../../support/factories.js'

const t = testApp()
const client = gitClient(t)

const anIssue = async (project: TestProject, sent: object = {}, caller: TestUser = project.creator) =>
  (
    await t
      .api('post', `${project.path}/issues`, caller)
      .send({ title: 'An issue', ...sent })
      .expect(201)
  ).body
const post = (project: TestProject, what: string, caller: TestUser | null, sent: object = {}, iid = 1) =>
  t.api('post', `${project.path}/issues/${iid}/${what}`, caller).send(sent)
const stateOf = async (project: TestProject, iid: number) => (await t.api('get', `${project.path}/issues/${iid}`, project.creator).expect(200)).body

describe('subscriptions', () => {
  it('an explicit subscription overrides participation, until it is changed (IS-9, SB-1, SB-3, SB-4)', async () => {
    const { project, as } = await aCast(t.ctx)
    await anIssue(project, {}, as.guest)
    await post(project, 'subscribe', as.guest).expect(304)
    expect((await post(project, 'unsubscribe', as.guest).expect(201)).body).toMatchObject({ iid: 1, subscribed: false })
    await post(project, 'unsubscribe', as.guest).expect(304)
    expect((await t.api('get', `${project.path}/issues/1`, as.guest).expect(200)).body.subscribed).toBe(false)
    expect((await post(project, 'subscribe', as.guest).expect(201)).body.subscribed).toBe(true)
    await post(project, 'unsubscribe', as.reporter).expect(304)
    await post(project, 'subscribe', as.reporter).expect(201)
    expect((await t.api('get', `${project.path}/issues/1`, as.developer).expect(200)).body.subscribed).toBe(false)
  })

  it('by being assigned, named, writing a note or making a todo (IS-24)', async () => {
    const { project, as } = await aCast(t.ctx)
    const issue = await anIssue(project, { assignee_id: as.reporter.id, description: `@${as.guest.username}` }, as.owner)
    await post(project, 'todo', as.developer).expect(201)
    const now = new Date()
    const note = { project_id: project.id, noteable_type: 'Issue' as const, noteable_id: issue.id, author_id: as.maintainer.id, note: 'x' }
    await t.ctx.db.write.insert(notes).values({ ...note, created_at: now, updated_at: now })
    for (const who of [as.owner, as.reporter, as.guest, as.developer, as.maintainer]) await post(project, 'subscribe', who).expect(304)
    await post(project, 'unsubscribe', as.admin).expect(304)
  })

  it('is for everyone who sees the issue (IS-9, SEC-119)', async () => {
    const { project, as } = await aCast(t.ctx)
    await anIssue(project, {}, as.owner)
    for (const [role, status] of statuses(201, { anonymous: 401, stranger: 404, owner: 304 }))
      await post(project, 'subscribe', as[role]).expect(status)
  })
})

describe('todos of an issue', () => {
  it('one that waits is enough (IS-10, TO-4, TD-1, TD-2)', async () => {
    const { project, as } = await aCast(t.ctx)
    const issue = await anIssue(project, {}, as.owner)
    const { body } = await post(project, 'todo', as.guest).expect(201)
    const [name, path] = [body.project.name, body.project.path]
    expect(body).toMatchObject({
      project: { id: project.id, name, path, path_with_namespace: project.fullPath },
      group: null,
      author: { id: as.guest.id },
      action_name: 'marked',
      target_type: 'Issue',
      target: { id: issue.id, subscribed: true },
      target_url: issue.web_url,
      body: 'An issue',
      state: 'pending',
    })
    await post(project, 'todo', as.guest).expect(304)
    await t.api('post', `/todos/${body.id}/mark_as_done`, as.guest).expect(201)
    await post(project, 'todo', as.guest).expect(201)
    await t.api('put', `${project.path}/issues/1`, as.owner).send({ assignee_id: as.developer.id }).expect(200)
    await post(project, 'todo', as.developer).expect(304)
    for (const [role, status] of statuses(0, { anonymous: 401, stranger: 404, reporter: 201, admin: 201 }))
      if (status) await post(project, 'todo', as[role]).expect(status)
  })
})

describe('GET /todos', () => {
  it('the own ones, newest first, while they can be seen (TO-1, SEC-119)', async () => {
    const { project, as } = await aCast(t.ctx)
    const other = await aProject(t.ctx, { creator: as.owner, guest: as.guest })
    await anIssue(project, { title: 'one', assignee_id: as.guest.id }, as.owner)
    await anIssue(other, { title: 'two', description: `hi @${as.guest.username}` }, as.owner)
    await anIssue(project, { title: 'secret', assignee_id: as.guest.id, confidential: true }, as.owner)
    const list = async (query = '', who = as.guest) => {
      const answer = await t.api('get', `/todos?${query}`, who).expect(200)
      if (!query.includes('page')) expect(answer.headers['x-total']).toBe(String(answer.body.length))
      return answer.body.map(({ body }: { body: string }) => body)
    }
    expect(await list()).toEqual(['secret', 'two', 'one'])
    expect(await list('action=mentioned')).toEqual(['two'])
    expect(await list(`project_id=${project.id}`)).toEqual(['secret', 'one'])
    expect(await list(`author_id=${as.owner.id}&type=Issue&per_page=1&page=2`)).toEqual(['two'])
    expect(await list(`author_id=${as.guest.id}`)).toEqual([])
    expect(await list('type=MergeRequest')).toEqual([])
    expect(await list('state=done')).toEqual([])
    expect(await list('', as.owner)).toEqual([])
    await t.api('put', `${project.path}/issues/2`, as.owner).send({ assignee_id: 0 }).expect(200)
    expect(await list()).toEqual(['two', 'one'])
    await t.api('delete', `${other.path}/members/${as.guest.id}`, as.owner).expect(204)
    expect(await list()).toEqual(['one'])
    await t.api('get', '/todos', null).expect(401)
    await t.api('get', '/todos?action=x', as.guest).expect(400, { error: 'action does not have a valid value' })
  })

  it('ticked off one by one or all at once (TO-2, TO-3)', async () => {
    const { project, as } = await aCast(t.ctx)
    const group = await aGroup(t.ctx, { creator: as.owner, guest: as.guest })
    const inGroup = await aProject(t.ctx, { creator: as.owner, namespace_id: group.id })
    for (const where of [project, project, inGroup, inGroup]) await anIssue(where, { assignee_id: as.guest.id }, as.owner)
    const { body } = await t.api('get', '/todos', as.guest).expect(200)
    const done = (await t.api('post', `/todos/${body[3].id}/mark_as_done`, as.guest).expect(201)).body
    expect(done).toMatchObject({ id: body[3].id, state: 'done' })
    expect((await t.api('post', `/todos/${body[3].id}/mark_as_done`, as.guest).expect(201)).body).toEqual(done)
    for (const id of [body[0].id, 0, 2_147_483_647])
      await t.api('post', `/todos/${id}/mark_as_done`, as.owner).expect(404, { message: '404 Not found' })
    expect((await t.api('get', `/todos?group_id=${group.id}`, as.guest).expect(200)).body.length).toBe(2)
    await t.api('post', '/todos/mark_as_done', as.guest).send({ group_id: group.id }).expect(204)
    expect((await t.api('get', '/todos', as.guest).expect(200)).body.length).toBe(1)
    await t.api('post', '/todos/mark_as_done', as.guest).expect(204)
    await t.api('get', '/todos', as.guest).expect(200, [])
    expect((await t.api('get', '/todos?state=done', as.guest).expect(200)).body.length).toBe(4)
    await t.api('post', '/todos/mark_as_done', null).expect(401)
  })

  it('asks the database as often for many todos as for one', async () => {
    const { project, as } = await aCast(t.ctx)
    const get = () => t.api('get', '/todos', as.guest).expect(200)
    const counts = async () => {
      await get()
      return (await t.queriesOf(get)).length
    }
    await anIssue(project, { assignee_id: as.guest.id }, as.owner)
    const before = await counts()
    for (let i = 0; i < 5; i++) await anIssue(project, { assignee_id: as.guest.id }, as.owner)
    expect(await counts()).toBe(before)
  })
})

describe('time tracking', () => {
  it.each<[string, number, string]>([
    ['1w 2d 3h30m', (7 * 8 + 3.5) * 3_600, '1w 2d 3h 30m'],
    ['1mo', 576_000, '1mo'],
    ['2', 7_200, '2h'],
    ['90s', 90, '1m 30s'],
    ['5d', 144_000, '1w'],
  ])('%s (IS-21)', async (duration, time_estimate, human_time_estimate) => {
    const project = await aProject(t.ctx)
    await anIssue(project)
    await post(project, 'time_estimate', project.creator, { duration }).expect(200, {
      time_estimate,
      total_time_spent: 0,
      human_time_estimate,
      human_total_time_spent: null,
    })
  })

  it('estimate and time spent (IS-11, IS-12, IS-13, TT-3, TT-5, TT-7, TT-9, TT-10)', async () => {
    const { project, as } = await aCast(t.ctx)
    await anIssue(project)
    const none = { time_estimate: 0, total_time_spent: 0, human_time_estimate: null, human_total_time_spent: null }
    await t.api('get', `${project.path}/issues/1/time_stats`, as.guest).expect(200, none)
    const estimated = { ...none, time_estimate: 12_600, human_time_estimate: '3h 30m' }
    await post(project, 'time_estimate', as.reporter, { duration: '3h30m' }).expect(200, estimated)
    const spent = { ...estimated, total_time_spent: 28_800, human_total_time_spent: '1d' }
    await post(project, 'add_spent_time', as.reporter, { duration: '1d', summary: 'x' }).expect(201, spent)
    await post(project, 'add_spent_time', as.reporter, { duration: '-1h 30m' }).expect(201, {
      ...spent,
      total_time_spent: 23_400,
      human_total_time_spent: '6h 30m',
    })
    await post(project, 'add_spent_time', as.reporter, { duration: '-6h 30m' }).expect(201, estimated)
    await post(project, 'reset_time_estimate', as.reporter).expect(200, none)
    await post(project, 'reset_spent_time', as.reporter).expect(200, none)
    await post(project, 'add_spent_time', as.reporter, { duration: '1h' }).expect(201)
    await post(project, 'reset_spent_time', as.reporter).expect(200, none)
    expect((await stateOf(project, 1)).time_stats).toEqual(none)
  })

  it('faults change nothing (TT-2, TT-4, TT-6, TT-8, SEC-61)', async () => {
    const project = await aProject(t.ctx)
    const { creator } = project
    await anIssue(project)
    await post(project, 'time_estimate', creator, { duration: '1h' }).expect(200)
    await post(project, 'add_spent_time', creator, { duration: '1h' }).expect(201)
    const before = await stateOf(project, 1)
    const format = ['has an invalid format']
    for (const what of ['time_estimate', 'add_spent_time']) await post(project, what, creator).expect(400, { error: 'duration is missing' })
    for (const duration of ['', 'x', '0', '0h', '9999999999y', '-', '1h x']) {
      await post(project, 'time_estimate', creator, { duration }).expect(400, { message: { time_estimate: format } })
      await post(project, 'add_spent_time', creator, { duration }).expect(400, { message: { time_spent: format } })
    }
    await post(project, 'time_estimate', creator, { duration: '-1h' }).expect(400, { message: { time_estimate: format } })
    await post(project, 'add_spent_time', creator, { duration: '2147483647s' }).expect(400, { message: { time_spent: format } })
    await post(project, 'add_spent_time', creator, { duration: '-1h 1s' }).expect(400, {
      message: { time_spent: ['Time to subtract exceeds the total time spent'] },
    })
    expect(await stateOf(project, 1)).toEqual(before)
  })

  it('permissions, in every state (TT-1, SEC-120)', async () => {
    const { project, as } = await aCast(t.ctx)
    await anIssue(project, {}, as.owner)
    await anIssue(project, {}, as.guest)
    await t.api('put', `${project.path}/issues/1`, as.owner).send({ state_event: 'close' }).expect(200)
    const may = statuses(200, { anonymous: 401, stranger: 404, guest: 403 })
    for (const what of ['time_estimate', 'reset_time_estimate', 'add_spent_time', 'reset_spent_time'])
      for (const [role, status] of may)
        await post(project, what, as[role], { duration: '1h' }).expect(what === 'add_spent_time' && status === 200 ? 201 : status)
    await post(project, 'time_estimate', as.guest, { duration: '1h' }, 2).expect(200)
    for (const [role, status] of statuses(200, { anonymous: 401, stranger: 404 }))
      await t.api('get', `${project.path}/issues/1/time_stats`, as[role]).expect(status)
  })

  it('many at once lose none (TT-7)', async () => {
    const project = await aProject(t.ctx)
    await anIssue(project)
    await Promise.all(Array.from({ length: 20 }, () => post(project, 'add_spent_time', project.creator, { duration: '1m' }).expect(201)))
    expect((await stateOf(project, 1)).time_stats.human_total_time_spent).toBe('20m')
  })
})

describe('commits that close issues', () => {
  const states = async (project: TestProject) =>
    (await t.api('get', `${project.path}/issues?sort=asc`, project.creator).expect(200)).body.map(({ state }: { state: string }) => state)

  it('on the default branch, not by the first push, in the name of who moved it (PU-5, IS-22)', async () => {
    const { project, as } = await aCast(t.ctx)
    for (let i = 0; i < 4; i++) await anIssue(project)
    await aCommit(t.ctx, project, { a: 'a' }, { message: 'Closes #1' })
    expect(await states(project)).toEqual(['opened', 'opened', 'opened', 'opened'])
    await aCommit(t.ctx, project, { b: 'b' }, { branch: 'side', start_branch: 'main', message: 'Closes #2' })
    expect((await states(project))[1]).toBe('opened')
    const oid = await aCommit(t.ctx, project, { c: 'c' }, { message: 'Work\n\nFixes #3, `closes #2`' })
    expect(await states(project)).toEqual(['opened', 'opened', 'closed', 'opened'])
    const closed = await stateOf(project, 3)
    expect(closed.closed_by.id).toBe(as.owner.id)
    const [note] = await t.ctx.db.write.select().from(notes).where(eq(notes.noteable_id, closed.id))
    expect(note).toMatchObject({ system: true, note: `closed by commit ${oid}` })
    const work = await client.cloned(client.url(project.fullPath, as.maintainer))
    await gitRun(work, 'merge', '-q', '--no-ff', '-m', 'Merge', 'origin/side')
    await gitRun(work, 'commit', '-q', '--allow-empty', '-m', `Resolves http://roost.test/${project.fullPath}/issues/4`)
    expect((await gitRun(work, 'push', '-q', 'origin', 'HEAD:main')).code).toBe(0)
    expect(await states(project)).toEqual(['opened', 'closed', 'closed', 'closed'])
    expect((await stateOf(project, 4)).closed_by.id).toBe(as.maintainer.id)
  })

  it('other projects by their path, where the caller may close; what they do not see does not change (IS-22, SEC-32)', async () => {
    const group = await aGroup(t.ctx)
    const { creator } = group
    const project = await aProject(t.ctx, { creator, namespace_id: group.id })
    const sister = await aProject(t.ctx, { creator, namespace_id: group.id })
    const own = await aProject(t.ctx, { creator })
    const hidden = await aProject(t.ctx)
    const open = await aProject(t.ctx, { visibility: 'public' })
    for (const each of [project, sister, own, hidden, open]) await anIssue(each)
    await aCommit(t.ctx, project, { a: 'a' })
    const message = `Closes ${sister.fullPath.split('/')[1]}#1, ${own.fullPath}#1 and ${hidden.fullPath}#1, ${open.fullPath}#1, nothing/here#1, #99`
    await aCommit(t.ctx, project, { b: 'b' }, { message })
    for (const [each, state] of [
      [project, 'opened'],
      [sister, 'closed'],
      [own, 'closed'],
      [hidden, 'opened'],
      [open, 'opened'],
    ] as const)
      expect((await states(each))[0]).toBe(state)
  })

  it('the newest 100 new commits alone (PU-5)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    await anIssue(project)
    await anIssue(project)
    const work = await client.cloned(client.url(project.fullPath, project.creator))
    for (let i = 0; i < 102; i++)
      await gitRun(work, 'commit', '-q', '--allow-empty', '-m', i === 0 ? 'Closes #1' : i === 2 ? 'Closes #2' : `commit ${i}`)
    expect((await gitRun(work, 'push', '-q', 'origin', 'HEAD:main')).code).toBe(0)
    expect(await states(project)).toEqual(['opened', 'closed'])
  })
})
