import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openInstallation } from '../../src/git/installation.js'
import { quarantineReader } from '../../src/git/reading/reader.js'
import { claimStorage } from '../../src/git/storage/create.js'
import { aBareRepository } from '../support/git.js'
import { testRepositories } from '../support/reader.js'

const t = testRepositories()
const MISSING = 'e'.repeat(40)

describe('resolve', () => {
  it('means a hash, then a branch, then a tag, then a hash cut short, then HEAD (C-8, SEC-82)', async () => {
    const repository = t.make()
    const [one = '', two = ''] = repository.commits({}, {})
    repository.git('tag', '-a', '-m', 'annotated', 'v1', one)
    repository.git('tag', '-a', '-m', 'tag of a tag', 'v2', 'v1')
    repository.git('tag', 'main', one)
    repository.git('tag', 'tree', `${one}^{tree}`)
    repository.git('update-ref', `refs/heads/${one.slice(0, 6)}`, two)
    repository.git('update-ref', `refs/heads/${'a'.repeat(40)}`, two)
    repository.git('update-ref', `refs/remotes/${two.slice(0, 9)}`, one)
    const { resolve } = repository.reader
    const tree = repository.git('rev-parse', `${one}^{tree}`).trim()
    expect(await resolve('main')).toEqual({ commit: two, ref: 'refs/heads/main' })
    expect(await resolve('v1')).toEqual({ commit: one, ref: 'refs/tags/v1' })
    expect(await resolve('v2')).toEqual({ commit: one, ref: 'refs/tags/v2' })
    expect(await resolve(one)).toEqual({ commit: one, ref: null })
    expect(await resolve(one.toUpperCase())).toEqual({ commit: one, ref: null })
    expect(await resolve(repository.git('rev-parse', 'v2').trim())).toEqual({ commit: one, ref: null })
    expect(await resolve(one.slice(0, 6))).toMatchObject({ commit: two })
    expect(await resolve(one.slice(0, 8))).toEqual({ commit: one, ref: null })
    expect(await resolve(two.slice(0, 9))).toEqual({ commit: two, ref: null })
    expect(await resolve('HEAD')).toEqual({ commit: two, ref: 'refs/heads/main' })
    for (const text of ['a'.repeat(40), 'a'.repeat(64), 'tree', tree, tree.slice(0, 12), MISSING, one.slice(0, 3)])
      expect(await resolve(text)).toBeNull()
  })

  it.each([
    'HEAD~3',
    'main@{1}',
    ':/Commit',
    'main:f',
    '^main',
    'main..main',
    '--all',
    '@',
    '',
    '-h',
    '--output=made',
    '--exec=x',
    '-O',
    '--',
    'refs/heads/main',
    'heads/main',
    'main^{}',
    '../../HEAD',
    '../../../test.git/HEAD',
    'main\n',
    'main\0',
    'x\ninfo HEAD',
    '\ud800',
    '__proto__',
    'constructor',
    '.',
    '..',
    'a'.repeat(5_000),
    'info',
    'packed-refs',
  ])('takes %j for nothing (SEC-79, SEC-81)', async (text) => {
    const repository = t.make()
    const [one = ''] = repository.commits({ files: { f: 'x' } })
    expect(await repository.reader.resolve(text)).toBeNull()
    // as a full ref name one of them is good; as a user's text none is
    expect(await repository.reader.ref(text)).toBe(text === 'refs/heads/main' ? one : null)
    expect(await repository.reader.commit(text)).toBeNull()
    expect(await repository.reader.objectInfo(text)).toBeNull()
    expect(await repository.reader.blobStream(text)).toBeNull()
    expect(await repository.reader.refs(text)).toEqual([])
    expect((await repository.reader.log({ from: [text], skip: 0, limit: 9 })).total).toBe(0)
    expect(await repository.reader.mergeBase(text, one)).toBeNull()
    expect(await repository.reader.merged([text], one)).toEqual([false])
    expect(await repository.reader.refsContaining(text, 'refs/heads/')).toEqual([])
    expect(await repository.reader.diff(text, one, { files: 1, lines: 1, bytes: 1, fileBytes: 1 })).toEqual({
      files: [],
      truncated: false,
      similarity: {},
      blobs: {},
    })
    expect(existsSync(join(repository.directory, 'made'))).toBe(false)
    expect(repository.faults).toEqual([])
  })

  it('takes a hash cut short only while one commit has it, new ones included (C-8)', async () => {
    const repository = t.make()
    const seen = new Map<string, string>()
    let batch = 0
    let first = ''
    let prefix = ''
    const [warm = ''] = repository.commits({ message: 'warm' })
    expect(await repository.reader.resolve(warm.slice(0, 10))).toMatchObject({ commit: warm })
    while (!prefix) {
      for (const oid of repository.commits(...Array.from({ length: 300 }, (_, i) => ({ message: `${batch} ${i}` })))) {
        const four = oid.slice(0, 4)
        const twin = seen.get(four)
        if (twin && !prefix) [first, prefix] = [twin, four]
        seen.set(four, oid)
      }
      batch++
    }
    expect(await repository.reader.resolve(prefix)).toBeNull()
    expect(await repository.reader.resolve(first.slice(0, 12))).toMatchObject({ commit: first })
  })
})

