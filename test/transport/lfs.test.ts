import { existsSync } from 'node:fs'
import { readdir, utimes, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { eq, sql } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { namespaces, projects, users } from '../../src/db/schema/index.js'
import { removeStalledUploads } from '../../src/services/core/stalled-uploads.js'
import { findVisibleProject } from '../../src/services/identity/acting-users.js'
import { lfsCredentials } from '../../src/services/repository/lfs/credentials.js'
import { finishObjectDeletions, releaseObjects } from '../../src/services/repository/lfs/objects.js'
import { testApp } from '../support/app.js'
import { commitIn, gitClient, gitRun } from '../support/clients/git-client.js'
import { anObject, basic, LFS_TYPE, lfsClient, send } from '../support/clients/lfs-client.js'
import { aGroup, anAdmin, aProject, aToken, aUser, setSettings, type TestProject, type TestUser, unique } from '../support/factories.js'

const t = testApp({}, { upkeep: true })
const client = gitClient(t)
const lfs = lfsClient(t)
let owner: TestUser
let project: TestProject

beforeAll(async () => {
  owner = await aUser(t.ctx)
  project = await aProject(t.ctx, { creator: owner, files: { 'a.txt': 'a' } })
})

const sourceOf = ({ caller }: TestUser) => ({ source: { token: caller.token?.id as number } })
const fresh = (size = 5_000) => anObject(Buffer.alloc(size, `object ${unique()} `))
const fileOf = (oid: string) => join(t.dataDir, 'lfs', oid.slice(0, 2), oid.slice(2, 4), oid.slice(4))
const incoming = () => readdir(join(t.dataDir, 'lfs', 'incoming')).catch(() => [])
const statistics = async (path: string, caller = owner) => (await t.api('get', `${path}?statistics=true`, caller).expect(200)).body.statistics
const forkOf = async (source: TestProject, caller: TestUser) => {
  const { body } = await t
    .api('post', `${source.path}/fork`, caller)
    .send({ path: `fork${unique()}`, name: `fork${unique()}` })
    .expect(201)
  return { id: body.id as number, path: `/projects/${body.id}`, fullPath: body.path_with_namespace as string, creator: caller }
}

describe('objects (LF-6 to LF-8)', () => {
  it('go up and come down again, and are sent once', async () => {
    const object = fresh(300_000)
    const before = await statistics(project.path)
    expect(await lfs.upload(project.fullPath, owner, object)).toEqual([200, 200])
    expect(await lfs.upload(project.fullPath, owner, object)).toBeNull()
    const down = await lfs.download(project.fullPath, owner, object)
    expect([down.status, down.headers['content-type'], down.headers['content-length']]).toEqual([200, 'application/octet-stream', '300000'])
    expect(down.bytes.equals(object.bytes)).toBe(true)
    const after = await statistics(project.path)
    expect(after.lfs_objects_size - before.lfs_objects_size).toBe(300_000)
    expect(after.storage_size).toBe(after.repository_size + after.lfs_objects_size)
    expect(await incoming()).toEqual([])
  })

  it('answers of the batch API have its type and shape, with credentials for half an hour', async () => {
    const [there, absent] = [fresh(), fresh()]
    await lfs.upload(project.fullPath, owner, there)
    const { status, headers, body } = await lfs.batch(project.fullPath, owner, 'download', [
      there,
      absent,
      { oid: 'x', size: 1 },
      { ...there, size: -1 },
    ])
    expect([status, headers['content-type']]).toEqual([200, LFS_TYPE])
    expect(body).toMatchObject({ transfer: 'basic', hash_algo: 'sha256' })
    const href = `http://roost.test/${project.fullPath}.git/info/lfs/objects/${there.oid}`
    const header = { Authorization: expect.stringMatching(/^Basic /) }
    expect(body.objects[0]).toEqual({
      oid: there.oid,
      size: there.size,
      authenticated: true,
      actions: { download: { href, header, expires_in: 1800, expires_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]+Z$/) } },
    })
    expect(body.objects.slice(1).map((one: { error: { code: number } }) => one.error.code)).toEqual([404, 422, 422])
  })

  it('links begin with the base URL, whatever the Host header says (SEC-28)', async () => {
    const { body } = await lfs.call(project.fullPath, 'objects/batch', owner, {
      method: 'POST',
      headers: { host: 'elsewhere.example', 'content-type': LFS_TYPE },
      body: JSON.stringify({ operation: 'upload', objects: [{ oid: fresh().oid, size: 1 }] }),
    })
    const { upload, verify } = body.objects[0].actions
    for (const { href } of [upload, verify]) expect(href).toMatch(`http://roost.test/${project.fullPath}.git/info/lfs/objects/`)
  })

  it('a range continues an interrupted download', async () => {
    const object = fresh(10_000)
    await lfs.upload(project.fullPath, owner, object)
    const part = async (range: string) => lfs.download(project.fullPath, owner, object, { range })
    const rest = await part('bytes=4000-')
    expect([rest.status, rest.headers['content-range'], rest.bytes.equals(object.bytes.subarray(4000))]).toEqual([206, 'bytes 4000-9999/10000', true])
    const middle = await part('bytes=10-19')
    expect([middle.status, middle.bytes.equals(object.bytes.subarray(10, 20))]).toEqual([206, true])
    const last = await part('bytes=-5')
    expect([last.status, last.bytes.equals(object.bytes.subarray(9_995))]).toEqual([206, true])
    const outside = await part('bytes=10000-')
    expect([outside.status, outside.headers['content-range']]).toEqual([416, 'bytes */10000'])
    expect((await part('lines=1-2')).status).toBe(200)
  })

  it('an empty object is one too', async () => {
    const object = anObject('')
    expect(await lfs.upload(project.fullPath, owner, object)).toEqual([200, 200])
    const down = await lfs.download(project.fullPath, owner, object)
    expect([down.status, down.bytes.length]).toEqual([200, 0])
  })

  it('refuses wrong content, and keeps nothing of it', async () => {
    const object = fresh()
    const { body } = await lfs.batch(project.fullPath, owner, 'upload', [object])
    const { href, header } = body.objects[0].actions.upload
    for (const wrong of [Buffer.from('something else'), object.bytes.subarray(1), Buffer.concat([object.bytes, Buffer.from('x')])]) {
      const answer = await send(lfs.at(href), { method: 'PUT', headers: header, body: wrong })
      expect([answer.status, answer.body.message]).toEqual([422, 'The bytes are not those of the object'])
    }
    expect(existsSync(fileOf(object.oid))).toBe(false)
    expect(await incoming()).toEqual([])
    const verified = await lfs.post(project.fullPath, 'objects/verify', owner, object)
    expect(verified.status).toBe(404)
  })

  it('an upload that breaks leaves nothing, and can be sent again', async () => {
    const object = fresh(200_000)
    const { body } = await lfs.batch(project.fullPath, owner, 'upload', [object])
    const { href, header } = body.objects[0].actions.upload
    await new Promise<void>((resolve) => {
      const asked = request(lfs.at(href), { method: 'PUT', headers: { ...header, 'content-length': object.size } })
      asked.on('error', () => resolve())
      asked.write(object.bytes.subarray(0, 100_000), () => asked.destroy(new Error('cut')))
    })
    await expect.poll(incoming).toEqual([])
    expect(existsSync(fileOf(object.oid))).toBe(false)
    expect(await lfs.upload(project.fullPath, owner, object)).toEqual([200, 200])
  })

  it('uploads of one object at the same moment, to two projects, all succeed', async () => {
    const object = fresh(100_000)
    const other = await aProject(t.ctx, { creator: owner })
    const all = [project, other, project, other].map(({ fullPath }) =>
      send(`${t.url}/${fullPath}.git/info/lfs/objects/${object.oid}`, { method: 'PUT', headers: basic(owner.token), body: object.bytes }),
    )
    expect((await Promise.all(all)).map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect((await statistics(other.path)).lfs_objects_size).toBe(100_000)
  })

  it('a lost file is restored by the next upload', async () => {
    const object = fresh()
    await lfs.upload(project.fullPath, owner, object)
    await t.ctx.lfs.delete(object.oid)
    expect((await lfs.download(project.fullPath, owner, object)).status).toBe(404)
    expect(await lfs.upload(project.fullPath, owner, object)).toEqual([200, 200])
    expect((await lfs.download(project.fullPath, owner, object)).status).toBe(200)
  })
})

