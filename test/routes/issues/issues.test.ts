import { eq } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { notes, projects, subscriptions, todos, users } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { aCast, statuses } from '../../support/cast.js'
import { aGroup, anAdmin, aProject, aUser, type TestProject, type TestUser } from '../../support/factories.js'

const t = testApp()

const create = (project: TestProject, sent: object = {}, caller: TestUser | null = project.creator) =>
  t.api('post', `${project.path}/issues`, caller).send({ title: 'An issue', ...sent })
const anIssue = async (project: TestProject, sent: object = {}, caller: TestUser = project.creator) =>
  (await create(project, sent, caller).expect(201)).body
const at = (project: TestProject, iid: number, more = '') => `${project.path}/issues/${iid}${more}`
const update = (project: TestProject, iid: number, sent: object, caller: TestUser | null = project.creator) =>
  t.api('put', at(project, iid), caller).send(sent)
const systemNotes = async (id: number) =>
  (await t.ctx.db.write.select().from(notes).where(eq(notes.noteable_id, id)).orderBy(notes.id))
    .filter(({ system }) => system)
    .map(({ note }) => note)
const openCount = async (project: TestProject, caller: TestUser) => (await t.api('get', project.path, caller).expect(200)).body.open_issues_count
const projectRow = async ({ id }: TestProject) => (await t.ctx.db.write.select().from(projects).where(eq(projects.id, id)))[0]

