import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readdir, rmdir, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { writeObjects } from '../../src/git/objects/loose-objects.js'
import { ObjectBuffer, type StagedObject } from '../../src/git/objects/object-buffer.js'
import { decodeTree, encodeTree } from '../../src/git/objects/tree-codec.js'
import { writeCommit, writeTag } from '../../src/git/objects/writer.js'
import { type Change, ZERO } from '../../src/git/types.js'
import { rounds, seeds } from '../support/rounds.js'
import { committed, git, PERSON, workshop } from './support.js'

const { repository, draft, refs } = workshop()
const file = (path: string, text = path): Change => ({ action: 'create', path, content: Buffer.from(text) })

describe('encodeTree', () => {
  it('writes what git mktree writes and git fsck takes, for any names', { tags: ['long'] }, async () => {
    const directory = await repository()
    const blob = git(directory, ['hash-object', '-w', '--stdin'], '').trim()
    const tree = git(directory, ['mktree'], '').trim()
    const name = fc
      .uint8Array({ minLength: 1, maxLength: 6 })
      .map((bytes) => Buffer.from(bytes).toString('latin1').replace(/[\0/]/g, '-'))
      .filter((text) => text !== '.' && text !== '..')
    const entry = fc.tuple(fc.oneof(name, fc.constantFrom('a', 'a.b', 'a-b', 'a0', 'ab')), fc.constantFrom('100644', '100755', '120000', '40000'))
    fc.assert(
      fc.property(fc.uniqueArray(entry, { selector: ([text]) => text, maxLength: 12 }), (pairs) => {
        const entries = pairs.map(([text, mode]) => ({ name: text, mode, oid: mode === '40000' ? tree : blob }))
        const encoded = encodeTree(entries)
        expect(encodeTree(decodeTree(encoded)).equals(encoded)).toBe(true)
        const rows = entries.map((e) => `${e.mode.padStart(6, '0')} ${e.mode === '40000' ? 'tree' : 'blob'} ${e.oid}\t${e.name}\0`)
        const native = git(directory, ['mktree', '-z'], Buffer.from(rows.join(''), 'latin1')).trim()
        expect(git(directory, ['cat-file', 'tree', native])).toBe(encoded.toString('latin1'))
      }),
      { numRuns: rounds(20, 120) },
    )
  })
})