describe('permissions (LF-4, LF-5)', () => {
  it('knowing an id opens nothing: an object belongs to projects', async () => {
    const object = fresh()
    await lfs.upload(project.fullPath, owner, object)
    const stranger = await aUser(t.ctx)
    const own = await aProject(t.ctx, { creator: stranger })
    const { body } = await lfs.batch(own.fullPath, stranger, 'download', [object])
    expect(body.objects[0].error.code).toBe(404)
    expect((await lfs.call(own.fullPath, `objects/${object.oid}`, stranger)).status).toBe(404)
    expect((await lfs.post(own.fullPath, 'objects/verify', stranger, object)).status).toBe(404)
    // a client that has the bytes sends them
    expect(await lfs.upload(own.fullPath, stranger, object)).toEqual([200, 200])
  })

  it('as for Git: 401 without credentials, 404 for hidden projects, 403 without the right', async () => {
    const [guest, reporter, stranger] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    const place = await aProject(t.ctx, { creator: owner, guest, reporter })
    const status = async (caller: { token: string } | null, operation: 'download' | 'upload', path = place.fullPath) =>
      (await lfs.batch(path, caller, operation, [fresh()])).status
    expect([await status(null, 'download'), await status(null, 'download', 'no/such')]).toEqual([401, 401])
    expect([await status(stranger, 'download'), await status(stranger, 'download', 'no/such')]).toEqual([404, 404])
    expect([await status(guest, 'download'), await status(reporter, 'download'), await status(reporter, 'upload')]).toEqual([403, 200, 403])
    expect(await status({ token: 'wrong' }, 'download')).toBe(401)
    const reads = { token: await aToken(t.ctx, owner, ['read_repository']) }
    expect([await status(reads, 'download'), await status(reads, 'upload')]).toEqual([200, 403])
    const denied = await lfs.batch(place.fullPath, null, 'download', [])
    expect([denied.headers['lfs-authenticate'], denied.headers['www-authenticate']]).toEqual(['Basic realm="Roost"', 'Basic realm="Roost"'])
    expect([denied.headers['content-type'], denied.body]).toEqual([LFS_TYPE, { message: 'HTTP Basic: Access denied' }])
  })

  it('anonymous callers download from a public project, without credentials in the answer', async () => {
    const open = await aProject(t.ctx, { creator: owner, visibility: 'public' })
    const object = fresh()
    await lfs.upload(open.fullPath, owner, object)
    const { body } = await lfs.batch(open.fullPath, null, 'download', [object])
    expect(body.objects[0].actions.download).toEqual({ href: expect.any(String) })
    expect((await lfs.download(open.fullPath, null, object)).status).toBe(200)
    expect((await lfs.batch(open.fullPath, null, 'upload', [object])).status).toBe(401)
  })

  it('a token of LFS is for one operation on one project and its LFS routes alone, and obeys rights as they are now', async () => {
    const developer = await aUser(t.ctx)
    const place = await aProject(t.ctx, { creator: owner, developer, files: { 'a.txt': 'a' } })
    const { project: found } = (await findVisibleProject(t.ctx, developer.caller, place.id)) ?? {}
    if (!found) throw new Error('no project')
    const tokenOf = (operation: 'download' | 'upload') => {
      const { header } = lfsCredentials(t.ctx, sourceOf(developer), found, operation)
      return { token: Buffer.from(header.Authorization.slice(6), 'base64').toString().split(':')[1] as string }
    }
    const [down, up] = [tokenOf('download'), tokenOf('upload')]
    const status = async (caller: { token: string }, operation: 'download' | 'upload', path = place.fullPath) =>
      (await lfs.batch(path, caller, operation, [fresh()])).status
    expect([await status(down, 'download'), await status(down, 'upload'), await status(up, 'upload'), await status(up, 'download')]).toEqual([
      200, 403, 200, 200,
    ])
    const second = await aProject(t.ctx, { creator: owner, developer })
    expect(await status(up, 'download', second.fullPath)).toBe(401)
    // neither Git nor the API
    expect((await send(`${t.url}/${place.fullPath}.git/info/refs?service=git-upload-pack`, { headers: basic(up.token) })).status).toBe(401)
    await t.api('get', place.path, up).expect(401)
    for (const forged of [
      up.token.replace('.upload.', '.download.'),
      `${up.token}x`,
      up.token.replace(/\d+\.([^.]+)$/, '9999999999.$1'),
      'lfs.',
      'lfs.1.2.upload.3.',
    ])
      expect(await status({ token: forged }, 'download'), forged).toBe(401)
    await t.ctx.db.write.update(users).set({ state: 'blocked' }).where(eq(users.id, developer.id))
    expect(await status(up, 'download')).toBe(401)
  })

  it('such a token ends after half an hour', async () => {
    const { project: found } = (await findVisibleProject(t.ctx, owner.caller, project.id)) ?? {}
    if (!found) throw new Error('no project')
    const at = (minutes: number) => {
      const then = Object.assign(Object.create(t.ctx), { now: () => new Date(Date.now() - minutes * 60_000) })
      return lfsCredentials(then, sourceOf(owner), found, 'download').header
    }
    const status = async (minutes: number) =>
      (await send(`${t.url}/${project.fullPath}.git/info/lfs/locks`, { headers: { ...at(minutes), accept: LFS_TYPE } })).status
    expect([await status(29), await status(31)]).toEqual([200, 401])
  })

  describe('ends with what it was requested with (LF-15)', () => {
    /** A token of LFS as a client gets it: in the answer to a batch. */
    const granted = async (place: TestProject, headers: Record<string, string>) => {
      const body = JSON.stringify({ operation: 'upload', objects: [fresh()].map(({ oid, size }) => ({ oid, size })) })
      const said = await lfs.call(place.fullPath, 'objects/batch', null, { method: 'POST', headers: { ...headers, 'content-type': LFS_TYPE }, body })
      const { header, expires_at } = said.body.objects[0].actions.upload
      return { token: Buffer.from(header.Authorization.slice(6), 'base64').toString().split(':')[1] as string, expires_at: expires_at as string }
    }
    /** The statuses of a batch, an upload, a download and a lock. */
    const statuses = async (place: TestProject, caller: { token: string }, stored: ReturnType<typeof fresh>) => {
      const object = fresh()
      const put = lfs.call(place.fullPath, `objects/${object.oid}`, caller, { method: 'PUT', body: object.bytes })
      return [
        (await lfs.batch(place.fullPath, caller, 'upload', [object])).status,
        (await put).status,
        (await lfs.call(place.fullPath, `objects/${stored.oid}`, caller)).status,
        (await lfs.post(place.fullPath, 'locks', caller, { path: `f${unique()}` })).status,
      ]
    }

    const cases: [string, (user: TestUser, admin: TestUser) => Promise<{ headers: Record<string, string>; end: () => Promise<unknown> }>][] = [
      [
        'a token that is revoked',
        async (user, admin) => {
          const path = `/users/${user.id}/impersonation_tokens`
          const { body } = await t
            .api('post', path, admin)
            .send({ name: 'a', scopes: ['api'] })
            .expect(201)
          return { headers: basic(body.token), end: () => t.api('delete', `${path}/${body.id}`, admin).expect(204) }
        },
      ],
      [
        'a password that is changed',
        async (user, admin) => {
          const end = () => t.api('put', `/users/${user.id}`, admin).send({ password: 'another password' }).expect(200)
          return { headers: basic(user.password, user.username), end }
        },
      ],
      [
        'a password that Git does not take any more',
        async (user) => {
          const end = () => setSettings(t.ctx, { password_authentication_enabled_for_git: false })
          return { headers: basic(user.password, user.username), end }
        },
      ],
    ]
    it.each(cases)('%s', async (_, given) => {
      const user = await aUser(t.ctx)
      const place = await aProject(t.ctx, { creator: user })
      const stored = fresh()
      await lfs.upload(place.fullPath, user, stored)
      const { headers, end } = await given(user, await anAdmin(t.ctx))
      const token = await granted(place, headers)
      const renewed = await granted(place, basic(token.token))
      for (const caller of [token, renewed]) expect(await statuses(place, caller, stored)).toEqual([200, 200, 200, 201])
      await end()
      for (const caller of [token, renewed]) expect(await statuses(place, caller, stored)).toEqual([401, 401, 401, 401])
      await setSettings(t.ctx, {})
    })

    it('and a batch with it gives no later end', async () => {
      const { project: found } = (await findVisibleProject(t.ctx, owner.caller, project.id)) ?? {}
      if (!found) throw new Error('no project')
      const then = Object.assign(Object.create(t.ctx), { now: () => new Date(Date.now() - 20 * 60_000) })
      const first = lfsCredentials(then, sourceOf(owner), found, 'upload')
      const second = await granted(project, { authorization: first.header.Authorization })
      expect(second.expires_at).toBe(first.expires_at)
    })
  })

  it('an archived project takes no objects and no locks', async () => {
    const place = await aProject(t.ctx, { creator: owner })
    const object = fresh()
    await lfs.upload(place.fullPath, owner, object)
    await t.api('post', `${place.path}/archive`, owner).expect(201)
    expect((await lfs.batch(place.fullPath, owner, 'upload', [object])).status).toBe(403)
    expect((await lfs.post(place.fullPath, 'locks', owner, { path: 'a' })).status).toBe(403)
    expect((await lfs.download(place.fullPath, owner, object)).status).toBe(200)
  })

  it('501 where the switch of the project or of its group is off, and for wikis (LF-1)', async () => {
    const admin = await anAdmin(t.ctx)
    const group = await aGroup(t.ctx, { creator: admin })
    const place = await aProject(t.ctx, { creator: admin, namespace_id: group.id })
    const shown = async () => (await t.api('get', place.path, admin).expect(200)).body.lfs_enabled
    const answers = async () => [await shown(), (await lfs.batch(place.fullPath, admin, 'download', [])).status]
    expect(await answers()).toEqual([true, 200])
    await t.ctx.db.write.update(namespaces).set({ lfs_enabled: false }).where(eq(namespaces.id, group.id))
    expect(await answers()).toEqual([false, 501])
    await t.ctx.db.write.update(namespaces).set({ lfs_enabled: true }).where(eq(namespaces.id, group.id))
    await t.api('put', place.path, admin).send({ lfs_enabled: false }).expect(200)
    expect(await answers()).toEqual([false, 501])
    expect((await lfs.post(place.fullPath, 'locks/verify', admin, {})).status).toBe(501)
    expect((await lfs.batch(`${project.fullPath}.wiki`, owner, 'download', [])).status).toBe(501)
  })

  it('where Git is allowed over SSH alone, a token that was got there still serves', async () => {
    const { project: found } = (await findVisibleProject(t.ctx, owner.caller, project.id)) ?? {}
    if (!found) throw new Error('no project')
    await setSettings(t.ctx, { enabled_git_access_protocol: 'ssh' })
    const { header } = lfsCredentials(t.ctx, sourceOf(owner), found, 'download')
    const status = async (headers: Record<string, string>) => (await send(`${t.url}/${project.fullPath}.git/info/lfs/locks`, { headers })).status
    expect([await status(basic(owner.token)), await status(header)]).toEqual([403, 200])
    await setSettings(t.ctx, {})
  })
})

