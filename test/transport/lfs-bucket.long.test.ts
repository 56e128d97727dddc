// @module-tag long
import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import {
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { eq, sql } from 'drizzle-orm'
import { startFauxqs } from 'fauxqs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createContext } from '../../src/cli/create-context.js'
import { readConfig } from '../../src/config.js'
import { openDatabase } from '../../src/db/client.js'
import { lfsObjects, projects } from '../../src/db/schema/index.js'
import { removeStalledUploads } from '../../src/services/core/stalled-uploads.js'
import { backUp, openBackup, restoreFiles, restoreRows, restoreSecretKey } from '../../src/services/operations/backup.js'
import { faults } from '../../src/services/operations/doctor/index.js'
import { finishObjectDeletions, releaseObjects, removeOrphanedObjects } from '../../src/services/repository/lfs/objects.js'
import { testApp } from '../support/app.js'
import { anObject, basic, lfsClient, send, type TestObject } from '../support/clients/lfs-client.js'
import { anAdmin, aProject, setSettings, type TestProject, type TestUser, unique } from '../support/factories.js'
import { createTestDatabase } from '../support/template-database.js'

// a real server of the S3 API, to which the service's client connects over HTTP
const server = await startFauxqs({ port: 0, logger: false, init: { buckets: ['objects'] } })
const endpoint = `http://127.0.0.1:${server.port}`
const credentials = { AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret', AWS_ENDPOINT_URL: endpoint }
const t = testApp({ LFS_STORAGE: 's3://objects/team/lfs', ...credentials })
const lfs = lfsClient(t)
const s3 = new S3Client({
  endpoint,
  region: 'us-east-1',
  forcePathStyle: true,
  credentials: { accessKeyId: 'key', secretAccessKey: 'secret' },
  requestChecksumCalculation: 'WHEN_REQUIRED',
})
const MIB = 1024 * 1024
let owner: TestUser
let project: TestProject

beforeAll(async () => {
  owner = await anAdmin(t.ctx)
  project = await aProject(t.ctx, { creator: owner, files: { 'a.txt': 'a' } })
})
afterAll(async () => {
  s3.destroy()
  await server.stop()
})

const fresh = (size = 5_000) => anObject(Buffer.alloc(size, `object ${unique()} `))
const keyOf = (oid: string) => `team/lfs/${oid.slice(0, 2)}/${oid.slice(2, 4)}/${oid.slice(4)}`
const keys = async () => ((await s3.send(new ListObjectsV2Command({ Bucket: 'objects' }))).Contents ?? []).map(({ Key }) => Key)
const listed = async () => {
  const oids: string[] = []
  for await (const { oid } of t.ctx.lfs.list()) oids.push(oid)
  return oids
}
const incoming = () => readdir(join(t.dataDir, 'lfs', 'incoming')).catch(() => [] as string[])
const urlOf = ({ oid }: TestObject) => `${t.url}/${project.fullPath}.git/info/lfs/objects/${oid}`
const put = (object: TestObject, body = object.bytes) => send(urlOf(object), { method: 'PUT', headers: basic(owner.token), body })

/** The upload in parts that the service has begun, as its note says. */
async function begun(): Promise<{ key: string; id: string } | null> {
  const note = (await incoming()).find((name) => name.endsWith('.upload'))
  return note === undefined ? null : JSON.parse(await readFile(join(t.dataDir, 'lfs/incoming', note), 'utf8').catch(() => 'null'))
}

/** Sends the first bytes of an object, and cuts the connection once `until` is met. */
function cutUpload(object: TestObject, sent: number, until: () => Promise<unknown>): Promise<void> {
  return new Promise((resolve, reject) => {
    const asked = request(urlOf(object), { method: 'PUT', headers: { ...basic(owner.token), 'content-length': object.size } })
    asked.on('error', () => resolve())
    asked.write(object.bytes.subarray(0, sent))
    until().then(() => asked.destroy(new Error('cut')), reject)
  })
}

describe('objects in a bucket (LF-13)', () => {
  it('go up and come down again, whole and in ranges, in one part and in several', async () => {
    for (const size of [0, 300_000, 8 * MIB, 8 * MIB + 1, 25 * MIB + 17]) {
      const object = anObject(randomBytes(size))
      expect([size, await lfs.upload(project.fullPath, owner, object)]).toEqual([size, [200, 200]])
      expect(await lfs.upload(project.fullPath, owner, object)).toBeNull()
      const down = await lfs.download(project.fullPath, owner, object)
      expect([down.status, down.bytes.equals(object.bytes)]).toEqual([200, true])
      if (size < 10) continue
      const rest = await lfs.download(project.fullPath, owner, object, { range: `bytes=${size - 9}-` })
      expect([rest.status, rest.headers['content-range'], rest.bytes.equals(object.bytes.subarray(size - 9))]).toEqual([
        206,
        `bytes ${size - 9}-${size - 1}/${size}`,
        true,
      ])
      const outside = await lfs.download(project.fullPath, owner, object, { range: `bytes=${size}-` })
      expect(outside.status).toBe(416)
      expect(await keys()).toContain(keyOf(object.oid))
    }
    expect(await incoming()).toEqual([])
  })

  it('refuses wrong and too large content before it is stored, and keeps nothing', async () => {
    const before = await keys()
    const [small, large] = [fresh(), fresh(20 * MIB)]
    expect((await put(small, small.bytes.subarray(1))).status).toBe(422)
    expect((await put(large, Buffer.concat([large.bytes, Buffer.from('x')]))).status).toBe(422)
    await setSettings(t.ctx, { lfs_object_size_limit: 10 })
    const over = await send(urlOf(large), { method: 'PUT', headers: { ...basic(owner.token), 'transfer-encoding': 'chunked' }, body: large.bytes })
    await setSettings(t.ctx, { lfs_object_size_limit: 5_120 })
    expect(over.status).toBe(413)
    expect([await keys(), await incoming()]).toEqual([before, []])
    expect((await lfs.post(project.fullPath, 'objects/verify', owner, { oid: large.oid, size: large.size })).status).toBe(404)
  })

  it('an upload beyond the quota leaves nothing', async () => {
    const before = await keys()
    const place = await aProject(t.ctx, { creator: owner })
    await setSettings(t.ctx, { project_lfs_size_limit: 1 })
    const object = fresh(9 * MIB)
    const answer = await send(`${t.url}/${place.fullPath}.git/info/lfs/objects/${object.oid}`, {
      method: 'PUT',
      headers: basic(owner.token),
      body: object.bytes,
    })
    await setSettings(t.ctx, { project_lfs_size_limit: 0 })
    expect(answer.status).toBe(413)
    expect([await keys(), await incoming()]).toEqual([before, []])
  })

  it('an upload that breaks is taken back from the bucket, and can be sent again', async () => {
    const object = fresh(20 * MIB)
    let note: { key: string; id: string } | null = null
    await cutUpload(object, 18 * MIB, () => expect.poll(async () => (note = (await begun()) ?? note)).not.toBeNull())
    await expect.poll(incoming).toEqual([])
    const { key, id } = note ?? { key: '', id: '' }
    expect(key).toBe(keyOf(object.oid))
    const part = new UploadPartCommand({ Bucket: 'objects', Key: key, UploadId: id, PartNumber: 1, Body: 'x' })
    await expect(s3.send(part)).rejects.toMatchObject({ name: 'NoSuchUpload' })
    expect(await keys()).not.toContain(keyOf(object.oid))
    expect(await lfs.upload(project.fullPath, owner, object)).toEqual([200, 200])
  })

  it('aborts uploads that a killed process left in the bucket, and not running ones', async () => {
    const dead = await t.ctx.lfs.stage(Readable.from([randomBytes(9 * MIB)]), 'a'.repeat(64), 20 * MIB).catch(() => null)
    expect(dead).toBeNull()
    const { UploadId: id } = await s3.send(new CreateMultipartUploadCommand({ Bucket: 'objects', Key: keyOf('b'.repeat(64)) }))
    const folder = join(t.dataDir, 'lfs/incoming')
    const [spool, note] = [join(folder, 'c'.repeat(32)), join(folder, `${'c'.repeat(32)}.upload`)]
    await writeFile(spool, 'half')
    await writeFile(note, JSON.stringify({ key: keyOf('b'.repeat(64)), id }))
    await removeStalledUploads(t.ctx, t.ctx.lfs)
    expect((await incoming()).length).toBe(2)
    const part = () => s3.send(new UploadPartCommand({ Bucket: 'objects', Key: keyOf('b'.repeat(64)), UploadId: id, PartNumber: 1, Body: 'x' }))
    await part()
    await utimes(spool, new Date(0), new Date(0))
    await removeStalledUploads(t.ctx, t.ctx.lfs)
    expect(await incoming()).toEqual([])
    await expect(part()).rejects.toMatchObject({ name: 'NoSuchUpload' })
  })

  it('uploads of one object at the same moment all succeed', async () => {
    const object = fresh(9 * MIB)
    expect((await Promise.all([put(object), put(object), put(object)])).map(({ status }) => status)).toEqual([200, 200, 200])
    const down = await lfs.download(project.fullPath, owner, object)
    expect(down.bytes.equals(object.bytes)).toBe(true)
  })

  it('a lost object is restored by the next upload', async () => {
    const object = fresh()
    await lfs.upload(project.fullPath, owner, object)
    await s3.send(new DeleteObjectCommand({ Bucket: 'objects', Key: keyOf(object.oid) }))
    expect((await lfs.download(project.fullPath, owner, object)).status).toBe(404)
    expect(await lfs.upload(project.fullPath, owner, object)).toEqual([200, 200])
  })

  it('removes those of deleted projects, and those without a row; other files in the bucket stay', async () => {
    const place = await aProject(t.ctx, { creator: owner })
    const [object, orphan] = [fresh(), fresh()]
    await lfs.upload(place.fullPath, owner, object)
    await t.ctx.db.transaction((tx) => releaseObjects(tx, sql`p.id = ${place.id}`))
    await t.ctx.db.write.delete(projects).where(eq(projects.id, place.id))
    await finishObjectDeletions(t.ctx)
    expect(await keys()).not.toContain(keyOf(object.oid))
    const other = 'team/lfs/notes.txt'
    for (const Key of [keyOf(orphan.oid), other]) await s3.send(new PutObjectCommand({ Bucket: 'objects', Key, Body: orphan.bytes }))
    await removeOrphanedObjects(t.ctx)
    // too young: its row may be about to come
    expect(await keys()).toEqual(expect.arrayContaining([keyOf(orphan.oid), other]))
    expect(await listed()).toContain(orphan.oid)
    await t.ctx.lfs.delete(orphan.oid)
  })

  it('503 while the store cannot be reached, and nothing half is kept', async () => {
    const lost = await aContext('lost', { ...credentials, AWS_ENDPOINT_URL: 'http://127.0.0.1:1' })
    await expect(lost.ctx.lfs.size('a'.repeat(64))).rejects.toMatchObject({ name: 'Unavailable' })
    await expect(lost.ctx.lfs.get('a'.repeat(64))).rejects.toMatchObject({ name: 'Unavailable' })
    const object = fresh(9 * MIB)
    const body = Readable.from([object.bytes])
    await expect(lost.ctx.lfs.stage(body, object.oid, 20 * MIB)).rejects.toMatchObject({ name: 'Unavailable' })
    expect(await readdir(join(lost.dataDir, 'lfs/incoming'))).toEqual([])
    await lost.end()
  })
})

/** A separate context, with an empty database. */
async function aContext(name: string, environment: Record<string, string>) {
  const database = await createTestDatabase()
  const dataDir = join(t.dataDir, name)
  const config = readConfig({ DATA_DIR: dataDir, BASE_URL: 'http://roost.test', LFS_STORAGE: `s3://objects/${name}`, ...environment })
  for (const path of Object.values(config.storages)) await mkdir(path, { recursive: true })
  const db = await openDatabase(database.url, { log: t.ctx.log, poolSize: 2 })
  const ctx = await createContext({ ...config, baseUrl: 'http://roost.test' }, db, t.ctx.log)
  const end = async () => {
    await ctx.close()
    await db.close()
    await database.drop()
  }
  return { ctx, dataDir, url: database.url, end }
}

describe('operators (LF-13)', () => {
  const faultsIn = async (ctx = t.ctx, full = false) => {
    const all: string[] = []
    for await (const { kind, text } of faults(ctx, { full })) if (kind.includes('LFS')) all.push(`${kind}: ${text}`)
    return all
  }

  it('the doctor names objects that are missing or damaged', async () => {
    const [gone, changed, cut] = [fresh(), fresh(), fresh()]
    for (const object of [gone, changed, cut]) await lfs.upload(project.fullPath, owner, object)
    expect(await faultsIn(t.ctx, true)).toEqual([])
    await s3.send(new DeleteObjectCommand({ Bucket: 'objects', Key: keyOf(gone.oid) }))
    await s3.send(new PutObjectCommand({ Bucket: 'objects', Key: keyOf(changed.oid), Body: Buffer.alloc(changed.size) }))
    await s3.send(new PutObjectCommand({ Bucket: 'objects', Key: keyOf(cut.oid), Body: 'short' }))
    const hint = 'push it again, or take it from a backup'
    expect((await faultsIn(t.ctx, true)).sort()).toEqual(
      [
        `damaged LFS object: ${gone.oid} is not there; ${hint}`,
        `damaged LFS object: ${changed.oid} has other bytes than its id says; ${hint}`,
        `damaged LFS object: ${cut.oid} has 5 bytes instead of 5000; ${hint}`,
      ].sort(),
    )
    for (const object of [gone, changed, cut]) await s3.send(new PutObjectCommand({ Bucket: 'objects', Key: keyOf(object.oid), Body: object.bytes }))
  })

  it('an installation with another secret removes nothing from a prefix that has an owner, and its doctor says why', async () => {
    const object = fresh()
    await lfs.upload(project.fullPath, owner, object)
    expect(await t.ctx.lfs.claim()).toBe(true)
    const other = await aContext('stranger', { ...credentials, LFS_STORAGE: 's3://objects/team/lfs' })
    try {
      expect(await other.ctx.lfs.claim()).toBe(false)
      await expect(other.ctx.lfs.delete(object.oid)).rejects.toThrow('s3://objects/team/lfs/ holds the objects of another installation')
      expect(await t.ctx.lfs.size(object.oid)).toBe(object.size)
      const kinds: string[] = []
      for await (const { kind } of faults(other.ctx, {})) kinds.push(kind)
      expect(kinds).toContain('foreign objects')
    } finally {
      await other.end()
    }
    const free = await aContext('free', credentials)
    expect(await Promise.all([free.ctx.lfs.claim(), free.ctx.lfs.claim()])).toEqual([true, true])
    await free.end()
  })

  it('a backup has all objects, and fills another bucket; without them, it names none and needs the same bucket', async () => {
    const rows = await t.ctx.db.write.select().from(lfsObjects)
    const [whole, without] = [join(t.dataDir, 'whole'), join(t.dataDir, 'without')]
    await backUp(t.ctx, t.databaseUrl, whole)
    await backUp(t.ctx, t.databaseUrl, without, { lfs: false })
    const files = (await readdir(join(whole, 'lfs'), { recursive: true })).map((path) => path.split('/').at(-1))
    expect(files).toEqual(expect.arrayContaining(rows.map(({ oid }) => oid)))
    expect(await readdir(without)).not.toContain('lfs')
    for (const [from, name, missing] of [
      [whole, 'other', 0],
      [without, 'elsewhere', rows.length],
      [without, 'team/lfs', 0],
    ] as const) {
      const place = await aContext(name, credentials)
      const backup = await openBackup(from)
      await restoreSecretKey(backup, place.dataDir).catch(() => {})
      await restoreRows(backup, place.url)
      await restoreFiles(place.ctx, backup)
      expect([name, (await faultsIn(place.ctx)).filter((line) => line.includes('is not there')).length]).toEqual([name, missing])
      await place.end()
    }
  })
})

it('what a bucket needs is read from the environment once (LF-13)', () => {
  const named = (environment: Record<string, string>) => readConfig({ LFS_STORAGE: 's3://bucket/a/b/', ...environment }).lfsBucket
  expect(named({})).toEqual({ bucket: 'bucket', prefix: 'a/b/', region: 'us-east-1', endpoint: undefined, credentials: undefined })
  expect(named({ ...credentials, AWS_REGION: 'eu-west-1', AWS_SESSION_TOKEN: 's', AWS_ENDPOINT_URL_S3: 'https://s3.test' })).toEqual({
    bucket: 'bucket',
    prefix: 'a/b/',
    region: 'eu-west-1',
    endpoint: 'https://s3.test',
    credentials: { accessKeyId: 'key', secretAccessKey: 'secret', sessionToken: 's' },
  })
  expect(readConfig({ AWS_ENDPOINT_URL: 'x' }).lfsBucket).toBeUndefined()
  for (const [environment, text] of [
    [{ LFS_STORAGE: 'bucket' }, 'LFS_STORAGE is not of the form'],
    [{ LFS_STORAGE: 's3://B' }, 'LFS_STORAGE is not of the form'],
    [{ AWS_ENDPOINT_URL: 'x' }, 'AWS_ENDPOINT_URL is not an http or https URL'],
    [{ AWS_ACCESS_KEY_ID: 'x' }, 'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are needed together'],
  ] as const)
    expect(() => named(environment)).toThrow(text)
})
