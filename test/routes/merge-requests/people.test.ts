import { eq } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { issues, mergeRequests, users } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { aProject, aUser, type TestUser } from '../../support/factories.js'
import { aMergeRequest, showRequest } from '../../support/merge-requests.js'

const t = testApp()

const post = (path: string, caller: TestUser, sent: object = {}) => t.api('post', path, caller).send(sent)
const put = (path: string, caller: TestUser, sent: object) => t.api('put', path, caller).send(sent)
const get = async (path: string, caller: TestUser) => (await t.api('get', path, caller).expect(200)).body
const idsOf = (people: { id: number }[]) => people.map(({ id }) => id)
const todosOf = async (who: TestUser) => (await get('/todos', who)).map(({ action_name }: { action_name: string }) => action_name)

/** A merge request and an issue in a project with three developers. */
async function aPlace() {
  const [ann, ben, cleo] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
  const project = await aProject(t.ctx, { developer: [ann, ben, cleo], visibility: 'public', files: { 'readme.md': 'one\n' } })
  const owner = project.creator
  const request = await aMergeRequest(t, { project })
  const issue = (await post(`${project.path}/issues`, owner, { title: 'An issue' }).expect(201)).body
  return { ann, ben, cleo, project, owner, request, issue: `${project.path}/issues/${issue.iid}` }
}