describe('limits and bad calls', () => {
  it('an object larger than the limit, and one that a project has no room for (LF-11)', async () => {
    const place = await aProject(t.ctx, { creator: owner })
    await setSettings(t.ctx, { lfs_object_size_limit: 1, project_lfs_size_limit: 2 })
    const [large, first, second, third] = [fresh(1024 * 1024 + 1), fresh(1024 * 1024), fresh(1024 * 1024 - 1), fresh(10)]
    const said = (await lfs.batch(place.fullPath, owner, 'upload', [large, first, second, third])).body.objects
    expect(said.map((one: { error?: { code: number } }) => one.error?.code)).toEqual([422, undefined, undefined, 507])
    const put = ({ oid, bytes }: typeof large, headers = {}) =>
      send(`${t.url}/${place.fullPath}.git/info/lfs/objects/${oid}`, { method: 'PUT', headers: { ...basic(owner.token), ...headers }, body: bytes })
    expect((await put(large)).status).toBe(413)
    expect((await put(large, { 'transfer-encoding': 'chunked' })).status).toBe(413)
    expect([(await put(first)).status, (await put(second)).status, (await put(third)).status]).toEqual([200, 200, 413])
    expect([existsSync(fileOf(third.oid)), await incoming()]).toEqual([false, []])
    await setSettings(t.ctx, {})
  })

  it('calls that are not of the API are refused in its form', async () => {
    const post = (headers: Record<string, string>, body: string) =>
      lfs.call(project.fullPath, 'objects/batch', owner, { method: 'POST', headers, body })
    const json = { 'content-type': LFS_TYPE }
    const right = JSON.stringify({ operation: 'download', objects: [] })
    const statuses = await Promise.all([
      post(json, right),
      post({ ...json, accept: 'text/html' }, right),
      post({ 'content-type': 'text/plain' }, right),
      post(json, '{'),
      post(json, '[]'),
      post(json, JSON.stringify({ operation: 'delete', objects: [] })),
      post(json, JSON.stringify({ operation: 'download', objects: [{ oid: 1 }] })),
      post(json, JSON.stringify({ operation: 'download', objects: [], hash_algo: 'sha1' })),
      post(json, JSON.stringify({ operation: 'download', objects: Array(1_001).fill({ oid: 'a', size: 1 }) })),
      post(json, `"${'x'.repeat(1024 * 1024)}"`),
    ])
    expect(statuses.map(({ status }) => status)).toEqual([200, 406, 415, 422, 422, 422, 422, 409, 413, 413])
    for (const { status, headers, body } of statuses.slice(1)) {
      expect(headers['content-type'], `${status}`).toBe(LFS_TYPE)
      expect(body).toEqual({ message: expect.any(String) })
    }
    for (const [method, path] of [
      ['GET', 'objects/batch'],
      ['PUT', 'objects/batch'],
      ['DELETE', 'locks'],
      ['PUT', 'locks'],
      ['POST', `objects/${'a'.repeat(64)}`],
      ['PUT', `objects/${'A'.repeat(64)}`],
      ['PUT', 'objects/../x'],
    ] as const)
      expect((await lfs.call(project.fullPath, path, owner, { method })).status, `${method} ${path}`).toBe(404)
  })
})

