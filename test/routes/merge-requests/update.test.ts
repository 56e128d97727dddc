import { eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { mergeRequests, projects } from '../../../src/db/schema/index.js'
import { type State, type StateEvent, TRANSITIONS } from '../../../src/services/issuables/merge-requests/merging/states.js'
import { testApp } from '../../support/app.js'
import { aCast, type Cast, type Role, statuses } from '../../support/cast.js'
import { aCommit, aProject, type TestUser } from '../../support/factories.js'

const t = testApp()

/** A project with a branch to merge, a request for it by the developer, and one person for each role. */
async function aPlace(given: object = {}, sent: object = {}): Promise<Cast & { id: number }> {
  const cast = await aCast(t.ctx, { visibility: 'public', files: { 'a.txt': 'a' }, ...given })
  await aCommit(t.ctx, cast.project, { 'b.txt': 'b' }, { branch: 'feature', start_branch: 'main' })
  const { body } = await t
    .api('post', `${cast.project.path}/merge_requests`, cast.as.developer)
    .send({ title: 'A change', description: 'Why', source_branch: 'feature', target_branch: 'main', ...sent })
    .expect(201)
  return { ...cast, id: body.id }
}
const on = ({ project }: Cast, iid = 1) => `${project.path}/merge_requests/${iid}`
const put = (place: Cast, caller: TestUser | null, sent: object, iid = 1) => t.api('put', on(place, iid), caller).send(sent)
const stamp = (id: number, values: Partial<typeof mergeRequests.$inferInsert>) =>
  t.ctx.db.write.update(mergeRequests).set(values).where(eq(mergeRequests.id, id))
const rowOf = async (id: number) => (await t.ctx.db.write.select().from(mergeRequests).where(eq(mergeRequests.id, id)))[0]
const MISSING =
  'assignee_id, description, labels, milestone_id, remove_source_branch, state_event, target_branch, title, discussion_locked are missing, at least one parameter must be provided'

describe('PUT /projects/:id/merge_requests/:merge_request_iid', () => {
  let place: Cast & { id: number }
  beforeAll(async () => {
    place = await aPlace()
  })

  it.each(statuses(403, { anonymous: 401, developer: 200, maintainer: 200, owner: 200, admin: 200 }))(
    'by %s, of a public project: %i (MR-41)',
    async (role, status) => {
      await put(place, place.as[role as Role], { title: 'A change' }).expect(status)
    },
  )

  it.each(statuses(403, { anonymous: 401, stranger: 404, developer: 200, maintainer: 200, owner: 200, admin: 200 }))(
    'by %s, of a private project: %i (MR-41, SEC-30)',
    async (role, status) => {
      const secret = await aPlace({ visibility: 'private' })
      await put(secret, secret.as[role as Role], { title: 'A change' }).expect(status)
    },
  )

  it('the author and the assignee change what they may, and what they may not is left out (MR-41, MR-25, MR-44)', async () => {
    const here = await aPlace()
    const { as } = here
    await stamp(here.id, { author_id: as.stranger.id, assignee_ids: [as.owner.id, as.guest.id] })
    for (const who of [as.stranger, as.guest]) {
      const { body } = await put(here, who, {
        title: `By ${who.username}`,
        labels: 'x',
        assignee_id: 0,
        discussion_locked: true,
        milestone_id: 1,
        squash: true,
        remove_source_branch: true,
      }).expect(200)
      expect(body).toMatchObject({
        title: `By ${who.username}`,
        labels: [],
        assignee: { id: as.owner.id },
        assignees: [{ id: as.owner.id }, { id: as.guest.id }],
        discussion_locked: null,
        squash: true,
        force_remove_source_branch: true,
      })
    }
    await t.ctx.db.write.update(projects).set({ archived: true }).where(eq(projects.id, here.project.id))
    for (const who of [as.stranger, as.owner, as.admin]) await put(here, who, { title: 'x' }).expect(403)
  })

  it.each([
    [{}, ''],
    [{ unknown: 'x' }, 'no such attribute: unknown; '],
    [{ labels: null }, ''],
    [{ source_branch: 'x', target_project_id: 1 }, 'no such attribute: source_branch, target_project_id; '],
  ])('%j changes nothing at all (MR-42, MR-45, NP-4, X-4)', async (sent, unknown) => {
    await put(place, place.as.owner, sent).expect(400, { error: `${unknown}${MISSING}` })
  })

  it.each([
    [{ title: '' }, 'title is empty'],
    [{ title: ' ' }, 'title is empty'],
    [{ title: null }, 'title is empty'],
    [{ target_branch: '' }, 'target_branch is empty'],
    [{ target_branch: null, title: 'fine' }, 'target_branch is empty'],
    [{ target_branch: ' ', title: '' }, 'target_branch is empty, title is empty'],
    [{ state_event: 'merge' }, 'state_event does not have a valid value'],
    [{ remove_source_branch: 'maybe' }, 'remove_source_branch is invalid'],
  ])('%j is refused (MR-46, MR-47, MR-50)', async (sent, error) => {
    const before = await rowOf(place.id)
    await put(place, place.as.owner, sent).expect(400, { error })
    expect(await rowOf(place.id)).toEqual(before)
  })

  it.each([
    [{ title: 'x'.repeat(256) }, { title: ['is too long (maximum is 255 characters)'] }],
    [{ add_labels: 'x'.repeat(256) }, { labels: ['is too long (maximum is 255 characters)'] }],
  ])('%j (MR-56, SEC-63)', async (sent, message) => {
    await put(place, place.as.owner, sent).expect(400, { message })
  })

  it('changes texts and switches, and not the source (MR-43, MR-49, MR-29)', async () => {
    const here = await aPlace()
    const { as } = here
    const other = await aProject(t.ctx, { creator: as.owner })
    const { body } = await put(here, as.owner, {
      title: ' Other ',
      description: '- [x] done',
      remove_source_branch: true,
      source_branch: 'main',
      source_project_id: other.id,
      target_project_id: other.id,
    }).expect(200)
    expect(body).toMatchObject({
      title: 'Other',
      description: '- [x] done',
      force_remove_source_branch: true,
      source_branch: 'feature',
      source_project_id: here.project.id,
      target_project_id: here.project.id,
      task_completion_status: { count: 1, completed_count: 1 },
      // who changes it takes part in it, because the system note is theirs (MR-86)
      subscribed: true,
    })
    expect((await put(here, as.owner, { remove_source_branch: false, description: null }).expect(200)).body).toMatchObject({
      force_remove_source_branch: false,
      description: '',
    })
  })

  it('assignee and milestone (MR-26, MR-44, X-4, SEC-115)', async () => {
    const here = await aPlace()
    const { project, as } = here
    const set = async (sent: object) => (await put(here, as.owner, sent).expect(200)).body
    const elsewhere = await aProject(t.ctx, { creator: as.owner })
    const milestone = async (path: string) => (await t.api('post', `${path}/milestones`, as.owner).send({ title: 'v1' }).expect(201)).body.id
    const [own, foreign] = [await milestone(project.path), await milestone(elsewhere.path)]
    expect((await set({ assignee_id: as.guest.id })).assignee.id).toBe(as.guest.id)
    expect((await set({ assignee_id: 999_999 })).assignee.id).toBe(as.guest.id)
    expect((await set({ assignee_ids: [as.reporter.id, as.guest.id] })).assignee.id).toBe(as.reporter.id)
    expect((await set({ assignee_ids: [] })).assignee).toBe(null)
    expect((await set({ assignee_id: as.guest.id })).assignees).toMatchObject([{ id: as.guest.id }])
    expect((await set({ assignee_id: '' })).assignee).toBe(null)
    const { body } = await t.api('put', `${on(here)}?assignee_ids[]=${as.guest.id}`, as.owner).expect(200)
    expect(body.assignee.id).toBe(as.guest.id)
    expect((await set({ assignee_id: 0 })).assignee).toBe(null)
    expect((await set({ milestone_id: own })).milestone.id).toBe(own)
    expect((await set({ milestone_id: foreign })).milestone).toBe(null)
    await set({ milestone_id: own })
    expect((await set({ milestone_id: 0 })).milestone).toBe(null)
    await set({ milestone_id: own })
    expect((await set({ milestone_id: '' })).milestone).toBe(null)
  })

  it('labels are replaced, added, taken away (MR-45, MR-27, X-4)', async () => {
    const here = await aPlace({}, { labels: 'a,b' })
    const set = async (sent: object) => (await put(here, here.as.developer, sent).expect(200)).body.labels
    expect(await set({ labels: 'c,b' })).toEqual(['b', 'c'])
    expect(await set({ add_labels: 'd', remove_labels: 'b' })).toEqual(['c', 'd'])
    expect(await set({ labels: null, title: 'x' })).toEqual(['c', 'd'])
    expect(await set({ add_labels: ['e', 'f'] })).toEqual(['c', 'd', 'e', 'f'])
    expect(await set({ labels: '' })).toEqual([])
  })

  it('the lock (MR-12, SEC-121)', async () => {
    const here = await aPlace()
    expect((await put(here, here.as.developer, { discussion_locked: true }).expect(200)).body.discussion_locked).toBe(true)
    expect((await put(here, here.as.developer, { discussion_locked: false }).expect(200)).body.discussion_locked).toBe(false)
  })

  it('another target branch is checked again (MR-8, MR-48, MR-30, MR-32, SEC-116)', async () => {
    const here = await aPlace()
    const { project, as } = here
    await put(here, as.developer, { target_branch: 'feature' }).expect(422, {
      error: ['You can not use same project/branch for source and target'],
    })
    await aCommit(t.ctx, project, { 'b.txt': 'not the same' }, { branch: 'stable', start_branch: 'main' })
    const { body: second } = await t
      .api('post', `${project.path}/merge_requests`, as.owner)
      .send({ title: 'Second', source_branch: 'feature', target_branch: 'stable' })
      .expect(201)
    expect(second.merge_status).toBe('cannot_be_merged')
    const twin = { message: ['Cannot Create: This merge request already exists: ["Second"]'] }
    await put(here, as.developer, { target_branch: 'stable', title: 'Never' }).expect(409, twin)
    expect((await rowOf(here.id))?.title).toBe('A change')
    await put(here, as.owner, { state_event: 'close' }, 2).expect(200)
    const versions = async () => (await t.api('get', `${on(here)}/versions`, as.owner).expect(200)).body.length
    const before = await versions()
    const { body } = await put(here, as.developer, { target_branch: 'stable' }).expect(200)
    expect(body).toMatchObject({ target_branch: 'stable', merge_status: 'cannot_be_merged', has_conflicts: true, detailed_merge_status: 'conflict' })
    expect(await versions()).toBe(before + 1)
    const { body: nowhere } = await put(here, as.developer, { target_branch: 'nowhere' }).expect(200)
    expect(nowhere).toMatchObject({ target_branch: 'nowhere', merge_status: 'cannot_be_merged' })
    expect(await versions()).toBe(before + 1)
    const { body: back } = await put(here, as.developer, { target_branch: 'main' }).expect(200)
    expect(back).toMatchObject({ merge_status: 'can_be_merged', changes_count: '1', detailed_merge_status: 'mergeable' })
  })

  it('who asked for a later merge did not ask for one into another branch (MR-48)', async () => {
    const here = await aPlace()
    await stamp(here.id, { merge_when_pipeline_succeeds: true, merge_user_id: here.as.owner.id, should_remove_source_branch: true })
    const { body } = await put(here, here.as.developer, { target_branch: 'other' }).expect(200)
    expect(body).toMatchObject({ merge_when_pipeline_succeeds: false, should_remove_source_branch: null })
    expect((await rowOf(here.id))?.merge_user_id).toBe(null)
  })

  it('what changes nothing leaves the time of the last change alone (MR-55)', async () => {
    const here = await aPlace({}, { labels: 'a' })
    const past = new Date('2020-01-01')
    await stamp(here.id, { updated_at: past })
    const same = { title: 'A change', description: 'Why', target_branch: 'main', labels: 'a', assignee_id: 0, state_event: 'reopen' }
    expect((await put(here, here.as.owner, same).expect(200)).body.updated_at).toBe('2020-01-01T00:00:00.000Z')
    for (const sent of [{ title: 'New' }, { labels: 'b' }, { discussion_locked: true }, { state_event: 'close' }]) {
      await stamp(here.id, { updated_at: past })
      const { body } = await put(here, here.as.owner, sent).expect(200)
      expect([sent, body.updated_at > '2021']).toEqual([sent, true])
    }
  })

  it('close, reopen and delete need their right (SEC-114)', async () => {
    const here = await aPlace()
    const { as } = here
    for (const who of [as.stranger, as.guest, as.reporter])
      for (const state_event of ['close', 'reopen']) await put(here, who, { state_event }).expect(403, { message: '403 Forbidden' })
    expect((await rowOf(here.id))?.state).toBe('opened')
  })
})

describe('closing and reopening', () => {
  const states = Object.keys(TRANSITIONS) as State[]
  const cells = states.flatMap((from) => (['close', 'reopen'] as StateEvent[]).map((event) => [from, event, TRANSITIONS[from][event]] as const))

  it.each(cells)('%s, %s: %s (MR-2, MR-51, MR-52)', async (from, event, to) => {
    const here = await aPlace()
    const { as } = here
    const then = new Date('2020-01-01')
    const ended =
      from === 'closed' ? { closed_at: then, closed_by_id: as.admin.id } : from === 'merged' ? { merged_at: then, merged_by_id: as.admin.id } : {}
    await stamp(here.id, { state: from, ...ended })
    const { body } = await put(here, as.owner, { state_event: event }).expect(200)
    expect(body.state).toBe(to)
    const moved = from !== to
    expect(body.closed_by?.id ?? null).toBe(to !== 'closed' ? null : moved ? as.owner.id : as.admin.id)
    expect(body.closed_at === null).toBe(to !== 'closed')
    expect(body.merged_by?.id ?? null).toBe(from === 'merged' ? as.admin.id : null)
    const { body: events } = await t.api('get', `${here.project.path}/events?target_type=merge_request`, as.owner).expect(200)
    const actions = events.map(({ action_name }: { action_name: string }) => action_name)
    expect(actions).toEqual(moved ? [to === 'closed' ? 'closed' : 'opened', 'opened'] : ['opened'])
  })

  it('a reopened request has a new version, and it is known whether it can be merged (MR-52, SEC-116)', async () => {
    const here = await aPlace()
    const { project, as } = here
    await put(here, as.developer, { state_event: 'close' }).expect(200)
    const head = await aCommit(t.ctx, project, { 'c.txt': 'c' }, { branch: 'feature' })
    const { body: before } = await t.api('get', on(here), as.developer).expect(200)
    expect(before.sha).not.toBe(head)
    const { body } = await put(here, as.developer, { state_event: 'reopen' }).expect(200)
    expect(body).toMatchObject({ state: 'opened', sha: head, merge_status: 'can_be_merged', changes_count: '2', diff_refs: { head_sha: head } })
    expect((await t.api('get', `${on(here)}/versions`, as.developer).expect(200)).body).toHaveLength(2)
  })

  it('where another one is open for the same branches by now, it stays closed (MR-52)', async () => {
    const here = await aPlace()
    const { project, as } = here
    await put(here, as.developer, { state_event: 'close' }).expect(200)
    await t
      .api('post', `${project.path}/merge_requests`, as.owner)
      .send({ title: 'Second', source_branch: 'feature', target_branch: 'main' })
      .expect(201)
    const { body } = await put(here, as.developer, { state_event: 'reopen', title: 'Renamed' }).expect(200)
    expect(body).toMatchObject({ state: 'closed', title: 'Renamed' })
  })

  it('state and attributes in one call (MR-54)', async () => {
    const here = await aPlace()
    const { body } = await put(here, here.as.developer, { state_event: 'close', title: 'Done', labels: 'x' }).expect(200)
    expect(body).toMatchObject({ state: 'closed', title: 'Done', labels: ['x'] })
    const { body: again } = await put(here, here.as.developer, { state_event: 'reopen', target_branch: 'nowhere' }).expect(200)
    expect(again).toMatchObject({ state: 'opened', target_branch: 'nowhere', merge_status: 'cannot_be_merged' })
  })

  it('a closed merge request is not merged later (MR-66)', async () => {
    const here = await aPlace()
    await stamp(here.id, { merge_when_pipeline_succeeds: true, merge_user_id: here.as.owner.id })
    expect((await put(here, here.as.developer, { state_event: 'close' }).expect(200)).body.merge_when_pipeline_succeeds).toBe(false)
  })
})

describe('what follows a change', () => {
  it('a change ends the todos of the caller, and nothing less does (MR-53, TD-4, TO-6)', async () => {
    const here = await aPlace()
    const { as } = here
    const pending = async () => (await t.api('get', '/todos', as.owner).expect(200)).body.length
    const { body: milestone } = await t.api('post', `${here.project.path}/milestones`, as.owner).send({ title: 'v1' }).expect(201)
    const changes: [object, number][] = [
      [{ squash: true }, 1],
      [{ discussion_locked: true }, 1],
      [{ title: 'A change' }, 1],
      [{ title: 'Other' }, 0],
      [{ description: '- [ ] one' }, 0],
      [{ description: '- [x] one' }, 1],
      [{ assignee_id: as.owner.id }, 0],
      [{ milestone_id: milestone.id }, 0],
      [{ labels: 'x' }, 0],
      [{ target_branch: 'stable' }, 0],
      [{ state_event: 'close' }, 0],
    ]
    for (const [sent, left] of changes) {
      await t.api('post', `${on(here)}/todo`, as.owner)
      expect(await pending()).toBe(1)
      await put(here, as.owner, sent).expect(200)
      expect([sent, await pending()]).toEqual([sent, left])
    }
  })

  it('makes one todo for new assignees and newly mentioned users (TO-5)', async () => {
    const here = await aPlace()
    const { as } = here
    const todosOf = async (who: TestUser) =>
      (await t.api('get', '/todos', who).expect(200)).body.map(({ action_name }: { action_name: string }) => action_name)
    await put(here, as.owner, { assignee_id: as.reporter.id, description: `@${as.guest.username} look` }).expect(200)
    await put(here, as.owner, { assignee_id: as.reporter.id, description: `@${as.guest.username} look again` }).expect(200)
    expect([await todosOf(as.reporter), await todosOf(as.guest), await todosOf(as.owner)]).toEqual([['assigned'], ['directly_addressed'], []])
  })

  it('the project’s last activity (G-86, EV-7)', async () => {
    const here = await aPlace()
    const { project, as } = here
    await t.ctx.db.write
      .update(projects)
      .set({ last_activity_at: new Date('2020-01-01') })
      .where(eq(projects.id, project.id))
    await put(here, as.owner, { state_event: 'close' }).expect(200)
    expect((await t.api('get', project.path, as.owner).expect(200)).body.last_activity_at > '2021').toBe(true)
  })
})

describe('DELETE /projects/:id/merge_requests/:merge_request_iid', () => {
  it.each(statuses(403, { anonymous: 401, owner: 204, admin: 204 }))('by %s: %i (MR-57, SEC-114)', async (role, status) => {
    const here = await aPlace()
    await t.api('delete', on(here), here.as[role as Role]).expect(status)
    await t.api('get', on(here), here.as.owner).expect(status === 204 ? 404 : 200)
  })

  it('hidden, unknown and deleted ones are missing; it must not have changed (MR-57)', async () => {
    const here = await aPlace({ visibility: 'private' })
    const { as } = here
    const missing = { message: '404 Not found' }
    await t.api('delete', on(here), as.guest).expect(404, missing)
    await t.api('delete', on(here, 99), as.owner).expect(404, missing)
    await t.api('delete', on(here), as.owner).set('If-Unmodified-Since', 'Thu, 01 Jan 2015 00:00:00 GMT').expect(412)
    await t.api('delete', on(here), as.owner).set('If-Unmodified-Since', 'nonsense').expect(204)
    await t.api('delete', on(here), as.owner).expect(404, missing)
  })

  it('kept, but shown nowhere; it blocks nothing and its number is not given again (MR-58, MR-32)', async () => {
    const here = await aPlace({}, { description: 'Closes #1' })
    const { project, as } = here
    await t.api('post', `${project.path}/issues`, as.owner).send({ title: 'One' }).expect(201)
    await put(here, as.developer, { description: 'Closes  #1' }).expect(200)
    await t.api('post', `${on(here)}/todo`, as.owner).expect(201)
    expect((await t.api('get', `${project.path}/issues/1`, as.owner).expect(200)).body.merge_requests_count).toBe(1)
    await t.api('delete', on(here), as.owner).expect(204)
    expect((await rowOf(here.id))?.title).toBe('A change')
    const empty = [
      '/todos',
      `${project.path}/merge_requests`,
      '/merge_requests',
      `${project.path}/issues/1/closed_by`,
      `${project.path}/issues/1/related_merge_requests`,
    ]
    for (const path of empty) expect([path, (await t.api('get', path, as.owner).expect(200)).body]).toEqual([path, []])
    expect((await t.api('get', `${project.path}/events?target_type=merge_request`, as.owner).expect(200)).body).toEqual([])
    expect((await t.api('get', `${project.path}/issues/1`, as.owner).expect(200)).body.merge_requests_count).toBe(0)
    for (const path of ['participants', 'closes_issues', 'commits', 'versions']) await t.api('get', `${on(here)}/${path}`, as.owner).expect(404)
    for (const path of ['subscribe', 'todo']) await t.api('post', `${on(here)}/${path}`, as.owner).expect(404)
    await put(here, as.owner, { title: 'x' }).expect(404)
    const { body } = await t
      .api('post', `${project.path}/merge_requests`, as.developer)
      .send({ title: 'Again', source_branch: 'feature', target_branch: 'main' })
      .expect(201)
    expect(body.iid).toBe(2)
  })
})
