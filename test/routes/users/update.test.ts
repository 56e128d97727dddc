import { and, eq, ne, sql } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { applicationSettings, emails, identities, sessions, tokens, users } from '../../../src/db/schema/index.js'
import { userStateChanges } from '../../../src/services/identity/user-state.js'
import { testApp } from '../../support/app.js'
import { gitRun } from '../../support/clients/git-client.js'
import { anAdmin, aProject, aUser, type TestUser, unique } from '../../support/factories.js'

const t = testApp()
let admin: TestUser
let other: TestUser

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
  other = await aUser(t.ctx, { username: 'Other', email: 'other@example.com' })
})

const put = (user: { id: number }, given: object, caller: TestUser | null = admin) => t.api('put', `/users/${user.id}`, caller).send(given)
const stored = async ({ id }: { id: number }) => (await t.ctx.db.read.select().from(users).where(eq(users.id, id)))[0]

describe('PUT /users/:id (U-25 to U-32)', () => {
  it('changes the given fields and nothing else', async () => {
    const user = await aUser(t.ctx, { bio: 'old', external: false, location: 'Here' })
    const given = {
      name: 'New Name',
      bio: 'new',
      messenger: 'm',
      jobsnet: 'j',
      microblog: 'mb',
      website_url: 'https://example.com',
      organization: 'Acme',
    }
    const { body } = await put(user, given).expect(200)
    expect(body).toMatchObject({ ...given, id: user.id, location: 'Here', username: user.username, email: user.email, is_admin: false })
    const numbers = { projects_limit: 3, can_create_group: false, admin: true }
    expect((await put(user, numbers).expect(200)).body).toMatchObject({ projects_limit: 3, can_create_group: false, is_admin: true })
    // absent is not "default false" (U-25)
    expect((await put(user, { name: 'Again' }).expect(200)).body).toMatchObject({ is_admin: true, can_create_group: false })
    await put(user, { admin: false }).expect(200)
  })

  it('an empty body changes nothing (U-32)', async () => {
    const user = await aUser(t.ctx)
    const before = await stored(user)
    await put(user, {}).expect(200)
    expect(await stored(user)).toEqual(before)
  })

  it('null clears (G-87)', async () => {
    const user = await aUser(t.ctx, { bio: 'b', location: 'l', organization: 'o', messenger: 'm' })
    const { body } = await put(user, { bio: null, location: null, organization: null, messenger: null }).expect(200)
    expect(body).toMatchObject({ bio: null, location: null, organization: '', messenger: '' })
  })

  it('refuses callers without the right: 401, 403, 404 (G-10, U-30)', async () => {
    await put(other, { name: 'x' }, null).expect(401, { message: '401 Unauthorized' })
    await put(other, { name: 'x' }, other).expect(403, { message: '403 Forbidden' })
    await put({ id: 999_999 }, { name: 'x' }).expect(404, { message: '404 User Not Found' })
    await put({ id: 99_999_999_999 }, { name: 'x' }).expect(404, { message: '404 User Not Found' })
    await t.api('put', '/users/abc', admin).send({}).expect(404, { error: '404 Not Found' })
    // callers who may not change users get no errors of parameters
    await put(other, { external: 'perhaps' }, other).expect(403, { message: '403 Forbidden' })
    expect((await stored(other))?.name).not.toBe('x')
  })

  it.each([
    [{ email: '' }, { email: ["can't be blank"] }],
    [{ email: 'unknown' }, { email: ['is invalid'] }],
    [{ email: 'a@b\n.c' }, { email: ['is invalid'] }],
    [{ password: 'short' }, { password: ['is too short (minimum is 8 characters)'] }],
    [{ password: 'x'.repeat(129) }, { password: ['is too long (maximum is 128 characters)'] }],
    [{ password: '' }, { password: ["can't be blank"] }],
    [{ name: ' ' }, { name: ["can't be blank"] }],
    [{ name: 'x'.repeat(256) }, { name: ['is too long (maximum is 255 characters)'] }],
    [{ username: 'admin' }, { username: ['admin is a reserved name'] }],
    [{ username: 'other' }, 'Username has already been taken'],
    [{ bio: 'x'.repeat(256) }, { bio: ['is too long (maximum is 255 characters)'] }],
    [{ projects_limit: -1 }, { projects_limit: ['must be greater than or equal to 0'] }],
    [{ website_url: 'javascript:alert(1)' }, { website_url: ['must be a valid URL'] }],
  ])('%o is a 404 with the faults, and nothing changes (U-30, SEC-63)', async (given, message) => {
    const user = await aUser(t.ctx)
    const before = await stored(user)
    await put(user, { name: 'Changed', ...given }).expect(404, { message })
    expect(await stored(user)).toEqual(before)
  })

  it.each([
    [{ admin: 'maybe' }, 'admin is invalid'],
    [{ projects_limit: 'abc', external: 'perhaps' }, 'projects_limit is invalid, external is invalid'],
    [{ extern_uid: 'x' }, 'extern_uid, provider provide all or none of parameters'],
    [{ provider: 'x' }, 'extern_uid, provider provide all or none of parameters'],
    [{ avatar: 'no file' }, 'avatar is invalid'],
  ])('%o is a 404 with the text, and nothing changes (U-30, U-27)', async (given, error) => {
    const user = await aUser(t.ctx)
    const before = await stored(user)
    await put(user, { name: 'Changed', ...given }).expect(404, { error })
    expect(await stored(user)).toEqual(before)
    await put({ id: 999_999 }, given).expect(404, { error })
  })

  it('reports conflicts first (U-30)', async () => {
    const user = await aUser(t.ctx)
    await put(user, { email: 'OTHER@example.com', bio: 'x'.repeat(256) }).expect(404, { message: 'Email has already been taken' })
    await put(user, { username: 'Other', bio: 'x'.repeat(256) }).expect(404, { message: 'Username has already been taken' })
    await t.ctx.db.write.insert(emails).values({ user_id: other.id, email: 'second@example.com', confirmed_at: t.ctx.now() })
    await put(user, { email: 'second@example.com' }).expect(404, { message: { email: ['has already been taken'] } })
  })

  it("a user's own values are no conflict (U-31)", async () => {
    const user = await aUser(t.ctx, { username: `Mixed${unique()}` })
    const { body } = await put(user, { email: user.email.toUpperCase(), username: user.username }).expect(200)
    expect(body).toMatchObject({ email: user.email, username: user.username })
    const lower = user.username.toLowerCase()
    expect((await put(user, { username: lower }).expect(200)).body).toMatchObject({ username: lower })
  })

  it('the former address becomes a secondary one, and back (U-26)', async () => {
    const user = await aUser(t.ctx)
    const { body } = await put(user, { email: 'fresh@example.com' }).expect(200)
    expect(body).toMatchObject({ email: 'fresh@example.com' })
    const secondary = async () =>
      ((await t.api('get', '/user/emails', user).expect(200)).body as { id: number; email: string }[]).map(({ email }) => email)
    expect(await secondary()).toEqual([user.email])
    expect((await put(user, { email: user.email }).expect(200)).body).toMatchObject({ email: user.email })
    expect(await secondary()).toEqual(['fresh@example.com'])
  })

  it('skip_reconfirmation confirms (U-26)', async () => {
    const user = await aUser(t.ctx, { skip_confirmation: false })
    expect((await put(user, { email: `c${unique()}@example.com` }).expect(200)).body).toMatchObject({ confirmed_at: null })
    const { body } = await put(user, { email: `c${unique()}@example.com`, skip_reconfirmation: true }).expect(200)
    expect(body).toMatchObject({ confirmed_at: expect.stringMatching(/Z$/) })
  })

  it('sets the identity of a provider (U-27)', async () => {
    const user = await aUser(t.ctx)
    await put(user, { provider: 'ldap', extern_uid: 'one' }).expect(200)
    await put(user, { provider: 'saml', extern_uid: 's' }).expect(200)
    const { body } = await put(user, { provider: 'ldap', extern_uid: 'two' }).expect(200)
    expect(body).toMatchObject({
      identities: [
        { provider: 'ldap', extern_uid: 'two' },
        { provider: 'saml', extern_uid: 's' },
      ],
    })
    await put(other, { provider: 'ldap', extern_uid: 'TWO' }).expect(404, { message: { 'identities.extern_uid': ['has already been taken'] } })
    expect(await t.ctx.db.read.$count(identities, eq(identities.user_id, other.id))).toBe(0)
  })

  it('a changed password replaces the old one but must be changed first, is stored as a digest, and tokens keep working (U-25, CR-24)', async () => {
    const user = await aUser(t.ctx)
    await put(user, { password: 'another password' }).expect(200)
    expect(await stored(user)).toMatchObject({ password_expired: true, password_hash: expect.stringContaining('$argon2id$') })
    await t.api('get', '/user', user).expect(200)
    const grant = (password: string) =>
      fetch(`${t.url}/oauth/token`, { method: 'POST', body: new URLSearchParams({ grant_type: 'password', username: user.username, password }) })
    expect((await grant('another password')).status).toBe(403)
    expect((await grant(user.password)).status).toBe(401)
  })

  it('external and back (U-29)', async () => {
    const user = await aUser(t.ctx, { projects_limit: 7 })
    expect((await put(user, { external: true, projects_limit: 9 }).expect(200)).body).toMatchObject({
      external: true,
      projects_limit: 0,
      can_create_group: false,
    })
    expect((await put(user, { projects_limit: 9 }).expect(200)).body).toMatchObject({ external: true, projects_limit: 0 })
    expect((await put(user, { external: false }).expect(200)).body).toMatchObject({
      external: false,
      projects_limit: 100_000,
      can_create_group: true,
    })
    await put(user, { external: true }).expect(200)
    expect((await put(user, { external: false, projects_limit: 4 }).expect(200)).body).toMatchObject({ projects_limit: 4, can_create_group: true })
  })

  it("a new username moves the user's projects, and Git finds them by the old path (U-28, AC-12, GH-4)", async () => {
    const user = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: user, files: { 'a.txt': 'a\n' } })
    const renamed = `renamed${unique()}`
    const name = project.fullPath.split('/')[1]
    expect((await put(user, { username: renamed }).expect(200)).body).toMatchObject({ username: renamed, web_url: `http://roost.test/${renamed}` })
    expect((await t.api('get', `/projects/${project.id}`, user).expect(200)).body).toMatchObject({
      path_with_namespace: `${renamed}/${name}`,
      namespace: { path: renamed, full_path: renamed, name: renamed },
    })
    await t.api('get', `/projects/${encodeURIComponent(`${renamed}/${name}`)}`, user).expect(200)
    await t.api('get', `/projects/${encodeURIComponent(project.fullPath)}`, user).expect(404)
    const reads = async (path: string) => (await gitRun(t.dataDir, 'ls-remote', `${t.url.replace('://', `://x:${user.token}@`)}/${path}.git`)).code
    expect(await reads(`${renamed}/${name}`)).toBe(0)
    expect(await reads(project.fullPath)).toBe(0)
    // somebody takes the old name and a project of the same path: the redirect ends
    const heir = await aUser(t.ctx, { username: user.username })
    const taken = await aProject(t.ctx, { creator: heir, name: name as string })
    expect(taken.fullPath).toBe(project.fullPath)
    expect(await reads(project.fullPath)).not.toBe(0)
    // and back again under yet another name, as nothing is left behind of the first rename
    await put(user, { username: `${renamed}2` }).expect(200)
    expect(await reads(`${renamed}/${name}`)).toBe(0)
  })

  it('gives a username to one of two concurrent requests (U-28)', async () => {
    const people = await Promise.all([aUser(t.ctx), aUser(t.ctx), aUser(t.ctx)])
    const answers = await Promise.all(people.map((user) => put(user, { username: 'wanted' })))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404, 404])
    for (const { status, body } of answers) if (status === 404) expect(body).toEqual({ message: 'Username has already been taken' })
  })

  it('fields that are not listed stay (SEC-9)', async () => {
    const user = await aUser(t.ctx)
    const misplaced = { id: 5, is_admin: true, state: 'blocked', created_at: '2000-01-01', confirmed_at: null }
    const { body } = await put(user, { ...misplaced, bio: 'x' }).expect(200)
    expect((await put(user, misplaced).expect(404)).body.error).toMatch(/^no such attribute: is_admin, state, created_at, confirmed_at; /)
    expect(body).toMatchObject({ id: user.id, is_admin: false, state: 'active' })
  })

  it('the ghost cannot be changed (U-30, SEC-125)', async () => {
    const ghost = await aUser(t.ctx)
    await t.ctx.db.write.update(users).set({ kind: 'ghost' }).where(eq(users.id, ghost.id))
    await put(ghost, { name: 'Boo' }).expect(404, { message: '404 User Not Found' })
    await t.api('post', `/users/${ghost.id}/block`, admin).expect(403)
  })
})