describe('POST /projects/:id/issues', () => {
  it('locks the discussion of a new issue for those who may lock one (IS-60)', async () => {
    const { project, as } = await aCast(t.ctx, { visibility: 'public' })
    const sent = { title: 'Locked', discussion_locked: true }
    expect(await anIssue(project, sent, as.reporter)).toMatchObject({ discussion_locked: true })
    expect(await anIssue(project, sent, as.guest)).toMatchObject({ discussion_locked: null })
    const note = (iid: number) => t.api('post', `${project.path}/issues/${iid}/notes`, as.stranger).send({ body: 'x' })
    await note(1).expect(403)
    await note(2).expect(201)
  })

  it('section 15, S-28: an issue with all that it may have (IS-5)', async () => {
    const project = await aProject(t.ctx)
    const { creator } = project
    const member = await aUser(t.ctx)
    await t.api('post', `${project.path}/members`, creator).send({ user_id: member.id, access_level: 30 }).expect(201)
    const { body: milestone } = await t.api('post', `${project.path}/milestones`, creator).send({ title: 'v1', due_date: '2001-01-01' }).expect(201)
    const sent = {
      title: '  First  ',
      description: 'Do\n\n- [ ] a\n- [x] b\n',
      confidential: true,
      assignee_ids: [member.id],
      milestone_id: milestone.id,
      labels: 'bug, a first,bug',
      due_date: '2030-1-2',
    }
    const issue = await anIssue(project, sent)
    const base = `http://roost.test/api/v4${project.path}`
    expect(issue).toMatchObject({
      iid: 1,
      project_id: project.id,
      title: 'First',
      description: sent.description,
      state: 'opened',
      closed_at: null,
      closed_by: null,
      labels: ['a first', 'bug'],
      milestone: { id: milestone.id, title: 'v1', project_id: project.id, expired: true },
      assignee: { id: member.id },
      author: { id: creator.id, username: creator.username },
      type: 'ISSUE',
      issue_type: 'issue',
      user_notes_count: 0,
      upvotes: 0,
      downvotes: 0,
      merge_requests_count: 0,
      due_date: '2030-01-02',
      confidential: true,
      discussion_locked: null,
      web_url: `http://roost.test/${project.fullPath}/issues/1`,
      time_stats: { time_estimate: 0, total_time_spent: 0, human_time_estimate: null, human_total_time_spent: null },
      has_tasks: true,
      task_completion_status: { count: 2, completed_count: 1 },
      moved_to_id: null,
      references: { short: '#1', relative: '#1', full: `${project.fullPath}#1` },
      _links: {
        self: `${base}/issues/1`,
        notes: `${base}/issues/1/notes`,
        award_emoji: `${base}/issues/1/award_emoji`,
        project: base,
      },
      subscribed: true,
    })
    expect(issue.assignees).toEqual([issue.assignee])
    expect((await t.api('get', at(project, 1), creator).expect(200)).body).toEqual(issue)
    const { subscribed, ...listed } = issue
    expect(subscribed).toBe(true)
    expect((await t.api('get', `${project.path}/issues`, creator).expect(200)).body).toEqual([listed])
  })

  it('faults, each without a trace (IS-5, SEC-63)', async () => {
    const project = await aProject(t.ctx)
    const { creator } = project
    const refusals: [object, object][] = [
      [{ title: undefined }, { error: 'title is missing' }],
      [{ title: '' }, { message: { title: ["can't be blank"] } }],
      [{ title: ' \t' }, { message: { title: ["can't be blank"] } }],
      [{ title: 'x'.repeat(256) }, { message: { title: ['is too long (maximum is 255 characters)'] } }],
      [{ description: 'x'.repeat(1_000_001) }, { message: { description: ['is too long (maximum is 1000000 characters)'] } }],
      [{ labels: 'x'.repeat(256) }, { message: { labels: ['is too long (maximum is 255 characters)'] } }],
      [{ labels: Array.from({ length: 101 }, (_, i) => `l${i}`) }, { message: { labels: ['are too many (maximum is 100)'] } }],
      [{ labels: { a: 1 } }, { error: 'labels is invalid' }],
      [{ due_date: 'soon' }, { error: 'due_date is invalid' }],
      [{ confidential: 'perhaps' }, { error: 'confidential is invalid' }],
      [{ assignee_ids: ['x'] }, { error: 'assignee_ids is invalid' }],
      [{ assignee_id: 'x' }, { error: 'assignee_id is invalid' }],
      [{ milestone_id: 'x' }, { error: 'milestone_id is invalid' }],
      [{ iid: 0 }, { error: 'iid is invalid' }],
    ]
    for (const [sent, body] of refusals) await create(project, sent).expect(400, body)
    await t.api('get', `${project.path}/issues`, creator).expect(200, [])
    await t.api('get', `${project.path}/labels`, creator).expect(200, [])
    expect((await anIssue(project, { title: 'x'.repeat(255), labels: 'y'.repeat(255), description: null })).iid).toBe(1)
  })

  it('permissions to create (row 7 of section 5.1, AC-11)', async () => {
    const { project, as } = await aCast(t.ctx)
    for (const [role, status] of statuses(201, { anonymous: 401, stranger: 404 })) await create(project, {}, as[role]).expect(status)
    const open = await aCast(t.ctx, { visibility: 'public' })
    for (const [role, status] of statuses(201, { anonymous: 401 })) await create(open.project, {}, open.as[role]).expect(status)
    await t.api('post', `${project.path}/archive`, as.owner).expect(201)
    for (const [role, status] of statuses(403, { anonymous: 401, stranger: 404 })) await create(project, {}, as[role]).expect(status)
    await t.api('get', at(project, 1), as.guest).expect(200)
  })

  it('row 9 and 11: what the role does not cover is ignored (IS-18)', async () => {
    const { project, as } = await aCast(t.ctx)
    const { body: milestone } = await t.api('post', `${project.path}/milestones`, as.developer).send({ title: 'v1' }).expect(201)
    const sent = {
      labels: 'new',
      assignee_id: as.developer.id,
      milestone_id: milestone.id,
      due_date: '2030-01-01',
      iid: 50,
      created_at: '2001-02-03',
    }
    const byGuest = await anIssue(project, sent, as.guest)
    expect(byGuest).toMatchObject({ iid: 1, labels: [], assignee: null, milestone: null, due_date: null })
    expect(byGuest.created_at.slice(0, 4)).not.toBe('2001')
    await t.api('get', `${project.path}/labels`, as.guest).expect(200, [])
    const byReporter = await anIssue(project, sent, as.reporter)
    expect(byReporter).toMatchObject({
      iid: 2,
      labels: ['new'],
      assignee: { id: as.developer.id },
      milestone: { id: milestone.id },
      due_date: '2030-01-01',
    })
    expect((await t.api('get', `${project.path}/labels/new`, as.guest).expect(200)).body).toMatchObject({ color: '#428BCA', open_issues_count: 1 })
    const byOwner = await anIssue(project, sent, as.owner)
    expect(byOwner).toMatchObject({ iid: 50, created_at: '2001-02-03T00:00:00.000Z' })
  })

  it('links no users and nothing of other projects (IS-18, SEC-32, SEC-115)', async () => {
    const { project, as } = await aCast(t.ctx)
    const other = await aProject(t.ctx, { creator: as.owner })
    const group = await aGroup(t.ctx, { creator: as.owner })
    const { body: theirs } = await t.api('post', `${other.path}/milestones`, as.owner).send({ title: 'theirs' }).expect(201)
    const { body: groups } = await t.api('post', `${group.path}/milestones`, as.owner).send({ title: 'the group' }).expect(201)
    const blocked = await aUser(t.ctx)
    await t.api('post', `${project.path}/members`, as.owner).send({ user_id: blocked.id, access_level: 30 }).expect(201)
    await t.ctx.db.write.update(users).set({ state: 'blocked' }).where(eq(users.id, blocked.id))
    for (const assignee_id of [as.stranger.id, blocked.id, 2_147_483_647, 99_999_999_999])
      expect((await anIssue(project, { assignee_id })).assignee).toBe(null)
    for (const milestone_id of [theirs.id, groups.id, 2_147_483_647]) expect((await anIssue(project, { milestone_id })).milestone).toBe(null)
    // the first who can is taken
    expect((await anIssue(project, { assignee_ids: [as.stranger.id, as.guest.id, as.reporter.id] })).assignee.id).toBe(as.guest.id)
  })

  it('numbers count up for each project, and one that was given is never given again (IS-17, SEC-165)', async () => {
    const project = await aProject(t.ctx)
    const { creator } = project
    const made = await Promise.all(Array.from({ length: 25 }, () => anIssue(project)))
    expect(made.map(({ iid }) => iid).sort((a, b) => a - b)).toEqual(Array.from({ length: 25 }, (_, i) => i + 1))
    await t.api('delete', at(project, 25), creator).expect(204)
    await create(project, { iid: 25 }).expect(400, { message: { iid: ['has already been taken'] } })
    await create(project, { iid: 3 }).expect(400, { message: { iid: ['has already been taken'] } })
    expect((await anIssue(project)).iid).toBe(26)
    expect((await anIssue(project, { iid: 40 })).iid).toBe(40)
    expect((await anIssue(project)).iid).toBe(41)
    expect((await anIssue(await aProject(t.ctx))).iid).toBe(1)
  })

  it('makes todos for assignees and mentioned users who see it (TO-5, IS-23)', async () => {
    const { project, as } = await aCast(t.ctx)
    const group = await aGroup(t.ctx, { creator: as.developer, developer: [as.maintainer, as.stranger] })
    const hidden = await aGroup(t.ctx, { guest: [as.admin] })
    const description = `@${as.guest.username} look, @${as.stranger.username} @${group.fullPath} @${hidden.fullPath} @unknown @${as.developer.username.toUpperCase()} \`@${as.owner.username}\``
    const issue = await anIssue(project, { description, assignee_id: as.reporter.id }, as.developer)
    const made = await t.ctx.db.write.select().from(todos).where(eq(todos.target_id, issue.id))
    const shown = made.map(({ user_id, action, author_id }) => [user_id, action, author_id]).sort((a, b) => Number(a[0]) - Number(b[0]))
    expect(shown).toEqual(
      [
        [as.guest.id, 'directly_addressed', as.developer.id],
        [as.reporter.id, 'assigned', as.developer.id],
        [as.maintainer.id, 'mentioned', as.developer.id],
      ].sort((a, b) => Number(a[0]) - Number(b[0])),
    )
    const secret = await anIssue(project, { description: `@${as.guest.username} @${as.reporter.username}`, confidential: true }, as.developer)
    const ofSecret = await t.ctx.db.write.select().from(todos).where(eq(todos.target_id, secret.id))
    expect(ofSecret.map(({ user_id }) => user_id)).toEqual([as.reporter.id])
  })

  it('counts the project has, and its last activity (GR-4, EV-7, G-86)', async () => {
    const { project, as } = await aCast(t.ctx)
    const before = (await projectRow(project))?.last_activity_at as Date
    await anIssue(project, {}, as.guest)
    await anIssue(project, { confidential: true }, as.guest)
    await anIssue(project, { confidential: true }, as.owner)
    expect((await projectRow(project))?.last_activity_at.getTime()).toBeGreaterThan(before.getTime())
    expect(await openCount(project, as.guest)).toBe(2)
    expect(await openCount(project, as.reporter)).toBe(3)
    expect(await openCount(project, as.admin)).toBe(3)
    const listed = async (caller: TestUser) =>
      (await t.api('get', '/projects?per_page=100', caller).expect(200)).body.find(({ id }: { id: number }) => id === project.id).open_issues_count
    expect(await listed(as.guest)).toBe(2)
    await update(project, 2, { state_event: 'close' }, as.owner).expect(200)
    expect(await listed(as.guest)).toBe(1)
    expect(await listed(as.maintainer)).toBe(2)
    await update(project, 1, { confidential: true }, as.owner).expect(200)
    expect(await openCount(project, as.reporter)).toBe(2)
    await t.api('delete', at(project, 1), as.owner).expect(204)
    await t.api('delete', at(project, 2), as.owner).expect(204)
    await update(project, 3, { state_event: 'close' }, as.owner).expect(200)
    expect(await openCount(project, as.owner)).toBe(0)
    await update(project, 3, { state_event: 'reopen', confidential: false }, as.owner).expect(200)
    expect(await openCount(project, as.guest)).toBe(1)
    await t.ctx.db.write.update(projects).set({ issues_access_level: 0 }).where(eq(projects.id, project.id))
    expect(await openCount(project, as.owner)).toBe(0)
  })
})

