import { expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { aGroup, anAdmin, aProject, aUser, type Credentialed } from '../../support/factories.js'

const t = testApp()
const ids = async (path: string, caller: Credentialed | null) =>
  (await t.api('get', path, caller).expect(200)).body.map(({ id }: { id: number }) => id)

it('projects that a user has starred or contributed to are shown as far as the caller sees them, and not of a private profile (PT-30)', async () => {
  const [owner, user, admin] = [await aUser(t.ctx), await aUser(t.ctx), await anAdmin(t.ctx)]
  const open = await aProject(t.ctx, { creator: owner, visibility: 'public' })
  const closed = await aProject(t.ctx, { creator: owner, developer: user, visibility: 'private' })
  await aProject(t.ctx, { creator: owner, visibility: 'public' })
  for (const project of [open, closed]) {
    await t.api('post', `${project.path}/star`, user).expect(201)
    await t.api('post', `${project.path}/issues`, user).send({ title: 'x' }).expect(201)
  }
  for (const what of ['starred', 'contributed'])
    for (const named of [user.id, user.username]) {
      const path = `/users/${named}/${what}_projects`
      expect(await ids(path, user)).toEqual([closed.id, open.id])
      expect(await ids(path, null)).toEqual([open.id])
      expect(await ids(`${path}?sort=asc&order_by=id`, user)).toEqual([open.id, closed.id])
    }
  await t.api('put', `/users/${user.id}`, admin).send({ private_profile: true }).expect(200)
  await t.api('get', `/users/${user.id}/starred_projects`, owner).expect(404)
  await t.api('get', `/users/${user.id}/contributed_projects`, owner).expect(404)
  expect(await ids(`/users/${user.id}/starred_projects`, user)).toEqual([closed.id, open.id])
})

it('administrators list the direct memberships of a user (PT-34)', async () => {
  const [user, admin] = [await aUser(t.ctx), await anAdmin(t.ctx)]
  const group = await aGroup(t.ctx, { reporter: user, name: 'the group' })
  const project = await aProject(t.ctx, { developer: user, name: 'the-project' })
  const path = `/users/${user.id}/memberships`
  const ofGroup = { source_id: group.id, source_name: 'the group', source_type: 'Namespace', access_level: 20 }
  const ofProject = { source_id: project.id, source_name: 'the-project', source_type: 'Project', access_level: 30 }
  expect((await t.api('get', path, admin).expect(200)).body).toEqual([ofGroup, ofProject])
  expect((await t.api('get', `${path}?type=Project`, admin).expect(200)).body).toEqual([ofProject])
  expect((await t.api('get', `${path}?type=Namespace`, admin).expect(200)).body).toEqual([ofGroup])
  await t.api('get', `${path}?type=Other`, admin).expect(400)
  await t.api('get', path, user).expect(403)
  await t.api('get', '/users/999999/memberships', admin).expect(404)
})

it('administrators disconnect a user from a provider (PT-35)', async () => {
  const [user, admin] = [await aUser(t.ctx, { provider: 'github', extern_uid: 'one' }), await anAdmin(t.ctx)]
  await t.api('delete', `/users/${user.id}/identities/github`, user).expect(403)
  await t.api('delete', `/users/${user.id}/identities/other`, admin).expect(404)
  await t.api('delete', `/users/${user.id}/identities/github`, admin).expect(204)
  expect((await t.api('get', `/users/${user.id}`, admin).expect(200)).body.identities).toEqual([])
})
