import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { GitFault, RefChanged, RefNameConflict } from '../../src/git/errors.js'
import { RefUpdates, writeHead } from '../../src/git/refs/ref-updates.js'
import { removeStaleLocks } from '../../src/git/storage/leftovers.js'
import { type Oid, ZERO } from '../../src/git/types.js'
import { rounds } from '../support/rounds.js'
import { committed, git, gitAsync, workshop } from './support.js'

const { pool, repository, draft, refs, folder } = workshop()

async function commits(directory: string, count: number): Promise<Oid[]> {
  const made: Oid[] = []
  for (let i = 0; i < count; i++) made.push(committed(await draft(directory, [{ action: 'create', path: `f${i}`, content: Buffer.of(i) }])).commit)
  return made
}

const values = (directory: string) => git(directory, ['for-each-ref', '--format=%(refname) %(objectname)']).trim().split('\n').filter(Boolean)

describe('locks that killed processes left (SEC-159)', () => {
  it.each(['refs/heads/x.lock', 'packed-refs.lock'])('a stale %s is removed, and the write continues', async (lock) => {
    const directory = await repository()
    const [a = '', b = ''] = await commits(directory, 2)
    await refs.update(directory, [{ ref: 'refs/heads/x', old: ZERO, new: a }])
    await writeFile(join(directory, lock), '')
    // older than any process that writes here by more than starts and times of files can be known wrongly
    await utimes(join(directory, lock), Date.now() / 1000 - 5, Date.now() / 1000 - 5)
    await refs.update(directory, [{ ref: 'refs/heads/x', old: a, new: b }])
    await refs.update(directory, [{ ref: 'refs/heads/x', old: b, new: ZERO }])
    expect([values(directory), existsSync(join(directory, lock))]).toEqual([[], false])
  })

  it('stays while a process that may have made it works in the repository', async () => {
    const directory = await repository()
    const [a = ''] = await commits(directory, 1)
    const writer = spawn('sleep', ['60'], { cwd: directory, stdio: 'ignore' })
    await new Promise((resolve) => writer.once('spawn', resolve))
    const lock = join(directory, 'refs/heads/x.lock')
    await writeFile(lock, '')
    const impatient = new RefUpdates(pool, { limits: { ...refs.limits, lockTimeout: 0 } })
    const update = [{ ref: 'refs/heads/x', old: ZERO, new: a }]
    await expect(impatient.update(directory, update)).rejects.toMatchObject({ name: 'Unavailable' })
    expect(existsSync(lock)).toBe(true)
    writer.kill('SIGKILL')
    await new Promise((resolve) => writer.once('close', resolve))
    await refs.update(directory, update)
    impatient.close()
    expect(existsSync(lock)).toBe(false)
  })

  it('is removed while processes that only read the repository end', async () => {
    const directory = await repository()
    const paths = Array.from({ length: 8 }, (_, i) => `refs/heads/${i}.lock`)
    for (let i = 0; i < 15; i++) {
      const readers = Array.from({ length: 16 }, () => spawn('git', ['cat-file', '--batch'], { cwd: directory, stdio: ['pipe', 'ignore', 'ignore'] }))
      await Promise.all(readers.map((reader) => once(reader, 'spawn')))
      for (const path of paths) await writeFile(join(directory, path), '')
      const removed = removeStaleLocks(directory, { shared: false, paths })
      for (const reader of readers) {
        await sleep(1)
        reader.kill('SIGKILL')
      }
      expect(await removed).toEqual(paths)
    }
  })

  it('is left to others for as long as they may hold it, where other machines use the storage', async () => {
    const directory = await repository()
    const [a = ''] = await commits(directory, 1)
    const lock = join(directory, 'refs/heads/x.lock')
    await writeFile(lock, '')
    const sharing = new RefUpdates(pool, { limits: { ...refs.limits, lockTimeout: 0 }, shared: true })
    const update = [{ ref: 'refs/heads/x', old: ZERO, new: a }]
    await expect(sharing.update(directory, update)).rejects.toMatchObject({ name: 'Unavailable' })
    await utimes(lock, Date.now() / 1000 - 60, Date.now() / 1000 - 60)
    await expect(sharing.update(directory, update)).rejects.toMatchObject({ name: 'Unavailable' })
    await sharing.update(directory, update)
    sharing.close()
    expect(values(directory)).toEqual([`refs/heads/x ${a}`])
  })
})

