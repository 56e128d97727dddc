import { beforeAll, describe, expect, it } from 'vitest'
import { createContext } from '../../src/cli/create-context.js'
import { Totals } from '../../src/services/core/list-cache.js'
import { listUsers } from '../../src/services/identity/user-list.js'
import { testApp } from '../support/app.js'
import { anAdmin, aUser, type TestUser } from '../support/factories.js'

const t = testApp()
let admin: TestUser

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
  for (let i = 0; i < 5; i++) await aUser(t.ctx)
})

const total = async (query: string) => Number((await t.api('get', `/users?per_page=2${query}`, admin).expect(200)).headers['x-total'])
const counts = async (query: string) => (await t.queriesOf(() => total(query))).filter((text) => /^select count\(\*\),/.test(text)).length

describe('totals of lists (C-13, G-57)', () => {
  it('are counted once while nothing changes, for each filter', async () => {
    const before = await total('')
    expect(await counts('')).toBe(0)
    expect(await counts('&active=true')).toBe(1)
    expect(await counts('&active=true')).toBe(0)
    expect(await total('&page=2')).toBe(before)
    expect(await counts('&page=2')).toBe(0)
    // the other pages of the same list, but for one that is empty
    expect(await total('&page=999')).toBe(before)
    // not everything that is given is remembered: what is noted on people is no part of the version
    expect(await counts('&custom_attributes[a]=b')).toBe(0)
  })

  it('follow every change at once: creation, change, block', async () => {
    const all = await total('')
    const active = await total('&active=true')
    const user = await aUser(t.ctx)
    expect(await total('')).toBe(all + 1)
    await t.api('post', `/users/${user.id}/block`, admin).expect(201)
    expect(await total('&active=true')).toBe(active)
    await t.api('post', `/users/${user.id}/unblock`, admin).expect(201)
    expect(await total('&active=true')).toBe(active + 1)
    const external = await total('&external=true')
    await t.api('put', `/users/${user.id}`, admin).send({ external: true }).expect(200)
    expect(await total('&external=true')).toBe(external + 1)
  })

  it('follow changes that another process makes', async () => {
    const other = await createContext({ ...t.ctx.config, baseUrl: 'http://roost.test' }, t.ctx.db, t.ctx.log)
    const elsewhere = async () => (await listUsers(other, admin.caller, { page: 1, per_page: 2, order_by: 'id', sort: 'desc' })).total
    const before = await elsewhere()
    expect(before).toBe(await total(''))
    await aUser(t.ctx)
    expect(await elsewhere()).toBe(before + 1)
    await other.close()
  })

  it('are bounded: what callers choose as filters cannot fill the memory (SEC-150)', async () => {
    const totals = new Totals()
    let counted = 0
    const ask = (key: string) =>
      totals.page('users', key, [{ version: 1 }], { page: 1, per_page: 1 }, async () => {
        counted++
        return [{ total: 7, version: 1 }]
      })
    for (let i = 0; i < 2; i++) expect((await ask('first')).total).toBe(7)
    expect(counted).toBe(1)
    for (let i = 0; i < 500; i++) await ask(`${i} ${'x'.repeat(20_000)}`)
    await ask('first')
    expect(counted).toBe(502)
  })
})
