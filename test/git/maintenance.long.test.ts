// @module-tag long
import { cp, readdir, readFile, utimes, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { fileSizes } from '../../src/git/objects/file-sizes.js'
import { POOL_LIMITS, ProcessPool } from '../../src/git/process/pool.js'
import { maintain, repositorySize } from '../../src/git/storage/maintenance.js'
import { ZERO } from '../../src/git/types.js'
import { testSpawner } from '../support/spawner.js'
import { committed, git, workshop } from './support.js'

const { pool, folder, repository, draft, refs } = workshop()

const looseIn = (directory: string) => Number.parseInt(git(directory, ['count-objects']), 10)

describe('maintain', () => {
  it('removes packs that a kill left without their index, beside which git cannot repack (SEC-159)', async () => {
    const directory = await repository()
    const made = committed(await draft(directory, [{ action: 'create', path: 'a', content: Buffer.from('a') }]))
    await refs.update(directory, [{ ref: 'refs/heads/main', old: ZERO, new: made.commit }])
    const half = join(directory, 'objects/pack', `pack-${'1'.repeat(40)}.pack`)
    await writeFile(half, 'PACK')
    // one that may still get its index is left alone, and tried again
    await expect(maintain(pool, directory, { depth: 'full' })).rejects.toMatchObject({ name: 'Unavailable' })
    await utimes(half, 1, 1)
    await expect.poll(() => maintain(pool, directory, { depth: 'full' }).catch(() => false), { timeout: 20_000, interval: 500 }).toBe(true)
    const left = (await readdir(join(directory, 'objects/pack'))).filter((name) => name.endsWith('.pack'))
    expect(left).toHaveLength(1)
    expect(left).not.toContain(basename(half))
    git(directory, ['fsck', '--strict', '--full'])
  })

  it('ends when it is aborted, and the next run does the rest', async () => {
    const directory = await repository()
    const made = committed(await draft(directory, [{ action: 'create', path: 'a', content: Buffer.from('a') }]))
    await refs.update(directory, [{ ref: 'refs/heads/main', old: ZERO, new: made.commit }])
    const signal = AbortSignal.abort(new Error('aborted'))
    await expect(maintain(pool, directory, { depth: 'full', signal })).rejects.toThrow('aborted')
    expect(await maintain(pool, directory, { depth: 'full' })).toBe(true)
    expect(await readdir(join(directory, 'objects/info'))).toContain('commit-graphs')
  })

  it('joins packs and refs beside writers and drops nothing, reachable or not (SEC-164)', async () => {
    const directory = await repository()
    let head = ZERO
    const all: string[] = []
    const commit = async (i: number) => {
      const files = Array.from({ length: 20 }, (_, k) => ({ action: 'create' as const, path: `f${i}-${k}`, content: Buffer.from(`${i} ${k}`) }))
      const result = committed(await draft(directory, files, { parents: head === ZERO ? [] : [head] }))
      await refs.update(directory, [{ ref: 'refs/heads/main', old: head, new: result.commit }])
      head = result.commit
      all.push(head)
    }
    for (let i = 0; i < 25; i++) await commit(i)
    const loose = committed(await draft(directory, [{ action: 'create', path: 'unreachable', content: Buffer.of() }])).commit
    await refs.update(
      directory,
      Array.from({ length: 250 }, (_, i) => ({ ref: `refs/tags/t${i}`, old: ZERO, new: head })),
    )
    const upkeep = Promise.all([maintain(pool, directory), maintain(pool, directory)])
    for (let i = 25; i < 45; i++) await commit(i)
    await upkeep
    for (const oid of [...all, loose]) expect(git(directory, ['cat-file', '-t', oid])).toBe('commit\n')
    git(directory, ['fsck', '--strict', '--full'])
    expect((await readdir(join(directory, 'objects/pack'))).filter((name) => name.endsWith('.pack'))).not.toEqual([])
    expect(looseIn(directory)).toBeLessThan(500)
    expect(await readdir(join(directory, 'refs/tags'))).toEqual([])
    expect(await readdir(join(directory, 'objects/info'))).toContain('commit-graphs')
    expect(await repositorySize(directory)).toBeGreaterThan(10_000)
    await maintain(pool, directory)
    git(directory, ['fsck', '--strict', '--full'])
  })

  it('packs loose objects once there are many', async () => {
    const directory = await repository()
    const create = (path: string) => ({ action: 'create' as const, path, content: Buffer.from(path) })
    const few = committed(
      await draft(
        directory,
        Array.from({ length: 400 }, (_, i) => create(`f${i}`)),
      ),
    )
    await refs.update(directory, [{ ref: 'refs/heads/main', old: ZERO, new: few.commit }])
    await maintain(pool, directory)
    expect(looseIn(directory)).toBe(402)
    const many = committed(
      await draft(
        directory,
        Array.from({ length: 100 }, (_, i) => create(`g${i}`)),
        { parents: [few.commit] },
      ),
    )
    await refs.update(directory, [{ ref: 'refs/heads/main', old: few.commit, new: many.commit }])
    await maintain(pool, directory, { packing: false })
    expect(looseIn(directory)).toBe(504)
    await maintain(pool, directory)
    expect(looseIn(directory)).toBe(0)
    git(directory, ['fsck', '--strict', '--full'])
  })

  it('gives a large repository a graph at once, and a bitmap, so that clones and forks need not count it out, after its first push (PR-25)', async () => {
    const directory = await repository()
    const blobs = Array.from({ length: 50_000 }, (_, i) => `M 100644 inline d${i % 100}/f${i}\ndata ${`${i}`.length}\n${i}\n`).join('')
    const fast = (text: string) => git(directory, ['fast-import', '--quiet', '--force'], text)
    fast(`commit refs/heads/main\ncommitter A <a@b> 1600000000 +0000\ndata 1\nx\n${blobs}\n`)
    const bitmaps = async (of = directory) => (await readdir(join(of, 'objects/pack'))).filter((name) => name.endsWith('.bitmap')).length
    const without = join(await folder(), 'without.git')
    await cp(directory, without, { recursive: true })
    expect(await maintain(pool, without, { bitmaps: false })).toBe(true)
    expect(await bitmaps(without)).toBe(0)
    const commands: string[] = []
    const recorded = new ProcessPool(POOL_LIMITS, {
      ...testSpawner,
      spawn(program, args, options) {
        commands.push(args.find((arg) => arg === 'commit-graph' || arg === 'repack') ?? '')
        return testSpawner.spawn(program, args, options)
      },
    })
    expect(await maintain(recorded, directory)).toBe(true)
    expect(await bitmaps()).toBe(1)
    // lists of commits do not wait until all is packed, and in the end the graph knows which paths changed
    expect(commands).toEqual(['commit-graph', 'repack', 'commit-graph'])
    const graphs = join(directory, 'objects/info/commit-graphs')
    const [layer, ...more] = (await readdir(graphs)).filter((name) => name.endsWith('.graph'))
    expect(more).toEqual([])
    expect((await readFile(join(graphs, layer as string))).includes('BIDX')).toBe(true)
    await recorded.close()
    const small = await repository()
    git(small, ['fast-import', '--quiet'], 'commit refs/heads/main\ncommitter A <a@b> 1600000000 +0000\ndata 1\nx\n\n')
    expect(await maintain(pool, small)).toBe(true)
    expect((await readdir(join(small, 'objects/pack'))).filter((name) => name.endsWith('.bitmap'))).toEqual([])
  })

  it('writes the commit-graph of a commit whose path no push may bring, within the memory it may take (SEC-147)', async () => {
    const directory = await repository()
    const path = `${`${'d'.repeat(4_000)}/`.repeat(400)}f`
    git(
      directory,
      ['fast-import', '--quiet'],
      `commit refs/heads/deep\ncommitter A <a@b> 1600000000 +0000\ndata 4\ndeep\nM 100644 inline ${path}\ndata 1\nx\n`,
    )
    const commit = git(directory, ['rev-parse', 'deep']).trim()
    await refs.update(directory, [{ ref: 'refs/heads/main', old: ZERO, new: commit }])
    expect(await maintain(pool, directory, { graphMemoryBytes: 50_000_000 })).toBe(true)
    expect(git(directory, ['commit-graph', 'verify'])).toBe('')
    const chain = join(directory, 'objects/info/commit-graphs')
    const [layer = ''] = (await readdir(chain)).filter((file) => file.endsWith('.graph'))
    expect((await readFile(join(chain, layer))).includes('BDAT')).toBe(false)
    const sizes: number[] = []
    expect(await fileSizes(pool, directory, commit, (_, size) => sizes.push(size))).toBe(true)
    expect(sizes).toEqual([])
  })
})