describe('the last administrator (SEC-123)', () => {
  it('keeps their rights, also when two are to go at once', async () => {
    await t.ctx.db.write.update(users).set({ admin: false }).where(sql`${users.id} <> ${admin.id}`)
    await put(admin, { admin: false }).expect(404, { message: { admin: ['cannot be taken from the last administrator'] } })
    await t.api('post', `/users/${admin.id}/block`, admin).expect(403)
    const second = await anAdmin(t.ctx)
    const answers = await Promise.all([put(second, { admin: false }), put(admin, { admin: false }), put(second, { admin: false }, second)])
    expect(answers.filter(({ status }) => status === 404).length).toBeGreaterThan(0)
    expect(await t.ctx.db.read.$count(users, sql`${users.admin} and ${users.state} = 'active'`)).toBe(1)
    await t.ctx.db.write.update(users).set({ admin: true }).where(eq(users.id, admin.id))
  })
})

describe('POST /users/:id/block and /unblock (U-41 to U-44, X-12)', () => {
  it('says whether that changed anything', async () => {
    const user = await aUser(t.ctx)
    const post = async (action: string) => {
      const { body, headers } = await t.api('post', `/users/${user.id}/${action}`, admin).expect(201)
      expect(headers['content-type']).toBe('application/json')
      return body
    }
    expect(await post('unblock')).toBe(false)
    expect(await post('block')).toBe(true)
    expect(await post('block')).toBe(false)
    expect((await t.api('get', `/users/${user.id}`, admin).expect(200)).body).toMatchObject({ state: 'blocked' })
    await t.api('get', '/user', user).expect(403, { message: '403 Forbidden - User is blocked' })
    expect(await post('unblock')).toBe(true)
    await t.api('get', '/user', user).expect(200)
  })

  it('people blocked by the directory stay so (U-42)', async () => {
    const user = await aUser(t.ctx, { state: 'ldap_blocked' })
    const refusal = (what: string) => ({ message: `403 Forbidden - LDAP blocked users cannot be ${what} by the API` })
    await t.api('post', `/users/${user.id}/block`, admin).expect(403, refusal('modified'))
    await t.api('post', `/users/${user.id}/unblock`, admin).expect(403, refusal('unblocked'))
    expect((await stored(user))?.state).toBe('ldap_blocked')
  })

  it.each(['block', 'unblock'])('%s: 401, 403, 404 (U-43)', async (action) => {
    await t.api('post', `/users/${other.id}/${action}`).expect(401, { message: '401 Unauthorized' })
    await t.api('post', `/users/${other.id}/${action}`, other).expect(403, { message: '403 Forbidden' })
    await t.api('post', `/users/999999/${action}`, admin).expect(404, { message: '404 User Not Found' })
    await t.api('post', `/users/abc/${action}`, admin).expect(404, { error: '404 Not Found' })
  })

  it('they keep what they have and are still listed (U-44)', async () => {
    const user = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: user, visibility: 'public' })
    await t.api('post', `/users/${user.id}/block`, admin).expect(201)
    await t.api('get', `/projects/${project.id}`).expect(200)
    const { body } = await t.api('get', `/users?username=${user.username}`, other).expect(200)
    expect(body).toMatchObject([{ id: user.id, state: 'blocked' }])
  })
})

