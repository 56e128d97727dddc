import { eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { emails, users } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { aGroup, anAdmin, aProject, aUser, setSettings, type TestUser } from '../../support/factories.js'

const t = testApp()
let admin: TestUser
let user: TestUser

beforeAll(async () => {
  admin = await anAdmin(t.ctx, { name: 'Root' })
  user = await aUser(t.ctx, { name: 'Ada Lovelace', username: 'ada', email: 'ada@engine.example' })
  await aUser(t.ctx, { name: 'Grace Hopper', username: 'grace_h', email: 'grace@navy.example' })
  await aUser(t.ctx, { name: 'Guest from outside', username: 'outsider', external: true })
  await aUser(t.ctx, { name: 'Ada Blocked', username: 'blockedone', state: 'blocked' })
  const ghost = await aUser(t.ctx, { name: 'Ghost User', username: 'ghost' })
  await t.ctx.db.write.update(users).set({ kind: 'ghost' }).where(eq(users.id, ghost.id))
})

const names = async (query: string, caller: TestUser | null = user) =>
  ((await t.api('get', `/users${query}`, caller).expect(200)).body as { username: string }[]).map(({ username }) => username)
const valid = (n: number | string) => ({ email: `new${n}@example.com`, username: `new${n}`, name: `New ${n}`, password: 'password1' })
const post = (given: object, caller: TestUser | null = admin) => t.api('post', '/users', caller).send(given)

describe('GET /users (U-8 to U-16)', () => {
  it('without a token only by username (U-8)', async () => {
    const refusal = { message: '403 Forbidden - Not authorized to access /api/v4/users' }
    for (const query of ['', '?search=ada', '?username=', '?username=%20']) await t.api('get', `/users${query}`).expect(403, refusal)
    expect(await names('?username=ada', null)).toEqual(['ada'])
    expect(await names('?username=unknown', null)).toEqual([])
    await setSettings(t.ctx, { restricted_visibility_levels: ['public'] })
    await t.api('get', '/users?username=ada').expect(403, refusal)
    await t.api('get', `/users/${user.id}`).expect(404, { message: '404 User Not Found' })
    await setSettings(t.ctx, {})
  })

  it('people see the basic view, administrators all (U-9, SEC-44, SEC-45)', async () => {
    const [basic] = (await t.api('get', '/users?username=ada', user).expect(200)).body as object[]
    expect(Object.keys(basic ?? {}).sort()).toEqual(['avatar_url', 'id', 'name', 'state', 'username', 'web_url'])
    const [full] = (await t.api('get', '/users?username=ada', admin).expect(200)).body as object[]
    expect(full).toMatchObject({ email: 'ada@engine.example', is_admin: false, external: false, identities: [] })
  })

  it('external people show to everybody, the ghost to all who do not ask for active ones (U-10, U-11)', async () => {
    for (const query of ['', '?active=true', '?search=%20', '?created_after=2000-01-01'])
      for (const caller of [user, admin]) expect(await names(query, caller)).toContain('outsider')
    expect(await names('', admin)).toEqual(expect.arrayContaining(['outsider', 'ghost', 'blockedone']))
    expect(await names('?active=true', admin)).not.toEqual(expect.arrayContaining(['ghost']))
    expect(await names('?active=true')).not.toContain('blockedone')
    expect(await names('?blocked=true')).toEqual(['blockedone'])
    expect(await names('?blocked=true&active=true')).toEqual([])
    expect(await names('?blocked=false&active=false&external=false')).toContain('blockedone')
  })

  it('finds external accounts that a filter names (U-10)', async () => {
    await aUser(t.ctx, { username: 'visitor', external: true, provider: 'saml', extern_uid: 'visitor-1' })
    expect(await names('?username=visitor')).toEqual(['visitor'])
    expect(await names('?username=visitor', null)).toEqual(['visitor'])
    expect(await names('?search=visit')).toEqual(['visitor'])
    expect(await names('?provider=saml&extern_uid=VISITOR-1')).toEqual(['visitor'])
    expect(await names('?search=visit&blocked=true')).toEqual([])
  })

  it('a username is whole, in any case (U-12)', async () => {
    expect(await names('?username=ADA')).toEqual(['ada'])
    expect(await names('?username=ad')).toEqual([])
  })

  it('search in name or username, or the whole address (U-13, G-76, G-77, G-78, G-79, G-80)', async () => {
    expect(await names('?search=lace')).toEqual(['ada'])
    expect(await names('?search=%20%20LOVELACE%20%20%20ada%20')).toEqual(['ada'])
    expect(await names('?search=lovelace%20hopper')).toEqual([])
    expect(await names('?search=%22ace%20hop%22')).toEqual(['grace_h'])
    expect(await names('?search=%22hop%20ace%22')).toEqual([])
    expect(await names('?search=hopper%20x')).toEqual([])
    expect(await names('?search=hopper%20g')).toEqual(['grace_h'])
    expect(await names('?search=ac')).toEqual(['ada', 'grace_h'])
    expect(await names('?search=_')).toEqual(['grace_h'])
    expect(await names('?search=ve%20l')).toEqual(['ada'])
    expect(await names('?search=q')).toEqual([])
    expect(await names('?search=e_h')).toEqual(['grace_h'])
    expect(await names('?search=e%25h')).toEqual([])
    expect(await names('?search=hopper%20grace_h')).toEqual([])
    expect(await names('?search=GRACE@navy.example')).toEqual(['grace_h'])
    for (const part of ['grace@navy', 'navy', '@n', 'navy.example', '@']) {
      expect(await names(`?search=${part}`)).not.toContain('grace_h')
      expect(await names(`?search=${part}`, admin)).toContain('grace_h')
    }
    expect((await names('?search=%20')).length).toBe((await names('')).length)
  })

  it('leaves out internal accounts, and has administrators only for administrators (NP-5)', async () => {
    const ghost = (await t.ctx.db.read.select({ username: users.username, kind: users.kind }).from(users)).find(({ kind }) => kind !== 'human')
    expect(ghost).toBeDefined()
    const all = await names('?per_page=100', admin)
    expect(all).toContain(ghost?.username)
    expect(await names('?per_page=100&exclude_internal=true', admin)).toEqual(all.filter((name) => name !== ghost?.username))
    expect(await names('?per_page=100&exclude_internal=true')).not.toContain(ghost?.username)
    expect(await names('?admins=true', admin)).toEqual([admin.username])
    await t.api('get', '/users?admins=true', user).expect(400, { error: 'admins is not supported' })
    await t.api('get', '/users?admins=false', user).expect(200)
  })

  it('finds the own account by a part of its address, and any by a secondary one for administrators (U-13, SEC-44)', async () => {
    await t.ctx.db.write.insert(emails).values({ user_id: user.id, email: 'countess@byron.example' })
    for (const [part, own] of [
      ['engine', ['ada']],
      ['@eng', ['ada']],
      ['byron', []],
      ['countess@byron.example', []],
    ] as const) {
      expect([part, await names(`?search=${part}`)]).toEqual([part, own])
      expect([part, await names(`?search=${part}`, admin)]).toEqual([part, ['ada']])
    }
    const other = await aUser(t.ctx)
    for (const part of ['engine', 'byron']) expect(await names(`?search=${part}`, other)).toEqual([])
    await t.ctx.db.write.delete(emails).where(eq(emails.user_id, user.id))
    expect(await names('?search=byron', admin)).toEqual([])
  })

  it('identities and external filter for everybody, and show no more than before (U-14, U-10, SEC-46)', async () => {
    await aUser(t.ctx, { username: 'ldapper', provider: 'ldap', extern_uid: 'CN=Ldapper' })
    for (const caller of [admin, user]) {
      expect(await names('?provider=ldap&extern_uid=cn=ldapper', caller)).toEqual(['ldapper'])
      expect(await names('?provider=saml&extern_uid=cn=ldapper', caller)).toEqual([])
      expect(await names('?provider=ldap&extern_uid=cn=ldap', caller)).toEqual([])
      expect(await names('?external=true', caller)).toEqual(['visitor', 'outsider'])
    }
    expect(await names('?external=true&username=outsider', null)).toEqual(['outsider'])
    expect(await names('?provider=ldap&extern_uid=cn=ldapper&username=ldapper', null)).toEqual(['ldapper'])
    const [shown] = (await t.api('get', '/users?external=true', user).expect(200)).body as object[]
    expect(Object.keys(shown ?? {}).sort()).toEqual(['avatar_url', 'id', 'name', 'state', 'username', 'web_url'])
    for (const query of ['?provider=ldap', '?extern_uid=x'])
      await t.api('get', `/users${query}`, admin).expect(400, { error: 'extern_uid, provider provide all or none of parameters' })
  })

  it('created_before and created_after, inclusive (U-15)', async () => {
    const moment = new Date('2017-01-02T03:04:05.678Z')
    await t.ctx.db.write.update(users).set({ created_at: moment }).where(eq(users.id, user.id))
    expect(await names(`?created_before=${moment.toISOString()}`)).toEqual(['ada'])
    expect(await names('?created_before=2017-01-02T03:04:05.677Z')).toEqual([])
    expect(await names(`?created_after=${moment.toISOString()}&created_before=2018-01-01`)).toEqual(['ada'])
    await t.api('get', '/users?created_after=now', user).expect(400, { error: 'created_after is invalid' })
  })

  it('order is an administrator’s to choose, and checked for all (U-16)', async () => {
    await t.api('get', '/users?order_by=email', user).expect(400, { error: 'order_by does not have a valid value' })
    const ids = async (query: string, caller: TestUser) =>
      ((await t.api('get', `/users?per_page=100&${query}`, caller).expect(200)).body as { id: number }[]).map(({ id }) => id)
    const down = (list: number[]) => [...list].sort((a, b) => b - a)
    expect(await ids('order_by=name&sort=asc', user)).toEqual(down(await ids('', user)))
    expect(await ids('', admin)).toEqual(down(await ids('', admin)))
    expect(await ids('sort=asc', admin)).toEqual([...(await ids('', admin))].reverse())
    expect((await names('?order_by=name&sort=asc', admin))[0]).toBe('blockedone')
    await aUser(t.ctx, { name: 'Zoe the first', username: 'findme' })
    await aUser(t.ctx, { name: 'findme', username: 'zzz' })
    await aUser(t.ctx, { name: 'A findme too', username: 'aaa' })
    await aUser(t.ctx, { name: 'B findme too', username: 'bbb' })
    expect(await names('?search=findme')).toEqual(['zzz', 'findme', 'aaa', 'bbb'])
    expect(await names('?search=findme', admin)).toEqual(['bbb', 'aaa', 'zzz', 'findme'])
  })
})

describe('GET /users/:id (U-17)', () => {
  it('shows people the normal view, administrators all; blocked and external people too', async () => {
    const path = `/users/${user.id}`
    for (const caller of [null, user]) {
      const { body } = await t.api('get', path, caller).expect(200)
      expect(body).toMatchObject({
        username: 'ada',
        bio: null,
        location: null,
        messenger: '',
        jobsnet: '',
        microblog: '',
        website_url: '',
        organization: '',
        web_url: 'http://roost.test/ada',
      })
      for (const field of ['email', 'is_admin', 'last_sign_in_at', 'identities', 'external']) expect(body).not.toHaveProperty(field)
    }
    expect((await t.api('get', path, admin).expect(200)).body).toMatchObject({ email: 'ada@engine.example', is_admin: false })
    for (const username of ['blockedone', 'outsider']) {
      const [row] = await t.ctx.db.read.select().from(users).where(eq(users.username, username))
      expect((await t.api('get', `/users/${row?.id}`, user).expect(200)).body).toMatchObject({ username })
    }
    for (const id of ['999999', '99999999999']) await t.api('get', `/users/${id}`, user).expect(404, { message: '404 User Not Found' })
  })

  it('can_create_project counts the personal projects; identities are ordered (U-6, U-7)', async () => {
    const limited = await aUser(t.ctx, { projects_limit: 1, provider: 'ldap', extern_uid: 'uid=limited' })
    const shown = async () => (await t.api('get', `/users/${limited.id}`, admin).expect(200)).body as object
    expect(await shown()).toMatchObject({
      can_create_project: true,
      projects_limit: 1,
      identities: [{ provider: 'ldap', extern_uid: 'uid=limited' }],
    })
    await aProject(t.ctx, { creator: limited })
    expect(await shown()).toMatchObject({ can_create_project: false })
  })
})

describe('POST /users (U-18 to U-24, G-75)', () => {
  it('201 with the whole view and the defaults (X-13, U-18, U-20, U-22, G-87)', async () => {
    const { body } = await post({ ...valid(1), location: 'Here', organization: null, website_url: 'https://a.example' }).expect(201)
    expect(body).toMatchObject({
      username: 'new1',
      state: 'active',
      is_admin: false,
      external: false,
      can_create_group: true,
      projects_limit: 100_000,
      confirmed_at: null,
      location: 'Here',
      organization: '',
      bio: null,
      website_url: 'https://a.example',
      current_sign_in_at: null,
      last_activity_on: null,
    })
    expect(JSON.stringify(body)).not.toContain('password1')
  })

  it('settings give the defaults, and external people get nothing whatever was sent (U-20, G-66)', async () => {
    await setSettings(t.ctx, { user_default_external: true, default_projects_limit: 7 })
    expect((await post({ ...valid(2), projects_limit: 5, can_create_group: true }).expect(201)).body).toMatchObject({
      external: true,
      can_create_group: false,
      projects_limit: 0,
    })
    expect((await post({ ...valid(3), external: false }).expect(201)).body).toMatchObject({ external: false, projects_limit: 7 })
    await setSettings(t.ctx, {})
    expect((await post({ ...valid(4), admin: true, skip_confirmation: true, can_create_group: false }).expect(201)).body).toMatchObject({
      is_admin: true,
      confirmed_at: expect.any(String) as string,
      can_create_group: false,
    })
  })

  it('names missing parameters, in order (U-19)', async () => {
    await post({ extern_uid: 'x' }).expect(400, {
      error:
        'email is missing, password, reset_password are missing, at least one parameter must be provided, name is missing, username is missing, extern_uid, provider provide all or none of parameters',
    })
    await post({ ...valid(5), password: undefined, reset_password: false }).expect(400, { message: { password: ["can't be blank"] } })
  })

  it('reset_password wins over a password (U-21)', async () => {
    await post({ ...valid(6), reset_password: true, password: 'short' }).expect(201)
  })

  it.each([
    ['a blank address', { email: ' ' }, { email: ["can't be blank"] }],
    ['an address without @', { email: 'unknown' }, { email: ['is invalid'] }],
    ['an address with two lines', { email: 'a@b\nc@d' }, { email: ['is invalid'] }],
    ['an address of 255 characters', { email: `${'a'.repeat(243)}@example.com` }, { email: ['is invalid'] }],
    ['a short password', { password: 'seven77' }, { password: ['is too short (minimum is 8 characters)'] }],
    ['a long password', { password: 'x'.repeat(129) }, { password: ['is too long (maximum is 128 characters)'] }],
    ['an empty password', { password: '' }, { password: ["can't be blank"] }],
    ['a blank name', { name: ' ' }, { name: ["can't be blank"] }],
    ['a name of 256 characters', { name: 'x'.repeat(256) }, { name: ['is too long (maximum is 255 characters)'] }],
    ['a reserved username', { username: 'Admin' }, { username: ['Admin is a reserved name'] }],
    [
      'a username with a line break',
      { username: 'ab\ncd' },
      { username: ["can contain only letters, digits, '_', '-' and '.'. Cannot start with '-' or end in '.', '.git' or '.atom'."] },
    ],
    [
      'a look-alike username',
      { username: 'аda' },
      { username: ["can contain only letters, digits, '_', '-' and '.'. Cannot start with '-' or end in '.', '.git' or '.atom'."] },
    ],
    ['a bio of 256 characters', { bio: 'x'.repeat(256) }, { bio: ['is too long (maximum is 255 characters)'] }],
    ['a negative limit', { projects_limit: -1 }, { projects_limit: ['must be greater than or equal to 0'] }],
    ['a limit beyond 32 bits', { projects_limit: 2_147_483_648 }, { projects_limit: ['must be less than or equal to 2147483647'] }],
    ['a script as website', { website_url: 'javascript:alert(1)' }, { website_url: ['must be a valid URL'] }],
    ['a website with a line break', { website_url: 'https://a.example\r\nX: y' }, { website_url: ['must be a valid URL'] }],
    ['a website without scheme or host', { website_url: '//evil.example' }, { website_url: ['must be a valid URL'] }],
  ])('to SEC-65: refuses %s (U-23, AC-17, AC-18, G-41, SEC-62)', async (_, given, message) => {
    await post({ ...valid('refused'), ...given }).expect(400, { message })
  })

  it('at the limits everything passes (U-23)', async () => {
    await post({
      ...valid('limits'),
      name: 'x'.repeat(255),
      bio: 'x'.repeat(255),
      password: 'x'.repeat(128),
      username: 'x'.repeat(255),
      email: ` ${'A'.repeat(242)}@example.com `,
    }).expect(201)
  })

  it('conflicts before texts (X-13, U-24, SEC-126)', async () => {
    await post({ ...valid(7), email: 'ADA@engine.example', name: '' }).expect(409, { message: 'Email has already been taken' })
    await post({ ...valid(7), username: 'ada', name: '' }).expect(409, { message: 'Username has already been taken' })
    await post({ ...valid(7), username: 'ADA' }).expect(409, { message: 'Username has already been taken' })
    const other = await aUser(t.ctx)
    await t.api('put', `/users/${other.id}`, admin).send({ username: 'Ada' }).expect(404, { message: 'Username has already been taken' })
    const group = await aGroup(t.ctx)
    await post({ ...valid(7), username: group.fullPath }).expect(400, { message: { username: ['has already been taken'] } })
    await t.ctx.db.write.insert(emails).values({ user_id: user.id, email: 'second@engine.example', confirmed_at: t.ctx.now() })
    await post({ ...valid(7), email: 'Second@engine.example' }).expect(400, { message: { email: ['has already been taken'] } })
    await post({ ...valid(7), provider: 'ldap', extern_uid: 'UID=LIMITED' }).expect(400, {
      message: { 'identities.extern_uid': ['has already been taken'] },
    })
  })

  it('refuses one of two concurrent requests with a conflict', async () => {
    const answers = await Promise.all([1, 2, 3, 4].map(() => post(valid('race'))))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409])
  })

  it('creates the personal namespace with the user (CR-4, AC-12)', async () => {
    const { body } = await post(valid(8)).expect(201)
    expect((await t.api('get', '/namespaces/new8', admin).expect(200)).body).toMatchObject({
      kind: 'user',
      path: 'new8',
      name: 'new8',
      full_path: 'new8',
      parent_id: null,
    })
    expect(body).toMatchObject({ web_url: 'http://roost.test/new8' })
  })

  it('administrators only (G-75)', async () => {
    await post(valid(9), user).expect(403, { message: '403 Forbidden' })
    await post(valid(9), null).expect(401, { message: '401 Unauthorized' })
  })
})