describe('writeObjects', () => {
  const staged = async (...contents: Buffer[]) => {
    const stage = new ObjectBuffer()
    for (const content of contents) await stage.blob(content)
    return stage.objects as [StagedObject, ...StagedObject[]]
  }
  const pathOf = (directory: string, { oid }: StagedObject) => join(directory, 'objects', oid.slice(0, 2), oid.slice(2))

  it('writes objects that git verifies, whatever the sizes', async () => {
    const directory = await repository()
    const sizes = [0, 1, 15, 16, 17, 2047, 2048, 65_536, 65_537, 3_000_000]
    const objects = await staged(...sizes.map((size) => Buffer.alloc(size, `${size}`)))
    await writeObjects(directory, objects)
    expect(git(directory, ['count-objects', '-v'])).toMatch(/^count: 10\n(.*\n)*garbage: 0\n/)
    for (const [i, { oid }] of objects.entries()) expect(git(directory, ['cat-file', '-s', oid]).trim()).toBe(`${sizes[i]}`)
    expect(git(directory, ['fsck', '--strict', '--no-dangling'])).toBe('')
  })

  it('keeps every byte of modes, names and messages (C-19)', async () => {
    const directory = await repository()
    const stage = new ObjectBuffer()
    const blob = await stage.blob(Buffer.from('x'))
    const tree = await stage.tree(Buffer.concat([Buffer.from('100664 caf\xe9\0', 'latin1'), Buffer.from(blob, 'hex')]))
    const commit = await stage.commit({ tree, parents: [], author: PERSON, committer: PERSON, message: '\n a\r\nb' })
    await writeObjects(directory, stage.objects)
    expect(git(directory, ['cat-file', 'tree', tree])).toBe(`100664 caf\xe9\0${Buffer.from(blob, 'hex').toString('latin1')}`)
    expect(git(directory, ['cat-file', 'commit', commit])).toMatch(/\n\n\n a\r\nb$/)
  })

  it('an object that is there already becomes as young as the change, so pruning leaves it alone (SEC-164)', async () => {
    const directory = await repository()
    const objects = await staged(Buffer.from('old'))
    await writeObjects(directory, objects)
    await utimes(pathOf(directory, objects[0]), 1, 1)
    await writeObjects(directory, objects)
    git(directory, ['prune', '--expire=1.day.ago'])
    expect(git(directory, ['cat-file', 'blob', objects[0].oid])).toBe('old')
  })

  it('makes its folders again while a repack beside removes those that are empty (SEC-164)', async () => {
    const directory = await repository()
    const objects = await staged(...Array.from({ length: 1_000 }, (_, i) => Buffer.from(`${i}`)))
    const folders = [...new Set(objects.map((object) => dirname(pathOf(directory, object))))]
    let writing = true
    // as `git prune-packed` does
    const removing = (async () => {
      while (writing) for (const folder of folders) await rmdir(folder).catch(() => {})
    })()
    await writeObjects(directory, objects).finally(() => (writing = false))
    await removing
    expect(git(directory, ['count-objects'])).toMatch(/^1000 objects/)
  })

  it('makes nothing where a repository is missing (SEC-156), and leaves no temporary file where it fails', async () => {
    const directory = await repository()
    const objects = await staged(Buffer.from('one'), Buffer.from('two'), Buffer.alloc(100_000))
    await expect(writeObjects(`${directory}-missing`, objects)).rejects.toMatchObject({ code: 'ENOENT' })
    expect(existsSync(`${directory}-missing`)).toBe(false)
    // a folder stands where a file has to go
    await mkdir(pathOf(directory, objects[0]), { recursive: true })
    await expect(writeObjects(directory, objects)).rejects.toMatchObject({ code: 'EISDIR' })
    expect((await readdir(join(directory, 'objects'), { recursive: true })).filter((name) => name.includes('tmp'))).toEqual([])
  })
})