describe('POST /users/:id/deactivate and /activate (WB-350)', () => {
  const post = (user: TestUser, action: string) => t.api('post', `/users/${user.id}/${action}`, admin)
  const away = async (user: TestUser, days: number) => {
    const at = new Date(t.ctx.now().getTime() - days * 86_400_000)
    await t.ctx.jobs.drain()
    await t.ctx.db.write.update(users).set({ last_activity_on: null, current_sign_in_at: null }).where(eq(users.id, user.id))
    await t.ctx.db.write.update(tokens).set({ last_used_at: at }).where(eq(tokens.user_id, user.id))
    return { at, day: at.toISOString().slice(0, 10) }
  }
  const recent = { message: '403 Forbidden - The user you are trying to deactivate has been active in the past 90 days and cannot be deactivated' }

  it('users who were away for 90 days; their tokens do not work, in the API and with Git, until they are active', async () => {
    const user = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: user, files: { 'a.txt': 'a\n' } })
    await t.api('get', '/user', user).expect(200)
    await away(user, 91)
    const git = () =>
      fetch(`${t.url}/${project.fullPath}.git/info/refs?service=git-upload-pack`, {
        headers: { authorization: `Basic ${Buffer.from(`${user.username}:${user.token}`).toString('base64')}` },
      })
    expect((await git()).status).toBe(200)
    await away(user, 91)
    expect((await post(user, 'deactivate').expect(201)).body).toBe(true)
    expect((await post(user, 'deactivate').expect(201)).body).toBe(false)
    const { message } = (await t.api('get', '/user', user).expect(403)).body
    expect(message).toContain('403 Forbidden - Your account has been deactivated')
    const refused = await git()
    expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining('sign in at')])
    expect((await t.api('get', `/users/${user.id}`, admin).expect(200)).body).toMatchObject({ state: 'deactivated' })
    const listed = async (query: string) => (await t.api('get', `/users?username=${user.username}${query}`, admin).expect(200)).body.length
    expect([await listed(''), await listed('&active=true'), await listed('&blocked=true')]).toEqual([1, 0, 0])
    await post(user, 'unblock').expect(403, { message: '403 Forbidden - Deactivated users cannot be unblocked by the API' })
    expect((await post(user, 'activate').expect(201)).body).toBe(true)
    expect((await post(user, 'activate').expect(201)).body).toBe(false)
    await t.api('get', '/user', user).expect(200)
    const { rows } = await t.ctx.db.write.execute<{ action: string; actor: string }>(
      `select action, actor from audit_events where target_type = 'user' and target_id = ${user.id} and action like 'user_%activated' order by id`,
    )
    expect(rows).toEqual([
      { action: 'user_deactivated', actor: admin.username },
      { action: 'user_activated', actor: admin.username },
    ])
  })

  it('not users who were there: signed in, with Git, with a token or a session', async () => {
    const user = await aUser(t.ctx)
    const { at, day } = await away(user, 89)
    await post(user, 'deactivate').expect(403, recent)
    await away(user, 91)
    const set = (values: Partial<typeof users.$inferInsert>) => t.ctx.db.write.update(users).set(values).where(eq(users.id, user.id))
    await set({ last_activity_on: day })
    await post(user, 'deactivate').expect(403, recent)
    await set({ last_activity_on: null, current_sign_in_at: at })
    await post(user, 'deactivate').expect(403, recent)
    await set({ current_sign_in_at: null })
    await t.ctx.db.write
      .insert(sessions)
      .values({ user_id: user.id, digest: `d${user.id}`, address: '', user_agent: '', created_at: at, last_used_at: at })
    await post(user, 'deactivate').expect(403, recent)
    await t.ctx.db.write.delete(sessions).where(eq(sessions.user_id, user.id))
    expect((await post(user, 'deactivate').expect(201)).body).toBe(true)
  })

  it('not who is blocked, nor the last administrator; who is deactivated can be blocked', async () => {
    for (const state of ['blocked', 'ldap_blocked', 'blocked_pending_approval'] as const) {
      const user = await aUser(t.ctx, { state })
      await post(user, 'deactivate').expect(403, { message: '403 Forbidden - A blocked user cannot be deactivated by the API' })
      await post(user, 'activate').expect(403, { message: '403 Forbidden - A blocked user must be unblocked to be activated' })
    }
    const user = await aUser(t.ctx, { state: 'deactivated' })
    expect((await post(user, 'block').expect(201)).body).toBe(true)
    await post(user, 'activate').expect(403)
    await t.ctx.db.write.update(users).set({ admin: false }).where(sql`${users.id} <> ${admin.id}`)
    await away(admin, 91)
    await expect(userStateChanges.deactivate(t.ctx, admin.id)).rejects.toThrow()
    expect((await stored(admin))?.state).toBe('active')
  })

  it.each(['deactivate', 'activate'])('%s: 401, 403, 404', async (action) => {
    await t.api('post', `/users/${other.id}/${action}`).expect(401, { message: '401 Unauthorized' })
    await t.api('post', `/users/${other.id}/${action}`, other).expect(403, { message: '403 Forbidden' })
    await t.api('post', `/users/999999/${action}`, admin).expect(404, { message: '404 User Not Found' })
  })
})