describe('GET /projects/:id/issues/:issue_iid', () => {
  it('a confidential issue is not there but for its author, its assignee and reporters (IS-4, AC-14, SEC-30, SEC-35)', async () => {
    const { project, as } = await aCast(t.ctx, { visibility: 'public' })
    await anIssue(project, { confidential: true }, as.owner)
    for (const [role, status] of statuses(200, { anonymous: 404, stranger: 404, guest: 404 })) {
      const answer = await t.api('get', at(project, 1), as[role]).expect(status)
      if (status === 404) expect(answer.body).toEqual({ message: '404 Not found' })
    }
    await t.api('get', at(project, 99), as.stranger).expect(404, { message: '404 Not found' })
    await anIssue(project, { confidential: true }, as.stranger)
    await t.api('get', at(project, 2), as.stranger).expect(200)
    await t.api('get', at(project, 2), as.guest).expect(404)
    await update(project, 2, { assignee_id: as.guest.id }, as.owner).expect(200)
    await t.api('get', at(project, 2), as.guest).expect(200)
    // nothing of it differs from a missing one
    for (const [method, more, kind] of [
      ['put', '', 'Not found'],
      ['delete', '', 'Issue Not Found'],
      ['post', '/move', 'Issue Not Found'],
      ['post', '/subscribe', 'Not found'],
      ['post', '/todo', 'Not found'],
      ['post', '/time_estimate', 'Not found'],
      ['get', '/time_stats', 'Not found'],
      ['get', '/participants', 'Not found'],
      ['get', '/closed_by', 'Not found'],
      ['get', '/related_merge_requests', 'Not found'],
    ] as const) {
      for (const iid of [1, 99])
        await t
          .api(method, at(project, iid, more), as.stranger)
          .send({ title: 'x' })
          .expect(404, { message: `404 ${kind}` })
    }
  })

  it('a switched-off feature refuses every read and write (AC-10, G-68)', async () => {
    const { project, as } = await aCast(t.ctx, { visibility: 'public' })
    await anIssue(project)
    const level = (issues_access_level: number) => t.ctx.db.write.update(projects).set({ issues_access_level }).where(eq(projects.id, project.id))
    await level(10)
    await t.api('get', at(project, 1), null).expect(403, { message: '403 Forbidden' })
    await t.api('get', `${project.path}/issues`, as.stranger).expect(403)
    await create(project, {}, as.stranger).expect(403)
    await t.api('get', at(project, 1), as.guest).expect(200)
    await level(0)
    for (const who of [as.owner, as.admin]) {
      await t.api('get', `${project.path}/issues`, who).expect(403)
      await t.api('get', at(project, 1), who).expect(403)
      await update(project, 1, { title: 'x' }, who).expect(403)
      await t.api('delete', at(project, 1), who).expect(403)
      const { body } = await t.api('get', '/issues?scope=all&per_page=100', who).expect(200)
      expect(body.filter(({ project_id }: { project_id: number }) => project_id === project.id)).toEqual([])
    }
  })

  it('by its number within its project alone (SEC-31, SEC-51, G-3)', async () => {
    const project = await aProject(t.ctx, { visibility: 'public' })
    const other = await aProject(t.ctx, { creator: project.creator })
    await anIssue(other)
    await t.api('get', at(project, 1), project.creator).expect(404, { message: '404 Not found' })
    const issue = await anIssue(project)
    if (issue.id !== 1) await t.api('get', at(project, issue.id), project.creator).expect(404)
    for (const iid of ['x', '1x', '1.0', '%20', '१'])
      await t
        .api('get', `${project.path}/issues/${encodeURIComponent(decodeURIComponent(iid))}`, project.creator)
        .expect(400, { error: 'issue_iid is invalid' })
    for (const iid of ['0', '-1', '2147483648', '9223372036854775808', '1'.repeat(40)])
      await t.api('get', `${project.path}/issues/${iid}`, project.creator).expect(404)
  })
})

