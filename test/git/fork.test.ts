import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openGit } from '../../src/git/open.js'
import { repositoryDirectory } from '../../src/git/storage/create.js'
import type { Git, RepositoryKey } from '../../src/git/types.js'
import { aBareRepository, type TestRepository } from '../support/git.js'
import { rounds } from '../support/rounds.js'
import { testSpawner } from '../support/spawner.js'
import { gitAsync } from './support.js'

let storage: string
let hooks: string
let git: Git
let counter = 0

beforeAll(async () => {
  storage = await mkdtemp(join(tmpdir(), 'roost-forks-'))
  hooks = await mkdtemp(join(tmpdir(), 'roost-hooks-'))
  git = openGit({ storages: { default: storage }, hooks, spawner: testSpawner })
  await git.claimStorages(async () => false)
})
afterAll(async () => {
  await git.close()
  for (const folder of [storage, hooks]) await rm(folder, { recursive: true, force: true })
})

const key = (): RepositoryKey => ({ storage: 'default', id: ++counter, kind: 'project' })
const directoryOf = (of: RepositoryKey) => repositoryDirectory(storage, of)

/** A stored repository with the tools of tests. */
async function stored(): Promise<TestRepository & { key: RepositoryKey }> {
  const own = key()
  await git.create(own, 'main')
  return Object.assign(aBareRepository(directoryOf(own)), { key: own })
}

async function forked(source: RepositoryKey, branch = 'main') {
  const own = key()
  await git.fork(source, own, branch)
  return Object.assign(aBareRepository(directoryOf(own)), { key: own })
}

const packsOf = (directory: string) => readdirSync(join(directory, 'objects/pack')).filter((name) => name.endsWith('.pack'))
const files = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? files(join(folder, entry.name)) : [join(folder, entry.name)],
  )
const whole = (repository: TestRepository) => repository.git('fsck', '--full', '--strict', '--no-dangling', '--connectivity-only')

