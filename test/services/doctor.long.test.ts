// @module-tag long
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, link, mkdir, readdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { eq, sql } from 'drizzle-orm'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  commitStatuses,
  mergeRequests,
  pendingRepositoryDeletions,
  pipelines,
  projects,
  protectedBranches,
  refIntents,
} from '../../src/db/schema/index.js'
import { ZERO } from '../../src/git/types.js'
import { recordWikis } from '../../src/services/content/record-wikis.js'
import type { Fault } from '../../src/services/operations/doctor/fault.js'
import { fileSystems } from '../../src/services/operations/doctor/file-systems.js'
import { faults } from '../../src/services/operations/doctor/index.js'
import { checkRepositories } from '../../src/services/operations/repository-checks.js'
import { testApp } from '../support/app.js'
import { directoryOf, gitClient, gitOut } from '../support/clients/git-client.js'
import { anObject, lfsClient } from '../support/clients/lfs-client.js'
import { aCommit, anAdmin, aProject, aUser, drawnOf, setSettings, type TestProject, type TestUser } from '../support/factories.js'
import { aMergeRequest, showRequest } from '../support/merge-requests.js'

const t = testApp({}, { upkeep: true })
const client = gitClient(t)
const lfs = lfsClient(t)
let owner: TestUser

beforeAll(async () => {
  owner = await anAdmin(t.ctx)
})

const make = () => aProject(t.ctx, { creator: owner, files: { 'a.txt': 'a' } })
/** The same with all its objects in one pack. */
async function makePacked() {
  const one = await make()
  await t.ctx.jobs.drain()
  await gitOut(directoryOf(t, one.id), 'repack', '-adq')
  return one
}
const found = async (options = {}) => {
  const all: Fault[] = []
  for await (const fault of faults(t.ctx, options)) all.push(fault)
  return all
}
/** The one fault there is, repaired; what was found and what was done. */
async function repaired(kind: string, of: string) {
  const [fault, ...others] = await found()
  expect([others, fault?.kind, fault?.of]).toEqual([[], kind, of])
  const done = await fault?.repair?.()
  return { text: fault?.text, done }
}
const project = (of: TestProject) => `project ${of.id}`
/** Makes a file or folder look an hour old. */
const age = (path: string) => utimes(path, Date.now() / 1000 - 3_600, Date.now() / 1000 - 3_600)
const api = (method: 'get' | 'post' | 'delete', path: string) => t.api(method, path, owner)
const hash = (digit: string) => digit.repeat(40)

// a repair leaves nothing to find
afterEach(async () => {
  await t.ctx.jobs.drain()
  expect((await found()).map(({ kind, of, text }) => `${kind}: ${of}: ${text}`)).toEqual([])
  // the doctor looks at every repository, and the next test need not wait for those of this one
  for (const { id } of await t.ctx.db.write.delete(projects).returning({ id: projects.id }))
    for (const kind of ['project', 'wiki'] as const) await rm(directoryOf(t, id, kind), { recursive: true, force: true })
})