describe('PUT /projects/:id/issues/:issue_iid', () => {
  it('changes the given fields and nothing else, and says so in notes (IS-6, NT-6)', async () => {
    const { project, as } = await aCast(t.ctx)
    const issue = await anIssue(project, { title: 'a', description: 'b', labels: 'x,y' }, as.owner)
    const { body: milestone } = await t.api('post', `${project.path}/milestones`, as.owner).send({ title: 'v1' }).expect(201)
    const change = async (sent: object) => (await update(project, 1, sent, as.reporter).expect(200)).body
    expect(await change({ title: ' c ' })).toMatchObject({ title: 'c', description: 'b', labels: ['x', 'y'] })
    expect(await change({ description: '- [ ] x' })).toMatchObject({ description: '- [ ] x', has_tasks: true })
    expect(await change({ labels: 'z,x' })).toMatchObject({ labels: ['x', 'z'] })
    expect(await change({ add_labels: 'n', remove_labels: 'x' })).toMatchObject({ labels: ['n', 'z'] })
    expect(await change({ labels: '' })).toMatchObject({ labels: [] })
    expect(await change({ milestone_id: milestone.id, assignee_id: as.guest.id, due_date: '2030-05-06' })).toMatchObject({
      milestone: { title: 'v1' },
      assignee: { id: as.guest.id },
      due_date: '2030-05-06',
    })
    expect(await change({ assignee_id: as.stranger.id })).toMatchObject({ assignee: { id: as.guest.id } })
    expect(await change({ assignee_ids: '', milestone_id: 0, due_date: '' })).toMatchObject({ milestone: null, assignee: null, due_date: null })
    expect(await change({ assignee_id: as.guest.id, milestone_id: milestone.id })).toMatchObject({ assignee: { id: as.guest.id } })
    expect(await change({ assignee_ids: [0], milestone_id: 999_999 })).toMatchObject({ assignee: null, milestone: null })
    // W-3: one or several, however they are sent
    for (const assigned of [{ assignee_id: [as.guest.id] }, { assignee_ids: `${as.guest.id},999999` }, { assignee_ids: as.guest.id }]) {
      expect(await change(assigned)).toMatchObject({ assignee: { id: as.guest.id } })
      expect(await change({ assignee_id: '' })).toMatchObject({ assignee: null })
    }
    expect(await change({ confidential: true, discussion_locked: true })).toMatchObject({ confidential: true, discussion_locked: true })
    expect(await change({ description: '' })).toMatchObject({ description: '', has_tasks: false })
    const texts = await systemNotes(issue.id)
    expect(texts).toContain('changed the title')
    expect(texts).toContain('added ~"z"')
    expect(texts).toContain('removed ~"y"')
    expect(texts).toContain('made the issue confidential')
    expect((await t.api('get', at(project, 1), as.owner).expect(200)).body.user_notes_count).toBe(0)
  })

  it('updated_at follows every change that is one (MR-55), and is set by owners (IS-6)', async () => {
    const { project, as } = await aCast(t.ctx)
    const first = await anIssue(project, { title: 'a' }, as.owner)
    expect((await update(project, 1, { title: 'a', labels: '', state_event: 'reopen' }, as.owner).expect(200)).body.updated_at).toBe(first.updated_at)
    const second = (await update(project, 1, { labels: 'x' }, as.owner).expect(200)).body
    expect(Date.parse(second.updated_at)).toBeGreaterThan(Date.parse(first.updated_at))
    expect((await update(project, 1, { updated_at: '2001-02-03T04:05:06Z' }, as.owner).expect(200)).body.updated_at).toBe('2001-02-03T04:05:06.000Z')
    expect((await update(project, 1, { title: 'b', updated_at: '2001-02-03T04:05:06Z' }, as.maintainer).expect(200)).body.updated_at).not.toMatch(
      /^2001/,
    )
  })

  it('closing and reopening (IS-19)', async () => {
    const { project, as } = await aCast(t.ctx, { visibility: 'public' })
    await anIssue(project, {}, as.stranger)
    const closed = (await update(project, 1, { state_event: 'close' }, as.reporter).expect(200)).body
    expect(closed).toMatchObject({ state: 'closed', closed_by: { id: as.reporter.id } })
    expect(closed.closed_at).toBe(closed.updated_at)
    expect((await update(project, 1, { state_event: 'close' }, as.owner).expect(200)).body).toEqual({ ...closed, subscribed: false })
    await update(project, 1, { discussion_locked: true }, as.reporter).expect(200)
    await update(project, 1, { state_event: 'reopen' }, as.stranger).expect(403)
    await update(project, 1, { title: 'still theirs' }, as.stranger).expect(200)
    const open = (await update(project, 1, { state_event: 'reopen' }, as.reporter).expect(200)).body
    expect(open).toMatchObject({ state: 'opened', closed_at: null, closed_by: null })
    await update(project, 1, { state_event: 'shut' }, as.owner).expect(400, { error: 'state_event does not have a valid value' })
    const events = (await t.api('get', `${project.path}/events?target_type=issue`, as.owner).expect(200)).body
    expect(events.map((e: { action_name: string }) => e.action_name)).toEqual(['opened', 'closed', 'opened'])
    expect(events[0]).toMatchObject({ target_iid: 1, target_title: 'still theirs', target_type: 'Issue' })
    expect((await t.api('get', `${project.path}/events?action=reopened`, as.owner).expect(200)).body.length).toBe(1)
  })

  it('permissions to change (rows 8 and 9 of section 5.1)', async () => {
    const { project, as } = await aCast(t.ctx, { visibility: 'public' })
    await anIssue(project, {}, as.owner)
    for (const [role, status] of statuses(200, { anonymous: 401, stranger: 403, guest: 403 }))
      await update(project, 1, { title: role }, as[role]).expect(status)
    await anIssue(project, {}, as.guest)
    const byAuthor = (
      await update(
        project,
        2,
        { title: 'mine', labels: 'x', assignee_id: as.owner.id, due_date: '2030-01-01', discussion_locked: true, state_event: 'close' },
        as.guest,
      ).expect(200)
    ).body
    expect(byAuthor).toMatchObject({ title: 'mine', labels: [], assignee: null, due_date: null, discussion_locked: null, state: 'closed' })
    await update(project, 1, { assignee_id: as.guest.id }, as.owner).expect(200)
    await update(project, 1, { description: 'by the assignee' }, as.guest).expect(200)
    await t.api('post', `${project.path}/archive`, as.owner).expect(201)
    for (const who of [as.guest, as.owner, as.admin]) await update(project, 1, { title: 'x' }, who).expect(403)
  })

  it('at least one change; faults leave all as it was (IS-6, W-20)', async () => {
    const { project, as } = await aCast(t.ctx)
    const issue = await anIssue(project, { labels: 'a' }, as.owner)
    const names =
      'title, description, assignee_ids, assignee_id, milestone_id, labels, add_labels, remove_labels, due_date, confidential, discussion_locked, state_event, updated_at'
    await update(project, 1, {}, as.owner).expect(400, { error: `${names} are missing, at least one parameter must be provided` })
    await update(project, 1, { title: '', labels: 'b' }, as.owner).expect(400, { message: { title: ["can't be blank"] } })
    await update(project, 1, { add_labels: 'x'.repeat(256), title: 'new' }, as.owner).expect(400)
    expect((await t.api('get', at(project, 1), as.owner).expect(200)).body).toEqual(issue)
  })

  it('parameters that are not listed change nothing; texts come back as they were (SEC-9, SEC-122)', async () => {
    const { project, as } = await aCast(t.ctx)
    const text = 'Closes #1, other/project!2 <b>\u202e😀</b> ~"x" %x\r\n'
    const issue = await anIssue(
      project,
      { description: text, id: 5, author_id: as.guest.id, state: 'closed', upvotes: 7, user_notes_count: 7 },
      as.owner,
    )
    expect(issue).toMatchObject({ description: text, state: 'opened', author: { id: as.owner.id }, upvotes: 0, user_notes_count: 0 })
    const after = (
      await update(project, 1, { title: 'x', state: 'closed', iid: 9, project_id: 1, moved_to_id: 3, created_at: '2001-01-01' }, as.owner).expect(200)
    ).body
    expect(after).toMatchObject({ iid: 1, state: 'opened', project_id: project.id, moved_to_id: null, created_at: issue.created_at })
  })

  it('who changes an issue is done with it, ticks of a list apart (TO-6, MR-53)', async () => {
    const { project, as } = await aCast(t.ctx)
    await anIssue(project, { description: '- [ ] a' }, as.owner)
    const pending = async () => (await t.api('get', '/todos', as.developer).expect(200)).body.length
    await t.api('post', at(project, 1, '/todo'), as.developer).expect(201)
    await update(project, 1, { description: '- [x] a' }, as.developer).expect(200)
    expect(await pending()).toBe(1)
    await update(project, 1, { title: 'by somebody else' }, as.owner).expect(200)
    expect(await pending()).toBe(1)
    await update(project, 1, { state_event: 'close' }, as.developer).expect(200)
    expect(await pending()).toBe(0)
  })
})

