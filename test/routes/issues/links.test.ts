import { expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { TestBrowser } from '../../support/browser.js'
import { aProject, aUser, type Credentialed, type TestProject } from '../../support/factories.js'

const t = testApp()

const anIssue = async (project: TestProject, sent: object = {}): Promise<{ id: number; iid: number; path: string }> => {
  const { body } = await t
    .api('post', `${project.path}/issues`, project.creator)
    .send({ title: 'An issue', ...sent })
    .expect(201)
  return { id: body.id, iid: body.iid, path: `${project.path}/issues/${body.iid}` }
}
const link = (from: { path: string }, project: TestProject | { id: string }, to: { iid: number }, caller: Credentialed) =>
  t.api('post', `${from.path}/links`, caller).send({ target_project_id: project.id, target_issue_iid: to.iid })
const linked = async (of: { path: string }, caller: Credentialed) =>
  (await t.api('get', `${of.path}/links`, caller).expect(200)).body.map(({ id }: { id: number }) => id)
const notes = async (of: { path: string }, caller: Credentialed) =>
  (await t.api('get', `${of.path}/notes?sort=asc`, caller).expect(200)).body.map(({ body }: { body: string }) => body)

it('issues of one or two projects are linked once, shown from both sides, and unlinked (PT-20 to PT-23)', async () => {
  const owner = await aUser(t.ctx)
  const [one, two] = [await aProject(t.ctx, { creator: owner }), await aProject(t.ctx, { creator: owner })]
  const [a, b, c] = [await anIssue(one), await anIssue(two), await anIssue(one)]
  const { body: made } = await link(a, two, b, owner).expect(201)
  expect(made).toMatchObject({ link_type: 'relates_to', source_issue: { id: a.id }, target_issue: { id: b.id } })
  await link(c, { id: two.fullPath }, b, owner).expect(201)
  for (const [from, project, to] of [
    [a, two, b],
    [b, one, a],
  ] as const)
    expect((await link(from, project, to, owner).expect(409)).body.message).toBe('Issue(s) already assigned')
  expect([await linked(a, owner), await linked(b, owner), await linked(c, owner)]).toEqual([[b.id], [a.id, c.id], [b.id]])
  const [shown] = (await t.api('get', `${a.path}/links`, owner).expect(200)).body
  expect(shown).toMatchObject({ issue_link_id: made.id, link_type: 'relates_to', title: 'An issue' })
  expect((await t.api('get', `${b.path}/links/${made.id}`, owner).expect(200)).body).toEqual(made)
  expect(await notes(a, owner)).toContain('linked this issue with another one')
  await link(a, one, a, owner).expect(400)
  await link(a, one, { iid: 999 }, owner).expect(404)
  await t.api('post', `${a.path}/links`, owner).send({ target_project_id: one.id, target_issue_iid: c.iid, link_type: 'blocks' }).expect(400)
  await t.api('delete', `${c.path}/links/${made.id}`, owner).expect(404)
  expect((await t.api('delete', `${b.path}/links/${made.id}`, owner).expect(200)).body).toEqual(made)
  expect(await linked(a, owner)).toEqual([])
  expect(await notes(b, owner)).toContain('removed a link with another issue')
})

it('who does not see the other issue sees no link, and both need a reporter (PT-20 to PT-22)', async () => {
  const [owner, reporter] = [await aUser(t.ctx), await aUser(t.ctx)]
  const open = await aProject(t.ctx, { creator: owner, reporter, visibility: 'public' })
  const closed = await aProject(t.ctx, { creator: owner, visibility: 'private' })
  const guest = await aUser(t.ctx)
  const [a, b, hidden] = [await anIssue(open), await anIssue(closed), await anIssue(open, { confidential: true })]
  await link(a, closed, b, reporter).expect(404)
  const { body: made } = await link(a, closed, b, owner).expect(201)
  await link(a, open, hidden, reporter).expect(201)
  expect([await linked(a, owner), await linked(a, reporter), await linked(a, guest)]).toEqual([[b.id, hidden.id], [hidden.id], []])
  await t.api('get', `${a.path}/links`).expect(401)
  await t.api('get', `${a.path}/links/${made.id}`, reporter).expect(404)
  await t.api('delete', `${a.path}/links/${made.id}`, reporter).expect(404)
  await link(a, open, hidden, guest).expect(403)
  // a note names neither
  expect((await notes(a, guest)).join()).not.toContain(closed.fullPath)
  const elsewhere = await aProject(t.ctx, { creator: owner, visibility: 'public' })
  await link(a, elsewhere, await anIssue(elsewhere), reporter).expect(403)
})

it('the links of an issue that is moved are those of its copy (PT-23)', async () => {
  const owner = await aUser(t.ctx)
  const [one, two] = [await aProject(t.ctx, { creator: owner }), await aProject(t.ctx, { creator: owner })]
  const [a, b] = [await anIssue(one), await anIssue(one)]
  await link(a, one, b, owner).expect(201)
  const { body: copy } = await t.api('post', `${a.path}/move`, owner).send({ to_project_id: two.id }).expect(201)
  expect([await linked(a, owner), await linked(b, owner)]).toEqual([[], [copy.id]])
})

it('the page of an issue links and unlinks (PT-24)', async () => {
  const owner = await aUser(t.ctx)
  const project = await aProject(t.ctx, { creator: owner })
  const [a, b] = [await anIssue(project), await anIssue(project, { title: 'The other' })]
  const browser = new TestBrowser(t.url)
  await browser.signIn(owner)
  await browser.open(`/${project.fullPath}/-/issues/${a.iid}`)
  expect((await browser.submit('Link issue', { linked_issue: '#999' })).text).toContain('is no other issue that you can see')
  const shown = await browser.submit('Link issue', { linked_issue: `#${b.iid}` })
  expect(shown.text).toContain('The other')
  expect(await linked(a, owner)).toEqual([b.id])
  await browser.submit('Remove link')
  expect(await linked(a, owner)).toEqual([])
})