describe('what the doctor finds and repairs', () => {
  it('a storage whose file system does not keep its promises (SEC-190)', async () => {
    const storages = { ...t.ctx.config.storages, other: '/proc/self' }
    const ctx = Object.assign(Object.create(t.ctx) as typeof t.ctx, { config: { ...t.ctx.config, storages } })
    const found: Fault[] = []
    for await (const fault of fileSystems(ctx)) found.push(fault)
    expect(found[0]).toMatchObject({
      kind: 'file system',
      of: 'storage other',
      text: expect.stringMatching(/^\/proc\/self cannot be written/),
      repair: null,
    })
  })

  it('nothing where nothing is wrong', async () => {
    const one = await make()
    await t.api('post', `${one.path}/wikis`, owner).send({ title: 'home', content: 'x' }).expect(201)
    await aProject(t.ctx, { creator: owner })
  })

  it('a missing repository (SEC-156)', async () => {
    const [lost, other] = [await make(), await make()]
    await t.ctx.jobs.drain()
    await rm(directoryOf(t, lost.id), { recursive: true })
    expect((await repaired('missing repository', project(lost))).done).toContain('empty')
    expect((await api('get', lost.path).expect(200)).body).toMatchObject({ empty_repo: true })
    await aCommit(t.ctx, lost, { b: 'b' })
    expect((await api('get', `${lost.path}/repository/tree`).expect(200)).body).toHaveLength(1)
    await api('get', `${other.path}/repository/files/a.txt?ref=main`).expect(200)
  })

  it('a stale lock (SEC-159)', async () => {
    const one = await make()
    await t.ctx.jobs.drain()
    const lock = join(directoryOf(t, one.id), 'refs/heads/main.lock')
    await writeFile(lock, '')
    // the service itself removes it soon (SEC-237)
    await utimes(lock, Date.now() / 1_000 - 60, Date.now() / 1_000 - 60)
    expect([await found(), await t.ctx.git.leftovers(0)]).toEqual([[], [lock]])
    await age(lock)
    expect((await repaired('stale file', lock)).done).toBe('removed')
    await aCommit(t.ctx, one, { b: 'b' })
  })

  it('a lock beside processes that only read (SEC-159)', async () => {
    const one = await make()
    // a warm read leaves a process that reads in the repository
    await api('get', `${one.path}/repository/files/a.txt?ref=main`).expect(200)
    await t.ctx.jobs.drain()
    const lock = join(directoryOf(t, one.id), 'packed-refs.lock')
    await writeFile(lock, '')
    await age(lock)
    const [fault] = await found()
    expect([fault?.of, await fault?.repair?.()]).toEqual([lock, 'removed'])
  })

  it('a pack without its index (SEC-159)', async () => {
    const one = await makePacked()
    const folder = join(directoryOf(t, one.id), 'objects/pack')
    const half = join(folder, `pack-${hash('1')}.pack`)
    const [pack] = (await readdir(folder)).filter((name) => name.endsWith('.pack'))
    // a link is as old as the file, and its name is new: one that was given its name long ago cannot be made here
    await link(join(folder, pack as string), half)
    expect(await t.ctx.git.leftovers(0)).toEqual([])
    await expect.poll(() => t.ctx.git.leftovers(0), { timeout: 20_000, interval: 1_000 }).toEqual([half])
    expect(await t.ctx.git.removeLeftovers()).toEqual([half])
    expect((await t.ctx.git.open({ storage: 'default', id: one.id, kind: 'project' }).examine()).damage).toBe('')
  })

  it('resets a ref to a missing object to the value that was pushed before (SEC-158)', async () => {
    const one = await make()
    const head = await gitOut(directoryOf(t, one.id), 'rev-parse', 'main')
    await t.ctx.jobs.drain()
    await writeFile(join(directoryOf(t, one.id), 'refs/heads/main'), `${hash('1')}\n`)
    expect((await repaired('broken ref', project(one))).done).toBe(`put back to ${head}`)
    expect((await api('get', `${one.path}/repository/branches/main`).expect(200)).body.commit.id).toBe(head)
  })

  it('a ref to a missing object that no push recorded is removed', async () => {
    const one = await make()
    await t.ctx.jobs.drain()
    await writeFile(join(directoryOf(t, one.id), 'refs/tags/odd'), `${hash('2')}\n`)
    expect((await repaired('broken ref', project(one))).done).toBe('removed')
    expect((await api('get', `${one.path}/repository/tags`).expect(200)).body).toEqual([])
  })

  it('rows with a missing commit (SEC-158)', async () => {
    const one = await make()
    await t.ctx.jobs.drain()
    await t.api('post', `${one.path}/statuses/main`, owner).send({ state: 'success' }).expect(201)
    await t.ctx.db.write
      .update(pipelines)
      .set({ sha: hash('3') })
      .where(eq(pipelines.project_id, one.id))
    const { text, done } = await repaired('missing commit', project(one))
    expect([text?.includes(hash('3')), done]).toEqual([true, 'removed what was said of it'])
    expect(await t.ctx.db.write.select().from(commitStatuses).where(eq(commitStatuses.project_id, one.id))).toEqual([])
  })

  it('an orphan repository is moved aside, not removed', async () => {
    const one = await make()
    await t.ctx.jobs.drain()
    const stray = directoryOf(t, one.id).replace(`/${one.id}.git`, `/${one.id + 256_000}.git`)
    await gitOut(t.dataDir, 'clone', '-q', '--bare', directoryOf(t, one.id), stray)
    await rm(join(stray, 'hooks'), { recursive: true, force: true })
    await age(stray)
    const { done } = await repaired('orphan repository', `project ${one.id + 256_000} in default`)
    expect(existsSync(stray)).toBe(false)
    const place = done?.replace('moved to ', '') as string
    expect(await gitOut(place, 'rev-parse', 'main')).toBe(await gitOut(directoryOf(t, one.id), 'rev-parse', 'main'))
  })

  it('an interrupted deletion (SEC-134)', async () => {
    const one = await make()
    await t.ctx.jobs.drain()
    await t.ctx.db.write.delete(projects).where(eq(projects.id, one.id))
    await t.ctx.db.write
      .insert(pendingRepositoryDeletions)
      .values({ project_id: one.id, storage: 'default', due_at: new Date(Date.now() - 3_600_000) })
    expect((await repaired('unfinished deletion', project(one))).done).toBe('removed')
    expect(existsSync(directoryOf(t, one.id))).toBe(false)
  })

  it('an intent left over (SEC-158)', async () => {
    const one = await make()
    await t.ctx.jobs.drain()
    const updates = [{ ref: 'refs/heads/never', old: ZERO, new: hash('4') }]
    const created_at = new Date(Date.now() - 3_600_000)
    await t.ctx.db.write.insert(refIntents).values({ project_id: one.id, actor_id: owner.id, origin: 'api', updates, created_at })
    await repaired('unfinished push', project(one))
    expect(await t.ctx.db.write.select().from(refIntents)).toEqual([])
  })

  it.each([
    ['projects', 'star_count', 'project'],
    ['projects', 'open_issues_count', 'project'],
    ['projects', 'forks_count', 'project'],
    ['issues', 'user_notes_count', 'issue'],
    ['issues', 'upvotes', 'issue'],
  ])('a wrong counter: %s.%s', async (table, column, kind) => {
    const one = await make()
    await api('post', `${one.path}/star`).expect(201)
    const issue = (await t.api('post', `${one.path}/issues`, owner).send({ title: 'x' }).expect(201)).body
    const id = kind === 'project' ? one.id : issue.id
    const read = async () =>
      (await t.ctx.db.write.execute(sql`select ${sql.identifier(column)} as n from ${sql.identifier(table)} where id = ${id}`)).rows[0]?.['n']
    const right = await read()
    await t.ctx.db.write.execute(sql`update ${sql.identifier(table)} set ${sql.identifier(column)} = 77 where id = ${id}`)
    expect(await repaired('wrong counter', `${kind} ${id}`)).toEqual({ text: `${column} is 77, and there are ${right}`, done: 'counted again' })
    expect(await read()).toBe(right)
  })

  it('a missing pin of a version (SEC-118)', async () => {
    const request = await aMergeRequest(t)
    const { id, creator } = request.project
    await t.ctx.jobs.drain()
    const { sha, diff_refs } = await showRequest(t, request)
    for (const [ref, oid] of [
      [`refs/keep-around/${diff_refs.start_sha}`, diff_refs.start_sha],
      [`refs/merge-requests/${request.iid}/head`, sha],
    ]) {
      await gitOut(directoryOf(t, id), 'update-ref', '-d', ref)
      const { text, done } = await repaired('missing pin', `merge request ${request.iid} of project ${id}`)
      expect([text, done]).toEqual([`${ref} does not hold ${oid}`, 'set'])
      expect(await gitOut(directoryOf(t, id), 'rev-parse', ref)).toBe(oid)
    }
    await t.api('put', `${request.path}/merge`, creator).expect(200)
  })

  it('moves the target forward for a merged request whose commit it lacks (SEC-158)', async () => {
    const request = await aMergeRequest(t)
    const { id, creator } = request.project
    const before = await gitOut(directoryOf(t, id), 'rev-parse', 'main')
    const { merge_commit_sha: merged } = (await t.api('put', `${request.path}/merge`, creator).expect(200)).body
    await t.ctx.jobs.drain()
    await gitOut(directoryOf(t, id), 'update-ref', 'refs/heads/main', before)
    expect(await repaired('lost merge', `merge request ${request.iid} of project ${id}`)).toEqual({
      text: `it is merged, but ${merged} is not in main`,
      done: `main put to ${merged}`,
    })
    expect(await gitOut(directoryOf(t, id), 'rev-parse', 'main')).toBe(merged)
  })

  it('a merged request whose commit is lost is no longer merged (SEC-158)', async () => {
    const request = await aMergeRequest(t)
    const { id, creator } = request.project
    const before = await gitOut(directoryOf(t, id), 'rev-parse', 'main')
    await t.api('put', `${request.path}/merge`, creator).expect(200)
    await t.ctx.jobs.drain()
    await gitOut(directoryOf(t, id), 'update-ref', 'refs/heads/main', before)
    await t.ctx.db.write
      .update(mergeRequests)
      .set({ merge_commit_sha: hash('5') })
      .where(eq(mergeRequests.id, request.id))
    expect((await repaired('lost merge', `merge request ${request.iid} of project ${id}`)).done).toBe('closed, and no longer called merged')
    expect(await showRequest(t, request)).toMatchObject({ state: 'closed', merge_commit_sha: null, merged_at: null })
    await t.api('put', request.path, creator).send({ state_event: 'reopen' }).expect(200)
    await t.api('put', `${request.path}/merge`, creator).expect(200)
  })

  it('a merge that a later forced push removed is no fault', async () => {
    const request = await aMergeRequest(t)
    const { id, creator, fullPath } = request.project
    const before = await gitOut(directoryOf(t, id), 'rev-parse', 'main')
    await t.api('put', `${request.path}/merge`, creator).expect(200)
    await t.ctx.db.write.delete(protectedBranches).where(eq(protectedBranches.project_id, id))
    const work = await client.cloned(client.url(fullPath, creator))
    await gitOut(work, 'push', '-q', '-f', 'origin', `${before}:refs/heads/main`)
  })

  it('a broken commit-graph', async () => {
    const one = await make()
    await t.ctx.jobs.drain()
    const graphs = join(directoryOf(t, one.id), 'objects/info/commit-graphs')
    for (const name of await readdir(graphs)) if (name.endsWith('.graph')) await rm(join(graphs, name))
    const chain = (await gitOut(directoryOf(t, one.id), 'rev-parse', 'main')).trim()
    await writeFile(join(graphs, 'commit-graph-chain'), `${chain}\n`)
    await writeFile(join(graphs, `graph-${chain}.graph`), 'CGPH garbage')
    expect((await repaired('broken commit-graph', project(one))).done).toBe('written anew')
    await gitOut(directoryOf(t, one.id), 'commit-graph', 'verify')
    expect((await api('get', `${one.path}/repository/commits`).expect(200)).body).toHaveLength(1)
  })

  it('no fault in dates before 1970 and after 2514, of which a commit-graph holds 34 bits, but a wrong date beside them (SEC-259)', async () => {
    const one = await make()
    await t.ctx.jobs.drain()
    const directory = directoryOf(t, one.id)
    let parent = (await gitOut(directory, 'rev-parse', 'main')).trim()
    const tree = (await gitOut(directory, 'rev-parse', 'main^{tree}')).trim()
    for (const date of ['-1', '-86400', '17179869183', '17179869184', '99999999999', '99999999999999999999999', '1700000000']) {
      const commit = `tree ${tree}\nparent ${parent}\nauthor A <a@b> ${date} +0000\ncommitter A <a@b> ${date} +0000\n\n${date}\n`
      await writeFile(join(t.dataDir, 'odd-commit'), commit)
      parent = (await gitOut(directory, 'hash-object', '-t', 'commit', '-w', '--literally', join(t.dataDir, 'odd-commit'))).trim()
    }
    await gitOut(directory, 'update-ref', 'refs/heads/odd', parent)
    const write = () => t.ctx.git.open({ storage: 'default', id: one.id, kind: 'project' }).maintain()
    expect(await write()).toBe(true)
    expect((await found()).map(({ kind }) => kind)).toEqual([])

    // the lowest bit of the last date in the newest layer, whose checksum is put right
    const graphs = join(directory, 'objects/info/commit-graphs')
    const [layer] = (await readFile(join(graphs, 'commit-graph-chain'), 'latin1')).trim().split('\n').slice(-1)
    const path = join(graphs, `graph-${layer}.graph`)
    const bytes = await readFile(path)
    const chunk = bytes.indexOf('CDAT')
    const [from, to] = [Number(bytes.readBigUInt64BE(chunk + 4)), Number(bytes.readBigUInt64BE(chunk + 16))]
    for (let at = from; at < to; at += 36) bytes.writeUInt32BE((bytes.readUInt32BE(at + 32) ^ 1) >>> 0, at + 32)
    createHash('sha1')
      .update(bytes.subarray(0, -20))
      .digest()
      .copy(bytes, bytes.length - 20)
    await chmod(path, 0o644)
    await writeFile(path, bytes)
    expect((await repaired('broken commit-graph', project(one))).done).toBe('written anew')
  })

  it.each(['user', 'project', 'group'])('an unreadable avatar of a %s', async (kind) => {
    const user = await aUser(t.ctx)
    const [path, id, method] =
      kind === 'user'
        ? [`/users/${user.id}`, user.id, 'put' as const]
        : kind === 'project'
          ? await make().then((one) => [one.path, one.id, 'put' as const] as const)
          : await t
              .api('post', '/groups', owner)
              .send({ name: `avatar${user.id}`, path: `avatar${user.id}` })
              .then(({ body }) => [`/groups/${body.id}`, body.id as number, 'put' as const] as const)
    const dot = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')
    await t.api(method, path, owner).attach('avatar', dot, 'dot.gif').expect(200)
    await t.ctx.jobs.drain()
    const folder = join(t.dataDir, 'uploads', kind, String(id))
    for (const name of await readdir(folder)) await writeFile(join(folder, name), 'no image')
    expect((await repaired('unreadable avatar', `${kind} ${id}`)).done).toBe('taken away')
    expect((await api('get', path).expect(200)).body.avatar_url).toBe(kind === 'user' ? drawnOf(user) : null)
  })

  it('a missing avatar is named, and taken away (SEC-420)', async () => {
    const one = await make()
    const dot = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')
    await t.api('put', one.path, owner).attach('avatar', dot, 'dot.gif').expect(200)
    await t.ctx.jobs.drain()
    await rm(join(t.dataDir, 'uploads', 'project', String(one.id)), { recursive: true })
    expect(await repaired('unreadable avatar', project(one))).toEqual({
      text: expect.stringMatching(/^[0-9a-f]{16}\.gif is missing/),
      done: 'taken away',
    })
  })

  it('an upload whose file is missing or has another size (SEC-420)', async () => {
    const one = await make()
    const upload = async (name: string) => {
      const { url } = (await t.api('post', `${one.path}/uploads`, owner).attach('file', Buffer.from('text'), name).expect(201)).body
      return join(t.dataDir, 'uploads', 'files', String(one.id), url.split('/')[2])
    }
    const [lost, cut, kept] = [await upload('lost.txt'), await upload('cut.txt'), await upload('kept.txt')]
    expect(await found()).toEqual([])
    await rm(lost)
    await writeFile(cut, 'te')
    const secret = (path: string) => path.split('/').at(-1)
    expect(await found()).toEqual([
      { kind: 'damaged upload', of: project(one), text: `lost.txt (${secret(lost)}) is not there; it must come from a backup`, repair: null },
      {
        kind: 'damaged upload',
        of: project(one),
        text: `cut.txt (${secret(cut)}) has 2 bytes instead of 4; it must come from a backup`,
        repair: null,
      },
    ])
    await rm(join(t.dataDir, 'uploads', 'files'), { recursive: true })
    expect((await found()).map(({ text }) => text.split(' ')[0])).toEqual(['lost.txt', 'cut.txt', 'kept.txt'])
    await mkdir(join(t.dataDir, 'uploads', 'files', String(one.id)), { recursive: true })
    for (const path of [lost, cut, kept]) await writeFile(path, 'text')
  })

  it('a missing wiki, which is not replaced by an empty one unseen (SEC-420)', async () => {
    const [one, without] = [await make(), await make()]
    await t.api('post', `${one.path}/wikis`, owner).send({ title: 'home', content: 'x' }).expect(201)
    await t.ctx.jobs.drain()
    const wiki = directoryOf(t, one.id, 'wiki')
    await rename(wiki, join(t.dataDir, 'away'))
    // neither a read, a write nor a clone makes an empty wiki of it
    await t.api('post', `${one.path}/wikis`, owner).send({ title: 'other', content: 'x' }).expect(503)
    await expect(client.cloned(client.url(`${one.fullPath}.wiki`, owner))).rejects.toThrow()
    expect(await found()).toMatchObject([{ kind: 'missing repository', of: `wiki of ${project(one)}`, text: 'its repository is not there' }])
    await rename(join(t.dataDir, 'away'), wiki)
    expect(await found()).toEqual([])
    await rm(wiki, { recursive: true })
    expect((await repaired('missing repository', `wiki of ${project(one)}`)).done).toContain('empty')
    await t.api('post', `${one.path}/wikis`, owner).send({ title: 'other', content: 'x' }).expect(201)
    await t.api('post', `${without.path}/wikis`, owner).send({ title: 'home', content: 'x' }).expect(201)
  })

  it('a wiki of an older version, or whose creation was killed, is recorded by the service (SEC-420)', async () => {
    const one = await make()
    await t.api('post', `${one.path}/wikis`, owner).send({ title: 'home', content: 'x' }).expect(201)
    await t.ctx.jobs.drain()
    await t.ctx.db.write.update(projects).set({ has_wiki: false })
    await recordWikis(t.ctx)
    await rm(directoryOf(t, one.id, 'wiki'), { recursive: true })
    await repaired('missing repository', `wiki of ${project(one)}`)
  })

  /** A project with one pack, damaged by `damage` while `check` looks, and put right after it. */
  async function withDamagedPack(damage: (bytes: Buffer) => Buffer, check: (one: TestProject, pack: string) => Promise<void>) {
    const one = await makePacked()
    await t.api('post', `${one.path}/statuses/main`, owner).send({ state: 'success' }).expect(201)
    await t.ctx.jobs.drain()
    const packs = join(directoryOf(t, one.id), 'objects/pack')
    const pack = (await readdir(packs)).find((name) => name.endsWith('.pack')) as string
    const whole = await readFile(join(packs, pack))
    await chmod(join(packs, pack), 0o600)
    await writeFile(join(packs, pack), damage(Buffer.from(whole)))
    try {
      await check(one, pack)
    } finally {
      await writeFile(join(packs, pack), whole)
    }
  }
  const flipped = (bytes: Buffer) => {
    // in the data of the last object, a blob, before the checksum of the pack
    const at = bytes.length - 22
    bytes[at] = (bytes[at] as number) ^ 1
    return bytes
  }

  it('a flipped bit in a pack, with --full, and from then on whenever the service has found it (SEC-175)', async () => {
    await withDamagedPack(flipped, async (one, pack) => {
      expect(await found()).toEqual([])
      const whole = expect.objectContaining({ kind: 'damaged repository', of: project(one), repair: null })
      expect(await found({ full: true })).toEqual([whole])
      const lines: unknown[] = []
      const log = { ...t.ctx.log, error: (line: unknown) => lines.push(line) } as unknown as typeof t.ctx.log
      const later = { ...t.ctx, log, now: () => new Date(Date.now() + 8 * 86_400_000) }
      await setSettings(t.ctx, { repository_checks_enabled: false })
      await checkRepositories(later)
      expect([lines, await found()]).toEqual([[], []])
      await setSettings(t.ctx, {})
      await checkRepositories(later)
      expect(lines).toEqual([{ project: one.id, fault: expect.stringContaining(pack.slice(0, 45)) }])
      expect(await found()).toEqual([whole])
      // each once in a rotation, though the state is all in rows
      await checkRepositories(later)
      expect(lines).toHaveLength(1)
    })
  })

  it('a pack that is cut short, which makes nothing else be taken for missing (SEC-175)', async () => {
    const short = (bytes: Buffer) => bytes.subarray(0, bytes.length - 30)
    await withDamagedPack(short, async (one, pack) => {
      const [fault, ...others] = await found()
      expect([others, fault?.kind, fault?.of, fault?.repair]).toEqual([[], 'damaged repository', project(one), null])
      expect(fault?.text).toContain(pack)
    })
    expect(await t.ctx.db.write.select().from(commitStatuses)).not.toEqual([])
  })

  it('finds a pack that is missing, but not an index that a repack or a kill leaves without its pack (SEC-175)', async () => {
    const one = await makePacked()
    const packs = join(directoryOf(t, one.id), 'objects/pack')
    const pack = (await readdir(packs)).find((name) => name.endsWith('.pack')) as string
    await writeFile(join(packs, `pack-${'a'.repeat(40)}.idx`), await readFile(join(packs, pack.replace('.pack', '.idx'))))
    expect(await found()).toEqual([])
    await rename(join(packs, pack), join(packs, 'aside'))
    try {
      const [fault, ...others] = await found()
      expect([others, fault?.kind, fault?.of, fault?.repair]).toEqual([[], 'damaged repository', project(one), null])
      expect(fault?.text).toContain(`missing: `)
      expect(fault?.text).toContain(pack)
    } finally {
      await rename(join(packs, 'aside'), join(packs, pack))
    }
  })

  it('a missing default branch, another HEAD, and a project that is wrongly called empty (SEC-175)', async () => {
    const one = await make()
    await t.ctx.jobs.drain()
    const directory = directoryOf(t, one.id)
    await gitOut(directory, 'symbolic-ref', 'HEAD', 'refs/heads/elsewhere')
    expect(await repaired('wrong HEAD', project(one))).toEqual({
      text: 'HEAD names elsewhere, and the default branch is main',
      done: 'the default branch and HEAD are main',
    })
    await gitOut(directory, 'update-ref', 'refs/heads/trunk', 'main')
    await gitOut(directory, 'update-ref', '-d', 'refs/heads/main')
    expect((await repaired('missing default branch', project(one))).done).toBe('the default branch and HEAD are trunk')
    expect((await api('get', one.path).expect(200)).body.default_branch).toBe('trunk')
    await t.ctx.db.write.update(projects).set({ empty_repo: true }).where(eq(projects.id, one.id))
    expect((await repaired('wrong state', project(one))).text).toBe('it is called empty, and has branches')
    expect((await api('get', one.path).expect(200)).body.empty_repo).toBe(false)
  })

  it('resets a default branch with an empty file to the value that was pushed (SEC-175)', async () => {
    const one = await make()
    const head = await gitOut(directoryOf(t, one.id), 'rev-parse', 'main')
    await t.ctx.jobs.drain()
    await writeFile(join(directoryOf(t, one.id), 'refs/heads/main'), '')
    expect(await repaired('broken ref', project(one))).toEqual({ text: 'refs/heads/main holds no object id', done: `put back to ${head}` })
    expect((await api('get', `${one.path}/repository/branches/main`).expect(200)).body.commit.id).toBe(head)
  })

  it('only reports what it cannot repair: a damaged repository', async () => {
    const one = await makePacked()
    const directory = directoryOf(t, one.id)
    const blob = await gitOut(directory, 'rev-parse', 'main:a.txt')
    const packs = join(directory, 'objects/pack')
    const [pack] = (await readdir(packs)).filter((name) => name.endsWith('.pack'))
    await rename(packs, join(t.dataDir, 'away'))
    execFileSync('git', ['-C', directory, 'unpack-objects', '-q'], { input: await readFile(join(t.dataDir, 'away', pack as string)) })
    await rm(join(directory, 'objects', blob.slice(0, 2), blob.slice(2)))
    const [fault, ...others] = await found()
    expect([others, fault?.kind, fault?.of, fault?.repair]).toEqual([[], 'damaged repository', project(one), null])
    expect(fault?.text).toContain(blob)
    await rm(packs, { recursive: true, force: true })
    await rename(join(t.dataDir, 'away'), packs)
  })
})

