import { expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { aGroup, aUser } from '../../support/factories.js'

const t = testApp()

it('descendant_groups lists the groups below a group at any depth, as far as the caller sees them, with the filters of subgroups (PT-29)', async () => {
  const owner = await aUser(t.ctx)
  const top = await aGroup(t.ctx, { creator: owner, visibility: 'public' })
  const below = async (parent_id: number, name: string, visibility = 'public') =>
    (await t.api('post', '/groups', owner).send({ name, path: name, parent_id, visibility }).expect(201)).body
  const one = await below(top.id, 'one')
  const two = await below(one.id, 'two')
  const hidden = await below(one.id, 'hidden', 'private')
  const other = await aGroup(t.ctx, { creator: owner, visibility: 'public' })
  await below(other.id, 'elsewhere')
  const ids = async (query = '', caller: typeof owner | null = owner) =>
    (await t.api('get', `${top.path}/descendant_groups${query}`, caller).expect(200)).body.map(({ id }: { id: number }) => id)
  expect(await ids()).toEqual([hidden.id, one.id, two.id])
  expect(await ids('', null)).toEqual([one.id, two.id])
  expect(await ids('?search=two')).toEqual([two.id])
  expect(await ids('?order_by=id&sort=desc&per_page=1')).toEqual([hidden.id])
  expect(await ids(`?skip_groups[]=${one.id}`)).toEqual([hidden.id, two.id])
  expect((await t.api('get', `/groups/${two.id}/descendant_groups`, owner).expect(200)).body).toEqual([])
  await t.api('get', `/groups/${hidden.id}/descendant_groups`).expect(404)
})