describe('DELETE /projects/:id/issues/:issue_iid', () => {
  it('owners and administrators; nothing of it stays (IS-7)', async () => {
    const { project, as } = await aCast(t.ctx)
    const issue = await anIssue(project, { labels: 'a', description: `@${as.reporter.username}` }, as.guest)
    await t.api('post', at(project, 1, '/todo'), as.developer).expect(201)
    await t.api('post', at(project, 1, '/unsubscribe'), as.guest).expect(201)
    for (const [role, status] of statuses(403, { anonymous: 401, stranger: 404, owner: 0, admin: 0 }))
      if (status) await t.api('delete', at(project, 1), as[role]).expect(status)
    await t.api('delete', at(project, 1), as.owner).set('If-Unmodified-Since', 'Mon, 01 Jan 2001 00:00:00 GMT').expect(412)
    await t.api('delete', at(project, 1), as.owner).expect(204)
    await t.api('delete', at(project, 1), as.owner).expect(404, { message: '404 Issue Not Found' })
    await t.api('get', '/todos', as.developer).expect(200, [])
    await t.api('get', `${project.path}/events?target_type=issue`, as.owner).expect(200, [])
    expect(await t.ctx.db.write.select().from(subscriptions).where(eq(subscriptions.target_id, issue.id))).toEqual([])
    expect((await t.api('get', `${project.path}/labels/a`, as.owner).expect(404)).body).toEqual({ message: '404 Label Not Found' })
  })
})