describe('refs', () => {
  it('reads loose and packed refs, peeled, and never a value of the past', async () => {
    const repository = t.make()
    const [one = '', two = ''] = repository.commits({}, {})
    repository.git('tag', '-a', '-m', 'x', 'v1', one)
    repository.git('update-ref', 'refs/heads/a/b', one)
    const tag = repository.git('rev-parse', 'refs/tags/v1').trim()
    for (const pack of [false, true]) {
      if (pack) repository.git('pack-refs', '--all')
      expect(await repository.reader.refs('refs/tags/')).toEqual([{ name: 'refs/tags/v1', oid: tag, peeled: one }])
      expect((await repository.reader.refs('refs/heads/')).map(({ name }) => name)).toEqual(['refs/heads/a/b', 'refs/heads/main'])
      expect(await repository.reader.ref('refs/heads/a')).toBeNull()
      expect(await repository.reader.headBranch()).toBe('main')
    }
    repository.git('update-ref', 'refs/heads/a/b', two)
    expect(await repository.reader.ref('refs/heads/a/b')).toBe(two)
    repository.git('update-ref', '-d', 'refs/heads/a/b')
    expect(await repository.reader.ref('refs/heads/a/b')).toBeNull()
    repository.git('update-ref', 'refs/heads/a', two)
    expect((await repository.reader.refs('refs/heads/')).map(({ name }) => name)).toEqual(['refs/heads/a', 'refs/heads/main'])
  })

  it('never leaves the directory of refs (SEC-79)', async () => {
    const repository = t.make()
    const [one = ''] = repository.commits({})
    writeFileSync(join(repository.root, 'outside'), `${one}\n`)
    writeFileSync(join(repository.directory, 'refs/heads/link'), 'ref: ../outside\n')
    for (const name of ['refs/../../outside', 'refs/heads/../../../outside', '../outside', 'refs/heads/link', '/etc/passwd', 'config', 'HEAD/x'])
      expect(await repository.reader.ref(name)).toBeNull()
    expect(await repository.reader.refs('refs/../../')).toEqual([])
    expect(await repository.reader.resolve('../../../outside')).toBeNull()
  })
})

