import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { projects, storageFailures } from '../../src/db/schema/index.js'
import { StorageWatch, type StorageWatchOptions } from '../../src/services/core/storage-watch.js'
import { testApp } from '../support/app.js'
import { aProject, setSettings, type TestProject } from '../support/factories.js'
import { run } from '../support/spawner.js'

const folder = mkdtempSync(join(tmpdir(), 'roost-storages-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const [first, second] = [join(folder, 'first'), join(folder, 'second')]
const t = testApp({ STORAGES: `default=${first},second=${second}` })

const FAST = { circuitbreaker_check_interval: 0, circuitbreaker_failure_count_threshold: 2 }
let sound: TestProject
let broken: TestProject
/** Another process on the same database. */
let other: StorageWatch
const seen: string[] = []

beforeAll(async () => {
  sound = await aProject(t.ctx, { visibility: 'public', files: { a: '1' } })
  await setSettings(t.ctx, { ...FAST, repository_storages: ['second'] })
  broken = await aProject(t.ctx, { visibility: 'public', files: { a: '1' } })
  await t.ctx.jobs.drain()
  other = new StorageWatch({
    db: t.ctx.db,
    storages: ['default', 'second'],
    settings: () => t.ctx.caches.settings.read(),
    probe: async () => undefined,
    onChange: (storage, access, blocked) => seen.push(`${storage} ${access} ${blocked}`),
    onFault: (fault) => expect.fail(String(fault)),
  })
})

beforeEach(async () => {
  await setSettings(t.ctx, { ...FAST, repository_storages: ['second'] })
  await t.ctx.db.write.delete(storageFailures)
  await t.ctx.storages.checkAll()
})

/** Another process, with its own checks. */
const watchWith = (probe: StorageWatchOptions['probe']) =>
  new StorageWatch({
    db: t.ctx.db,
    storages: ['second'],
    settings: () => t.ctx.caches.settings.read(),
    probe,
    onChange: () => undefined,
    onFault: (fault) => expect.fail(String(fault)),
  })

const basic = ({ username, token }: { username: string; token: string }) => ({
  authorization: `Basic ${Buffer.from(`${username}:${token}`).toString('base64')}`,
})

const tree = (project: TestProject) => t.api('get', `${project.path}/repository/tree`)
const failures = async () => (await t.ctx.db.write.select().from(storageFailures)).map(({ storage, failures }) => ({ storage, failures }))
const refusal = { message: '503 Service Unavailable: The storage of the repository is not available' }

/** Checks the storages so often. */
async function looks(times: number): Promise<void> {
  for (let n = 0; n < times; n++) await t.ctx.storages.checkAll()
}

/** Takes the folder of the second storage away while something else is in its place. */
async function without(work: () => Promise<void>): Promise<void> {
  renameSync(second, `${second}.away`)
  writeFileSync(second, 'a file')
  try {
    await work()
  } finally {
    rmSync(second)
    renameSync(`${second}.away`, second)
  }
}

describe('a storage that fails (SEC-188)', () => {
  it('is refused at once after more failed checks than allowed, in all processes, and others are not', async () => {
    expect(await tree(broken)).toMatchObject({ status: 200 })
    await without(async () => {
      await looks(2)
      expect(await failures()).toEqual([{ storage: 'second', failures: 2 }])
      expect(t.ctx.storages.refusal('second', 'read')).toBeNull()
      await looks(1)
      const answer = await tree(broken).expect(503, refusal)
      expect(answer.headers['retry-after']).toBe('30')
      await tree(sound).expect(200)
      await t.api('get', '/projects', broken.creator).expect(200)
      await t.api('post', `${broken.path}/issues`, broken.creator).send({ title: 'x' }).expect(201)
      await t.api('post', `${broken.path}/repository/branches`, broken.creator).send({ branch: 'b', ref: 'main' }).expect(503, refusal)
      const git = await fetch(`${t.url}/${broken.fullPath}.git/info/refs?service=git-upload-pack`)
      expect(git.status).toBe(503)
      expect(git.headers.get('retry-after')).not.toBeNull()
      expect((await fetch(`${t.url}/-/readiness`)).status).toBe(503)
      // one that finds nothing wrong itself
      expect(other.refusal('second', 'read')).toBeNull()
      await other.checkAll()
      expect(other.refusal('second', 'read')).toMatchObject({ retryAfter: expect.any(Number) })
      expect(seen).toEqual(['second read true'])
    })
    expect(t.logged.filter((line) => line.includes('a storage fails'))).toHaveLength(1)
  })

  it('is used again after three good checks in a row, in all processes (SEC-232)', async () => {
    await without(() => looks(3))
    await tree(broken).expect(503, refusal)
    await looks(2)
    await tree(broken).expect(503, refusal)
    await without(() => looks(1))
    await looks(2)
    await tree(broken).expect(503, refusal)
    await looks(1)
    await tree(broken).expect(200)
    expect(await failures()).toEqual([])
    await other.checkAll()
    expect(other.refusal('second', 'read')).toBeNull()
  })

  it('is still read where only writing fails (SEC-232)', async () => {
    const readOnly = watchWith(async (_, access) => {
      if (access === 'write') throw Object.assign(new Error('read-only file system'), { code: 'EROFS' })
    })
    for (let n = 0; n < 3; n++) await readOnly.checkAll()
    expect(readOnly.refusal('second', 'read')).toBeNull()
    await looks(1)
    await tree(broken).expect(200)
    const message = '503 Service Unavailable: The storage of the repository cannot be written'
    const create = () => t.api('post', `${broken.path}/repository/branches`, broken.creator).send({ branch: 'b', ref: 'main' })
    await create().expect(503, { message })
    const commit = { branch: 'main', commit_message: 'x', actions: [{ action: 'create', file_path: 'b', content: '' }] }
    await t.api('post', `${broken.path}/repository/commits`, broken.creator).send(commit).expect(503, { message })
    const git = (service: string) => fetch(`${t.url}/${broken.fullPath}.git/info/refs?service=git-${service}`, { headers: basic(broken.creator) })
    expect([(await git('upload-pack')).status, (await git('receive-pack')).status]).toEqual([200, 503])
    expect((await fetch(`${t.url}/-/readiness`)).status).toBe(503)
    await looks(2)
    await create().expect(201)
  })

  it.each(['EMFILE', 'ENFILE', 'ENOMEM'])('is not judged by a check that fails with %s (SEC-233)', async (code) => {
    const short = watchWith(() => Promise.reject(Object.assign(new Error(code), { code })))
    for (let n = 0; n < 5; n++) await short.checkAll()
    expect(await failures()).toEqual([])
    await without(() => looks(3))
    for (let n = 0; n < 5; n++) await short.checkAll()
    expect(short.refusal('second', 'read')).not.toBeNull()
  })

  it('is asked again after the reset time, and a success opens it for all', async () => {
    await t.ctx.db.write.insert(storageFailures).values({ storage: 'second', access: 'read', failures: 9 })
    await looks(1)
    await tree(broken).expect(503)
    await t.ctx.db.write.update(storageFailures).set({ failed_at: sql`now() - interval '30 minutes'`, passes: 0 })
    await looks(1)
    await tree(broken).expect(200)
    expect(await failures()).toEqual([])
    await other.checkAll()
    expect(other.refusal('second', 'read')).toBeNull()
  })

  it('a shorter reset time holds for failures of before, and one of 0 refuses nothing', async () => {
    await t.ctx.db.write
      .insert(storageFailures)
      .values({ storage: 'second', access: 'read', failures: 9, failed_at: sql`now() - interval '1 minute'` as unknown as Date })
    await looks(1)
    expect(t.ctx.storages.refusal('second', 'read')).not.toBeNull()
    await setSettings(t.ctx, { ...FAST, circuitbreaker_failure_reset_time: 30 })
    await looks(1)
    expect(t.ctx.storages.refusal('second', 'read')).toBeNull()
    await setSettings(t.ctx, { ...FAST, circuitbreaker_failure_reset_time: 0 })
    await without(async () => {
      await looks(4)
      expect(t.ctx.storages.refusal('second', 'read')).toBeNull()
    })
  })

  it('a success between failures ends the count, and so does a quiet reset time', async () => {
    await without(() => looks(2))
    await looks(1)
    expect(await failures()).toEqual([])
    await without(async () => {
      await looks(2)
      await t.ctx.db.write.update(storageFailures).set({ failed_at: sql`now() - interval '31 minutes'` })
      await looks(1)
      expect(await failures()).toEqual([{ storage: 'second', failures: 1 }])
    })
  })

  it('a check makes as many attempts as circuitbreaker_access_retries says', async () => {
    for (const attempts of [1, 5]) {
      await setSettings(t.ctx, { ...FAST, circuitbreaker_access_retries: attempts })
      await t.ctx.db.write.delete(storageFailures)
      const probed: Record<string, number> = {}
      const watch = watchWith(async (_, access) => {
        probed[access] = (probed[access] ?? 0) + 1
        throw new Error('it fails')
      })
      await watch.checkAll()
      expect(Object.values(probed)).toEqual(Object.values(probed).map(() => attempts))
      expect(probed['read']).toBe(attempts)
    }
  })

  it('failures that several processes find in one interval count once', async () => {
    await setSettings(t.ctx, { ...FAST, circuitbreaker_check_interval: 60, circuitbreaker_storage_timeout: 60 })
    const failing = () => watchWith(() => Promise.reject(new Error('EIO')))
    await Promise.all([failing().checkAll(), failing().checkAll(), failing().checkAll()])
    expect(await failures()).toEqual([{ storage: 'second', failures: 1 }])
  })

  it('one that hangs fails when its time is over, and takes no more threads by that', async () => {
    await setSettings(t.ctx, { ...FAST, circuitbreaker_storage_timeout: 1 })
    const marker = join(second, '.roost-storage')
    await rename(marker, `${marker}.away`)
    await run('mkfifo', [marker], { cwd: second, env: process.env })
    try {
      let begun = 0
      const use = t.ctx.git.checkStorage
      const watch = watchWith((storage, access) => {
        begun++
        return use(storage, access)
      })
      while (watch.refusal('second', 'read') === null) await watch.checkAll()
      expect(await failures()).toEqual([{ storage: 'second', failures: 3 }])
      expect(begun).toBe(1)
      await looks(1)
      await tree(broken).expect(503, refusal)
      await tree(sound).expect(200)
    } finally {
      // the reader of the pipe gets an end
      await writeFile(marker, '')
      await rm(marker)
      await rename(`${marker}.away`, marker)
    }
  })

  it('a repository that is missing or damaged, and calls that are wrong, never count', async () => {
    const [{ storage } = { storage: '' }] = await t.ctx.db.write
      .select({ storage: projects.storage })
      .from(projects)
      .where(eq(projects.id, broken.id))
    await t.ctx.git.remove({ storage, id: broken.id, kind: 'project' })
    await tree(broken).expect(503)
    await t.api('get', `${broken.path}/repository/tree?ref=nothing`).expect(503)
    await tree(sound).query({ ref: 'nothing' }).expect(404)
    await looks(3)
    expect(await failures()).toEqual([])
  })
})
