import { describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { aCast, statuses } from '../../support/cast.js'
import { aCommit, aGroup, aProject, aUser, type TestUser } from '../../support/factories.js'

const t = testApp()

interface Place {
  path: string
  creator: TestUser
}
const create = (place: Place, sent: object, caller: TestUser | null = place.creator) => t.api('post', `${place.path}/milestones`, caller).send(sent)
const aMilestone = async (place: Place, title: string, more: object = {}) => (await create(place, { title, ...more }).expect(201)).body
const titles = (list: { title: string }[]) => list.map(({ title }) => title)
const taken = { message: { title: ['has already been taken'] } }

describe('milestones of a project', () => {
  it('a milestone (MI-3, MI-2)', async () => {
    const project = await aProject(t.ctx)
    const { body } = await create(project, { title: ' v1 ', description: 'First', start_date: '2030-1-1', due_date: '2030-02-01T10:00:00Z' }).expect(
      201,
    )
    expect(body).toEqual({
      id: expect.any(Number),
      iid: 1,
      project_id: project.id,
      title: 'v1',
      description: 'First',
      state: 'active',
      created_at: body.updated_at,
      updated_at: expect.stringMatching(/Z$/),
      start_date: '2030-01-01',
      due_date: '2030-02-01',
      expired: false,
      web_url: `http://roost.test/${project.fullPath}/milestones/1`,
    })
    await t.api('get', `${project.path}/milestones/${body.id}`, project.creator).expect(200, body)
    expect(await aMilestone(project, 'v2', { due_date: '2001-01-01' })).toMatchObject({ iid: 2, description: '', start_date: null, expired: true })
  })

  it('faults (MI-3, SEC-59, SEC-63)', async () => {
    const project = await aProject(t.ctx)
    await aMilestone(project, 'v1')
    await create(project, { title: 'v1' }).expect(400, taken)
    await create(project, {}).expect(400, { error: 'title is missing' })
    await create(project, { title: ' ' }).expect(400, { message: { title: ["can't be blank"] } })
    await create(project, { title: 'x'.repeat(256) }).expect(400, { message: { title: ['is too long (maximum is 255 characters)'] } })
    await create(project, { title: 'x', start_date: '2030-01-02', due_date: '2030-01-01' }).expect(400, {
      message: { due_date: ['must be greater than start date'] },
    })
    for (const due_date of ['2024-02-30', 'today', '0000-01-01'])
      await create(project, { title: 'x', due_date }).expect(400, { error: 'due_date is invalid' })
    await create(project, { title: 'x'.repeat(255), start_date: '2030-01-01', due_date: '2030-01-01' }).expect(201)
    const answers = await Promise.all(Array.from({ length: 6 }, () => create(project, { title: 'once' })))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(5).fill(400)])
    expect((await aMilestone(project, 'next')).iid).toBe(4)
  })

  it.each(['2018-01-01T00:00:00Z', 'Mon Jan 01 00:00:00 UTC 2018', 'Mon, 1 Jan 2018 09:00:00 +0100', '1 Jan 2018', '20180101', '2018/01/01'])(
    '%s is a day (G-50)',
    async (due_date) => {
      const project = await aProject(t.ctx)
      expect((await create(project, { title: 'x', due_date }).expect(201)).body).toMatchObject({ due_date: '2018-01-01' })
      const since = (text: string) =>
        t.api('get', `/users?username=${project.creator.username}&created_after=${encodeURIComponent(text)}`, project.creator)
      expect((await since(due_date).expect(200)).body).toHaveLength(1)
    },
  )

  it('newest first, and by every filter (MI-1)', async () => {
    const project = await aProject(t.ctx)
    const { creator } = project
    for (const title of ['one', 'two', 'three']) await aMilestone(project, title, { description: `about ${title}` })
    const { body } = await t.api('get', `${project.path}/milestones`, creator).expect(200)
    await t.api('put', `${project.path}/milestones/${body[0].id}`, creator).send({ state_event: 'close' }).expect(200)
    const list = async (query: string) => titles((await t.api('get', `${project.path}/milestones?${query}`, creator).expect(200)).body)
    expect(await list('')).toEqual(['three', 'two', 'one'])
    expect(await list('state=active')).toEqual(['two', 'one'])
    expect(await list('state=closed')).toEqual(['three'])
    expect(await list('iids[]=1&iids[]=3')).toEqual(['three', 'one'])
    expect(await list('title=two')).toEqual(['two'])
    expect(await list('title=TWO')).toEqual([])
    expect(await list('search=ABOUT%20t')).toEqual(['three', 'two', 'one'])
    expect(await list('search=thre')).toEqual(['three'])
    expect(await list('per_page=1&page=2')).toEqual(['two'])
    await t.api('get', `${project.path}/milestones?state=open`, creator).expect(400, { error: 'state does not have a valid value' })
  })

  it('changes, closes and activates (MI-4)', async () => {
    const project = await aProject(t.ctx)
    const { creator } = project
    const { id } = await aMilestone(project, 'v1', { start_date: '2030-01-01', due_date: '2030-02-01' })
    await aMilestone(project, 'v2')
    const put = (sent: object) => t.api('put', `${project.path}/milestones/${id}`, creator).send(sent)
    expect((await put({ title: 'v3', description: 'x' }).expect(200)).body).toMatchObject({ title: 'v3', description: 'x', start_date: '2030-01-01' })
    expect((await put({ due_date: '', description: '' }).expect(200)).body).toMatchObject({ due_date: null, description: '' })
    await put({ due_date: '2029-01-01' }).expect(400, { message: { due_date: ['must be greater than start date'] } })
    await put({ title: 'v2' }).expect(400, taken)
    await put({ title: 'v3' }).expect(200)
    await put({ title: '' }).expect(400)
    await put({}).expect(400, { error: 'title, description, start_date, due_date, state_event are missing, at least one parameter must be provided' })
    for (const [state_event, state] of [
      ['close', 'closed'],
      ['close', 'closed'],
      ['activate', 'active'],
      ['activate', 'active'],
    ])
      expect((await put({ state_event }).expect(200)).body.state).toBe(state)
    await put({ state_event: 'reopen' }).expect(400, { error: 'state_event does not have a valid value' })
    const events = (await t.api('get', `${project.path}/events?target_type=milestone&sort=asc`, creator).expect(200)).body
    expect(events.map((event: { action_name: string; target_title: string }) => [event.action_name, event.target_title])).toEqual([
      ['opened', 'v3'],
      ['opened', 'v2'],
      ['closed', 'v3'],
      ['opened', 'v3'],
    ])
  })

  it('what had it has it no longer (MI-5, EV-5)', async () => {
    const project = await aProject(t.ctx)
    const { creator } = project
    const { id } = await aMilestone(project, 'v1')
    await t.api('post', `${project.path}/issues`, creator).send({ title: 'x', milestone_id: id }).expect(201)
    await t.api('delete', `${project.path}/milestones/${id}`, creator).set('If-Unmodified-Since', 'Mon, 01 Jan 2001 00:00:00 GMT').expect(412)
    await t.api('delete', `${project.path}/milestones/${id}`, creator).expect(204)
    await t.api('delete', `${project.path}/milestones/${id}`, creator).expect(404, { message: '404 Not found' })
    expect((await t.api('get', `${project.path}/issues/1`, creator).expect(200)).body.milestone).toBe(null)
    const { body } = await t.api('get', `${project.path}/events?action=destroyed`, creator).expect(200)
    expect(body[0]).toMatchObject({ action_name: 'destroyed', target_type: 'Milestone', target_title: 'v1', target_iid: null })
  })

  it('its issues, as far as they are seen (MI-6, MI-7, SEC-35)', async () => {
    const { project, as } = await aCast(t.ctx)
    const { id } = (await create(project, { title: 'v1' }, as.owner).expect(201)).body
    for (const confidential of [false, true])
      await t.api('post', `${project.path}/issues`, as.owner).send({ title: 'x', milestone_id: id, confidential }).expect(201)
    await t.api('post', `${project.path}/issues`, as.owner).send({ title: 'other' }).expect(201)
    const list = async (caller: TestUser) =>
      (await t.api('get', `${project.path}/milestones/${id}/issues`, caller).expect(200)).body.map(({ iid }: { iid: number }) => iid)
    expect(await list(as.guest)).toEqual([1])
    expect(await list(as.reporter)).toEqual([2, 1])
    await t.api('get', `${project.path}/milestones/${id}/merge_requests`, as.guest).expect(200, [])
    for (const what of ['', '/issues', '/merge_requests']) {
      await t.api('get', `${project.path}/milestones/2147483647${what}`, as.guest).expect(404, { message: '404 Not found' })
      await t.api('get', `${project.path}/milestones/${id}${what}`, null).expect(401)
    }
  })

  it('of its project alone (SEC-31)', async () => {
    const project = await aProject(t.ctx)
    const { creator } = project
    const other = await aProject(t.ctx, { creator })
    const { id } = await aMilestone(other, 'v1')
    await t.api('get', `${project.path}/milestones/${id}`, creator).expect(404)
    await t.api('put', `${project.path}/milestones/${id}`, creator).send({ title: 'x' }).expect(404)
    await t.api('delete', `${project.path}/milestones/${id}`, creator).expect(404)
    await t.api('get', `${project.path}/milestones/x`, creator).expect(400, { error: 'milestone_id is invalid' })
  })

  it('permissions (row 15 of section 5.1, AC-11)', async () => {
    const { project, as } = await aCast(t.ctx)
    for (const [role, status] of statuses(201, { anonymous: 401, stranger: 404, guest: 403, reporter: 403 })) {
      const { body } = await create(project, { title: role }, as[role]).expect(status)
      if (status !== 201) continue
      await t
        .api('put', `${project.path}/milestones/${body.id}`, as[role])
        .send({ title: `${role} 2` })
        .expect(200)
      await t.api('delete', `${project.path}/milestones/${body.id}`, as[role]).expect(204)
    }
    const { id } = (await create(project, { title: 'v1' }, as.owner).expect(201)).body
    await t.api('put', `${project.path}/milestones/${id}`, as.reporter).send({ title: 'x' }).expect(403)
    await t.api('delete', `${project.path}/milestones/${id}`, as.reporter).expect(403)
    await t.api('post', `${project.path}/archive`, as.owner).expect(201)
    await create(project, { title: 'x' }, as.owner).expect(403)
    await t.api('get', `${project.path}/milestones`, as.guest).expect(200)
    const open = await aProject(t.ctx, { visibility: 'public' })
    await t.api('get', `${open.path}/milestones`, null).expect(401)
    await t.api('get', `${open.path}/milestones`, as.stranger).expect(200, [])
  })
})