describe('several assignees and reviewers', () => {
  it('are kept in the order in which they are given, each once; the first is `assignee` (MR-620)', async () => {
    const { ann, ben, cleo, project, owner, request, issue } = await aPlace()
    const stranger = await aUser(t.ctx)
    await t.ctx.db.write.update(users).set({ state: 'blocked' }).where(eq(users.id, stranger.id))
    const wanted = [ben.id, ann.id, ben.id, stranger.id, cleo.id]
    for (const path of [issue, request.path]) {
      const { body } = await put(path, owner, { assignee_ids: wanted }).expect(200)
      expect([idsOf(body.assignees), body.assignee.id]).toEqual([[ben.id, ann.id, cleo.id], ben.id])
      expect(idsOf((await get(path, owner)).assignees)).toEqual([ben.id, ann.id, cleo.id])
      const [listed] = await get(path.replace(/\/\d+$/, ''), owner)
      expect([idsOf(listed.assignees), listed.assignee.id]).toEqual([[ben.id, ann.id, cleo.id], ben.id])
      expect((await put(path, owner, { assignee_id: ann.id }).expect(200)).body.assignees).toHaveLength(1)
    }
    const made = (await post(`${project.path}/issues`, owner, { title: 'New', assignee_ids: wanted }).expect(201)).body
    expect([idsOf(made.assignees), made.assignee.id]).toEqual([[ben.id, ann.id, cleo.id], ben.id])
    const asked = await aMergeRequest(t, { project, sent: { assignee_ids: wanted, reviewer_ids: [cleo.id, ann.id] } })
    const shown = await showRequest(t, asked)
    expect([idsOf(shown.assignees), idsOf(shown.reviewers)]).toEqual([
      [ben.id, ann.id, cleo.id],
      [cleo.id, ann.id],
    ])
    const [found] = await get(`${project.path}/search?scope=issues&search=New`, owner)
    expect(idsOf(found.assignees)).toEqual([ben.id, ann.id, cleo.id])
  })

  it('are 200 at most (MR-620)', async () => {
    const { ann, project, owner, request, issue } = await aPlace()
    const many = Array.from({ length: 201 }, (_, i) => 1_000_000 + i)
    const text = ['total must be less than or equal to 200']
    for (const path of [issue, request.path]) await put(path, owner, { assignee_ids: many }).expect(400, { message: { assignees: text } })
    await put(request.path, owner, { reviewer_ids: many }).expect(400, { message: { reviewers: text } })
    await post(`${project.path}/issues`, owner, { title: 'New', assignee_ids: many }).expect(400, { message: { assignees: text } })
    await put(issue, owner, { assignee_ids: [...many.slice(2), ann.id] }).expect(200)
    expect(idsOf((await get(issue, owner)).assignees)).toEqual([ann.id])
  })

  it('have the rights and todos of an assignee, each; who stays gets no second one (MR-620, MR-621)', async () => {
    const { ann, ben, owner, project, request, issue } = await aPlace()
    await put(issue, owner, { assignee_ids: [ann.id] }).expect(200)
    await post('/todos/mark_as_done', ann).expect(204)
    await put(issue, owner, { assignee_ids: [ann.id, ben.id] }).expect(200)
    expect([await todosOf(ann), await todosOf(ben)]).toEqual([[], ['assigned']])
    const [guest, other] = [await aUser(t.ctx), await aUser(t.ctx)]
    for (const who of [guest, other]) await post(`${project.path}/members`, owner, { user_id: who.id, access_level: 10 }).expect(201)
    await put(issue, owner, { assignee_ids: [guest.id, other.id], confidential: true }).expect(200)
    for (const who of [guest, other]) {
      await put(issue, who, { description: `by ${who.username}` }).expect(200)
      expect(await get(`${project.path}/issues?scope=assigned_to_me`, who)).toHaveLength(1)
    }
    await put(request.path, owner, { assignee_ids: [guest.id, other.id] }).expect(200)
    await put(request.path, other, { title: 'Theirs' }).expect(200)
    expect(idsOf(await get(`${request.path}/participants`, owner))).toEqual(expect.arrayContaining([guest.id, other.id]))
  })

  it('are found by filters if one of them is meant (MR-622)', async () => {
    const { ann, ben, cleo, project, owner, request, issue } = await aPlace()
    await put(issue, owner, { assignee_ids: [ann.id, ben.id] }).expect(200)
    await put(request.path, owner, { assignee_ids: [ann.id, ben.id], reviewer_ids: [ben.id, cleo.id] }).expect(200)
    for (const list of ['issues', 'merge_requests'])
      for (const [query, total] of [
        [`assignee_id=${ben.id}`, 1],
        [`assignee_id=${cleo.id}`, 0],
        [`assignee_username=${ben.username}`, 1],
        [`assignee_username[]=${ben.username}&assignee_username[]=${cleo.username}`, 1],
        [`assignee_username=${cleo.username}`, 0],
        ['assignee_username=no.such.user', 0],
        [`not[assignee_id]=${ben.id}`, 0],
        [`not[assignee_id]=${cleo.id}`, 1],
        [`not[assignee_username]=${ben.username}`, 0],
        [`not[assignee_username]=no.such.user`, 1],
        ['assignee_id=None', 0],
        ['assignee_id=Any', 1],
      ])
        expect([list, query, (await get(`${project.path}/${list}?${query}`, owner)).length]).toEqual([list, query, total])
    for (const [query, total] of [
      [`reviewer_id=${cleo.id}`, 1],
      [`reviewer_id=${ann.id}`, 0],
      [`reviewer_username=${ben.username}`, 1],
      [`not[reviewer_id]=${cleo.id}`, 0],
      [`not[reviewer_username]=${ann.username}`, 1],
    ])
      expect([query, (await get(`${project.path}/merge_requests?${query}`, owner)).length]).toEqual([query, total])
    for (const who of [ben, cleo]) expect(await get('/merge_requests?scope=reviews_for_me', who)).toHaveLength(1)
  })

  it('reviewers keep their reviews and times while others come and go (MR-621, MR-103)', async () => {
    const { ann, ben, cleo, owner, request } = await aPlace()
    const reviewers = async () =>
      (await get(`${request.path}/reviewers`, owner)).map((each: { user: { id: number }; state: string; created_at: string }) => [
        each.user.id,
        each.state,
        each.created_at,
      ])
    const { updated_at } = (await put(request.path, owner, { reviewer_ids: [ann.id, ben.id] }).expect(200)).body
    await post(`${request.path}/draft_notes/bulk_publish`, ann, { note: 'No.', reviewer_state: 'requested_changes' }).expect(204)
    await post(`${request.path}/approve`, ben).expect(201)
    const later = (await put(request.path, owner, { reviewer_ids: [cleo.id, ben.id, ann.id] }).expect(200)).body.updated_at
    expect(await reviewers()).toEqual([
      [cleo.id, 'unreviewed', later],
      [ben.id, 'approved', updated_at],
      [ann.id, 'requested_changes', updated_at],
    ])
    expect((await showRequest(t, request)).detailed_merge_status).toBe('requested_changes')
    await put(request.path, owner, { reviewer_ids: [ben.id] }).expect(200)
    expect(await reviewers()).toEqual([[ben.id, 'approved', updated_at]])
  })

  it('are taken out when they are removed, with their times (MR-620)', async () => {
    const { ann, ben, cleo, owner, request, issue } = await aPlace()
    await put(issue, owner, { assignee_ids: [ann.id, ben.id] }).expect(200)
    await put(request.path, owner, { assignee_ids: [ben.id], reviewer_ids: [ben.id, ann.id] }).expect(200)
    const { updated_at } = (await put(request.path, owner, { reviewer_ids: [ben.id, ann.id, cleo.id] }).expect(200)).body
    await t.api('delete', `/users/${ann.id}`, await aUser(t.ctx, { admin: true })).expect(204)
    await t.ctx.jobs.drain()
    expect(idsOf((await get(issue, owner)).assignees)).toEqual([ben.id])
    expect(await get(`${request.path}/reviewers`, owner)).toMatchObject([{ user: { id: ben.id } }, { user: { id: cleo.id }, created_at: updated_at }])
    const [row] = await t.ctx.db.write.select().from(mergeRequests).where(eq(mergeRequests.id, request.id))
    expect([row?.reviewer_ids, row?.reviews_requested_at.length]).toEqual([[ben.id, cleo.id], 2])
    expect((await t.ctx.db.write.select().from(issues)).flatMap(({ assignee_ids }) => assignee_ids)).not.toContain(ann.id)
  })

  it('who may no longer see it is taken out, the others stay (ME-12)', async () => {
    const [ann, ben] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { developer: [ann, ben], files: { 'readme.md': 'one\n' } })
    const request = await aMergeRequest(t, { project, sent: { assignee_ids: [ann.id, ben.id], reviewer_ids: [ann.id, ben.id] } })
    await t.api('delete', `${project.path}/members/${ann.id}`, project.creator).expect(204)
    const shown = await showRequest(t, request)
    expect([idsOf(shown.assignees), idsOf(shown.reviewers)]).toEqual([[ben.id], [ben.id]])
    expect(await get(`${request.path}/reviewers`, project.creator)).toHaveLength(1)
  })
})