describe('locks (LF-9)', () => {
  it('are made, listed, verified and ended', async () => {
    const developer = await aUser(t.ctx)
    const place = await aProject(t.ctx, { creator: owner, developer })
    const made = await lfs.post(place.fullPath, 'locks', developer, { path: 'art/a.psd', ref: { name: 'refs/heads/main' } })
    const lock = { id: expect.stringMatching(/^\d+$/), path: 'art/a.psd', locked_at: expect.stringMatching(/Z$/), owner: { name: developer.name } }
    expect([made.status, made.body]).toEqual([201, { lock }])
    const again = await lfs.post(place.fullPath, 'locks', owner, { path: 'art/a.psd' })
    expect([again.status, again.body]).toEqual([409, { message: expect.any(String), lock }])
    await lfs.post(place.fullPath, 'locks', owner, { path: 'b.psd' })
    const listed = async (query: string) =>
      (await lfs.call(place.fullPath, `locks${query}`, developer)).body.locks.map(({ path }: { path: string }) => path)
    expect([await listed(''), await listed('?path=b.psd'), await listed(`?id=${made.body.lock.id}`), await listed('?path=c')]).toEqual([
      ['art/a.psd', 'b.psd'],
      ['b.psd'],
      ['art/a.psd'],
      [],
    ])
    const page = (await lfs.call(place.fullPath, 'locks?limit=1', developer)).body
    expect([page.locks.length, await listed(`?cursor=${page.next_cursor}`)]).toEqual([1, ['b.psd']])
    const { body } = await lfs.post(place.fullPath, 'locks/verify', developer, { ref: { name: 'refs/heads/main' } })
    expect([body.ours.map((one: { path: string }) => one.path), body.theirs.map((one: { path: string }) => one.path)]).toEqual([
      ['art/a.psd'],
      ['b.psd'],
    ])
    const ended = await lfs.post(place.fullPath, `locks/${made.body.lock.id}/unlock`, developer, {})
    expect([ended.status, ended.body]).toEqual([200, { lock }])
    expect((await lfs.post(place.fullPath, `locks/${made.body.lock.id}/unlock`, developer, {})).status).toBe(404)
  })

  it('of others are ended by maintainers alone, and with force', async () => {
    const [developer, other, maintainer, reporter] = (await Promise.all(Array.from({ length: 4 }, () => aUser(t.ctx)))) as [
      TestUser,
      TestUser,
      TestUser,
      TestUser,
    ]
    const place = await aProject(t.ctx, { creator: owner, developer: [developer, other], maintainer, reporter })
    const { id } = (await lfs.post(place.fullPath, 'locks', developer, { path: 'a' })).body.lock
    const status = async (caller: TestUser, body: object) => (await lfs.post(place.fullPath, `locks/${id}/unlock`, caller, body)).status
    expect([
      await status(reporter, { force: true }),
      await status(other, {}),
      await status(other, { force: true }),
      await status(maintainer, {}),
    ]).toEqual([403, 403, 403, 403])
    expect(await status(maintainer, { force: true })).toBe(200)
    expect((await lfs.post(place.fullPath, 'locks', reporter, { path: 'a' })).status).toBe(403)
    expect((await lfs.post(place.fullPath, 'locks/verify', reporter, {})).status).toBe(403)
    expect((await lfs.call(place.fullPath, 'locks', reporter)).status).toBe(200)
    for (const path of ['', 'a\0b', 'x'.repeat(2_001)]) expect((await lfs.post(place.fullPath, 'locks', developer, { path })).status).toBe(422)
  })

  it('are at most 10,000 in a project, also for concurrent calls (SEC-268, SEC-269)', async () => {
    const place = await aProject(t.ctx, { creator: owner })
    await t.ctx.db.write.execute(sql`insert into lfs_locks (project_id, user_id, path, locked_at)
      select ${place.id}, ${owner.id}, 'f' || n, now() from generate_series(1, 9997) n`)
    const lock = (path: string) => lfs.post(place.fullPath, 'locks', owner, { path })
    const answers = await Promise.all(Array.from({ length: 8 }, (_, i) => lock(`new${i}`)))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, 422, 422, 422, 422, 422])
    const refused = await lock('another')
    expect([refused.status, refused.body.message]).toEqual([422, 'the project already has 10000 locks'])
    expect((await lock('f1')).status).toBe(409)
    const { id } = (await lfs.call(place.fullPath, 'locks?path=f1', owner)).body.locks[0]
    expect((await lfs.post(place.fullPath, `locks/${id}/unlock`, owner, {})).status).toBe(200)
    expect((await lock('another')).status).toBe(201)
  })

  it('are ended once by concurrent calls (SEC-267)', async () => {
    const place = await aProject(t.ctx, { creator: owner })
    const { id } = (await lfs.post(place.fullPath, 'locks', owner, { path: 'a' })).body.lock
    const answers = await Promise.all(Array.from({ length: 8 }, () => lfs.post(place.fullPath, `locks/${id}/unlock`, owner, {})))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 7 }, () => 404)])
  })
})