describe('milestones of a group', () => {
  it('to MI-7, MI-8: for the projects directly in it (MI-1)', async () => {
    const group = await aGroup(t.ctx)
    const { creator } = group
    const below = await aGroup(t.ctx, { creator, parent_id: group.id })
    const project = await aProject(t.ctx, { creator, namespace_id: group.id, files: { 'seed.txt': 'seed' } })
    const deeper = await aProject(t.ctx, { creator, namespace_id: below.id })
    const milestone = await aMilestone(group, 'v1')
    expect(milestone).toMatchObject({ iid: 1, group_id: group.id, web_url: `http://roost.test/groups/${group.fullPath}/-/milestones/1` })
    expect(milestone).not.toHaveProperty('project_id')
    const issue = async (place: Place) =>
      (await t.api('post', `${place.path}/issues`, creator).send({ title: 'x', milestone_id: milestone.id }).expect(201)).body
    // the contract's milestone has a project_id: that of the issue or merge request which shows it
    expect((await issue(project)).milestone).toEqual({ ...milestone, project_id: project.id })
    await aCommit(t.ctx, project, { 'a.txt': 'a' }, { branch: 'topic', start_branch: 'main' })
    const asked = { title: 'x', source_branch: 'topic', target_branch: 'main', milestone_id: milestone.id }
    const { body: request } = await t.api('post', `${project.path}/merge_requests`, creator).send(asked).expect(201)
    expect(request.milestone).toEqual({ ...milestone, project_id: project.id })
    expect((await issue(deeper)).milestone).toBe(null)
    const { body } = await t.api('get', `${group.path}/milestones/${milestone.id}/issues`, creator).expect(200)
    expect(body).toMatchObject([{ project_id: project.id, references: { relative: `${project.fullPath.split('/')[1]}#1` } }])
    const { body: requests } = await t.api('get', `${group.path}/milestones/${milestone.id}/merge_requests`, creator).expect(200)
    expect(requests).toMatchObject([{ id: request.id, milestone: { id: milestone.id, project_id: project.id, group_id: group.id } }])
    expect((await t.api('get', `${project.path}/issues?milestone=v1`, creator).expect(200)).body.length).toBe(1)
    await t.api('put', `${group.path}/milestones/${milestone.id}`, creator).send({ state_event: 'close' }).expect(200)
    expect((await t.api('get', `${group.path}/milestones?state=closed`, creator).expect(200)).body.length).toBe(1)
    await t.api('get', `${project.path}/milestones/${milestone.id}`, creator).expect(404)
    await t.api('delete', `${group.path}/milestones/${milestone.id}`, creator).expect(204)
    expect((await aMilestone(group, 'v1')).iid).toBe(2)
  })

  it('a title once in a project, its groups and their projects (MI-3)', async () => {
    const group = await aGroup(t.ctx)
    const { creator } = group
    const below = await aGroup(t.ctx, { creator, parent_id: group.id })
    const project = await aProject(t.ctx, { creator, namespace_id: below.id })
    await aMilestone(group, 'top')
    await aMilestone(project, 'leaf')
    for (const [place, title] of [
      [project, 'top'],
      [below, 'top'],
      [group, 'leaf'],
      [below, 'leaf'],
    ] as const)
      await create(place, { title }).expect(400, taken)
    await aMilestone(await aProject(t.ctx, { creator, namespace_id: below.id }), 'leaf')
  })

  it('permissions (row 3 of section 5.2)', async () => {
    const [guest, reporter, developer, stranger] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    const group = await aGroup(t.ctx, { guest, reporter, developer })
    await create(group, { title: 'x' }, null).expect(401)
    await create(group, { title: 'x' }, stranger).expect(404, { message: '404 Group Not Found' })
    await create(group, { title: 'x' }, reporter).expect(403)
    await create(group, { title: 'x' }, developer).expect(201)
    await t.api('get', `${group.path}/milestones`, guest).expect(200)
    await t.api('get', `${group.path}/milestones`, null).expect(401)
  })
})
