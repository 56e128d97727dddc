import { eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { issues, mergeRequestIssues, mergeRequests, mergeRequestVersions, projects, users } from '../../../src/db/schema/index.js'
import { recover } from '../../../src/services/operations/recovery.js'
import { testApp } from '../../support/app.js'
import { aCast, type Cast, type Role, statuses } from '../../support/cast.js'
import { aCommit, aGroup, aProject, aUser, type TestProject, type TestUser } from '../../support/factories.js'

const t = testApp()

/** A project with a branch to merge, and one person for each role. */
async function aPlace(given: object = {}): Promise<Cast> {
  const cast = await aCast(t.ctx, { visibility: 'public', files: { 'a.txt': 'a' }, ...given })
  await aCommit(t.ctx, cast.project, { 'b.txt': 'b' }, { branch: 'feature', start_branch: 'main' })
  return cast
}
const create = (project: TestProject, caller: TestUser | null, sent: object = {}) =>
  t.api('post', `${project.path}/merge_requests`, caller).send({ title: 'A change', source_branch: 'feature', target_branch: 'main', ...sent })
const aFork = async (source: TestProject, creator: TestUser): Promise<TestProject> => {
  const { body } = await t.api('post', `${source.path}/fork`, creator).send({}).expect(201)
  await t.ctx.jobs.drain()
  return { id: body.id, path: `/projects/${body.id}`, fullPath: body.path_with_namespace, creator }
}

describe('POST /projects/:id/merge_requests', () => {
  let cast: Cast
  beforeAll(async () => {
    cast = await aPlace()
  })

  it('answers all there is (MR-1, MR-3, MR-10, MR-29, X-5, X-6)', async () => {
    const { project, as } = await aPlace()
    const { body: milestone } = await t.api('post', `${project.path}/milestones`, as.owner).send({ title: 'v1' }).expect(201)
    const { body } = await create(project, as.developer, {
      title: '  A change ',
      description: 'Why\n\n- [x] one\n- [ ] two',
      labels: 'b,a',
      milestone_id: milestone.id,
      assignee_id: as.reporter.id,
      remove_source_branch: true,
      squash: true,
    }).expect(201)
    expect(body).toMatchObject({
      iid: 1,
      project_id: project.id,
      target_project_id: project.id,
      source_project_id: project.id,
      title: 'A change',
      description: 'Why\n\n- [x] one\n- [ ] two',
      state: 'opened',
      author: { id: as.developer.id },
      assignee: { id: as.reporter.id },
      assignees: [{ id: as.reporter.id }],
      reviewers: [],
      labels: ['a', 'b'],
      milestone: { id: milestone.id, title: 'v1' },
      source_branch: 'feature',
      target_branch: 'main',
      work_in_progress: false,
      draft: false,
      merge_when_pipeline_succeeds: false,
      merge_commit_sha: null,
      should_remove_source_branch: null,
      force_remove_source_branch: true,
      squash: true,
      discussion_locked: null,
      subscribed: true,
      user_notes_count: 0,
      upvotes: 0,
      downvotes: 0,
      merged_by: null,
      merged_at: null,
      closed_by: null,
      closed_at: null,
      web_url: `http://roost.test/${project.fullPath}/merge_requests/1`,
      references: { short: '!1', relative: '!1', full: `${project.fullPath}!1` },
      task_completion_status: { count: 2, completed_count: 1 },
      time_stats: { time_estimate: 0, total_time_spent: 0, human_time_estimate: null, human_total_time_spent: null },
      user: { can_merge: false },
      merge_error: null,
    })
    expect(body).not.toHaveProperty('allow_collaboration')
    const { body: read } = await t.api('get', `${project.path}/merge_requests/1`, as.developer).expect(200)
    expect(read).toEqual(body)
    const { body: other } = await t.api('get', `${project.path}/merge_requests/1`, as.stranger).expect(200)
    expect(other).toEqual({ ...body, subscribed: false })
    const { body: master } = await t.api('get', `${project.path}/merge_requests/1`, as.maintainer).expect(200)
    expect(master.user).toEqual({ can_merge: true })
  })

  it('fields that were not given have the default of their type (MR-29, MR-10)', async () => {
    const { project, as } = await aPlace()
    const { body } = await create(project, as.owner, { description: null }).expect(201)
    expect(body).toMatchObject({ description: '', labels: [], milestone: null, assignee: null, assignees: [], force_remove_source_branch: false })
  })

  it.each(statuses(403, { anonymous: 401, developer: 201, maintainer: 201, owner: 201, admin: 201 }))(
    'by %s to a public project: %i (MR-23)',
    async (role, status) => {
      const { project, as } = cast
      await create(project, as[role as Role], { target_branch: `for-${role}` }).expect(status)
    },
  )

  it.each([
    [{}, 'title is missing, source_branch is missing, target_branch is missing'],
    [{ title: 'x' }, 'source_branch is missing, target_branch is missing'],
    [{ source_branch: 'x' }, 'title is missing, target_branch is missing'],
    [{ title: 'x', source_branch: 'x', target_branch: 'y', remove_source_branch: 'maybe' }, 'remove_source_branch is invalid'],
    [{ title: 'x', source_branch: 'x', target_branch: 'y', assignee_id: 'x' }, 'assignee_id is invalid'],
  ])('%j is refused before anybody asks who may (MR-28, G-10)', async (sent, error) => {
    for (const caller of [cast.as.owner, cast.as.guest])
      await t.api('post', `${cast.project.path}/merge_requests`, caller).send(sent).expect(400, { error })
    await t.api('post', '/projects/999999/merge_requests', cast.as.owner).send(sent).expect(400, { error })
  })

  it('one branch into itself (G-38, MR-30, SEC-110)', async () => {
    await create(cast.project, cast.as.owner, { source_branch: 'main' }).expect(422, {
      error: ['You can not use same project/branch for source and target'],
    })
  })

  it('a target that is missing, hidden, or no relative (G-38, MR-24, MR-31, SEC-110, SEC-32)', async () => {
    const { project, as } = cast
    const hidden = await aProject(t.ctx)
    const stranger = await aProject(t.ctx, { visibility: 'public' })
    for (const id of [hidden.id, 999_999, 2_147_483_648])
      await create(project, as.developer, { target_project_id: id }).expect(404, { message: '404 Not found' })
    await create(project, as.developer, { target_project_id: stranger.id }).expect(422, {
      error: ['Source project is not a fork of the target project'],
    })
    await create(project, as.developer, { target_project_id: '', target_branch: 'blank-is-none' }).expect(201)
  })

  it('one open request for the same branches (MR-32, MR-35, MR-40, SEC-110)', async () => {
    const { project, as } = await aPlace()
    await create(project, as.developer, { title: 'The "first"' }).expect(201)
    await create(project, as.owner, { title: 'Another' }).expect(409, {
      message: ['Cannot Create: This merge request already exists: ["The "first""]'],
    })
    await create(project, as.owner, { target_branch: 'stable' }).expect(201)
    await t.ctx.db.write.update(mergeRequests).set({ state: 'closed' }).where(eq(mergeRequests.project_id, project.id))
    await create(project, as.owner).expect(201)
  })

  it('of many at once for the same branches one is made, and numbers have no gaps (MR-32, SEC-165)', async () => {
    const { project, as } = await aPlace()
    const same = await Promise.all(Array.from({ length: 8 }, () => create(project, as.owner).then(({ status }) => status)))
    expect(same.sort()).toEqual([201, 409, 409, 409, 409, 409, 409, 409])
    const others = await Promise.all(
      Array.from({ length: 8 }, (_, i) => create(project, as.owner, { target_branch: `to-${i}` }).then(({ body }) => body.iid)),
    )
    expect(others.sort((a, b) => a - b)).toEqual([2, 3, 4, 5, 6, 7, 8, 9])
  })

  it('switched off or archived, here and there (MR-23, MR-33, MR-40, G-69, AC-10, AC-11)', async () => {
    const { project, as } = await aPlace()
    const fork = await aFork(project, as.stranger)
    const put = (values: Partial<typeof projects.$inferInsert>, { id }: TestProject) =>
      t.ctx.db.write.update(projects).set(values).where(eq(projects.id, id))
    const propose = (n: number) => create(fork, as.stranger, { target_project_id: project.id, target_branch: `to-${n}` })
    const off = { error: ['Target project has disabled merge requests'] }
    await put({ merge_requests_access_level: 0 }, project)
    await create(project, as.owner).expect(403)
    await propose(1).expect(422, off)
    await put({ merge_requests_access_level: 10 }, project)
    await propose(2).expect(422, off)
    await put({ merge_requests_access_level: 20, repository_access_level: 0 }, project)
    await propose(3).expect(422, off)
    await put({ repository_access_level: 20, archived: true }, project)
    await propose(4).expect(403)
    await create(project, as.owner).expect(403)
    await put({ archived: false }, project)
    await put({ archived: true }, fork)
    await propose(5).expect(403)
    await put({ archived: false, merge_requests_access_level: 0 }, fork)
    await propose(6).expect(403)
    await put({ merge_requests_access_level: 20 }, fork)
    const { body } = await propose(7).expect(201)
    expect(body).toMatchObject({ iid: 1, project_id: project.id, source_project_id: fork.id, allow_collaboration: false })
  })

  it('forks of forks and forks side by side are one network (MR-31)', async () => {
    const { project, as } = await aPlace()
    const one = await aFork(project, as.stranger)
    const other = await aFork(one, as.guest)
    const third = await aFork(project, as.reporter)
    await t.api('put', `${one.path}`, as.stranger).send({ visibility: 'public' }).expect(200)
    await create(other, as.guest, { target_project_id: project.id }).expect(201)
    await create(other, as.guest, { target_project_id: third.id }).expect(201)
    await create(project, as.owner, { target_project_id: one.id }).expect(201)
  })

  it.each([
    [{ title: '' }, { title: ["can't be blank"] }],
    [{ title: ' \t' }, { title: ["can't be blank"] }],
    [{ title: 'x'.repeat(256) }, { title: ['is too long (maximum is 255 characters)'] }],
    [{ source_branch: '' }, { source_branch: ["can't be blank"] }],
    [{ target_branch: ' ' }, { target_branch: ["can't be blank"] }],
    [
      { title: '', target_branch: '' },
      { title: ["can't be blank"], target_branch: ["can't be blank"] },
    ],
    [{ labels: 'x'.repeat(256) }, { labels: ['is too long (maximum is 255 characters)'] }],
  ])('%j (MR-34, MR-27, SEC-63)', async (sent, message) => {
    await create(cast.project, cast.as.owner, sent).expect(400, { message })
  })

  it('titles up to their length (MR-34)', async () => {
    await create(cast.project, cast.as.owner, { title: 'x'.repeat(255), target_branch: 'long' }).expect(201)
  })

  it('without developer on the target nothing but the texts is taken (MR-25, SEC-32, SEC-115)', async () => {
    const { project, as } = await aPlace()
    const fork = await aFork(project, as.stranger)
    const { body: milestone } = await t.api('post', `${project.path}/milestones`, as.owner).send({ title: 'v1' }).expect(201)
    await t.api('post', `${project.path}/labels`, as.owner).send({ name: 'known', color: '#123456' }).expect(201)
    const { body } = await create(fork, as.stranger, {
      target_project_id: project.id,
      assignee_id: as.owner.id,
      milestone_id: milestone.id,
      labels: 'known,unknown',
      squash: true,
      allow_collaboration: true,
    }).expect(201)
    expect(body).toMatchObject({
      assignee: null,
      milestone: null,
      labels: [],
      squash: true,
      allow_collaboration: true,
      author: { id: as.stranger.id },
    })
    const { body: labels } = await t.api('get', `${project.path}/labels`, as.owner).expect(200)
    expect(labels.map(({ name }: { name: string }) => name)).toEqual(['known'])
  })

  it('assigns only users who may read it: neither blocked users nor strangers, nor guests of a private project (MR-26, SEC-115)', async () => {
    const { project, as } = await aPlace({ visibility: 'private' })
    const blocked = await aUser(t.ctx)
    await t.api('post', `${project.path}/members`, as.owner).send({ user_id: blocked.id, access_level: 40 }).expect(201)
    await t.ctx.db.write.update(users).set({ state: 'blocked' }).where(eq(users.id, blocked.id))
    let n = 0
    const assigned = async (sent: object) =>
      (await create(project, as.owner, { ...sent, target_branch: `to-${n++}` }).expect(201)).body.assignee?.id ?? null
    for (const id of [blocked.id, as.stranger.id, as.guest.id, 999_999, 0, '']) expect([id, await assigned({ assignee_id: id })]).toEqual([id, null])
    expect(await assigned({ assignee_id: as.reporter.id })).toBe(as.reporter.id)
    expect(await assigned({ assignee_ids: [as.reporter.id, as.owner.id] })).toBe(as.reporter.id)
    expect(await assigned({ assignee_ids: '' })).toBe(null)
  })

  it('a milestone of the project or its group, no other (MR-26, MI-8, SEC-115)', async () => {
    const owner = await aUser(t.ctx)
    const group = await aGroup(t.ctx, { creator: owner })
    const { project } = await aPlace({ creator: owner, namespace_id: group.id, visibility: 'private' })
    const elsewhere = await aProject(t.ctx, { creator: owner })
    const milestoneOf = async (path: string) =>
      (
        await t
          .api('post', `${path}/milestones`, owner)
          .send({ title: `m ${path}` })
          .expect(201)
      ).body.id
    let n = 0
    const set = async (milestone_id: unknown) =>
      (await create(project, owner, { milestone_id, target_branch: `to-${n++}` }).expect(201)).body.milestone?.id ?? null
    const [own, inherited, foreign] = [await milestoneOf(project.path), await milestoneOf(group.path), await milestoneOf(elsewhere.path)]
    expect([await set(own), await set(inherited), await set(foreign), await set(999_999), await set('')]).toEqual([own, inherited, null, null, null])
  })

  it('adds labels by title, and creates unknown ones with the default colour (MR-27)', async () => {
    const { project, as } = await aPlace()
    await t.api('post', `${project.path}/labels`, as.owner).send({ name: 'known', color: '#123456' }).expect(201)
    const { body } = await create(project, as.developer, { labels: ['new', ' known '] }).expect(201)
    expect(body.labels).toEqual(['known', 'new'])
    const { body: labels } = await t.api('get', `${project.path}/labels`, as.owner).expect(200)
    expect(labels).toMatchObject([
      { name: 'known', color: '#123456' },
      { name: 'new', color: '#428BCA' },
    ])
  })

  it('what counts as work in progress (MR-4)', async () => {
    const { project, as } = await aPlace()
    const titles = { '[WIP] x': true, 'WIP: x': true, 'wip x': true, '[wip]x': true, WIPx: false, 'x WIP': false, 'WIP:': true, '[WIP': false }
    for (const [title, expected] of Object.entries(titles)) {
      const { body } = await create(project, as.owner, { title, target_branch: `for ${title}` }).expect(201)
      expect([title, body.work_in_progress, body.draft]).toEqual([title, expected, expected])
    }
  })

  it('makes todos for assignees and mentioned users, and an event of the project (MR-38, TO-5, EV-5)', async () => {
    const { project, as } = await aPlace()
    await create(project, as.owner, { assignee_id: as.developer.id, description: `see @${as.reporter.username} and @${as.owner.username}` }).expect(
      201,
    )
    const todosOf = async (who: TestUser) => (await t.api('get', '/todos', who).expect(200)).body
    expect(await todosOf(as.developer)).toMatchObject([
      { action_name: 'assigned', target_type: 'MergeRequest', target: { iid: 1, subscribed: true } },
    ])
    expect(await todosOf(as.reporter)).toMatchObject([{ action_name: 'mentioned', target: { iid: 1, subscribed: true } }])
    expect(await todosOf(as.owner)).toEqual([])
    const { body: events } = await t.api('get', `${project.path}/events?target_type=merge_request`, as.guest).expect(200)
    expect(events).toMatchObject([
      { action_name: 'opened', target_type: 'MergeRequest', target_iid: 1, target_title: 'A change', author_id: as.owner.id },
    ])
    await t.api('get', `${project.path}/events?target_type=merge_request`, null).expect(200, [])
  })
})

describe('a kill while a request was made', () => {
  it('the next start draws the version that is missing, and finds what the request closes (SEC-158)', async () => {
    const { project, as } = await aPlace()
    await t.api('post', `${project.path}/issues`, as.owner).send({ title: 'One' }).expect(201)
    const { body } = await create(project, as.owner, { description: 'Closes #1' }).expect(201)
    expect(body).toMatchObject({ merge_status: 'can_be_merged', changes_count: '1' })
    // what the first transaction leaves
    await t.ctx.db.write.delete(mergeRequestVersions).where(eq(mergeRequestVersions.merge_request_id, body.id))
    await t.ctx.db.write.delete(mergeRequestIssues).where(eq(mergeRequestIssues.merge_request_id, body.id))
    await t.ctx.db.write
      .update(mergeRequests)
      .set({ sha: null, changes_count: '0', merge_status: 'unchecked', links_due: true })
      .where(eq(mergeRequests.id, body.id))
    await t.ctx.db.write.update(issues).set({ merge_requests_count: 0 }).where(eq(issues.project_id, project.id))
    await recover(t.ctx)
    await t.ctx.jobs.drain()
    const { body: after } = await t.api('get', `${project.path}/merge_requests/1`, as.owner).expect(200)
    expect(after).toMatchObject({ merge_status: 'can_be_merged', changes_count: '1', sha: body.sha, diff_refs: body.diff_refs })
    expect((await t.api('get', `${project.path}/issues/1/closed_by`, as.owner).expect(200)).body).toHaveLength(1)
    expect((await t.api('get', `${project.path}/issues/1`, as.owner).expect(200)).body.merge_requests_count).toBe(1)
  })
})

describe('who reads a merge request', () => {
  const on = (project: TestProject, iid: number | string, caller: TestUser | null) => t.api('get', `${project.path}/merge_requests/${iid}`, caller)

  it.each([
    ['public', statuses(200, { anonymous: 401 })],
    ['internal', statuses(200, { anonymous: 401 })],
    ['private', statuses(200, { anonymous: 401, stranger: 404, guest: 403 })],
  ] as const)('1.10, SEC-30: of a project that is %s', async (visibility, expected) => {
    const { project, as } = await aPlace({ visibility })
    await create(project, as.owner).expect(201)
    for (const [role, status] of expected) expect([role, (await on(project, 1, as[role])).status]).toEqual([role, status])
    const external = await aUser(t.ctx, { external: true })
    await on(project, 1, external).expect(visibility === 'public' ? 200 : 404)
  })

  it('1.10: a guest of a private project reads what they are the author or the assignee of', async () => {
    const { project, as } = await aPlace({ visibility: 'private' })
    for (const [i, column] of (['author_id', 'assignee_ids'] as const).entries()) {
      const { body } = await create(project, as.owner, { target_branch: column }).expect(201)
      await on(project, i + 1, as.guest).expect(403, { message: '403 Forbidden' })
      await t.ctx.db.write
        .update(mergeRequests)
        .set(column === 'author_id' ? { author_id: as.guest.id } : { assignee_ids: [as.guest.id] })
        .where(eq(mergeRequests.id, body.id))
      await on(project, i + 1, as.guest).expect(200)
    }
  })

  it('found by its number in its own project alone (SEC-31, MR-1)', async () => {
    const one = await aPlace()
    const other = await aPlace({ creator: one.as.owner })
    const { body } = await create(one.project, one.as.owner).expect(201)
    const missing = { message: '404 Not found' }
    await on(other.project, 1, one.as.owner).expect(404, missing)
    if (body.id !== 1) await on(one.project, body.id, one.as.owner).expect(404, missing)
    for (const iid of ['0', '-1', '99999999999']) await on(one.project, iid, one.as.owner).expect(404, missing)
    for (const iid of ['x', '1.5']) await on(one.project, iid, one.as.owner).expect(400, { error: 'merge_request_iid is invalid' })
    await t.api('get', `/projects/999999/merge_requests/1`, one.as.owner).expect(404, { message: '404 Project Not Found' })
  })

  it('a disabled feature is 403 (AC-10, G-68)', async () => {
    const { project, as } = await aPlace()
    await create(project, as.owner).expect(201)
    const put = (values: Partial<typeof projects.$inferInsert>) => t.ctx.db.write.update(projects).set(values).where(eq(projects.id, project.id))
    for (const feature of ['merge_requests_access_level', 'repository_access_level'] as const) {
      await put({ [feature]: 0 })
      for (const who of [as.stranger, as.owner, as.admin]) await on(project, 1, who).expect(403)
      await put({ [feature]: 10 })
      await on(project, 1, as.stranger).expect(403)
      for (const who of [as.guest, as.owner, as.admin]) await on(project, 1, who).expect(200)
      await put({ [feature]: 20 })
    }
    await put({ archived: true })
    await on(project, 1, as.stranger).expect(200)
  })
})
