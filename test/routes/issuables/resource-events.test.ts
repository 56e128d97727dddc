import { sql } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { aGroup, aProject, aUser, type Credentialed, type TestProject, type TestUser } from '../../support/factories.js'
import { aMergeRequest } from '../../support/merge-requests.js'

const t = testApp()
let owner: TestUser
beforeAll(async () => {
  owner = await aUser(t.ctx)
})

type Kind = 'label' | 'milestone' | 'state'
const list = async (of: string, kind: Kind, caller: Credentialed | null = owner) =>
  (await t.api('get', `${of}/resource_${kind}_events`, caller).expect(200)).body
/** What the events say, in short. */
const said = async (of: string, kind: Kind) =>
  (await list(of, kind)).map((event: Record<string, { name: string; title: string } & string>) =>
    kind === 'state' ? event['state'] : `${event['action']} ${(kind === 'label' ? event['label']?.name : event['milestone']?.title) ?? null}`,
  )
const created = async (path: string, body: object, caller = owner) => (await t.api('post', path, caller).send(body).expect(201)).body
const changed = async (path: string, body: object) => (await t.api('put', path, owner).send(body).expect(200)).body

async function subjectOf(kind: 'issue' | 'merge request', project: TestProject, body: object): Promise<{ id: number; path: string }> {
  if (kind === 'issue') {
    const { id, iid } = await created(`${project.path}/issues`, { title: 'one', ...body })
    return { id, path: `${project.path}/issues/${iid}` }
  }
  const { iid } = await aMergeRequest(t, { project, sent: body })
  const { id } = (await t.api('get', `${project.path}/merge_requests/${iid}`, owner).expect(200)).body
  return { id, path: `${project.path}/merge_requests/${iid}` }
}

describe.each([
  ['issue', 'Issue'],
  ['merge request', 'MergeRequest'],
] as const)('resource events of: %s', (kind, resource_type) => {
  const aPlace = () => aProject(t.ctx, { creator: owner, files: { 'readme.md': 'one\n' } })

  it('say when its labels were added and removed, by whom, also at its creation (EV-700, EV-701)', async () => {
    const project = await aPlace()
    for (const name of ['a', 'b']) await created(`${project.path}/labels`, { name, color: '#ff0000' })
    const { id, path } = await subjectOf(kind, project, { labels: 'a' })
    await changed(path, { labels: 'b,new' })
    await changed(path, { remove_labels: 'b' })
    await changed(path, { title: 'other' })
    const events = await list(path, 'label')
    expect(events.map(({ action, label }: { action: string; label: { name: string } }) => `${action} ${label.name}`)).toEqual([
      'add a',
      'add b',
      'add new',
      'remove a',
      'remove b',
    ])
    expect(events[0]).toEqual({
      id: expect.any(Number),
      user: expect.objectContaining({ id: owner.id, username: owner.username }),
      created_at: expect.any(String),
      resource_type,
      resource_id: id,
      label: { id: expect.any(Number), name: 'a', color: '#ff0000', text_color: '#FFFFFF', description: null, description_html: '' },
      action: 'add',
    })
    expect((await t.api('get', `${path}/resource_label_events/${events[1].id}`, owner).expect(200)).body).toEqual(events[1])
    await t.api('get', `${path}/resource_state_events/${events[1].id}`, owner).expect(404)
    await t.api('get', `${path}/resource_label_events/999999`, owner).expect(404)
    // a deleted label is null
    await t.api('delete', `${project.path}/labels/b`, owner).expect(204)
    expect(await said(path, 'label')).toEqual(['add a', 'add null', 'add new', 'remove a', 'remove null'])
    const second = await t.api('get', `${path}/resource_label_events?per_page=2&page=2`, owner).expect(200)
    expect([second.headers['x-total'], second.body.length, second.body[0].id]).toEqual(['5', 2, events[2].id])
  })

  it('say which milestone it got, and that it was removed (EV-701)', async () => {
    const project = await aPlace()
    const [one, two] = [await created(`${project.path}/milestones`, { title: 'one' }), await created(`${project.path}/milestones`, { title: 'two' })]
    const { path } = await subjectOf(kind, project, { milestone_id: one.id })
    await changed(path, { milestone_id: two.id })
    await changed(path, { milestone_id: 0 })
    expect(await said(path, 'milestone')).toEqual(['add one', 'add two', 'remove two'])
    const [event] = await list(path, 'milestone')
    expect(event.milestone).toEqual((await t.api('get', `${project.path}/milestones/${one.id}`, owner).expect(200)).body)
    await t.api('delete', `${project.path}/milestones/${two.id}`, owner).expect(204)
    expect(await said(path, 'milestone')).toEqual(['add one'])
  })

  it('say when it was closed and reopened (EV-701)', async () => {
    const project = await aPlace()
    const { path } = await subjectOf(kind, project, {})
    expect(await list(path, 'state')).toEqual([])
    for (const state_event of ['close', 'close', 'reopen']) await changed(path, { state_event })
    expect(await said(path, 'state')).toEqual(['closed', 'reopened'])
  })

  it('take as many queries for a page as for one event (EV-702)', async () => {
    const project = await aPlace()
    const { path } = await subjectOf(kind, project, { labels: 'a' })
    const read = () => t.queriesOf(() => t.api('get', `${path}/resource_label_events`, owner).expect(200))
    await read()
    const one = (await read()).length
    await changed(path, { labels: 'b,c,d,e' })
    expect((await read()).length).toBe(one)
  })
})

