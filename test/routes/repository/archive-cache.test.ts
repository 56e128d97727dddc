import { createHash } from 'node:crypto'
import { existsSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { FileCache } from '../../../src/lib/files/file-cache.js'
import { testApp } from '../../support/app.js'
import { bytes } from '../../support/bytes.js'
import { aProject, aUser, type TestProject, type TestUser } from '../../support/factories.js'
import { bareOf } from '../../support/repositories.js'

/** Room for archives: an eighth for each that is kept, and 65 % for all that stay. */
const ROOM = 4_000_000
const t = testApp({ ROOST_ARCHIVE_CACHE_BYTES: String(ROOM) })
let project: TestProject
let commits: string[]

/** Bytes that do not compress, the same for the same seed. */
function random(seed: string, length: number): Buffer {
  const parts = [createHash('sha512').update(seed).digest()]
  while (parts.length * 64 < length)
    parts.push(
      createHash('sha512')
        .update(parts.at(-1) as Buffer)
        .digest(),
    )
  return Buffer.concat(parts).subarray(0, length)
}

beforeAll(async () => {
  project = await aProject(t.ctx)
  commits = bareOf(t, project).commits(...Array.from({ length: 12 }, (_, i) => ({ files: { a: random(`${i}`, 300_000), big: random('big', 10) } })))
})

const at = (sha = 'main', of = project) => `${of.path}/repository/archive.tar?sha=${sha}`
const fetched = async (path: string, caller: TestUser | null = project.creator, headers: Record<string, string> = {}) =>
  t.api('get', path, caller).set(headers).buffer(true).parse(bytes)
const folder = (of: TestProject) => join(t.dataDir, 'archives', String(of.id))
const kept = (of = project) => (existsSync(folder(of)) ? readdirSync(folder(of)).map((name) => join(folder(of), name)) : [])
const incoming = () => (existsSync(join(t.dataDir, 'archives/incoming')) ? readdirSync(join(t.dataDir, 'archives/incoming')) : [])

describe('archives that are kept (RE-13)', () => {
  it('packs one once for all callers, with the same bytes', async () => {
    const own = await aProject(t.ctx, { visibility: 'public' })
    const repository = bareOf(t, own)
    const [commit = ''] = repository.commits({ files: { a: random('a', 300_000) } })
    const all = await Promise.all(Array.from({ length: 6 }, (_, i) => fetched(at('main', own), i % 2 ? null : own.creator)))
    const name = `${own.fullPath.split('/').at(-1)}-main-${commit}`
    const native = repository.gitBytes(['archive', '--format=tar', `--prefix=${name}/`, commit])
    for (const { status, body } of all) expect([status, native.equals(body)]).toEqual([200, true])
    expect(kept(own)).toHaveLength(1)
    expect(incoming()).toEqual([])
    // from here on nothing of the repository is needed but the name of the commit
    const marked = kept(own)[0] as string
    const { body } = await fetched(at('main', own))
    expect(native.equals(body)).toBe(true)
    writeFileSync(marked, 'kept')
    expect((await fetched(at('main', own))).body.toString()).toBe('kept')
    // by another format, name or path it is another archive
    for (const path of [at(commit, own), `${at('main', own)}&path=a`, `${own.path}/repository/archive.zip`])
      expect((await fetched(path)).body.toString()).not.toBe('kept')
    expect(kept(own)).toHaveLength(4)
  })

  it('has an ETag, and is not sent again to a client that has it (W-44)', async () => {
    const { headers } = await fetched(at())
    const etag = headers['etag'] as string
    expect(etag).toMatch(/^W\/"[0-9a-f]{64}"$/)
    for (const known of [etag, etag.slice(2), `"x", ${etag}`, '*']) {
      const again = await fetched(at(), project.creator, { 'if-none-match': known })
      expect([known, again.status, again.body.length, again.headers['etag']]).toEqual([known, 304, 0, etag])
    }
    for (const other of ['"x"', '', etag.slice(0, -2)]) expect((await fetched(at(), project.creator, { 'if-none-match': other })).status).toBe(200)
    expect((await t.api('head', at(), project.creator).expect(200)).headers['etag']).toBe(etag)
    expect((await fetched(at(commits[0]))).headers['etag']).not.toBe(etag)
  })

  it('answers callers who may not read the code as if none were cached (SEC-47)', async () => {
    const { headers } = await fetched(at())
    const stranger = await aUser(t.ctx)
    for (const caller of [null, stranger]) {
      expect((await fetched(at(), caller)).status).toBe(404)
      expect((await fetched(at(), caller, { 'if-none-match': headers['etag'] as string })).status).toBe(404)
    }
  })

  it('the bytes are bounded: the least recently used are removed first', async () => {
    const used = () => kept().reduce((sum, path) => sum + statSync(path).size, 0)
    for (const sha of commits) {
      expect((await fetched(at(sha))).status).toBe(200)
      for (const path of kept()) utimesSync(path, new Date(), new Date(statSync(path).mtimeMs - 120_000))
      // reading it keeps it
      await fetched(at(commits[0]))
      expect(used()).toBeLessThan(ROOM)
    }
    const names = await Promise.all(commits.map(async (sha) => (await t.api('head', at(sha), project.creator)).headers['etag']?.slice(3, -1)))
    const there = names.map((name) => existsSync(join(folder(project), name as string)))
    expect(there[0]).toBe(true)
    expect(there.at(-1)).toBe(true)
    expect(there.slice(1, 4)).toEqual([false, false, false])
  })

  it('one above an eighth of the room is sent whole, and not kept', async () => {
    const own = await aProject(t.ctx)
    const repository = bareOf(t, own)
    const [commit = ''] = repository.commits({ files: { a: random('large', 2_000_000) } })
    const name = `${own.fullPath.split('/').at(-1)}-main-${commit}`
    const native = repository.gitBytes(['archive', '--format=tar', `--prefix=${name}/`, commit])
    for (let i = 0; i < 2; i++) {
      const both = await Promise.all([fetched(at('main', own), own.creator), fetched(at('main', own), own.creator)])
      for (const { body } of both) expect(native.equals(body)).toBe(true)
    }
    expect([kept(own), incoming()]).toEqual([[], []])
  })

  it('a client that leaves takes nothing from the others, and leaves nothing', async () => {
    const own = await aProject(t.ctx, { visibility: 'public' })
    bareOf(t, own).commits({ files: { a: random('left', 400_000) } })
    await Promise.all([
      ...Array.from(
        { length: 4 },
        () =>
          new Promise<void>((resolve) => {
            const request = get(`${t.url}/api/v4${at('main', own)}`, (response) => {
              response.on('error', () => {})
              response.once('data', () => request.destroy())
            })
            request.on('error', () => {})
            request.on('close', () => resolve())
          }),
      ),
      fetched(at('main', own), null).then(({ status, body }) => expect([status, body.length > 400_000]).toEqual([200, true])),
    ])
    expect((await fetched(at('main', own), null)).body.length).toBeGreaterThan(400_000)
    expect(incoming()).toEqual([])
  })

  it('a deleted project takes its archives along (SEC-134)', async () => {
    const own = await aProject(t.ctx)
    bareOf(t, own).commits({ files: { a: 'a' } })
    await fetched(at('main', own), own.creator)
    expect(kept(own)).toHaveLength(1)
    await t.api('delete', `${own.path}?permanently_remove=true`, own.creator).expect(202)
    await t.ctx.jobs.drain()
    expect(existsSync(folder(own))).toBe(false)
  })

  it('what a killed process left half made is never sent, and removed (SEC-158)', async () => {
    await fetched(at())
    const half = join(t.dataDir, 'archives/incoming/half')
    const running = join(t.dataDir, 'archives/incoming/running')
    writeFileSync(half, 'half an archive')
    writeFileSync(running, 'of another process')
    utimesSync(half, new Date(), new Date(Date.now() - 3_600_000))
    const next = new FileCache(join(t.dataDir, 'archives'), ROOM, 1)
    await next.sweep()
    expect([existsSync(half), existsSync(running)]).toEqual([false, true])
    expect(kept().length).toBeGreaterThan(0)
    // as after a start with no room for any
    await new FileCache(join(t.dataDir, 'archives'), 0, 1).sweep()
    expect(kept()).toEqual([])
  })
})