describe('POST /projects/:id/issues/:issue_iid/move', () => {
  it('a copy takes over, the old one is closed and says where to (IS-8)', async () => {
    const { project, as } = await aCast(t.ctx)
    const to = await aProject(t.ctx, { creator: as.owner, reporter: as.reporter })
    await t.api('post', `${to.path}/labels`, as.owner).send({ name: 'both', color: '#fff' }).expect(201)
    await t.api('post', `${to.path}/milestones`, as.owner).send({ title: 'v1' }).expect(201)
    const { body: milestone } = await t.api('post', `${project.path}/milestones`, as.owner).send({ title: 'v1' }).expect(201)
    await anIssue(project, {}, as.owner)
    const sent = {
      title: 'Moves',
      description: 'see #1 and a/b#2 `#3`',
      labels: 'both,here',
      milestone_id: milestone.id,
      assignee_id: as.guest.id,
      due_date: '2030-01-01',
    }
    const issue = await anIssue(project, sent, as.reporter)
    await t
      .api('post', at(project, 2, '/time_estimate'), as.owner)
      .send({ duration: '1h' })
      .expect(200)
    const moved = (
      await t
        .api('post', at(project, 2, '/move'), as.reporter)
        .send({ to_project_id: to.id })
        .expect(201)
    ).body
    expect(moved).toMatchObject({
      iid: 1,
      project_id: to.id,
      title: 'Moves',
      description: `see ${project.fullPath}#1 and a/b#2 \`#3\``,
      labels: ['both'],
      milestone: { title: 'v1', project_id: to.id },
      assignee: null,
      author: { id: as.reporter.id },
      due_date: '2030-01-01',
      state: 'opened',
      time_stats: { time_estimate: 3600 },
      created_at: issue.created_at,
    })
    const old = (await t.api('get', at(project, 2), as.owner).expect(200)).body
    expect(old).toMatchObject({ state: 'closed', moved_to_id: moved.id, closed_by: { id: as.reporter.id } })
    expect(await systemNotes(old.id)).toContain('moved to another project')
    expect(await systemNotes(moved.id)).toContain('moved from another project')
    expect([await openCount(project, as.owner), await openCount(to, as.owner)]).toEqual([1, 1])
    await t
      .api('post', at(project, 2, '/move'), as.reporter)
      .send({ to_project_id: to.id })
      .expect(400)
  })

  it('row 10: needs the right in both (IS-8)', async () => {
    const { project, as } = await aCast(t.ctx)
    const mine = await aProject(t.ctx, { creator: as.guest, guest: as.reporter })
    const hidden = await aProject(t.ctx)
    await anIssue(project, {}, as.guest)
    const move = (caller: TestUser | null, to_project_id: unknown) => t.api('post', at(project, 1, '/move'), caller).send({ to_project_id })
    await move(null, mine.id).expect(401)
    await move(as.guest, mine.id).expect(403)
    await move(as.reporter, mine.id).expect(400, { message: 'Cannot move issue due to insufficient permissions!' })
    await move(as.reporter, project.id).expect(400, { message: 'Cannot move issue to project it originates from!' })
    await move(as.reporter, hidden.id).expect(404, { message: '404 Project Not Found' })
    await move(as.reporter, 2_147_483_647).expect(404, { message: '404 Project Not Found' })
    await move(as.reporter, undefined).expect(400, { error: 'to_project_id is missing' })
    await t
      .api('post', at(project, 9, '/move'), as.reporter)
      .send({ to_project_id: mine.id })
      .expect(404, { message: '404 Issue Not Found' })
    expect((await t.api('get', at(project, 1), as.owner).expect(200)).body).toMatchObject({ state: 'opened', moved_to_id: null })
  })
})