describe('commands about several people', () => {
  const say = async (path: string, caller: TestUser, body: string) => (await post(`${path}/notes`, caller, { body }).expect(202)).body

  it('add, replace and take out assignees (QA-6, QA-21)', async () => {
    const { ann, ben, cleo, owner, request, issue } = await aPlace()
    for (const path of [issue, request.path]) {
      const assignees = async () => idsOf((await get(path, owner)).assignees)
      expect(await say(path, owner, `/assign @${ann.username} @${ben.username}`)).toEqual({
        commands_changes: { assignee_ids: [ann.id, ben.id] },
        summary: [`Assigned @${ann.username} and @${ben.username}.`],
      })
      await say(path, owner, `/assign @${cleo.username}`)
      expect(await assignees()).toEqual([ann.id, ben.id, cleo.id])
      await say(path, owner, `/unassign @${ann.username} @${owner.username}\n/assign me`)
      expect(await assignees()).toEqual([ben.id, cleo.id, owner.id])
      expect((await say(path, owner, `/unassign @${ann.username}`)).summary).toEqual(['Could not apply unassign command.'])
      await say(path, owner, `/reassign @${ann.username} @${cleo.username}`)
      expect(await assignees()).toEqual([ann.id, cleo.id])
      await say(path, owner, '/unassign')
      expect(await assignees()).toEqual([])
    }
  })

  it('add, replace, take out and ask reviewers anew (QA-6, QA-21, MR-623)', async () => {
    const { ann, ben, cleo, owner, request } = await aPlace()
    const states = async () =>
      (await get(`${request.path}/reviewers`, owner)).map(({ user, state }: { user: { id: number }; state: string }) => [user.id, state])
    await say(request.path, owner, `/assign_reviewer @${ann.username} @${ben.username}`)
    for (const who of [ann, ben])
      await post(`${request.path}/draft_notes/bulk_publish`, who, { note: 'No.', reviewer_state: 'requested_changes' }).expect(204)
    await post('/todos/mark_as_done', ann).expect(204)
    expect((await say(request.path, owner, `/request_review @${ann.username} @${cleo.username}`)).commands_changes).toEqual({
      reviewer_ids: [ann.id, ben.id, cleo.id],
    })
    expect(await states()).toEqual([
      [ann.id, 'unreviewed'],
      [ben.id, 'requested_changes'],
      [cleo.id, 'unreviewed'],
    ])
    expect(await todosOf(ann)).toEqual(['review_requested'])
    const notes = (await get(`${request.path}/notes?sort=desc`, owner)).map(({ body }: { body: string }) => body)
    expect(notes[0]).toBe(`requested review from @${ann.username} and @${cleo.username}`)
    await say(request.path, owner, `/unassign_reviewer @${ben.username}`)
    expect((await states()).map(([id]: [number]) => id)).toEqual([ann.id, cleo.id])
    await say(request.path, owner, `/reassign_reviewer @${ben.username}`)
    expect(await states()).toEqual([[ben.id, 'unreviewed']])
    await say(request.path, owner, '/unassign_reviewer')
    expect(await states()).toEqual([])
  })
})