describe('forks of repositories (PR-25)', () => {
  it('have branches, annotated and light tags and HEAD, and nothing else', async () => {
    const source = await stored()
    const [first, second] = source.commits({ files: { a: '1' } }, { branch: 'topic', parents: [0], files: { b: '2' } })
    source.git('tag', 'light', first as string)
    source.git('tag', '-a', '-m', 'one', 'v1', first as string)
    source.git('update-ref', 'refs/merge-requests/1/head', second as string)
    source.git('update-ref', 'refs/keep-around/x', second as string)
    source.git('branch', 'a-zünd', first as string)
    const fork = await forked(source.key, 'topic')
    const refs = (repository: TestRepository) => repository.git('for-each-ref', '--format=%(refname) %(objectname)', 'refs/heads', 'refs/tags')
    expect(refs(fork)).toBe(refs(source))
    expect(fork.git('for-each-ref', 'refs/merge-requests', 'refs/keep-around')).toBe('')
    expect(fork.git('symbolic-ref', 'HEAD')).toBe('refs/heads/topic\n')
    expect(await git.open(fork.key).refs('refs/tags/')).toEqual(await git.open(source.key).refs('refs/tags/'))
    expect(whole(fork)).toBe('')
  })

  it('share loose objects, packs, their index and the commit-graph on disk, without alternates', async () => {
    const source = await stored()
    source.commits({ files: { a: '1' } }, { files: { a: '2' } })
    source.git('repack', '-adq')
    source.commits({ files: { b: '1' } })
    source.git('repack', '-dq', '--write-midx', '--write-bitmap-index')
    source.git('commit-graph', 'write', '--reachable', '--split')
    source.git('tag', 'loose', source.gitBytes(['hash-object', '-w', '--stdin'], 'loose').toString().trim())
    const fork = await forked(source.key)
    expect(existsSync(join(fork.directory, 'objects/info/alternates'))).toBe(false)
    const objects = files(join(source.directory, 'objects')).filter((path) => !path.endsWith('info/packs'))
    expect(objects.some((path) => path.endsWith('multi-pack-index'))).toBe(true)
    expect(objects.some((path) => path.endsWith('.graph'))).toBe(true)
    for (const path of objects) expect(statSync(path.replace(source.directory, fork.directory)).ino).toBe(statSync(path).ino)
    expect(fork.git('multi-pack-index', 'verify')).toBe('')
    expect(fork.git('commit-graph', 'verify')).toBe('')
    expect(whole(fork)).toBe('')
  })

  it('keep their objects when the source is repacked, pruned and deleted, and share none with each other (SEC-43)', async () => {
    const source = await stored()
    source.commits({ files: { a: '1' } }, { branch: 'other', parents: [], files: { b: '2' } })
    source.git('repack', '-adq')
    const fork = await forked(source.key)
    const [theirs] = source.commits({ files: { c: '3' } })
    const [ours] = fork.commits({ files: { d: '4' } })
    const has = (of: RepositoryKey, oid: string | undefined) => git.open(of).objectInfo(oid as string)
    expect([await has(source.key, theirs), await has(source.key, ours)]).toEqual([expect.anything(), null])
    expect([await has(fork.key, theirs), await has(fork.key, ours)]).toEqual([null, expect.anything()])
    // each loses a branch and all that only it had
    source.git('update-ref', '-d', 'refs/heads/main')
    source.git('repack', '-adfq')
    source.git('prune', '--expire=now')
    expect(whole(fork)).toBe('')
    await git.remove(source.key)
    expect(existsSync(source.directory)).toBe(false)
    fork.git('repack', '-adfq')
    fork.git('prune', '--expire=now')
    expect(whole(fork)).toBe('')
    expect(fork.git('log', '--format=%H', '-1', 'main').trim()).toBe(ours)
  })

  it.each([
    ['in their own packs', []],
    ['joined with the rest in one pack', ['repack', '-adkq']],
    ['in a pack of cruft', ['repack', '-dq', '--cruft']],
    ['loose', ['unpack']],
  ])('leave behind what nothing in the source reaches any more, %s, and share the rest (SEC-43)', async (_, args) => {
    const source = await stored()
    const [, kept] = source.commits({ files: { a: '1', b: '2' } }, { files: { a: '2' } })
    source.git('tag', '-a', '-m', 'one', 'v1', kept as string)
    source.git('repack', '-adq')
    const large = packsOf(source.directory)[0] as string
    const [mistake, request] = source.commits(
      { branch: 'mistake', parents: [kept as string], files: { secret: 'secret', b: 'new' } },
      { branch: 'request', parents: [kept as string], files: { c: '3' } },
    )
    const blob = source.git('rev-parse', 'mistake:secret').trim()
    source.git('update-ref', 'refs/merge-requests/1/head', request as string)
    for (const branch of ['mistake', 'request']) source.git('update-ref', '-d', `refs/heads/${branch}`)
    if (args[0] === 'unpack') {
      const packs = packsOf(source.directory).filter((name) => name !== large)
      const bytes = packs.map((name) => readFileSync(join(source.directory, 'objects/pack', name)))
      for (const name of packs) for (const end of ['pack', 'idx']) rmSync(join(source.directory, 'objects/pack', name.replace(/pack$/, end)))
      for (const pack of bytes) source.gitBytes(['unpack-objects', '-q'], pack)
    } else if (args.length > 0) source.git(...args)
    source.git('commit-graph', 'write', '--reachable')
    const fork = await forked(source.key)
    const has = async (oid: string | undefined) => (await git.open(fork.key).objectInfo(oid as string)) !== null
    expect([await has(mistake), await has(blob), await has(kept), await has(request)]).toEqual([false, false, true, true])
    expect(whole(fork)).toBe('')
    expect(source.git('cat-file', '-t', mistake as string)).toBe('commit\n')
    if (args.length === 0) {
      const path = join('objects/pack', large)
      expect(statSync(join(fork.directory, path)).ino).toBe(statSync(join(source.directory, path)).ino)
    }
    // what requests alone hold ends with the next one; then there is nothing to leave behind, and all is shared
    const next = await forked(fork.key)
    const last = await forked(next.key)
    expect(await git.open(next.key).objectInfo(request as string)).toBeNull()
    for (const name of packsOf(next.directory))
      expect(statSync(join(last.directory, 'objects/pack', name)).ino).toBe(statSync(join(next.directory, 'objects/pack', name)).ino)
  })

  it('of an empty repository are empty; one that is there stays as it is', async () => {
    const source = await stored()
    const fork = await forked(source.key, 'trunk')
    expect(fork.git('for-each-ref')).toBe('')
    expect(fork.git('symbolic-ref', 'HEAD')).toBe('refs/heads/trunk\n')
    source.commits({ files: { a: '1' } })
    await git.fork(source.key, fork.key, 'main')
    expect(fork.git('for-each-ref')).toBe('')
  })

  it('of a source whose objects are missing are refused and leave nothing', async () => {
    const source = await stored()
    source.commits({ files: { a: '1' } })
    for (const name of packsOf(source.directory)) rmSync(join(source.directory, 'objects/pack', name), { force: true })
    for (const path of files(join(source.directory, 'objects'))) rmSync(path)
    const own = key()
    await expect(git.fork(source.key, own, 'main')).rejects.toThrow()
    const shard = dirname(directoryOf(own))
    expect(existsSync(shard) ? readdirSync(shard) : []).toEqual([])
  })

  it('made while the source is pushed to and packed over and over, are whole every time (SEC-164)', { tags: ['long'] }, async () => {
    const source = await stored()
    source.commits({ files: { a: '0' } })
    let over = false
    const run = async (...args: string[]) => expect(await gitAsync(source.directory, args)).toMatchObject({ code: 0 })
    const tree = source.git('rev-parse', 'main^{tree}').trim()
    const packing = (async () => {
      let rounds = 0
      for (; !over; rounds++) {
        const { out } = await gitAsync(source.directory, ['commit-tree', '-p', 'main', '-m', `${rounds}`, tree])
        await run('update-ref', 'refs/heads/main', out.trim())
        await run('repack', '-adq', ...(rounds % 2 === 0 ? ['--write-midx'] : []))
        await run('commit-graph', 'write', '--reachable', '--split')
      }
      return rounds
    })()
    const forks: TestRepository[] = []
    for (let i = 0; i < rounds(8, 25); i++) forks.push(await forked(source.key))
    over = true
    expect(await packing).toBeGreaterThan(0)
    for (const fork of forks) {
      expect(whole(fork)).toBe('')
      expect(readFileSync(join(fork.directory, 'HEAD'), 'utf8')).toBe('ref: refs/heads/main\n')
    }
  })
})

describe('fileSizes', () => {
  it('lists every file of a commit, whatever its name, and no link', async () => {
    const source = await stored()
    const [commit] = source.commits({
      files: { 'a\tb\nc': 'four', 'd/e': '', link: { mode: '120000', content: 'a' }, run: { mode: '100755', content: '1' } },
    })
    const seen: [string, number][] = []
    expect(await git.open(source.key).fileSizes(commit as string, (path, size) => seen.push([path, size]))).toBe(true)
    expect(seen).toEqual([
      ['a\tb\nc', 4],
      ['d/e', 0],
      ['run', 1],
    ])
  })
})