describe('resource events', () => {
  it('say that a merge request was merged (EV-701)', async () => {
    const { project, iid } = await aMergeRequest(t)
    const path = `${project.path}/merge_requests/${iid}`
    await t.api('put', `${path}/merge`, project.creator).send({}).expect(200)
    expect((await list(path, 'state', project.creator)).map(({ state }: { state: string }) => state)).toEqual(['merged'])
  })

  it('of a confidential issue are for those who see it; all need a credential (EV-702)', async () => {
    const project = await aProject(t.ctx, { creator: owner, visibility: 'public' })
    const { iid } = await created(`${project.path}/issues`, { title: 'x', confidential: true, labels: 'a' })
    const path = `${project.path}/issues/${iid}/resource_label_events`
    const other = await aUser(t.ctx)
    await t.api('get', path, other).expect(404)
    await t.api('get', path, null).expect(401)
    await t.api('get', path, owner).expect(200)
    await t.api('get', '/groups/1/epics/1/resource_label_events', owner).expect(404)
  })

  it('go with an issue that is moved, with what the other project has, and its closing (EV-703)', async () => {
    const [from, to] = [await aProject(t.ctx, { creator: owner }), await aProject(t.ctx, { creator: owner })]
    await created(`${to.path}/labels`, { name: 'both', color: '#ff0000' })
    const { iid } = await created(`${from.path}/issues`, { title: 'x', labels: 'both,here' })
    await changed(`${from.path}/issues/${iid}`, { state_event: 'close' })
    await changed(`${from.path}/issues/${iid}`, { state_event: 'reopen' })
    const moved = await created(`${from.path}/issues/${iid}/move`, { to_project_id: to.id })
    expect(await said(`${to.path}/issues/${moved.iid}`, 'label')).toEqual(['add both', 'add null'])
    expect(await said(`${to.path}/issues/${moved.iid}`, 'state')).toEqual(['closed', 'reopened'])
    expect(await said(`${from.path}/issues/${iid}`, 'state')).toEqual(['closed', 'reopened', 'closed'])
  })

  it('name labels and milestones that the project still has after a transfer (EV-703, SEC-31)', async () => {
    const [one, two] = [await aGroup(t.ctx, { creator: owner }), await aGroup(t.ctx, { creator: owner })]
    for (const name of ['used', 'gone']) await created(`${one.path}/labels`, { name, color: '#ff0000' })
    const milestone = await created(`${one.path}/milestones`, { title: 'of one' })
    const project = await aProject(t.ctx, { creator: owner, namespace_id: one.id })
    const { iid } = await created(`${project.path}/issues`, { title: 'x', labels: 'used,gone', milestone_id: milestone.id })
    const path = `${project.path}/issues/${iid}`
    await changed(path, { labels: 'used', milestone_id: 0 })
    await changed(`${project.path}/transfer`, { namespace: two.id })
    expect((await said(path, 'label')).toSorted()).toEqual(['add null', 'add used', 'remove null'])
    expect(await said(path, 'milestone')).toEqual(['add null', 'remove null'])
    const { rows } = await t.ctx.db.write.execute(
      sql`select from resource_events e join labels l on l.id = e.label_id where e.project_id = ${project.id} and l.namespace_id = ${one.id}`,
    )
    expect(rows).toEqual([])
  })

  it('of removed users are the ghost user’s (EV-700)', async () => {
    const developer = await aUser(t.ctx)
    const admin = await aUser(t.ctx, { admin: true })
    const project = await aProject(t.ctx, { creator: owner, developer })
    const { iid } = await created(`${project.path}/issues`, { title: 'x', labels: 'a' }, developer)
    await t.api('delete', `/users/${developer.id}`, admin).expect(204)
    const [event] = await list(`${project.path}/issues/${iid}`, 'label')
    expect(event.user.username).toMatch(/^ghost/)
  })
})