describe('POST /users/:id/ban and /unban (UB-1 to UB-3)', () => {
  const post = (user: TestUser, action: string) => t.api('post', `/users/${user.id}/${action}`, admin)

  it('an active user, nothing of whom works until the ban ends', async () => {
    const user = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: user, visibility: 'public', files: { 'a.txt': 'a\n' } })
    const git = (password: string) =>
      fetch(`${t.url}/${project.fullPath}.git/info/refs?service=git-upload-pack`, {
        headers: { authorization: `Basic ${Buffer.from(`${user.username}:${password}`).toString('base64')}` },
      })
    const grant = { grant_type: 'password', username: user.username, password: user.password }
    const bySignIn = () => fetch(`${t.url}/oauth/token`, { method: 'POST', body: new URLSearchParams(grant) })
    expect((await post(user, 'ban').expect(201)).body).toBe(true)
    await post(user, 'ban').expect(403, { message: 'You cannot ban banned users.' })
    await t.api('get', '/user', user).expect(403, { message: '403 Forbidden - User is blocked' })
    expect([(await git(user.token)).status, (await git(user.password)).status, (await bySignIn()).status]).toEqual([403, 401, 401])
    expect((await t.api('get', `/users/${user.id}`, other).expect(200)).body).toMatchObject({ state: 'banned' })
    const listed = async (query: string) => (await t.api('get', `/users?username=${user.username}${query}`, admin).expect(200)).body.length
    expect([await listed(''), await listed('&active=true'), await listed('&blocked=true')]).toEqual([1, 0, 1])
    expect((await post(user, 'unban').expect(201)).body).toBe(true)
    await t.api('get', '/user', user).expect(200)
    expect([(await git(user.token)).status, (await bySignIn()).status]).toEqual([200, 200])
    const { rows } = await t.ctx.db.write.execute<{ action: string; actor: string }>(
      sql`select action, actor from audit_events where target_type = 'user' and target_id = ${user.id} and action like 'user_%banned' order by id`,
    )
    expect(rows).toEqual([
      { action: 'user_banned', actor: admin.username },
      { action: 'user_unbanned', actor: admin.username },
    ])
  })

  it('not who is in another state, nor the last administrator; a ban is not ended by unblocking', async () => {
    for (const state of ['blocked', 'ldap_blocked', 'deactivated', 'blocked_pending_approval'] as const) {
      const user = await aUser(t.ctx, { state })
      await post(user, 'ban').expect(403, { message: `You cannot ban ${state} users.` })
      await post(user, 'unban').expect(403, { message: `You cannot unban ${state} users.` })
    }
    await post(other, 'unban').expect(403, { message: 'You cannot unban active users.' })
    const user = await aUser(t.ctx, { state: 'banned' })
    expect((await post(user, 'block').expect(201)).body).toBe(false)
    await post(user, 'unblock').expect(403, { message: '403 Forbidden - Banned users cannot be unblocked by the API' })
    await post(user, 'deactivate').expect(403)
    await post(user, 'activate').expect(403)
    expect((await stored(user))?.state).toBe('banned')
    await t.ctx.db.write
      .update(users)
      .set({ admin: false })
      .where(and(users.admin, ne(users.id, admin.id)))
    await post(admin, 'ban').expect(403, { message: '403 Forbidden' })
    expect((await stored(admin))?.state).toBe('active')
  })

  it.each(['ban', 'unban'])('%s: 401, 403, 404', async (action) => {
    await t.api('post', `/users/${other.id}/${action}`).expect(401, { message: '401 Unauthorized' })
    await t.api('post', `/users/${other.id}/${action}`, other).expect(403, { message: '403 Forbidden' })
    await t.api('post', `/users/999999/${action}`, admin).expect(404, { message: '404 User Not Found' })
  })
})

