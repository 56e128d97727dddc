import { existsSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { tokens, users } from '../../src/db/schema/index.js'
import { createTokenFor } from '../../src/services/identity/tokens.js'
import { bootstrapAdministrator } from '../../src/services/operations/bootstrap.js'
import { testApp } from '../support/app.js'
import { aUser } from '../support/factories.js'

const TOKEN = 'a-token-of-the-first-start'

describe('the first start, with everything configured', () => {
  const t = testApp({
    ROOST_ADMIN_USERNAME: 'chief',
    ROOST_ADMIN_EMAIL: 'chief@example.com',
    ROOST_ADMIN_PASSWORD: 'chief password',
    ROOST_ADMIN_TOKEN: TOKEN,
  })

  it('makes one administrator and the token, also when two start at once, and again changes nothing (CR-1, CR-2)', async () => {
    await Promise.all([bootstrapAdministrator(t.ctx), bootstrapAdministrator(t.ctx), bootstrapAdministrator(t.ctx)])
    const everything = async () => [await t.ctx.db.read.select().from(users), await t.ctx.db.read.select().from(tokens)]
    const first = await everything()
    expect(first.map((rows) => rows.length)).toEqual([1, 1])
    await bootstrapAdministrator(t.ctx)
    expect(await everything()).toEqual(first)
    expect(first[1]).toMatchObject([
      { name: 'bootstrap', kind: 'personal', expires_at: null, scopes: ['api', 'sudo', 'read_repository', 'write_repository'] },
    ])
    expect(JSON.stringify(first)).not.toContain(TOKEN)
    expect((await t.api('get', '/user', { token: TOKEN }).expect(200)).body).toMatchObject({
      username: 'chief',
      email: 'chief@example.com',
      is_admin: true,
      confirmed_at: expect.any(String) as string,
    })
    expect(t.logged.join('')).not.toContain('chief password')
    const login = await fetch(`${t.url}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'password', username: 'chief', password: 'chief password' }),
    })
    expect(login.status).toBe(200)
  })

  it('a token that was revoked stays so (CR-2)', async () => {
    const { id } = (await t.api('get', '/personal_access_tokens/self', { token: TOKEN }).expect(200)).body as { id: number }
    await t.api('delete', `/personal_access_tokens/${id}`, { token: TOKEN }).expect(204)
    await bootstrapAdministrator(t.ctx)
    await t.api('get', '/user', { token: TOKEN }).expect(401)
  })
})

describe('the first start, with nothing configured', () => {
  const t = testApp()

  it('the administrator is root with id 1; the password is in a file and not in the log, until its first use (CR-1)', async () => {
    await bootstrapAdministrator(t.ctx)
    await bootstrapAdministrator(t.ctx)
    const lines = t.logged.filter((line) => line.includes('password is'))
    expect(lines).toHaveLength(1)
    const { file } = JSON.parse(lines[0] as string) as { file: string }
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    const password = (await readFile(file, 'utf8')).trim()
    expect(password).toMatch(/^[A-Za-z0-9_-]{20}$/)
    const signIn = (password: string) =>
      fetch(`${t.url}/oauth/token`, { method: 'POST', body: new URLSearchParams({ grant_type: 'password', username: 'root', password }) })
    expect((await signIn(`${password}x`)).status).toBe(401)
    expect(existsSync(file)).toBe(true)
    const login = await signIn(password)
    expect(existsSync(file)).toBe(false)
    expect(t.logged.join('')).not.toContain(password)
    const { access_token } = (await login.json()) as { access_token: string }
    expect((await t.api('get', '/user', { token: access_token }).expect(200)).body).toMatchObject({ id: 1, username: 'root', is_admin: true })
    expect(await t.ctx.db.read.select().from(tokens)).toMatchObject([{ kind: 'oauth' }])
  })

  it('a token made for a user by name works (CR-3)', async () => {
    const user = await aUser(t.ctx)
    const token = await createTokenFor(t.ctx, {
      username: user.username.toUpperCase(),
      name: 'command line',
      scopes: ['read_user'],
      expires_at: '2099-01-01',
    })
    expect((await t.api('get', '/user', { token }).expect(200)).body).toMatchObject({ id: user.id })
    await t.api('get', '/projects', { token }).expect(403)
    await expect(createTokenFor(t.ctx, { username: 'no-such-user', name: 'x', scopes: ['api'] })).rejects.toThrow('404 User Not Found')
    await expect(createTokenFor(t.ctx, { username: user.username, name: 'x', scopes: ['everything'] })).rejects.toThrow('available scopes')
  })
})
