import { describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { aGroup, aProject, aUser, type TestUser } from '../../support/factories.js'

const t = testApp()

interface Place {
  path: string
  creator: TestUser
}
const call = (method: 'get' | 'post' | 'put' | 'delete', place: Place, at: string, caller: TestUser | null = place.creator) =>
  t.api(method, `${place.path}/boards${at}`, caller)
const aBoard = async (place: Place, name = 'Board') => (await call('post', place, '').send({ name }).expect(201)).body
const aLabel = async (place: Place, name: string) =>
  (await t.api('post', `${place.path}/labels`, place.creator).send({ name, color: '#112233' }).expect(201)).body
const aMilestone = async (place: Place, title: string) =>
  (await t.api('post', `${place.path}/milestones`, place.creator).send({ title }).expect(201)).body
const aList = async (place: Place, board: number, sent: object) => (await call('post', place, `/${board}/lists`).send(sent).expect(201)).body
const labelsOf = async (place: Place, board: number) =>
  (await call('get', place, `/${board}/lists`).expect(200)).body.map(({ label, position }: { label: { name: string }; position: number }) => [
    label.name,
    position,
  ])

async function places(): Promise<[string, Place][]> {
  const creator = await aUser(t.ctx)
  const [project, group] = [await aProject(t.ctx, { creator }), await aGroup(t.ctx, { creator })]
  return [
    ['project', project],
    ['group', { path: group.path, creator }],
  ]
}

describe('boards of projects and of groups', () => {
  it('are made, listed, renamed and deleted (BO-1, BO-2)', async () => {
    for (const [kind, place] of await places()) {
      await call('get', place, '').expect(200, [])
      const board = await aBoard(place, ' Sprint ')
      expect(board).toMatchObject({
        id: expect.any(Number),
        name: 'Sprint',
        lists: [],
        [kind]: { id: expect.any(Number), web_url: expect.any(String) },
      })
      expect(board[kind === 'project' ? 'group' : 'project']).toBeNull()
      const other = await aBoard(place, 'Other')
      const listed = await call('get', place, '?per_page=1').expect(200, [board])
      expect(listed.headers['x-total']).toBe('2')
      await call('get', place, `/${other.id}`).expect(200, other)
      const { body } = await call('put', place, `/${other.id}`).send({ name: 'New' }).expect(200)
      expect(body).toEqual({ ...other, name: 'New' })
      await call('put', place, `/${other.id}`).send({}).expect(200, body)
      await call('post', place, '')
        .send({ name: ' ' })
        .expect(400, { message: { name: ["can't be blank"] } })
      await call('post', place, '').send({}).expect(400, { error: 'name is missing' })
      await call('post', place, '')
        .send({ name: 'x'.repeat(256) })
        .expect(400, { message: { name: ['is too long (maximum is 255 characters)'] } })
      await call('delete', place, `/${other.id}`).expect(204)
      await call('delete', place, `/${other.id}`).expect(404, { message: '404 Board Not Found' })
      await call('get', place, '/999999').expect(404)
    }
  })

  it('are at most 50 (BO-2)', async () => {
    const project = await aProject(t.ctx)
    for (let n = 0; n < 50; n++) await aBoard(project, `Board ${n}`)
    await call('post', project, '')
      .send({ name: 'one more' })
      .expect(400, { message: { base: ['may have at most 50 boards'] } })
  })

  it('belong to their project or group alone', async () => {
    const [[, project], [, group]] = (await places()) as [[string, Place], [string, Place]]
    const board = await aBoard(project)
    await call('get', group, `/${board.id}`).expect(404)
    await call('get', await aProject(t.ctx), `/${board.id}`).expect(404)
  })

  it('have lists of labels, people and milestones, which are moved and removed (BO-3 to BO-6)', async () => {
    for (const [, place] of await places()) {
      const { id } = await aBoard(place)
      const [one, two] = [await aLabel(place, 'one'), await aLabel(place, 'two')]
      const milestone = await aMilestone(place, 'v1')
      const first = await aList(place, id, { label_id: one.id })
      expect(first).toEqual({
        id: expect.any(Number),
        label: { id: one.id, name: 'one', color: '#112233', text_color: '#FFFFFF', description: null },
        position: 0,
      })
      const person = await aList(place, id, { assignee_id: place.creator.id })
      expect(person).toMatchObject({ label: null, assignee: { username: place.creator.username }, position: 1 })
      const due = await aList(place, id, { milestone_id: milestone.id })
      expect(due).toMatchObject({ label: null, milestone: { id: milestone.id, title: 'v1', web_url: milestone.web_url }, position: 2 })
      await call('get', place, `/${id}/lists/${due.id}`).expect(200, due)
      expect((await call('get', place, `/${id}`)).body.lists).toEqual([first, person, due])
      await call('put', place, `/${id}/lists/${due.id}`)
        .send({ position: 0 })
        .expect(200, { ...due, position: 0 })
      expect((await call('get', place, `/${id}/lists`)).body.map((list: { id: number }) => list.id)).toEqual([due.id, first.id, person.id])
      for (const position of [0, 3, -1])
        await call('put', place, `/${id}/lists/${due.id}`)
          .send({ position })
          .expect(400, { message: { error: 'List could not be moved!' } })
      await call('put', place, `/${id}/lists/${due.id}`).send({}).expect(400, { error: 'position is missing' })
      await call('post', place, `/${id}/lists`)
        .send({ label_id: one.id })
        .expect(400, { message: { label: ['has already been taken'] } })
      await call('post', place, `/${id}/lists`)
        .send({})
        .expect(400, { error: 'label_id, assignee_id, milestone_id are missing, exactly one parameter must be provided' })
      await call('post', place, `/${id}/lists`)
        .send({ label_id: two.id, assignee_id: 1 })
        .expect(400, { error: 'label_id, assignee_id are mutually exclusive' })
      await call('delete', place, `/${id}/lists/${due.id}`).expect(204)
      await call('delete', place, `/${id}/lists/${due.id}`).expect(404, { message: '404 Not found' })
      await aList(place, id, { label_id: two.id })
      await t.api('delete', `${place.path}/labels/${one.id}`, place.creator).expect(204)
      expect((await call('get', place, `/${id}/lists`)).body.map((list: { position: number }) => list.position)).toEqual([0, 1])
    }
  })

  it('take no label, assignee or milestone that their issues cannot have (BO-4)', async () => {
    const [[, project], [, group]] = (await places()) as [[string, Place], [string, Place]]
    const stranger = await aUser(t.ctx)
    for (const [place, other] of [
      [project, group],
      [group, project],
    ] as const) {
      const { id } = await aBoard(place)
      const add = (sent: object) => call('post', place, `/${id}/lists`).send(sent)
      await add({ label_id: (await aLabel(other, `of ${id}`)).id }).expect(400, { message: { error: 'Label not found!' } })
      await add({ milestone_id: (await aMilestone(other, `of ${id}`)).id }).expect(400, { message: { error: 'Milestone not found!' } })
      await add({ assignee_id: stranger.id }).expect(400, { message: { error: 'User not found!' } })
      await add({ label_id: 'x' }).expect(400, { error: 'label_id is invalid' })
    }
  })

  it('have at most 20 lists, and each label once however many ask at once (BO-4)', async () => {
    const project = await aProject(t.ctx)
    const { id } = await aBoard(project)
    const same = await aLabel(project, 'same')
    const answers = await Promise.all(Array.from({ length: 4 }, () => call('post', project, `/${id}/lists`).send({ label_id: same.id })))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 400, 400, 400])
    for (let n = 1; n < 20; n++) await aList(project, id, { label_id: (await aLabel(project, `l${n}`)).id })
    const more = await aLabel(project, 'more')
    await call('post', project, `/${id}/lists`)
      .send({ label_id: more.id })
      .expect(400, { message: { base: ['may have at most 20 lists'] } })
    expect((await labelsOf(project, id)).at(-1)).toEqual(['l19', 19])
  })

  it('of a project that leaves its group get its labels and milestones instead of those of the group (BO-4, GR-43)', async () => {
    const creator = await aUser(t.ctx)
    const group = await aGroup(t.ctx, { creator })
    const project = await aProject(t.ctx, { creator, namespace_id: group.id })
    const [used, unused] = [await aLabel({ path: group.path, creator }, 'used'), await aLabel({ path: group.path, creator }, 'unused')]
    await t.api('post', `${project.path}/issues`, creator).send({ title: 'x', labels: 'used' }).expect(201)
    const milestone = await aMilestone({ path: group.path, creator }, 'v1')
    const { id } = await aBoard(project)
    for (const of of [{ label_id: unused.id }, { label_id: used.id }, { milestone_id: milestone.id }]) await aList(project, id, of)
    await t.api('put', `${project.path}/transfer`, creator).send({ namespace: creator.username }).expect(200)
    const { body } = await call('get', project, `/${id}/lists`).expect(200)
    expect(body).toMatchObject([{ label: { name: 'unused' } }, { label: { name: 'used' } }, { milestone: { title: 'v1', project_id: project.id } }])
    expect([unused.id, used.id]).not.toContain(body[0].label.id)
  })

  it('are read by those who read the issues, and changed from the role of reporter on', async () => {
    const [guest, reporter] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { guest, reporter })
    const board = await aBoard(project)
    await call('get', project, '', guest).expect(200)
    await call('post', project, '', guest).send({ name: 'x' }).expect(403)
    await call('post', project, '', reporter).send({ name: 'x' }).expect(201)
    await t.api('put', project.path, project.creator).send({ issues_access_level: 'disabled' }).expect(200)
    await call('get', project, `/${board.id}`).expect(403)
  })
})