describe('GET /user/activities (U-38, U-39, SEC-137)', () => {
  it('lists who was active since a day, the longest ago first', async () => {
    await t.ctx.db.write.update(users).set({ last_activity_on: null })
    const day = (offset: number) => new Date(t.ctx.now().getTime() + offset * 86_400_000).toISOString().slice(0, 10)
    const [a, b, c, d] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)] as const
    const active = (user: TestUser, on: string) => t.ctx.db.write.update(users).set({ last_activity_on: on }).where(eq(users.id, user.id))
    await active(a, day(-10))
    await active(b, day(-200))
    await active(c, day(-10))
    await active(d, day(-100))
    const shown = (user: TestUser, on: string) => ({ username: user.username, last_activity_on: on, last_activity_at: on })
    const { body, headers } = await t.api('get', '/user/activities', admin).expect(200)
    expect(body).toEqual([shown(d, day(-100)), shown(a, day(-10)), shown(c, day(-10))])
    expect(headers['x-total']).toBe('3')
    expect((await t.api('get', `/user/activities?from=${day(-10)}`, admin).expect(200)).body).toHaveLength(2)
    expect((await t.api('get', `/user/activities?from=${day(-9)}`, admin).expect(200)).body).toEqual([])
    expect((await t.api('get', '/user/activities?from=1900-1-1&per_page=1', admin).expect(200)).body).toEqual([shown(b, day(-200))])
    // reading it is no activity (SEC-137, U-40)
    expect((await stored(admin))?.last_activity_on).toBeNull()
  })

  it('is for administrators, and requires a day', async () => {
    await t.api('get', '/user/activities').expect(401)
    await t.api('get', '/user/activities', other).expect(403, { message: '403 Forbidden' })
    await t.api('get', '/user/activities?from=lately', admin).expect(400, { error: 'from is invalid' })
  })
})