describe('objects', () => {
  it('reads odd commits, tags of all kinds and an empty repository (SEC-151, SEC-152, SEC-154)', async () => {
    const repository = t.make()
    expect(await repository.reader.resolve('HEAD')).toBeNull()
    expect(await repository.reader.headBranch()).toBe('main')
    expect(await repository.reader.refs('refs/')).toEqual([])
    const [root = ''] = repository.commits({})
    const tree = repository.git('rev-parse', `${root}^{tree}`).trim()
    const write = (type: string, text: string) =>
      repository.gitBytes(['hash-object', '-t', type, '-w', '--literally', '--stdin'], text).toString().trim()
    const odd = write('commit', `tree ${tree}\nparent ${root}\nauthor <> -7 +9999\ncommitter X 99999999999999999999 x\n\n`)
    const huge = write('commit', `tree ${tree}\nauthor A <a> 1 +0000\ncommitter A <a> 1 +0000\n\n${'m'.repeat(10_000_000)}`)
    const bare = write('tag', `object ${tree}\ntype tree\ntag t\n\nno tagger`)
    const chain = write('tag', `object ${bare}\ntype tag\ntag u\ntagger T <t> 1 +0000\n\n`)
    expect(await repository.reader.commit(odd)).toMatchObject({ parents: [root], author: { name: '', seconds: -7, offset: '+9999' }, message: '' })
    expect((await repository.reader.commit(huge))?.message).toHaveLength(10_000_000)
    expect(await repository.reader.tag(bare)).toMatchObject({ target: tree, targetType: 'tree', tagger: null, message: 'no tagger' })
    expect(await repository.reader.tag(chain)).toMatchObject({ target: bare, targetType: 'tag' })
    expect(await repository.reader.commits([odd, tree, MISSING, root])).toMatchObject([{ oid: odd }, null, null, { oid: root }])
    expect((await repository.reader.log({ from: [odd], skip: 0, limit: 9 })).total).toBe(2)
    repository.git('update-ref', 'refs/tags/u', chain)
    expect(await repository.reader.refs('refs/tags/')).toEqual([{ name: 'refs/tags/u', oid: chain, peeled: tree }])
    expect(await repository.reader.resolve('u')).toBeNull()
  })

  it('lists trees with odd names in Git’s order, whole or one level (SEC-153)', async () => {
    const repository = t.make()
    const names = ['n\nl', 't\tb', 'q"', 'b\\s', ' ', '-x', '--', '*', 'd/in', 'd.x', 'e/f/g/h', '\u{1f600}']
    const files = [...names.map((name): [string | Buffer, string] => [name, name]), [Buffer.from([0x7a, 0xff]), 'bytes'] as [Buffer, string]]
    const [tip = ''] = repository.commits({ files })
    const native = (...args: string[]) =>
      repository
        .git('ls-tree', '-z', ...args, tip)
        .split('\0')
        .filter(Boolean)
        .map((line) => line.slice(line.indexOf('\t') + 1))
    expect((await repository.reader.tree(tip, '', { recursive: false }))?.map(({ path }) => path)).toEqual(native())
    expect((await repository.reader.tree(tip, '', { recursive: true }))?.map(({ path }) => path)).toEqual(native('-r', '-t'))
    expect((await repository.reader.tree(tip, 'e/f', { recursive: true }))?.map(({ path }) => path)).toEqual(['e/f/g', 'e/f/g/h'])
    expect(await repository.reader.tree(tip, 'd/in', { recursive: false })).toBeNull()
    expect(await repository.reader.tree(tip, 'none', { recursive: false })).toBeNull()
    expect(await repository.reader.entry(tip, '')).toMatchObject({ type: 'tree', mode: '040000' })
    for (const name of names) {
      const entry = await repository.reader.entry(tip, name)
      expect(entry).toMatchObject({ type: 'blob', path: name })
      expect((await repository.reader.blob(entry?.oid ?? ''))?.toString()).toBe(name)
    }
    expect(await repository.reader.entry(tip, 'z\ufffd')).toMatchObject({ path: 'z\ufffd' })
  })

  it('streams blobs of any size, and gives up when the reader goes away (SEC-146)', async () => {
    const repository = t.make()
    const large = Buffer.alloc(5_000_000, 'roost')
    const [tip = ''] = repository.commits({ files: { large, small: 'small', empty: '' } })
    for (const [path, content] of Object.entries({ large, small: Buffer.from('small'), empty: Buffer.alloc(0) })) {
      const { oid = '' } = (await repository.reader.entry(tip, path)) ?? {}
      expect(await repository.reader.objectInfo(oid)).toEqual({ type: 'blob', size: content.length })
      const blob = await repository.reader.blobStream(oid)
      expect(blob?.size).toBe(content.length)
      const chunks: Buffer[] = []
      for await (const chunk of blob?.stream ?? []) chunks.push(chunk)
      expect(Buffer.concat(chunks).equals(content)).toBe(true)
      expect((await repository.reader.blob(oid))?.equals(content)).toBe(true)
    }
    const { oid = '' } = (await repository.reader.entry(tip, 'large')) ?? {}
    for (let i = 0; i < 20; i++) {
      const leaving = new AbortController()
      const blob = await repository.reader.blobStream(oid, leaving.signal)
      blob?.stream.on('error', () => {})
      leaving.abort()
      blob?.stream.destroy()
    }
    expect((await repository.reader.blob(oid))?.length).toBe(large.length)
    expect(await repository.reader.blobStream(tip)).toBeNull()
  })

  it('answers a hundred reads at once while the repository is repacked and its process is killed (SEC-164)', async () => {
    const repository = t.make()
    const oids = repository.commits(...Array.from({ length: 60 }, (_, i) => ({ files: { [`f${i % 9}`]: `${i}\n`.repeat(i) } })))
    const limits = { files: 100, lines: 5_000, bytes: 512_000, fileBytes: 102_400 }
    const expected = oids.map((_, i) => `Commit ${i}\n`)
    for (let round = 0; round < 3; round++) {
      const reads = Promise.all(
        Array.from({ length: 100 }, async (_, i) => {
          const at = i % oids.length
          const oid = oids[at] as string
          expect((await repository.reader.commit(oid))?.message).toBe(expected[at])
          expect((await repository.reader.tree(oid, '', { recursive: true }))?.length).toBe(Math.min(9, at + 1))
          expect((await repository.reader.diff(oids[at - 1] ?? null, oid, limits)).files).toHaveLength(1)
          expect(await repository.reader.resolve(oid.slice(0, 12))).toMatchObject({ commit: oid })
        }),
      )
      repository.git('repack', '-adfq')
      await reads
      t.resources.batchProcesses.forget(repository.directory)
    }
    const cat = t.resources.batchProcesses.catFile(repository.directory)
    await cat.info(oids[0] as string)
    const answers = Promise.all(oids.map((oid) => cat.info(oid)))
    process.kill(cat.batchProcess.pid as number, 'SIGKILL')
    expect((await answers).map((info) => info?.oid)).toEqual(oids)
    expect(await repository.reader.commit(MISSING)).toBeNull()
    const [fresh = ''] = repository.commits({ message: 'fresh' })
    expect((await repository.reader.commit(fresh))?.message).toBe('fresh')
  })

  it.each(['', 'HEAD', 'objects', 'refs'])('without its %s a repository is missing, not empty, and that is reported (SEC-156)', async (part) => {
    const repository = t.make()
    const [tip = ''] = repository.commits({})
    renameSync(join(repository.directory, part), `${repository.directory}.gone`)
    const { reader, faults } = repository
    const missing = { name: 'Unavailable', message: 'the repository is missing or cannot be read' }
    const asked: (() => Promise<unknown>)[] = [
      () => reader.resolve('none'),
      () => reader.refs('refs/tags/'),
      () => reader.ref('refs/heads/none'),
      () => reader.commit(tip),
      () => reader.log({ from: [tip], skip: 0, limit: 1 }),
      () => reader.tree(tip, '', { recursive: true }),
      () => reader.stats([tip]),
    ]
    for (const ask of asked) await expect(ask()).rejects.toMatchObject(missing)
    expect(faults).toHaveLength(asked.length)
  })

  it('shows the new objects of a quarantine only to its own reader', async () => {
    const repository = t.make()
    const other = t.make()
    repository.commits({ message: 'old' })
    const [fresh = ''] = other.commits({ message: 'new' })
    mkdirSync(join(repository.directory, 'objects/quarantine'))
    const env = { GIT_OBJECT_DIRECTORY: join(other.directory, 'objects'), GIT_ALTERNATE_OBJECT_DIRECTORIES: join(repository.directory, 'objects') }
    const quarantine = quarantineReader(t.resources.pool, repository.directory, env)
    expect((await quarantine.commit(fresh))?.message).toBe('new')
    expect((await quarantine.log({ from: [fresh], skip: 0, limit: 9 })).total).toBe(1)
    expect(await repository.reader.commit(fresh)).toBeNull()
    quarantine.close()
  })
})