describe('draftCommit', () => {
  it('applies changes in order, later ones seeing earlier ones (C-19)', async () => {
    const directory = await repository()
    const first = committed(await draft(directory, [file('a/b/c'), file('top'), { ...file('run.sh'), executable: true } as Change]))
    const second = committed(
      await draft(
        directory,
        [
          { action: 'update', path: 'a/b/c', content: Buffer.from('2') },
          { action: 'move', from: 'a/b/c', path: 'x/y' },
          file('a'),
          { action: 'move', from: 'run.sh', path: 'bin/run.sh' },
          file('new'),
          { action: 'delete', path: 'new' },
        ],
        { parents: [first.commit] },
      ),
    )
    expect(
      git(directory, ['ls-tree', '-r', second.commit])
        .replace(/ blob [0-9a-f]+/g, '')
        .trim()
        .split('\n'),
    ).toEqual(['100644\ta', '100755\tbin/run.sh', '100644\ttop', '100644\tx/y'])
    expect(git(directory, ['cat-file', 'blob', `${second.commit}:x/y`])).toBe('2')
    expect(git(directory, ['fsck', '--strict', '--full', second.commit])).toBe('')
  })

  it('directories emptied by deletion disappear, down to an empty tree, and an unchanged tree is a commit too (C-41, C-44)', async () => {
    const directory = await repository()
    const first = committed(await draft(directory, [file('a/b/c')]))
    const same = committed(await draft(directory, [{ action: 'update', path: 'a/b/c', content: Buffer.from('a/b/c') }], { parents: [first.commit] }))
    expect(same.tree).toBe(first.tree)
    const second = committed(await draft(directory, [{ action: 'delete', path: 'a/b/c' }], { parents: [same.commit] }))
    expect(second.tree).toBe('4b825dc642cb6eb9a060e54bf8d69288fbee4904')
    git(directory, ['fsck', '--strict', '--full', second.commit])
  })

  it('to C-23, C-34, C-41: says what cannot be done, and where (SEC-94, SEC-99, C-21)', async () => {
    const directory = await repository()
    const first = committed(await draft(directory, [file('dir/file'), file('other')]))
    const blob = git(directory, ['hash-object', '-w', '--stdin'], 'dir').trim()
    const tree = git(
      directory,
      ['mktree'],
      `${git(directory, ['ls-tree', first.commit])}120000 blob ${blob}\tlink\n160000 commit ${first.commit}\tsub\n`,
    ).trim()
    const parent = await writeCommit(directory, { tree, parents: [], author: PERSON, committer: PERSON, message: 'x' })
    const content = Buffer.of()
    const cases: [Change, string][] = [
      [file('other'), 'exists'],
      [file('dir'), 'exists'],
      [file('sub'), 'exists'],
      [file('other/x'), 'invalid_path'],
      [file('link/x'), 'invalid_path'],
      [file('sub/x'), 'invalid_path'],
      [{ action: 'update', path: 'none', content }, 'missing'],
      [{ action: 'update', path: 'dir', content }, 'missing'],
      [{ action: 'update', path: 'link/file', content }, 'invalid_path'],
      [{ action: 'delete', path: 'dir' }, 'missing'],
      [{ action: 'delete', path: 'none/x' }, 'missing'],
      [{ action: 'delete', path: 'other/x' }, 'invalid_path'],
      [{ action: 'move', from: 'none', path: 'z' }, 'missing'],
      [{ action: 'move', from: 'other', path: 'dir/file' }, 'exists'],
      [{ action: 'move', from: 'other', path: 'other', content }, 'exists'],
      [{ action: 'move', from: 'other', path: 'other/x' }, 'invalid_path'],
      [{ action: 'move', from: 'link', path: '.gitmodules' }, 'invalid_path'],
    ]
    for (const [change, fault] of cases) {
      expect([change, await draft(directory, [file('ok'), change], { parents: [parent] })]).toMatchObject([change, { fault, index: 1 }])
    }
  })

  it('a file gives way to a directory of its name where that is wanted, a link never (C-34)', async () => {
    const directory = await repository()
    const content = Buffer.from('x')
    const over = { content, overFiles: true }
    const first = committed(await draft(directory, [file('a'), file('b'), file('other')]))
    const changes: Change[] = [
      { action: 'create', path: 'a/b/c', ...over },
      { action: 'move', from: 'b', path: 'b/b', overFiles: true },
      { action: 'move', from: 'a/b/c', path: 'other/c', ...over },
    ]
    const second = committed(await draft(directory, changes, { parents: [first.commit] }))
    expect(git(directory, ['ls-tree', '-r', '--name-only', second.commit])).toBe('b/b\nother/c\n')
    git(directory, ['fsck', '--strict', '--full', second.commit])
  })

  it('one bad change of 1,000 leaves nothing behind (C-19, SEC-95)', async () => {
    const directory = await repository()
    const changes = Array.from({ length: 999 }, (_, i) => file(`d${i % 10}/f${i}`))
    expect(await draft(directory, [...changes, { action: 'delete', path: 'none' }])).toEqual({ fault: 'missing', index: 999, path: 'none' })
    expect(git(directory, ['count-objects', '-v'])).toMatch(/^count: 0\n(.*\n)*in-pack: 0\n/)
    expect(await readdir(join(directory, 'objects', 'pack'))).toEqual([])
  })

  it('content of .gitmodules that git would not clone is refused (SEC-101)', async () => {
    const directory = await repository()
    const modules = (url: string) => file('.gitmodules', `[submodule "x"]\n\tpath = x\n\turl = ${url}\n`)
    expect(await draft(directory, [modules('-u./payload')])).toMatchObject({ fault: 'invalid_path', path: '.gitmodules' })
    const { commit } = committed(await draft(directory, [modules('https://example.org/x.git'), file('.gitattributes', '* text\n')]))
    git(directory, ['fsck', '--strict', '--full', commit])
    expect((await readdir(join(directory, 'objects'))).filter((name) => name.startsWith('tmp'))).toEqual([])
  })

  it('keeps neighbours byte for byte: odd names and modes, links, submodules, duplicate-looking names', async () => {
    const directory = await repository()
    const blob = git(directory, ['hash-object', '-w', '--stdin'], 'x').trim()
    const entries = [
      { mode: '100664', name: 'legacy', oid: blob },
      { mode: '100644', name: 'J\xf6rg', oid: blob },
      { mode: '120000', name: 'link', oid: blob },
      { mode: '160000', name: 'sub', oid: '1'.repeat(40) },
      { mode: '100644', name: 'edit', oid: blob },
    ]
    const tree = git(directory, ['hash-object', '-w', '-t', 'tree', '--stdin', '--literally'], encodeTree(entries)).trim()
    const parent = await writeCommit(directory, { tree, parents: [], author: PERSON, committer: PERSON, message: 'x' })
    const { commit } = committed(await draft(directory, [{ action: 'update', path: 'edit', content: Buffer.from('new') }], { parents: [parent] }))
    const raw = decodeTree(Buffer.from(git(directory, ['cat-file', 'tree', `${commit}^{tree}`]), 'latin1'))
    const edited = git(directory, ['rev-parse', `${commit}:edit`]).trim()
    expect(raw).toEqual(decodeTree(encodeTree(entries)).map((entry) => (entry.name === 'edit' ? { ...entry, oid: edited } : entry)))
  })

  it('headers cannot be broken by names, and CR LF and odd text of a message stay (SEC-100, SEC-101)', async () => {
    const directory = await repository()
    const author = { name: 'A\nparent <x>\0', email: 'a>b\n', seconds: 1, offset: 'bad' }
    const message = 'subject\r\n\r\nbody é\n\n'
    const { commit } = committed(await draft(directory, [file('a')], { author, message }))
    expect(git(directory, ['cat-file', 'commit', commit])).toBe(
      Buffer.from(
        `tree ${git(directory, ['rev-parse', `${commit}^{tree}`])}author Aparent x <ab> 1 +0000\ncommitter Ada <ada@example.org> 1700000000 +0100\n\n${message}`,
      ).toString('latin1'),
    )
    const tag = await writeTag(directory, { name: 'v1', target: commit, targetType: 'commit', tagger: PERSON, message: 'first' })
    await refs.update(directory, [{ ref: 'refs/tags/v1', old: ZERO, new: tag }])
    git(directory, ['fsck', '--strict', '--full'])
  })

  it('a kill -9 while objects are written leaves a repository that git finds sound, and a retry works (SEC-157)', {
    tags: ['long'],
    timeout: 60_000,
  }, async () => {
    const directory = await repository()
    for (const delay of seeds(1, 4).map((n) => 150 * n)) {
      const child = spawn(process.execPath, ['--import', 'tsx', join(import.meta.dirname, 'commit-writer.ts'), directory, 'endless'], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      await new Promise((resolve) => child.stdout.once('data', resolve))
      await expect.poll(() => existsSync(join(directory, 'refs/heads/main')), { timeout: 20_000 }).toBe(true)
      await new Promise((resolve) => setTimeout(resolve, delay))
      child.kill('SIGKILL')
      await new Promise((resolve) => child.once('close', resolve))
      git(directory, ['fsck', '--strict', '--full'])
    }
    const head = git(directory, ['rev-parse', 'refs/heads/main']).trim()
    const { commit } = committed(await draft(directory, [file('retry')], { parents: [head] }))
    await refs.update(directory, [{ ref: 'refs/heads/main', old: head, new: commit }])
    git(directory, ['fsck', '--strict', '--full'])
  })
})
