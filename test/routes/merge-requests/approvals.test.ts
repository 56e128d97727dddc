import { describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { aCast, type Role, statuses } from '../../support/cast.js'
import { aCommit, aProject, aUser, type TestUser } from '../../support/factories.js'
import { aMergeRequest, showRequest, type TestRequest } from '../../support/merge-requests.js'

const t = testApp()

const post = (path: string, caller: TestUser | null, sent: object = {}) => t.api('post', path, caller).send(sent)
const put = (path: string, caller: TestUser, sent: object) => t.api('put', path, caller).send(sent)
const get = async (path: string, caller: TestUser) => (await t.api('get', path, caller).expect(200)).body
const names = (people: { username: string }[]) => people.map(({ username }) => username)
const approve = (request: TestRequest, ...people: TestUser[]) =>
  people.reduce(async (before, who) => {
    await before
    await post(`${request.path}/approve`, who).expect(201)
  }, Promise.resolve())
const approversOf = async (request: TestRequest, caller = request.project.creator) =>
  names((await get(`${request.path}/approvals`, caller)).approved_by.map(({ user }: { user: { username: string } }) => user))
const systemNotes = async (request: TestRequest) =>
  (await get(`${request.path}/notes?sort=asc`, request.project.creator))
    .filter(({ system }: { system: boolean }) => system)
    .map(({ body }: { body: string }) => body)
const todosOf = async (who: TestUser, query = '') =>
  (await get(`/todos?${query}`, who)).map(({ action_name, target }: { action_name: string; target: { id: number } }) => [action_name, target.id])

/** A merge request in a project with two developers. */
async function aPlace() {
  const [ann, ben] = [await aUser(t.ctx), await aUser(t.ctx)]
  const project = await aProject(t.ctx, { developer: [ann, ben], visibility: 'public', files: { 'readme.md': 'one\n' } })
  return { ann, ben, project, owner: project.creator, request: await aMergeRequest(t, { project }) }
}

describe('a reviewer', () => {
  it('is given when a merge request is created and updated, and is in every answer: those who can be, as with assignees (MR-100, MR-101)', async () => {
    const { ann, ben, project, owner } = await aPlace()
    const guest = await aUser(t.ctx)
    const hidden = await aProject(t.ctx, { creator: owner, developer: ann, guest, files: { a: 'a' } })
    const request = await aMergeRequest(t, { project, sent: { reviewer_ids: [ann.id, ben.id] } })
    const reviewers = async () => names((await showRequest(t, request)).reviewers)
    const set = async (reviewer_ids: unknown) => names((await put(request.path, owner, { reviewer_ids }).expect(200)).body.reviewers)
    expect(await reviewers()).toEqual([ann.username, ben.username])
    const ofList = (await get(`${project.path}/merge_requests`, owner)).find(({ id }: { id: number }) => id === request.id)
    expect(ofList.reviewers).toEqual((await showRequest(t, request)).reviewers)
    expect(await set([ben.id])).toEqual([ben.username])
    expect(await set(`${ann.id}`)).toEqual([ann.username])
    expect(await set([999_999])).toEqual([ann.username])
    expect((await put(request.path, owner, { title: 'Another' }).expect(200)).body.reviewers).toHaveLength(1)
    for (const none of [[], '', [0]]) {
      expect(await set([ann.id])).toHaveLength(1)
      expect(await set(none)).toEqual([])
    }
    const secret = await aMergeRequest(t, { project: hidden, sent: { reviewer_ids: [guest.id] } })
    expect((await showRequest(t, secret)).reviewers).toEqual([])
    const stranger = await aUser(t.ctx)
    const fork = (await post(`${project.path}/fork`, stranger).expect(201)).body
    await t.ctx.jobs.drain()
    const from = { ...project, path: `/projects/${fork.id}`, id: fork.id, fullPath: fork.path_with_namespace, creator: stranger }
    const theirs = await aMergeRequest(t, { project, from, caller: stranger, sent: { reviewer_ids: [ann.id] } })
    expect((await showRequest(t, theirs)).reviewers).toEqual([])
    expect((await put(theirs.path, stranger, { reviewer_ids: [ann.id] }).expect(200)).body.reviewers).toEqual([])
  })

  it('gets a todo, and a system note names them (MR-102)', async () => {
    const { ann, ben, owner, project } = await aPlace()
    const request = await aMergeRequest(t, { project, sent: { reviewer_ids: [ann.id] } })
    expect(await todosOf(ann, 'action=review_requested')).toEqual([['review_requested', request.id]])
    await put(request.path, owner, { reviewer_ids: [ben.id] }).expect(200)
    await put(request.path, owner, { reviewer_ids: [ben.id] }).expect(200)
    await put(request.path, owner, { reviewer_ids: [] }).expect(200)
    await put(request.path, owner, { reviewer_ids: [owner.id] }).expect(200)
    expect(await systemNotes(request)).toEqual([
      `requested review from @${ben.username} and removed review request for @${ann.username}`,
      `removed review request for @${ben.username}`,
      `requested review from @${owner.username}`,
    ])
    expect(await todosOf(ben)).toEqual([['review_requested', request.id]])
    expect(await todosOf(owner)).toEqual([])
    await post('/todos/mark_as_done?action=review_requested', ben).expect(204)
    expect(await todosOf(ben)).toEqual([])
  })

  it('takes part: is subscribed and a participant (MR-102, SB-1, MR-86)', async () => {
    const { ann, owner, request } = await aPlace()
    expect((await showRequest(t, request, ann)).subscribed).toBe(false)
    await put(request.path, owner, { reviewer_ids: [ann.id] }).expect(200)
    expect((await showRequest(t, request, ann)).subscribed).toBe(true)
    expect(names(await get(`${request.path}/participants`, owner))).toContain(ann.username)
  })

  it('is listed with the time of the request and whether they have approved (MR-103)', async () => {
    const { ann, owner, request } = await aPlace()
    expect(await get(`${request.path}/reviewers`, owner)).toEqual([])
    const { updated_at } = (await put(request.path, owner, { reviewer_ids: [ann.id] }).expect(200)).body
    const listed = () => get(`${request.path}/reviewers`, owner)
    expect(await listed()).toMatchObject([{ user: { username: ann.username }, state: 'unreviewed', created_at: updated_at }])
    await approve(request, ann)
    await put(request.path, owner, { title: 'Later' }).expect(200)
    expect(await listed()).toMatchObject([{ state: 'approved', created_at: updated_at }])
    expect(await get(`${request.path}/reviewers?page=2`, owner)).toEqual([])
  })

  it('who may no longer read the merge request reviews it no longer (MR-100, ME-12)', async () => {
    const ann = await aUser(t.ctx)
    const project = await aProject(t.ctx, { developer: ann, files: { 'readme.md': 'one\n' } })
    const request = await aMergeRequest(t, { project, sent: { reviewer_ids: [ann.id] } })
    expect((await showRequest(t, request)).reviewers).toHaveLength(1)
    await t.api('delete', `${project.path}/members/${ann.id}`, project.creator).expect(204)
    expect((await showRequest(t, request)).reviewers).toEqual([])
  })
})

const statesOf = async ({ path, project }: TestRequest) =>
  Object.fromEntries(
    (await get(`${path}/reviewers`, project.creator)).map(({ user, state }: { user: { username: string }; state: string }) => [user.username, state]),
  )
const publish = (request: TestRequest, who: TestUser | null, sent: object = {}) => post(`${request.path}/draft_notes/bulk_publish`, who, sent)
const requestChanges = (request: TestRequest, who: TestUser) => publish(request, who, { reviewer_state: 'requested_changes' }).expect(204)
const draft = (request: TestRequest, who: TestUser, note = 'Why?') => post(`${request.path}/draft_notes`, who, { note }).expect(201)

describe('a review', () => {
  it('makes its author a reviewer with a state, beside the one who was asked (MR-103, MR-600)', async () => {
    const { ann, ben, owner, request } = await aPlace()
    await put(request.path, owner, { reviewer_ids: [ann.id] }).expect(200)
    await publish(request, ben).expect(204)
    expect(await statesOf(request)).toEqual({ [ann.username]: 'unreviewed' })
    await draft(request, ben)
    await publish(request, ben, { note: 'As a whole' }).expect(204)
    expect(await statesOf(request)).toEqual({ [ann.username]: 'unreviewed', [ben.username]: 'reviewed' })
    expect((await showRequest(t, request)).reviewers).toHaveLength(1)
    const [last] = await get(`${request.path}/notes`, owner)
    expect(last).toMatchObject({ body: 'As a whole', author: { id: ben.id } })
    await requestChanges(request, ben)
    await approve(request, ann)
    expect(await statesOf(request)).toEqual({ [ann.username]: 'approved', [ben.username]: 'requested_changes' })
    await publish(request, ben, { reviewer_state: 'unreviewed' }).expect(400)
  })

  it('that requests changes shows in detailed_merge_status and takes back an approval, and does not forbid the merge (MR-602, MR-603)', async () => {
    const { ann, ben, owner, request } = await aPlace()
    const status = async () => (await showRequest(t, request)).detailed_merge_status
    expect(await status()).toBe('mergeable')
    await approve(request, ann)
    await requestChanges(request, ann)
    expect([await status(), await approversOf(request)]).toEqual(['requested_changes', []])
    expect((await systemNotes(request)).slice(-1)).toEqual(['requested changes'])
    // a comment leaves it as it is
    await publish(request, ann, { note: 'And another thing', reviewer_state: 'reviewed' }).expect(204)
    expect([await status(), (await statesOf(request))[ann.username]]).toEqual(['requested_changes', 'requested_changes'])
    await post(`${request.path}/notes`, ben, { body: '/request_changes' })
    await post(`${request.path}/approve`, ann).expect(201)
    expect(await statesOf(request)).toEqual({ [ann.username]: 'approved', [ben.username]: 'requested_changes' })
    await put(`${request.path}/merge`, owner, {}).expect(200)
    expect(await status()).toBe('not_open')
  })

  it('that requests changes is over when its author approves or withdraws it, is asked again, or is asked no longer (MR-604)', async () => {
    const { ann, owner, request } = await aPlace()
    const status = async () => (await showRequest(t, request)).detailed_merge_status
    const endings: [() => Promise<unknown>, string | undefined][] = [
      [() => approve(request, ann), 'approved'],
      [() => post(`${request.path}/unapprove`, ann).expect(201), 'reviewed'],
      [() => put(request.path, owner, { reviewer_ids: [ann.id] }).expect(200), 'unreviewed'],
      [() => put(request.path, owner, { reviewer_ids: [] }).expect(200), undefined],
    ]
    for (const [end, state] of endings) {
      await requestChanges(request, ann)
      expect(await status()).toBe('requested_changes')
      await end()
      expect([await status(), (await statesOf(request))[ann.username]]).toEqual(['mergeable', state])
    }
    expect(await systemNotes(request)).toContain('withdrew the request for changes')
    await post(`${request.path}/unapprove`, ann).expect(404)
  })

  it('that requests changes is for those who may approve, and goes with who leaves the project (MR-602, MR-604)', async () => {
    const cast = await aCast(t.ctx, { visibility: 'public', files: { 'readme.md': 'one\n' } })
    const request = await aMergeRequest(t, { project: cast.project })
    const expected = { anonymous: 401, developer: 204, maintainer: 204, owner: 204, admin: 204 }
    for (const [role, status] of statuses(403, expected)) {
      const who = cast.as[role as Role]
      expect([role, (await publish(request, who, { reviewer_state: 'requested_changes' })).status]).toEqual([role, status])
    }
    const ann = await aUser(t.ctx)
    const project = await aProject(t.ctx, { developer: ann, files: { 'readme.md': 'one\n' } })
    const secret = await aMergeRequest(t, { project })
    await requestChanges(secret, ann)
    await t.api('delete', `${project.path}/members/${ann.id}`, project.creator).expect(204)
    expect([await statesOf(secret), (await showRequest(t, secret)).detailed_merge_status]).toEqual([{}, 'mergeable'])
  })

  it('that requests changes cancels an automatic merge (MR-605)', async () => {
    const { ann, owner, project, request } = await aPlace()
    const { sha } = await showRequest(t, request)
    await post(`${project.path}/statuses/${sha}`, owner, { state: 'running', ref: request.source }).expect(201)
    await put(`${request.path}/merge`, owner, { merge_when_pipeline_succeeds: true }).expect(200)
    await requestChanges(request, ann)
    expect((await showRequest(t, request)).merge_when_pipeline_succeeds).toBe(false)
    expect((await systemNotes(request)).slice(-2)).toEqual(['requested changes', 'canceled the automatic merge'])
    await post(`${project.path}/statuses/${sha}`, owner, { state: 'success', ref: request.source }).expect(201)
    await t.ctx.jobs.drain()
    expect((await showRequest(t, request)).state).toBe('opened')
  })
})

describe('lists of merge requests', () => {
  it('are filtered by their reviewers and approvals (MR-104, MR-111)', async () => {
    const { ann, ben, project, owner, request: first } = await aPlace()
    const second = await aMergeRequest(t, { project, sent: { reviewer_ids: [ann.id] } })
    const third = await aMergeRequest(t, { project, sent: { reviewer_ids: [ben.id] } })
    const [one, two, three] = [first.iid, second.iid, third.iid]
    await approve(second, ann, ben)
    await approve(third, ann)
    const list = async (query: string, caller = owner, at = `${project.path}/merge_requests`) => {
      const { body, headers } = await t.api('get', `${at}?sort=asc&${query}`, caller).expect(200)
      expect([query, headers['x-total']]).toEqual([query, String(body.length)])
      return body.map(({ iid }: { iid: number }) => iid)
    }
    const cases: [string, number[]][] = [
      [`reviewer_id=${ann.id}`, [two]],
      ['reviewer_id=Any', [two, three]],
      ['reviewer_id=None', [one]],
      ['reviewer_id=0', [one]],
      [`reviewer_username=${ben.username.toUpperCase()}`, [three]],
      ['reviewer_username=no-such-user', []],
      [`approved_by_ids[]=${ann.id}`, [two, three]],
      [`approved_by_ids[]=${ann.id}&approved_by_ids[]=${ben.id}`, [two]],
      [`approved_by_ids=${ann.id},${ann.id}`, [two, three]],
      ['approved_by_ids=Any', [two, three]],
      ['approved_by_ids=None', [one]],
      [`approved_by_usernames[]=${ann.username.toUpperCase()}&approved_by_usernames[]=${ben.username}`, [two]],
      [`approved_by_usernames[]=${ann.username}&approved_by_usernames[]=no-such-user`, []],
      ['approved_by_usernames=Any', [two, three]],
      ['approved_by_usernames=None', [one]],
    ]
    for (const [query, found] of cases) expect([query, await list(query)]).toEqual([query, found])
    const mine = (scope: string) => list(`scope=${scope}`, ann, '/merge_requests')
    expect([await mine('reviews_for_me'), await mine('reviews-for-me')]).toEqual([[two], [two]])
    for (const bad of ['reviewer_id=x', 'reviewer_id=Any,1', `approved_by_ids=${Array.from({ length: 6 }, (_, n) => n + 1)}`, 'approved_by_ids=x'])
      await t.api('get', `${project.path}/merge_requests?${bad}`, owner).expect(400)
    await t.api('get', '/issues?scope=reviews_for_me', owner).expect(400)
    await post(`${second.path}/unapprove`, ben).expect(201)
    expect(await list(`approved_by_ids=${ben.id}`)).toEqual([])
  })
})

describe('an approval', () => {
  it('is given once and taken back once, and stays after a push (MR-105, MR-106, MR-107, MR-108, X-9)', async () => {
    const { ann, ben, project, owner, request } = await aPlace()
    const shown = (caller: TestUser) => get(`${request.path}/approvals`, caller)
    const none = { approved: false, approved_by: [], user_has_approved: false, user_can_approve: true, approvals_required: 0, approvals_left: 0 }
    expect(await shown(ann)).toMatchObject({ ...none, id: request.id, iid: request.iid, state: 'opened', merge_status: 'can_be_merged' })
    const { body } = await post(`${request.path}/approve`, ann).expect(201)
    expect(body).toMatchObject({ approved: true, user_has_approved: true, user_can_approve: false, approved_by: [{ user: { id: ann.id } }] })
    expect(await shown(ben)).toMatchObject({ approved: true, user_has_approved: false, user_can_approve: true, updated_at: body.updated_at })
    expect(body.updated_at).toBe((await showRequest(t, request)).updated_at)
    await post(`${request.path}/approve`, ann).expect(401, { message: '401 Unauthorized' })
    await approve(request, ben, owner)
    await aCommit(t.ctx, project, { more: 'x' }, { branch: request.source })
    expect(await approversOf(request)).toEqual(names([ann, ben, owner]))
    expect((await post(`${request.path}/unapprove`, ann).expect(201)).body).toMatchObject({ user_has_approved: false, user_can_approve: true })
    await post(`${request.path}/unapprove`, ann).expect(404, { message: '404 Not found' })
    expect(await approversOf(request)).toEqual(names([ben, owner]))
    expect(await systemNotes(request)).toEqual(expect.arrayContaining(['approved this merge request', 'unapproved this merge request']))
    expect(await get(`${request.path}/approval_state`, ann)).toEqual({ approval_rules_overwritten: false, rules: [] })
  })

  it('with a sha is only for that head (MR-107)', async () => {
    const { ann, project, request } = await aPlace()
    const { sha } = await showRequest(t, request)
    await aCommit(t.ctx, project, { more: 'x' }, { branch: request.source })
    await post(`${request.path}/approve`, ann, { sha }).expect(409, { message: 'SHA does not match HEAD of source branch' })
    expect(await approversOf(request)).toEqual([])
    await post(`${request.path}/approve`, ann, { sha: (await showRequest(t, request)).sha }).expect(201)
  })

  it('is given by developers, and by the author if they are a member (MR-106)', async () => {
    for (const verb of ['approve', 'unapprove']) {
      const cast = await aCast(t.ctx, { visibility: 'public', files: { 'readme.md': 'one\n' } })
      const request = await aMergeRequest(t, { project: cast.project })
      const allowed = verb === 'approve' ? 201 : 404
      const expected = { anonymous: 401, developer: allowed, maintainer: allowed, owner: allowed, admin: allowed }
      for (const [role, status] of statuses(403, expected))
        expect([role, (await post(`${request.path}/${verb}`, cast.as[role as Role])).status]).toEqual([role, status])
    }
    const { project, owner } = await aPlace()
    const author = await aUser(t.ctx)
    const fork = (await post(`${project.path}/fork`, author).expect(201)).body
    await t.ctx.jobs.drain()
    const from = { ...project, path: `/projects/${fork.id}`, id: fork.id, fullPath: fork.path_with_namespace, creator: author }
    const request = await aMergeRequest(t, { project, from, caller: author })
    await post(`${request.path}/approve`, author).expect(403)
    expect(await get(`${request.path}/approvals`, author)).toMatchObject({ user_can_approve: false })
    await post(`${project.path}/members`, owner, { user_id: author.id, access_level: 10 }).expect(201)
    await post(`${request.path}/approve`, author).expect(201)
    await post(`${project.path}/archive`, owner).expect(201)
    await post(`${request.path}/unapprove`, author).expect(403)
  })

  it('finishes the todos of who approves, and is an event (MR-107)', async () => {
    const { ann, owner, request } = await aPlace()
    await put(request.path, owner, { reviewer_ids: [ann.id], assignee_id: ann.id }).expect(200)
    expect(await todosOf(ann)).toHaveLength(2)
    await approve(request, ann)
    expect(await todosOf(ann)).toEqual([])
    const events = await get(`/users/${ann.id}/events?action=approved`, owner)
    expect(events).toMatchObject([{ action_name: 'approved', target_type: 'MergeRequest', target_id: request.id }])
  })

  it('given at the same time by the same user counts once (MR-107)', async () => {
    const { ann, request } = await aPlace()
    const answers = await Promise.all(Array.from({ length: 4 }, () => post(`${request.path}/approve`, ann)))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 401, 401, 401])
    expect((await systemNotes(request)).filter((body: string) => body === 'approved this merge request')).toHaveLength(1)
  })

  it('goes with the account of who gave it (MR-105, U-34)', async () => {
    const { ann, ben, owner, request } = await aPlace()
    await approve(request, ann, ben)
    await put(request.path, owner, { reviewer_ids: [ann.id] }).expect(200)
    const admin = (await aCast(t.ctx)).as.admin
    await t.api('delete', `/users/${ann.id}`, admin).expect(204)
    expect(await approversOf(request)).toEqual([ben.username])
    expect((await showRequest(t, request)).reviewers).toEqual([])
  })
})
