import { expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { aGroup, aProject, aUser } from '../../support/factories.js'

const t = testApp()

it('issues_statistics counts the issues that a list with the same filters has, by state (PT-31)', async () => {
  const owner = await aUser(t.ctx)
  const group = await aGroup(t.ctx, { creator: owner, visibility: 'public' })
  const project = await aProject(t.ctx, { creator: owner, namespace_id: group.id, visibility: 'public' })
  const issue = async (sent: object) =>
    (
      await t
        .api('post', `${project.path}/issues`, owner)
        .send({ title: 'x', ...sent })
        .expect(201)
    ).body
  await issue({ labels: 'a' })
  await issue({ confidential: true })
  const { iid } = await issue({ labels: 'a', title: 'needle' })
  await t.api('put', `${project.path}/issues/${iid}`, owner).send({ state_event: 'close' }).expect(200)
  const counts = async (path: string, caller: typeof owner | null = owner) => (await t.api('get', path, caller).expect(200)).body.statistics.counts
  for (const at of [project.path, group.path]) {
    expect(await counts(`${at}/issues_statistics`)).toEqual({ all: 3, closed: 1, opened: 2 })
    expect(await counts(`${at}/issues_statistics`, null)).toEqual({ all: 2, closed: 1, opened: 1 })
    expect(await counts(`${at}/issues_statistics?labels=a`)).toEqual({ all: 2, closed: 1, opened: 1 })
    expect(await counts(`${at}/issues_statistics?search=needle`)).toEqual({ all: 1, closed: 1, opened: 0 })
  }
  expect(await counts('/issues_statistics')).toEqual({ all: 3, closed: 1, opened: 2 })
  expect(await counts('/issues_statistics', await aUser(t.ctx))).toEqual({ all: 0, closed: 0, opened: 0 })
  expect(await counts('/issues_statistics?scope=all', null)).toEqual({ all: 2, closed: 1, opened: 1 })
  await t.api('get', '/issues_statistics').expect(401)
})