describe('pushes with pointers (LF-10)', () => {
  it('are refused with the names of objects that are not there, unless the setting is off', async () => {
    const place = await aProject(t.ctx, { creator: owner, files: { 'a.txt': 'a' } })
    const work = await client.cloned(client.url(place.fullPath, owner))
    const object = fresh()
    await commitIn(work, 'large.bin', object.pointer)
    await commitIn(work, 'other.txt', 'version https://git-lfs.github.com/spec/v1\nis not one')
    const refused = await gitRun(work, 'push', 'origin', 'HEAD')
    expect([refused.code === 0, refused.err]).toEqual([false, expect.stringContaining(`${object.oid} (${object.size} bytes)`)])
    await lfs.upload(place.fullPath, owner, object)
    expect((await gitRun(work, 'push', 'origin', 'HEAD')).code).toBe(0)
    await commitIn(work, 'second.bin', fresh().pointer)
    expect((await gitRun(work, 'push', 'origin', 'HEAD')).code).not.toBe(0)
    await setSettings(t.ctx, { lfs_pointer_check_enabled: false })
    expect((await gitRun(work, 'push', 'origin', 'HEAD')).code).toBe(0)
    await setSettings(t.ctx, {})
  })

  it('are not looked at where LFS is off', async () => {
    const place = await aProject(t.ctx, { creator: owner, files: { 'a.txt': 'a' } })
    await t.ctx.db.write.update(projects).set({ lfs_enabled: false }).where(eq(projects.id, place.id))
    const work = await client.cloned(client.url(place.fullPath, owner))
    await commitIn(work, 'large.bin', fresh().pointer)
    expect((await gitRun(work, 'push', 'origin', 'HEAD')).code).toBe(0)
  })
})

