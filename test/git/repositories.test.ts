import { spawn } from 'node:child_process'
import { mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createRepository, removeRepository, repositoryDirectory, repositoryExists } from '../../src/git/storage/create.js'
import { registerWriter } from '../../src/git/storage/gates.js'
import { removeStale } from '../../src/git/storage/leftovers.js'
import { git, workshop } from './support.js'

const { folder, repository } = workshop()

describe('repositories on disk', () => {
  it('lie under the id of their project', () => {
    expect(repositoryDirectory('/s', { storage: 'default', id: 4660, kind: 'project' })).toBe('/s/34/4660.git')
    expect(repositoryDirectory('/s', { storage: 'default', id: 5, kind: 'wiki' })).toBe('/s/05/5.wiki.git')
  })

  it('are made once for concurrent callers, and git opens them', async () => {
    const directory = repositoryDirectory(await folder(), { storage: 'default', id: 1, kind: 'project' })
    expect(await repositoryExists(directory)).toBe(false)
    await Promise.all(Array.from({ length: 10 }, () => createRepository(directory, 'trunk')))
    await createRepository(directory, 'other')
    expect(git(directory, ['rev-parse', '--is-bare-repository', '--git-dir'])).toBe('true\n.\n')
    expect(git(directory, ['symbolic-ref', 'HEAD'])).toBe('refs/heads/trunk\n')
    git(directory, ['fsck', '--strict'])
    expect(await readdir(dirname(directory))).toEqual([basename(directory)])
  })

  it('disappear at once when removed', async () => {
    const directory = await repository()
    await removeRepository(directory)
    await removeRepository(directory)
    expect(await repositoryExists(directory)).toBe(false)
    expect(await readdir(dirname(directory))).toEqual([])
  })
})

describe('removeStale', () => {
  it('removes leftovers of killed processes, and never files in use (SEC-159)', async () => {
    const directory = await repository()
    const storage = dirname(dirname(directory))
    const leftovers = [
      'HEAD.lock',
      'packed-refs.lock',
      'refs/heads/main.lock',
      'objects/pack/tmp_pack_abc',
      'objects/tmp_objdir-incoming-abc/pack/tmp_pack_x',
    ]
    for (const name of leftovers) {
      await mkdir(dirname(join(directory, name)), { recursive: true })
      await writeFile(join(directory, name), '')
    }
    await mkdir(join(dirname(directory), '.gone-1', 'objects'), { recursive: true })
    const tail = spawn('tail', ['-f', join(directory, 'objects/tmp_objdir-incoming-abc/pack/tmp_pack_x')], { stdio: 'ignore' })
    await new Promise((resolve) => tail.once('spawn', resolve))
    await new Promise((resolve) => setTimeout(resolve, 100))
    const quick = { idleMs: 50, inUseMs: 600_000 }
    expect((await removeStale(storage, quick)).map((path) => basename(path)).sort()).toEqual(
      ['.gone-1', 'HEAD.lock', 'main.lock', 'packed-refs.lock', 'tmp_pack_abc'].sort(),
    )
    tail.kill('SIGKILL')
    await new Promise((resolve) => tail.once('close', resolve))

    const worker = spawn('sleep', ['30'], { cwd: directory, stdio: 'ignore' })
    await new Promise((resolve) => worker.once('spawn', resolve))
    await writeFile(join(directory, 'refs/heads/young.lock'), '')
    await writeFile(join(directory, 'refs/heads/old.lock'), '')
    await utimes(join(directory, 'refs/heads/old.lock'), 1, 1)
    // what is older than the only process here belongs to none
    expect((await removeStale(storage, quick)).map((path) => basename(path)).sort()).toEqual(['old.lock', 'tmp_objdir-incoming-abc'])
    worker.kill('SIGKILL')
    await new Promise((resolve) => worker.once('close', resolve))
    expect((await removeStale(storage, quick)).map((path) => basename(path))).toEqual(['young.lock'])
    expect(await removeStale(storage, quick)).toEqual([])
    git(directory, ['fsck', '--strict'])
  })

  it('removes the heartbeat file of a push whose process has ended, at once; that of a living or unknown one stays (SEC-159, SEC-319)', async () => {
    const directory = await repository()
    const shard = dirname(directory)
    const files = async () => (await readdir(shard)).filter((name) => name.startsWith('.writing-')).sort()
    const unregister = await registerWriter(directory)
    const [own = ''] = await files()
    const [boot, namespace] = (await readFile(join(shard, own), 'utf8')).split(' ')
    const ended = spawn('true', { stdio: 'ignore' })
    await new Promise((resolve) => ended.once('close', resolve))
    await writeFile(join(shard, '.writing-1-dead'), `${boot} ${namespace} ${ended.pid} 1`)
    await writeFile(join(shard, '.writing-1-elsewhere'), `another-boot ${namespace} ${ended.pid} 1`)
    const quick = { idleMs: 0, inUseMs: 600_000 }
    expect((await removeStale(dirname(shard), quick)).map((path) => basename(path))).toEqual(['.writing-1-dead'])
    expect(await files()).toEqual([own, '.writing-1-elsewhere'].sort())
    await unregister()
    expect(await files()).toEqual(['.writing-1-elsewhere'])
  })
})
