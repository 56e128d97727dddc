import { createHash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import supertest from 'supertest'
import { beforeAll, describe, expect, it } from 'vitest'
import { namespaces, projects, users } from '../../../src/db/schema/index.js'
import { storeAvatar } from '../../../src/services/identity/avatars.js'
import { testApp } from '../../support/app.js'
import { aGroup, anAdmin, aProject, aUser, drawnOf, setSettings, type TestUser, unique } from '../../support/factories.js'

const t = testApp()
let admin: TestUser

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
})

/** The smallest image of each kind, by its first bytes. */
const png = (width = 1, height = 1) => {
  const bytes = Buffer.from('89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489', 'hex')
  bytes.writeUInt32BE(width, 16)
  bytes.writeUInt32BE(height, 20)
  return bytes
}
const gif = Buffer.from('47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b', 'hex')
const bmp = Buffer.concat([Buffer.from('424d3a0000000000000036000000280000000100000001000000010018000000000004000000', 'hex'), Buffer.alloc(20)])
const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"><script>alert(1)</script></svg>')
const html = Buffer.from('<html><script>alert(1)</script></html>')

const put = (user: { id: number }, data: Buffer, filename = 'me.png') => t.api('put', `/users/${user.id}`, admin).attach('avatar', data, filename)
const get = (url: string) => supertest(t.url).get(new URL(url).pathname)

describe('avatars of users (U-23, UP-3, UP-4, UP-7, SEC-78)', () => {
  it.each([
    ['PNG', png(), 'png', 'image/png'],
    ['GIF', gif, 'gif', 'image/gif'],
    ['BMP', bmp, 'bmp', 'image/bmp'],
  ])('keeps a %s and serves it to anybody', async (_, data, extension, type) => {
    const user = await aUser(t.ctx)
    // whatever it is called
    const { body } = await put(user, data, '../../evil.html').expect(200)
    const { avatar_url } = body as { avatar_url: string }
    expect(avatar_url).toMatch(new RegExp(`^http://roost.test/uploads/-/system/user/avatar/${user.id}/[0-9a-f]{16}\\.${extension}$`))
    const image = await get(avatar_url).expect(200)
    expect(image.headers).toMatchObject({ 'content-type': type, 'x-content-type-options': 'nosniff' })
    expect(image.body).toEqual(data)
    expect((await t.api('get', `/users/${user.id}`, user).expect(200)).body).toMatchObject({ avatar_url })
  })

  it('replaces the old image, and an unchanged one stays', async () => {
    const user = await aUser(t.ctx)
    const first = ((await put(user, png()).expect(200)).body as { avatar_url: string }).avatar_url
    expect(((await put(user, png()).expect(200)).body as { avatar_url: string }).avatar_url).toBe(first)
    await get(first).expect(200)
    const second = ((await put(user, png(2)).expect(200)).body as { avatar_url: string }).avatar_url
    expect(second).not.toBe(first)
    await get(first).expect(404, { message: '404 Not found' })
    await get(second).expect(200)
    expect(readdirSync(join(t.dataDir, 'uploads/user', String(user.id)))).toHaveLength(1)
  })

  it.each([
    ['SVG', svg, 'only images allowed'],
    ['HTML', html, 'only images allowed'],
    ['nothing', Buffer.alloc(0), 'only images allowed'],
    ['201 KiB', Buffer.concat([png(), Buffer.alloc(200 * 1024)]), 'is too big (should be at most 200 KB)'],
    ['4,097 pixels', png(4_097, 1), 'is too large (at most 4096 x 4096 pixels)'],
  ])('%s is refused with 404 on update and with 400 on creation (U-30)', async (_, data, text) => {
    const user = await aUser(t.ctx)
    await put(user, data).expect(404, { message: { avatar: [text] } })
    const n = unique()
    const fields = { name: 'x', username: `pic${n}`, email: `pic${n}@example.com`, password: 'password1' }
    await t
      .api('post', '/users', admin)
      .field(fields)
      .attach('avatar', data, 'me.png')
      .expect(400, { message: { avatar: [text] } })
    expect(await t.ctx.db.read.$count(users, eq(users.username, `pic${n}`))).toBe(0)
    expect(existsSync(join(t.dataDir, 'uploads/user', String(user.id)))).toBe(false)
  })

  it('is set with a new user', async () => {
    const n = unique()
    const fields = { name: 'x', username: `pic${n}`, email: `pic${n}@example.com`, password: 'password1' }
    const { body } = await t.api('post', '/users', admin).field(fields).attach('avatar', png(200, 200), 'me.png').expect(201)
    await get((body as { avatar_url: string }).avatar_url).expect(200)
  })

  it('a text is no image (U-30)', async () => {
    const user = await aUser(t.ctx)
    await t.api('put', `/users/${user.id}`, admin).send({ avatar: 'me.png' }).expect(404, { error: 'avatar is invalid' })
    await t.api('put', `/users/${user.id}`, admin).send({ avatar: '' }).expect(200)
  })

  it.each(['x.png', '0123456789abcdef.png', '..%2f..%2fsecret.key', '0123456789abcdef.svg'])('%s is not there', async (name) => {
    await supertest(t.url).get(`/uploads/-/system/user/avatar/${admin.id}/${name}`).expect(404)
    await supertest(t.url).get(`/uploads/-/system/user/avatar/abc/${name}`).expect(404)
    await supertest(t.url).post(`/uploads/-/system/user/avatar/${admin.id}/${name}`).expect(405)
  })
})