describe('openInstallation', () => {
  it('finds repositories by storage, id and kind, and removes them from the cache when they are deleted', async () => {
    const home = t.make()
    const faults: string[] = []
    const installation = openInstallation({ storages: { default: home.root }, onFault: (_, key) => faults.push(`${key.kind} ${key.id}`) })
    const key = { storage: 'default', id: 258, kind: 'project' as const }
    expect(installation.directory(key)).toBe(join(home.root, '02/258.git'))
    expect(installation.directory({ ...key, kind: 'wiki' })).toBe(join(home.root, '02/258.wiki.git'))
    expect(() => installation.directory({ ...key, storage: '__proto__' })).toThrow('no storage')
    await expect(installation.exists(key)).rejects.toMatchObject({ name: 'Unavailable' })
    await claimStorage(home.root, async () => false)
    expect(await installation.exists(key)).toBe(false)
    await expect(installation.reader(key).resolve('main')).rejects.toMatchObject({ name: 'Unavailable' })
    expect(await installation.reader({ ...key, kind: 'wiki' }).resolve('main')).toBeNull()
    expect(faults).toEqual(['project 258', 'project 258'])
    mkdirSync(installation.directory(key), { recursive: true })
    const [tip = ''] = aBareRepository(installation.directory(key)).commits({})
    expect(await installation.exists(key)).toBe(true)
    expect((await installation.reader(key).log({ from: [tip], skip: 0, limit: 1 })).total).toBe(1)
    installation.forget(key)
    await installation.close()
  })
})