describe('GET and PUT /user/status, GET /users/:user_id/status (OT-3, OT-4)', () => {
  const nothing = { emoji: null, message: null, availability: null, message_html: null, clear_status_at: null }
  it('shows what users say about themselves', async () => {
    const user = await aUser(t.ctx)
    expect((await t.api('get', '/user/status', user).expect(200)).body).toEqual(nothing)
    const { body } = await t.api('put', '/user/status', user).send({ message: 'out <b>', availability: 'busy' }).expect(200)
    expect(body).toEqual({ emoji: 'speech_balloon', message: 'out <b>', availability: 'busy', message_html: 'out &lt;b&gt;', clear_status_at: null })
    for (const named of [user.id, user.username]) expect((await t.api('get', `/users/${named}/status`).expect(200)).body).toEqual(body)
    expect((await t.api('put', '/user/status', user).send({ emoji: 'coffee' }).expect(200)).body).toMatchObject({ emoji: 'coffee', message: null })
    expect((await t.api('put', '/user/status', user).send({}).expect(200)).body).toEqual(nothing)
  })

  it('refuses invalid values', async () => {
    const user = await aUser(t.ctx)
    const put = (given: object) => t.api('put', '/user/status', user).send(given)
    await put({ message: 'x'.repeat(101) }).expect(400, { message: { message: ['is too long (maximum is 100 characters)'] } })
    await put({ emoji: '<script>' }).expect(400)
    await put({ availability: 'asleep' }).expect(400, { error: 'availability does not have a valid value' })
    await t.api('get', '/user/status').expect(401)
    await t.api('put', '/user/status').send({}).expect(401)
    await t.api('get', '/users/no-such-user/status').expect(404, { message: '404 User Not Found' })
    await t.ctx.db.write.delete(applicationSettings)
  })
})