describe('forks (LF-3) and deletion (LF-12)', () => {
  it('a fork has the objects of its source without a copy, and later ones if the user may read them', async () => {
    const source = await aProject(t.ctx, { creator: owner, visibility: 'public', files: { 'a.txt': 'a' } })
    const [first, second] = [fresh(), fresh()]
    await lfs.upload(source.fullPath, owner, first)
    const forker = await aUser(t.ctx)
    const fork = await forkOf(source, forker)
    expect((await lfs.download(fork.fullPath, forker, first)).bytes.equals(first.bytes)).toBe(true)
    expect((await statistics(fork.path, forker)).lfs_objects_size).toBe(first.size)
    await lfs.upload(source.fullPath, owner, second)
    expect((await lfs.batch(fork.fullPath, forker, 'download', [second])).body.objects[0].error.code).toBe(404)
    expect(await lfs.upload(fork.fullPath, forker, second)).toBeNull()
    expect((await lfs.download(fork.fullPath, forker, second)).status).toBe(200)
    // not from a project of the network that they do not see
    const hidden = fresh()
    const secret = await forkOf(source, owner)
    await t.api('put', secret.path, owner).send({ visibility: 'private' }).expect(200)
    await lfs.upload(secret.fullPath, owner, hidden)
    expect((await lfs.batch(fork.fullPath, forker, 'upload', [hidden])).body.objects[0].actions.upload).toBeDefined()
  })

  it('a merge request from a fork brings the objects that it points to, and no others', async () => {
    const target = await aProject(t.ctx, { creator: owner, visibility: 'public', files: { 'a.txt': 'a' } })
    const forker = await aUser(t.ctx)
    const fork = await forkOf(target, forker)
    const [used, unused] = [fresh(), fresh()]
    await lfs.upload(fork.fullPath, forker, used)
    await lfs.upload(fork.fullPath, forker, unused)
    const work = await client.cloned(client.url(fork.fullPath, forker))
    await commitIn(work, 'large.bin', used.pointer)
    expect((await gitRun(work, 'push', 'origin', 'HEAD:refs/heads/topic')).code).toBe(0)
    await t
      .api('post', `${fork.path}/merge_requests`, forker)
      .send({ source_branch: 'topic', target_branch: 'main', title: 'large', target_project_id: target.id })
      .expect(201)
    const { body } = await lfs.batch(target.fullPath, owner, 'download', [used, unused])
    expect(body.objects.map((one: { error?: object }) => one.error === undefined)).toEqual([true, false])
    expect((await lfs.download(target.fullPath, owner, used)).bytes.equals(used.bytes)).toBe(true)
  })

  it('an object is deleted with the last project that has it, and no sooner', async () => {
    const source = await aProject(t.ctx, { creator: owner, visibility: 'public', files: { 'a.txt': 'a' } })
    const [shared, own] = [fresh(), fresh()]
    await lfs.upload(source.fullPath, owner, shared)
    const fork = await forkOf(source, owner)
    await lfs.upload(source.fullPath, owner, own)
    await t.api('delete', `${source.path}?permanently_remove=true`, owner).expect(202)
    await expect.poll(() => existsSync(fileOf(own.oid))).toBe(false)
    await t.ctx.jobs.drain()
    expect((await lfs.download(fork.fullPath, owner, shared)).bytes.equals(shared.bytes)).toBe(true)
    await t.api('delete', `${fork.path}?permanently_remove=true`, owner).expect(202)
    await expect.poll(() => existsSync(fileOf(shared.oid))).toBe(false)
  })

  it('a deletion that was killed between the file and its row is ended later', async () => {
    const place = await aProject(t.ctx, { creator: owner })
    const object = fresh()
    await lfs.upload(place.fullPath, owner, object)
    await t.ctx.db.transaction(async (tx) => {
      await releaseObjects(tx, sql`p.id = ${place.id}`)
      await tx.delete(projects).where(eq(projects.id, place.id))
    })
    await t.ctx.lfs.delete(object.oid)
    await finishObjectDeletions(t.ctx)
    const { rows } = await t.ctx.db.write.execute(sql`select oid from lfs_objects where oid = ${object.oid}
      union all select oid from pending_lfs_deletions where oid = ${object.oid}`)
    expect(rows).toEqual([])
    expect(await lfs.upload(project.fullPath, owner, object)).toEqual([200, 200])
  })

  it('archives hold pointers', async () => {
    const object = fresh()
    await lfs.upload(project.fullPath, owner, object)
    const place = await aProject(t.ctx, {
      creator: owner,
      files: { 'large.bin': object.pointer, '.gitattributes': '*.bin filter=lfs diff=lfs merge=lfs -text\n' },
    })
    const { body } = await t
      .api('get', `${place.path}/repository/archive.tar?sha=main`, owner)
      .buffer(true)
      .parse((res, done) => {
        const chunks: Buffer[] = []
        res.on('data', (chunk) => chunks.push(chunk))
        res.on('end', () => done(null, Buffer.concat(chunks)))
      })
    expect((body as Buffer).includes(object.pointer)).toBe(true)
  })
})

