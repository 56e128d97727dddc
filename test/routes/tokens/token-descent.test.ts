import { sql } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { anAdmin, aToken, aUser, type Credentialed, type TestUser } from '../../support/factories.js'
import { seeds } from '../../support/rounds.js'

const t = testApp()
let admin: TestUser
let user: TestUser

interface Made {
  id: number
  token: string
}

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
  user = await aUser(t.ctx)
})

const ask = (caller: Credentialed, path: string, scopes = ['api']) => t.api('post', path, caller).send({ name: 'x', scopes })
const make = async (caller: Credentialed, path = '/user/personal_access_tokens') => (await ask(caller, path).expect(201)).body as Made
const forUser = () => `/users/${user.id}/personal_access_tokens`
const impersonations = () => `/users/${user.id}/impersonation_tokens`
const revoke = (id: number | string, caller: Credentialed) => t.api('delete', `/personal_access_tokens/${id}`, caller)
const rotate = async (id: number | string, caller: Credentialed) =>
  (await t.api('post', `/personal_access_tokens/${id}/rotate`, caller).expect(200)).body as Made
const works = async (caller: Credentialed) => (await t.api('get', '/user', caller)).status === 200
const all = (callers: Credentialed[]) => Promise.all(callers.map(works))

describe('tokens that were made with a token', () => {
  it('end when it is revoked, at every remove and of every account and kind (CR-25, SEC-266)', async () => {
    const first = await make(admin)
    const second = await make(first)
    const others = [await make(second), await make(second, forUser()), await make(second, impersonations())]
    const sudo = await make({ token: first.token }, `/user/personal_access_tokens?sudo=${user.id}`)
    const sibling = await make(admin)
    await revoke(first.id, admin).expect(204)
    expect(await all([first, second, ...others, sudo])).toEqual([false, false, false, false, false, false])
    expect(await all([sibling, admin, user])).toEqual([true, true, true])
    const { rows } = await t.ctx.db.write.execute<{ target_id: string }>(
      sql`select target_id from audit_events where action = 'token_revoked' order by target_id`,
    )
    expect(rows.map(({ target_id }) => Number(target_id))).toEqual([first, second, ...others, sudo].map(({ id }) => id).sort((a, b) => a - b))
  })

  it('end when it is rotated, with its own or another token (CR-20, CR-25)', async () => {
    for (const name of ['self', 'id'] as const) {
      const old = await make(user)
      const child = await make(old)
      const fresh = await rotate(name === 'self' ? 'self' : old.id, name === 'self' ? old : user)
      expect(await all([old, child, fresh])).toEqual([false, false, true])
    }
  })

  it('end with the one before, also when they have replaced themselves or been replaced by what they made (CR-25)', async () => {
    const first = await make(user)
    const itself = await rotate('self', await make(first))
    const second = await make(first)
    const below = await rotate(second.id, await make(second))
    const replaced = await rotate((await make(user)).id, first)
    expect(await all([itself, below, replaced])).toEqual([true, true, true])
    await revoke('self', first).expect(204)
    expect(await all([itself, below, replaced])).toEqual([false, false, false])
  })

  it('outlive its term, and end when it is revoked after that (CR-25)', async () => {
    const first = await make(user)
    const child = await make(first)
    await t.ctx.db.write.execute(sql`update tokens set expires_at = '2020-01-01' where id = ${first.id}`)
    expect(await all([first, child])).toEqual([false, true])
    await revoke(first.id, user).expect(204)
    expect(await works(child)).toBe(false)
  })

  it('stay when a password grant ends (CR-23, CR-25)', async () => {
    const grant = { grant_type: 'password', username: user.username, password: user.password }
    const { access_token } = (await t.app.inject({ method: 'POST', url: '/oauth/token', payload: grant })).json()
    const made = await make({ token: access_token })
    await t.app.inject({ method: 'POST', url: '/oauth/revoke', payload: { token: access_token } })
    expect(await all([{ token: access_token }, made])).toEqual([false, true])
  })

  it('cannot be made while it is being revoked (SEC-266)', { tags: ['long'] }, async () => {
    for (const _ of seeds(6, 30)) {
      const first = await make(user)
      const second = await make(first)
      const calls = [first, second, first, second, first, second].map((caller) => ask(caller, '/user/personal_access_tokens'))
      const [, ...answers] = await Promise.all([revoke(first.id, user).expect(204), ...calls])
      for (const { status } of answers) expect([201, 401]).toContain(status)
      const made = answers.filter(({ status }) => status === 201).map(({ body }) => body as Made)
      expect((await all(made)).filter(Boolean)).toEqual([])
    }
  })
})

describe('an impersonation token', () => {
  it('makes and replaces no tokens, and can revoke itself (T-10)', async () => {
    const refusal = { message: '403 Forbidden - an impersonation token makes no tokens' }
    const boss = await anAdmin(t.ctx)
    const token = await make(admin, `/users/${boss.id}/impersonation_tokens`)
    for (const path of ['/user/personal_access_tokens', forUser(), impersonations(), `/user/personal_access_tokens?sudo=${user.id}`])
      await ask(token, path).expect(403, refusal)
    for (const id of ['self', boss.caller.token.id]) await t.api('post', `/personal_access_tokens/${id}/rotate`, token).expect(403, refusal)
    expect(await all([token, boss])).toEqual([true, true])
    await revoke('self', token).expect(204)
    expect(await works(token)).toBe(false)
    expect(await works({ token: await aToken(t.ctx, boss, ['api']) })).toBe(true)
  })
})
