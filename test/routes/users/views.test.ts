import { eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { users } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { anAdmin, aProject, aUser, drawnOf, setSettings, type TestUser } from '../../support/factories.js'

const t = testApp()
let admin: TestUser
let user: TestUser

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
  user = await aUser(t.ctx, { provider: 'ldap', extern_uid: 'uid=1', projects_limit: 1 })
})

const BASIC = ['id', 'name', 'username', 'state', 'avatar_url', 'web_url']
const NORMAL = [...BASIC, 'created_at', 'bio', 'location', 'messenger', 'jobsnet', 'microblog', 'website_url', 'organization', 'public_email']
const OWN = [
  ...NORMAL,
  ...['last_sign_in_at', 'confirmed_at', 'last_activity_on', 'email', 'theme_id', 'color_scheme_id', 'projects_limit', 'current_sign_in_at'],
  ...['identities', 'can_create_group', 'can_create_project', 'two_factor_enabled', 'external', 'private_profile'],
]
const ADMIN = [...OWN, 'is_admin', 'bot']
/** What X-16 adds to `GET /user`. */
const CURRENT = ['commit_email', 'namespace_id']

const keysOf = (body: object) => Object.keys(body).sort()
const get = async (path: string, caller: TestUser | null) => (await t.api('get', path, caller).expect(200)).body as Record<string, unknown>

describe('fields of users', () => {
  it('in lists to people, field by field (U-1)', async () => {
    const [shown] = (await get(`/users?username=${user.username}`, user)) as unknown as [object]
    expect(keysOf(shown)).toEqual([...BASIC].sort())
    expect(shown).toEqual({
      id: user.id,
      name: user.name,
      username: user.username,
      state: 'active',
      avatar_url: drawnOf(user),
      web_url: `http://roost.test/${user.username}`,
    })
  })

  it('single users are shown to signed-in and anonymous callers (U-2)', async () => {
    for (const caller of [user, null]) expect(keysOf(await get(`/users/${admin.id}`, caller))).toEqual([...NORMAL].sort())
  })

  it('by id or by name to anonymous callers, until the public level is restricted (X-15)', async () => {
    const anonymous = (path: string) => t.api('get', path, null)
    expect((await anonymous(`/users/${user.id}`).expect(200)).body).toMatchObject({ username: user.username, created_at: expect.any(String) })
    expect((await anonymous(`/users?username=${user.username}`).expect(200)).body).toMatchObject([{ id: user.id }])
    expect((await anonymous('/users?username=no-such-user').expect(200)).body).toEqual([])
    const { text: shown } = await anonymous(`/users/${user.id}`)
    expect(shown).not.toContain(user.email)
    const known = (await t.api('get', '/users?per_page=100', admin).expect(200)).body
    expect((await t.api('get', '/users?per_page=100&exclude_internal=true&without_projects=false', admin).expect(200)).body).toEqual(known)
    await setSettings(t.ctx, { restricted_visibility_levels: ['public'] })
    try {
      await anonymous(`/users/${user.id}`).expect(404)
      await anonymous(`/users?username=${user.username}`).expect(403)
      await t.api('get', `/users/${user.id}`, user).expect(200)
    } finally {
      await setSettings(t.ctx, {})
    }
  })

  it('of themselves (U-3)', async () => {
    expect(keysOf(await get('/user', user))).toEqual([...OWN, ...CURRENT].sort())
  })

  it('to administrators (U-4)', async () => {
    expect(keysOf(await get(`/users/${user.id}`, admin))).toEqual([...ADMIN].sort())
    expect(keysOf(await get('/user', admin))).toEqual([...ADMIN, ...CURRENT].sort())
    const listed = (await get('/users?per_page=100', admin)) as unknown as object[]
    for (const shown of listed) expect(keysOf(shown)).toEqual([...ADMIN].sort())
  })

  it('a list shows every change with the next call, to each caller what they may see (U-9, SEC-47)', async () => {
    const person = await aUser(t.ctx, { projects_limit: 1 })
    const listed = async (caller: TestUser) => ((await get(`/users?username=${person.username}`, caller)) as unknown as [Record<string, unknown>])[0]
    expect(await listed(admin)).toMatchObject({ name: person.name, identities: [], can_create_project: true })
    await t.api('put', `/users/${person.id}`, admin).send({ name: 'Renamed', provider: 'ldap', extern_uid: 'uid=9' }).expect(200)
    expect(await listed(admin)).toMatchObject({ name: 'Renamed', identities: [{ provider: 'ldap', extern_uid: 'uid=9' }] })
    expect(await listed(user)).toEqual({ ...(await listed(user)), name: 'Renamed' })
    expect(keysOf(await listed(user))).toEqual([...BASIC].sort())
    await aProject(t.ctx, { creator: person })
    expect(await listed(admin)).toMatchObject({ can_create_project: false })
  })

  it.each(['active', 'blocked', 'ldap_blocked'] as const)('state %s (U-5)', async (state) => {
    const person = await aUser(t.ctx, { state })
    expect(await get(`/users/${person.id}`, user)).toMatchObject({ state })
  })

  it('what no user has set, and how many projects are left (U-6)', async () => {
    const person = await aUser(t.ctx, { skip_confirmation: false, projects_limit: 1 })
    expect(await get('/user', person)).toMatchObject({
      theme_id: 1,
      color_scheme_id: 1,
      last_activity_on: null,
      confirmed_at: null,
      current_sign_in_at: null,
      last_sign_in_at: null,
      can_create_group: true,
      can_create_project: true,
      two_factor_enabled: false,
      bio: null,
      location: null,
      messenger: '',
      organization: '',
    })
    await aProject(t.ctx, { creator: person })
    expect(await get('/user', person)).toMatchObject({ can_create_project: false, projects_limit: 1 })
    await t.ctx.db.write.update(users).set({ projects_limit: 2 }).where(eq(users.id, person.id))
    expect(await get('/user', person)).toMatchObject({ can_create_project: true })
  })

  it('identities by their age (U-7)', async () => {
    await t.api('put', `/users/${user.id}`, admin).send({ provider: 'github', extern_uid: '7' }).expect(200)
    expect(await get('/user', user)).toMatchObject({
      identities: [
        { provider: 'ldap', extern_uid: 'uid=1' },
        { provider: 'github', extern_uid: '7' },
      ],
    })
  })
})