describe('RefUpdates', () => {
  it('creates, moves and deletes, loose or packed, and works on after each failure', async () => {
    const directory = await repository()
    const [a = '', b = ''] = await commits(directory, 2)
    await refs.update(directory, [{ ref: 'refs/heads/x', old: ZERO, new: a }])
    await expect(refs.update(directory, [{ ref: 'refs/heads/x', old: ZERO, new: b }])).rejects.toMatchObject({
      name: 'RefChanged',
      ref: 'refs/heads/x',
    })
    await expect(refs.update(directory, [{ ref: 'refs/heads/x', old: b, new: a }])).rejects.toThrow(RefChanged)
    await expect(refs.update(directory, [{ ref: 'refs/heads/none', old: b, new: a }])).rejects.toThrow(RefChanged)
    await expect(refs.update(directory, [{ ref: 'refs/heads/none', old: b, new: ZERO }])).rejects.toThrow(RefChanged)
    await refs.update(directory, [{ ref: 'refs/heads/x', old: a, new: b }])
    git(directory, ['pack-refs', '--all'])
    await refs.update(directory, [{ ref: 'refs/heads/x', old: b, new: a }])
    git(directory, ['pack-refs', '--all'])
    await expect(refs.update(directory, [{ ref: 'refs/heads/x', old: b, new: ZERO }])).rejects.toThrow(RefChanged)
    await refs.update(directory, [{ ref: 'refs/heads/x', old: a, new: ZERO }])
    expect(values(directory)).toEqual([])
    await refs.update(directory, [{ ref: 'refs/heads/none', old: ZERO, new: ZERO }])
  })

  it('moves all refs or none', async () => {
    const directory = await repository()
    const [a = '', b = ''] = await commits(directory, 2)
    await refs.update(
      directory,
      ['x', 'y', 'z'].map((name) => ({ ref: `refs/heads/${name}`, old: ZERO, new: a })),
    )
    const bad = [
      { ref: 'refs/heads/x', old: a, new: b },
      { ref: 'refs/heads/y', old: b, new: a },
      { ref: 'refs/heads/z', old: a, new: ZERO },
    ]
    await expect(refs.update(directory, bad)).rejects.toMatchObject({ name: 'RefChanged', ref: 'refs/heads/y' })
    expect(values(directory)).toEqual(['x', 'y', 'z'].map((name) => `refs/heads/${name} ${a}`))
    await refs.update(
      directory,
      bad.filter(({ ref }) => ref !== 'refs/heads/y'),
    )
    expect(values(directory)).toEqual([`refs/heads/x ${b}`, `refs/heads/y ${a}`])
  })

  it('distinguishes names that clash from refs that moved (SEC-83)', async () => {
    const directory = await repository()
    const [a = ''] = await commits(directory, 1)
    const make = (...names: string[]) =>
      refs.update(
        directory,
        names.map((name) => ({ ref: `refs/heads/${name}`, old: ZERO, new: a })),
      )
    await make('a', 'd/e')
    for (const pack of [false, true]) {
      if (pack) git(directory, ['pack-refs', '--all'])
      await expect(make('a/b')).rejects.toThrow(RefNameConflict)
      await expect(make('d')).rejects.toThrow(RefNameConflict)
      await expect(make('n', 'n/o')).rejects.toThrow(RefNameConflict)
    }
    await refs.update(directory, [{ ref: 'refs/heads/d/e', old: a, new: ZERO }])
    await make('d')
  })

  it('refuses invalid refs and objects that are no commits', async () => {
    const directory = await repository()
    const [a = ''] = await commits(directory, 1)
    await expect(refs.update(directory, [{ ref: 'HEAD', old: ZERO, new: a }])).rejects.toThrow(GitFault)
    await expect(refs.update(directory, [{ ref: 'refs/heads/a..b', old: ZERO, new: a }])).rejects.toThrow(GitFault)
    await expect(refs.update(directory, [{ ref: 'refs/heads/x', old: ZERO, new: '1'.repeat(40) }])).rejects.toThrow(GitFault)
    expect(values(directory)).toEqual([])
  })

  it('serves more repositories than it keeps processes', async () => {
    const directories = await Promise.all(Array.from({ length: 40 }, () => repository()))
    await Promise.all(
      directories.map(async (directory) => {
        const [a = '', b = ''] = await commits(directory, 2)
        await refs.update(directory, [{ ref: 'refs/heads/x', old: ZERO, new: a }])
        await refs.update(directory, [{ ref: 'refs/heads/x', old: a, new: b }])
        expect(values(directory)).toEqual([`refs/heads/x ${b}`])
      }),
    )
  })

  const [each, pushes] = [rounds(8, 12), rounds(4, 6)]
  it(`${each} parallel commits in each of 2 processes, ${pushes} native pushes and a pack-refs loop lose nothing (SEC-102)`, {
    tags: ['long'],
    timeout: 240_000,
  }, async () => {
    const directory = await repository()
    const [first = ''] = await commits(directory, 1)
    await refs.update(directory, [{ ref: 'refs/heads/main', old: ZERO, new: first }])
    let busy = true
    const packing = (async () => {
      while (busy) await gitAsync(directory, ['pack-refs', '--all'])
    })()
    const writers = [1, 2].map(
      () =>
        new Promise<number | null>((resolve) => {
          const arguments_ = ['--import', 'tsx', join(import.meta.dirname, 'commit-writer.ts'), directory, String(each)]
          spawn(process.execPath, arguments_, { stdio: ['ignore', 'ignore', 'inherit'] }).once('close', resolve)
        }),
    )
    const work = await folder()
    git(work, ['clone', '-q', directory, 'w'], undefined, { GIT_ALLOW_PROTOCOL: 'file' })
    const clone = join(work, 'w')
    for (let i = 0; i < pushes; ) {
      git(clone, ['commit', '-q', '--allow-empty', '-m', `push ${i}`])
      const pushed = await gitAsync(clone, ['push', '-q', 'origin', 'HEAD:main'])
      if (pushed.code === 0) i++
      else {
        await gitAsync(clone, ['fetch', '-q'])
        git(clone, ['reset', '-q', '--hard', 'origin/main'])
      }
    }
    expect(await Promise.all(writers)).toEqual([0, 0])
    busy = false
    await packing
    expect(git(directory, ['rev-list', '--count', 'main']).trim()).toBe(String(1 + 2 * each + pushes))
    expect(
      git(directory, ['log', '--format=%s', 'main'])
        .split('\n')
        .filter(Boolean)
        .sort()
        .filter((subject, i, all) => subject === all[i + 1]),
    ).toEqual([])
    git(directory, ['fsck', '--strict', '--full'])
  })
})

describe('writeHead', () => {
  it('points HEAD at any branch', async () => {
    const directory = await repository()
    await writeHead(directory, 'feature/ü')
    expect(git(directory, ['symbolic-ref', 'HEAD'])).toBe(`${Buffer.from('refs/heads/feature/ü').toString('latin1')}\n`)
    await expect(writeHead(directory, 'a\nb')).rejects.toThrow(GitFault)
  })
})