it('the sums of a group count objects (GR-12)', async () => {
  const admin = await anAdmin(t.ctx)
  const group = await aGroup(t.ctx, { creator: admin })
  const object = fresh()
  for (let i = 0; i < 2; i++) await lfs.upload((await aProject(t.ctx, { creator: admin, namespace_id: group.id })).fullPath, admin, object)
  const { body } = await t.api('get', `/groups?statistics=true&search=${group.fullPath}`, admin).expect(200)
  expect(body[0].statistics).toMatchObject({ lfs_objects_size: 2 * object.size, storage_size: 2 * object.size + body[0].statistics.repository_size })
  expect(body[0].lfs_enabled).toBe(true)
})

it('removes what a killed upload left in the folder after a time without writes', async () => {
  await lfs.upload(project.fullPath, owner, fresh())
  const path = join(t.dataDir, 'lfs', 'incoming', 'f'.repeat(32))
  await writeFile(path, 'half')
  const minuteAgo = Date.now() / 1_000 - 60
  await utimes(path, minuteAgo, minuteAgo)
  await removeStalledUploads(t.ctx, t.ctx.lfs)
  expect(await incoming()).toEqual(['f'.repeat(32)])
  await removeStalledUploads(t.ctx, t.ctx.lfs, 30_000)
  expect(await incoming()).toEqual([])
})
