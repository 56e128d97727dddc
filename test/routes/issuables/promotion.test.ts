import { expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { TestBrowser } from '../../support/browser.js'
import { aGroup, aProject, aUser } from '../../support/factories.js'

const t = testApp()

async function places() {
  const [owner, maintainer] = [await aUser(t.ctx), await aUser(t.ctx)]
  const group = await aGroup(t.ctx, { creator: owner })
  const [one, two] = [
    await aProject(t.ctx, { creator: owner, namespace_id: group.id, maintainer }),
    await aProject(t.ctx, { creator: owner, namespace_id: group.id }),
  ]
  return { owner, maintainer, group, one, two }
}

it('a label of a project is promoted by those who manage the labels of its group, with its events (PT-32, EV-703)', async () => {
  const { owner, maintainer, group, one, two } = await places()
  const labels = []
  for (const { path } of [one, two])
    labels.push((await t.api('post', `${path}/labels`, owner).send({ name: 'bug', color: '#ff0000' }).expect(201)).body)
  const { iid } = (await t.api('post', `${two.path}/issues`, owner).send({ title: 'x', labels: 'bug' }).expect(201)).body
  await t.api('put', `${one.path}/labels/bug/promote`, maintainer).expect(403)
  const { body } = await t.api('put', `${one.path}/labels/${labels[0].id}/promote`, owner).expect(200)
  expect(body).toMatchObject({ name: 'bug', is_project_label: false })
  expect((await t.api('get', `${group.path}/labels`, owner).expect(200)).body).toMatchObject([{ id: body.id }])
  const [event] = (await t.api('get', `${two.path}/issues/${iid}/resource_label_events`, owner).expect(200)).body
  expect(event.label.id).toBe(body.id)
  await t.api('put', `${one.path}/labels/bug/promote`, owner).expect(400)
  const personal = await aProject(t.ctx, { creator: owner })
  await t.api('post', `${personal.path}/labels`, owner).send({ name: 'bug', color: '#ff0000' }).expect(201)
  await t.api('put', `${personal.path}/labels/bug/promote`, owner).expect(400)
})

it('labels of a group are subscribed to there (PT-32)', async () => {
  const { owner, group } = await places()
  await t.api('post', `${group.path}/labels`, owner).send({ name: 'bug', color: '#ff0000' }).expect(201)
  const path = `${group.path}/labels/bug`
  expect((await t.api('post', `${path}/subscribe`, owner).expect(201)).body.subscribed).toBe(true)
  await t.api('post', `${path}/subscribe`, owner).expect(304)
  expect((await t.api('get', path, owner).expect(200)).body.subscribed).toBe(true)
  expect((await t.api('post', `${path}/unsubscribe`, owner).expect(201)).body.subscribed).toBe(false)
})

it('a milestone of a project is promoted, and replaces those of its title of the projects in the group (PT-33)', async () => {
  const { owner, maintainer, group, one, two } = await places()
  const made = []
  for (const { path } of [one, two])
    made.push((await t.api('post', `${path}/milestones`, owner).send({ title: '1.0', due_date: '2099-01-01' }).expect(201)).body)
  const { iid } = (await t.api('post', `${two.path}/issues`, owner).send({ title: 'x', milestone_id: made[1].id }).expect(201)).body
  const path = `${one.path}/milestones/${made[0].id}/promote`
  await t.api('post', path, maintainer).expect(403)
  const { body } = await t.api('post', path, owner).expect(200)
  expect(body).toMatchObject({ title: '1.0', due_date: '2099-01-01', group_id: group.id })
  expect((await t.api('get', `${two.path}/issues/${iid}`, owner).expect(200)).body.milestone.id).toBe(body.id)
  for (const place of [one, two]) expect((await t.api('get', `${place.path}/milestones`, owner).expect(200)).body).toEqual([])
  expect((await t.api('get', `${two.path}/issues/${iid}/resource_milestone_events`, owner).expect(200)).body).toMatchObject([
    { milestone: { id: body.id } },
  ])
  const again = (await t.api('post', `${one.path}/milestones`, owner).send({ title: '2.0' }).expect(201)).body
  const browser = new TestBrowser(t.url)
  await browser.signIn(owner)
  await browser.open(`/${one.fullPath}/-/milestones/${again.iid}/edit`)
  expect((await browser.submit('Promote to a milestone of the group')).text).toContain('The milestone is one of the group now.')
})