describe('avatars of projects and groups (UP-3)', () => {
  it('are shown to callers who see the item', async () => {
    const owner = await aUser(t.ctx)
    const stranger = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: owner })
    const group = await aGroup(t.ctx, { creator: owner })
    for (const [kind, id] of [
      ['project', project.id],
      ['group', group.id],
    ] as const) {
      const name = await storeAvatar(t.ctx, kind, id, png())
      const table = kind === 'project' ? projects : namespaces
      await t.ctx.db.write.update(table).set({ avatar: name }).where(eq(table.id, id))
      const { body } = await t.api('get', `/${kind}s/${id}`, owner).expect(200)
      const path = new URL((body as { avatar_url: string }).avatar_url).pathname
      const fetched = (token?: string) =>
        supertest(t.url)
          .get(path)
          .set(token ? { 'PRIVATE-TOKEN': token } : {})
      await fetched(owner.token).expect(200)
      await fetched(admin.token).expect(200)
      const missing = { message: `404 ${kind === 'project' ? 'Project' : 'Group'} Not Found` }
      await fetched(stranger.token).expect(404, missing)
      await fetched().expect(404, missing)
      await fetched('wrong').expect(401)
    }
  })
})

describe('people without an image (G-83)', () => {
  it('have one that is drawn from their id, that all may cache, and that shows nothing else', async () => {
    const [ada, bob] = [await aUser(t.ctx), await aUser(t.ctx)]
    const { avatar_url } = (await t.api('get', '/user', ada).expect(200)).body as { avatar_url: string }
    expect(avatar_url).toBe(drawnOf(ada))
    const image = await get(avatar_url).expect(200)
    expect(image.headers).toMatchObject({
      'content-type': 'image/svg+xml',
      'content-disposition': 'inline',
      'content-security-policy': "default-src 'none'; sandbox",
      'cache-control': 'public, max-age=31536000',
      'x-content-type-options': 'nosniff',
    })
    expect(image.headers).not.toHaveProperty('set-cookie')
    const text = (image.body as Buffer).toString()
    expect(text).toMatch(/^<svg xmlns="[^"]+" width="80" height="80" [^>]+>(<path fill="[^"]+" d="[Mhvz0-9 H-]+"\/>){2}<\/svg>$/i)
    expect(((await get(avatar_url).expect(200)).body as Buffer).toString()).toBe(text)
    expect(((await get(drawnOf(bob)).expect(200)).body as Buffer).toString()).not.toBe(text)
    // as much as there is of people who are not there
    await get(drawnOf({ id: 999_999 })).expect(200)
    await get(drawnOf({ id: 0 }).replace('/0/', '/x/')).expect(404)
  })

  it('is an image of users only: groups and projects have none by default', async () => {
    const user = await aUser(t.ctx)
    const [group, project] = [await aGroup(t.ctx, { creator: user }), await aProject(t.ctx, { creator: user })]
    for (const { path } of [group, project]) expect((await t.api('get', path, user).expect(200)).body).toMatchObject({ avatar_url: null })
  })
})