describe('what hangs on an issue', () => {
  it('participants are those who made it, have it, wrote on it or are named, and see it (IS-16, MR-86)', async () => {
    const { project, as } = await aCast(t.ctx, { visibility: 'public' })
    const issue = await anIssue(project, { description: `@${as.guest.username} @${as.stranger.username}`, assignee_id: as.developer.id }, as.reporter)
    const now = new Date()
    const values = { project_id: project.id, noteable_type: 'Issue' as const, noteable_id: issue.id, note: 'x', created_at: now, updated_at: now }
    await t.ctx.db.write.insert(notes).values({ ...values, author_id: as.maintainer.id })
    const who = async (caller: TestUser | null) =>
      (await t.api('get', at(project, 1, '/participants'), caller).expect(200)).body
        .map(({ id }: { id: number }) => id)
        .sort((a: number, b: number) => a - b)
    const ids = (...people: TestUser[]) => people.map(({ id }) => id).sort((a, b) => a - b)
    expect(await who(null)).toEqual(ids(as.reporter, as.guest, as.stranger, as.developer, as.maintainer))
    await update(project, 1, { description: 'unknown', confidential: true }, as.reporter).expect(200)
    expect(await who(as.owner)).toEqual(ids(as.reporter, as.developer, as.maintainer))
    expect((await t.api('get', at(project, 1, '/participants?per_page=1'), as.owner).expect(200)).headers['x-total']).toBe('3')
  })

  it('no merge request closes it or names it (IS-14, IS-15)', async () => {
    const project = await aProject(t.ctx, { visibility: 'public' })
    await anIssue(project)
    const answer = await t.api('get', at(project, 1, '/closed_by?page=2'), null).expect(200, [])
    expect(answer.headers).toMatchObject({ 'x-total': '0', 'x-page': '2' })
    await t.api('get', at(project, 1, '/related_merge_requests'), null).expect(401)
    await t.api('get', at(project, 1, '/related_merge_requests'), project.creator).expect(200, [])
  })

  it('issues of a deleted user belong to the ghost user, or are deleted with hard_delete; assignments end (U-33, U-34)', async () => {
    const { project, as } = await aCast(t.ctx)
    const admin = await anAdmin(t.ctx)
    await anIssue(project, { title: 'of the guest' }, as.guest)
    await anIssue(project, { title: 'for the guest', assignee_id: as.guest.id }, as.owner)
    await t.api('delete', `/users/${as.guest.id}`, admin).expect(204)
    const { body } = await t.api('get', `${project.path}/issues?sort=asc`, as.owner).expect(200)
    expect(body.map((issue: { author: { username: string }; assignee: unknown }) => [issue.author.username.slice(0, 5), issue.assignee])).toEqual([
      ['ghost', null],
      [as.owner.username.slice(0, 5), null],
    ])
    await anIssue(project, { confidential: true, description: `@${as.owner.username}` }, as.developer)
    await t.api('delete', `/users/${as.developer.id}?hard_delete=true`, admin).expect(204)
    expect((await t.api('get', `${project.path}/issues`, as.owner).expect(200)).body.length).toBe(2)
    expect(await openCount(project, as.owner)).toBe(2)
    await t.api('get', '/todos', as.owner).expect(200, [])
  })

  it('shows events of a confidential issue to those who see it (EV-4, SEC-35)', async () => {
    const { project, as } = await aCast(t.ctx, { visibility: 'public' })
    await anIssue(project, { confidential: true }, as.owner)
    await anIssue(project, { confidential: true }, as.stranger)
    const shown = async (caller: TestUser | null) => {
      const answer = await t.api('get', `${project.path}/events?target_type=issue`, caller).expect(200)
      expect(answer.headers['x-total']).toBe(String(answer.body.length))
      return answer.body.map((event: { target_iid: number }) => event.target_iid)
    }
    expect(await shown(null)).toEqual([])
    expect(await shown(as.guest)).toEqual([])
    expect(await shown(as.stranger)).toEqual([2])
    expect(await shown(as.reporter)).toEqual([2, 1])
  })
})