describe('objects of Git LFS', () => {
  const store = (oid: string) => join(t.dataDir, 'lfs', oid.slice(0, 2), oid.slice(2, 4), oid.slice(4))

  it('that are missing or damaged are named, with the projects that have them', async () => {
    const place = await make()
    const object = anObject('an object')
    await lfs.upload(place.fullPath, owner, object)
    expect(await found({ full: true })).toEqual([])
    const text = async (options = {}) => (await found(options)).map(({ kind, of, text, repair }) => [kind, of, text.split(';')[0], repair])
    await chmod(store(object.oid), 0o600)
    await writeFile(store(object.oid), 'no object')
    expect([await text(), await text({ full: true })]).toEqual([
      [],
      [['damaged LFS object', project(place), `${object.oid} has other bytes than its id says`, null]],
    ])
    await writeFile(store(object.oid), 'short')
    expect(await text()).toEqual([['damaged LFS object', project(place), `${object.oid} has 5 bytes instead of 9`, null]])
    await rm(store(object.oid))
    expect(await text()).toEqual([['damaged LFS object', project(place), `${object.oid} is not there`, null]])
    await lfs.upload(place.fullPath, owner, object)
    await t.ctx.db.write.update(projects).set({ lfs_objects_size: 1 })
    expect(await repaired('wrong counter', project(place))).toMatchObject({ text: 'lfs_objects_size is 1, and there are 9' })
    // for the end of the test
    await t.ctx.db.write.delete(projects)
    expect(await repaired('unused LFS object', object.oid)).toEqual({ text: 'no project has it', done: 'removed' })
    expect(existsSync(store(object.oid))).toBe(false)
    await rm(directoryOf(t, place.id), { recursive: true })
  })

  it('that broken uploads left behind are removed', async () => {
    await mkdir(join(t.dataDir, 'lfs', 'incoming'), { recursive: true })
    const left = join(t.dataDir, 'lfs', 'incoming', 'f'.repeat(32))
    await writeFile(left, 'half')
    expect(await found()).toEqual([])
    await age(left)
    expect(await repaired('stale file', `lfs/incoming/${'f'.repeat(32)}`)).toEqual({ text: 'a broken upload left it behind', done: 'removed' })
  })
})