describe('the avatar service (G-83, UP-5, AS-38)', () => {
  const served = testApp({ ROOST_AVATAR_SERVICE: 'https://images.example.com/%{hash}?s=%{size}' })
  const md5 = (text: string) => createHash('md5').update(text).digest('hex')

  it('is used for users without an image, while it is enabled', async () => {
    const root = await anAdmin(served.ctx)
    const user = await aUser(served.ctx, { email: 'Ada@Example.com' })
    const shown = `https://images.example.com/${md5('ada@example.com')}?s=80`
    const avatarOf = async (path: string) => ((await served.api('get', path, root).expect(200)).body as { avatar_url: string | null }).avatar_url
    const listed = async () =>
      ((await served.api('get', `/users?username=${user.username}`, user).expect(200)).body as [{ avatar_url: string | null }])[0].avatar_url
    expect(await avatarOf(`/users/${user.id}`)).toBe(shown)
    expect(await listed()).toBe(shown)
    expect(await avatarOf('/avatar?email=%20ADA@example.com&size=32')).toBe(shown.replace('s=80', 's=32'))
    expect(await avatarOf('/avatar?email=unknown@example.com')).toBe(`https://images.example.com/${md5('unknown@example.com')}?s=80`)
    await served.api('put', '/application/settings', root).send({ avatarsvc_enabled: false }).expect(200)
    expect(await avatarOf(`/users/${user.id}`)).toBe(drawnOf(user))
    expect(await listed()).toBe(drawnOf(user))
    expect(await avatarOf('/avatar?email=ada@example.com')).toBe(drawnOf({ id: 0 }))
    await served.api('put', '/application/settings', root).send({ avatarsvc_enabled: true }).expect(200)
    // an uploaded one comes first, and follows no address
    const { body } = await served.api('put', `/users/${user.id}`, root).attach('avatar', png(), 'a.png').expect(200)
    const own = (body as { avatar_url: string }).avatar_url
    expect(own).toContain(`/uploads/-/system/user/avatar/${user.id}/`)
    expect(await listed()).toBe(own)
    expect(await avatarOf('/avatar?email=ada@example.com')).toBe(own)
  })

  it('follows a change of the address', async () => {
    const root = await anAdmin(served.ctx)
    const user = await aUser(served.ctx)
    await served.api('put', `/users/${user.id}`, root).send({ email: 'moved@example.com' }).expect(200)
    expect((await served.api('get', `/users/${user.id}`, user).expect(200)).body).toMatchObject({
      avatar_url: `https://images.example.com/${md5('moved@example.com')}?s=80`,
    })
  })

  it('is public also while the public level is restricted, and needs an address (UP-5)', async () => {
    await t.api('get', '/avatar').expect(400, { error: 'email is missing' })
    await t.api('get', '/avatar?email=a@b&size=0').expect(400, { error: 'size is invalid' })
    expect((await t.api('get', '/avatar?email=a@b').expect(200)).body).toEqual({ avatar_url: drawnOf({ id: 0 }) })
    await setSettings(t.ctx, { restricted_visibility_levels: ['public'] })
    await t.api('get', '/avatar?email=a@b').expect(403)
    await t.api('get', '/avatar?email=a@b', admin).expect(200)
    await setSettings(t.ctx, {})
  })
})
