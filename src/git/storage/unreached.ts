import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Slice } from '../../lib/async/yield.js'
import { syncDirectory } from '../../lib/files/durable.js'
import { GitFault } from '../errors.js'
import { idsIn, type Pack, packsOf } from '../objects/pack-index.js'
import type { ProcessPool } from '../process/pool.js'
import type { Oid } from '../types.js'

/** Milliseconds: counting a history without bitmaps may take long. */
const DEADLINE = 300_000
/** Objects whose ids are held in memory; for more, git itself repacks what is reached. */
const MAX = 2_000_000

/**
 * Removes what these tips do not reach from a repository that nobody else sees yet, so that what was taken back in one
 * repository does not live on in its copy. Packs without such objects stay as they are. Where there is nothing to
 * remove, counting tells, which bitmaps make instant.
 */
export async function dropUnreached(pool: ProcessPool, directory: string, tips: Oid[]): Promise<void> {
  const input = `${[...new Set(tips)].join('\n')}\n`
  const walk = ['rev-list', '--objects', '--use-bitmap-index', '--ignore-missing', '--stdin']
  const counted = await pool.run(directory, [...walk, '--count'], { input, deadline: DEADLINE })
  const reached = Number(counted.stdout.toString('latin1'))
  const packs = await packsOf(directory)
  const loose = await looseOf(directory)
  const stored = packs.reduce((sum, { count }) => sum + count, loose.length)
  if (stored === reached || (await distinct(pool, directory)) === reached) return
  if (reached > MAX) await packAnew(pool, directory)
  else await take(pool, directory, packs, loose, await idsOf(pool, directory, [...walk, '--no-object-names'], input, reached))
  // it may name commits that have just been removed; maintenance writes another
  for (const name of ['commit-graph', 'commit-graphs']) await rm(join(directory, 'objects', 'info', name), { recursive: true, force: true })
  await syncDirectory(join(directory, 'objects', 'pack'))
}

async function looseOf(directory: string): Promise<Oid[]> {
  const objects = join(directory, 'objects')
  const shards = (await readdir(objects)).filter((name) => /^[0-9a-f]{2}$/.test(name))
  const found = await Promise.all(shards.map(async (shard) => (await readdir(join(objects, shard))).map((name) => shard + name)))
  return found.flat()
}

/** How many objects there are, counting those in several packs once. */
async function distinct(pool: ProcessPool, directory: string): Promise<number> {
  let count = 0
  const take = (chunk: Buffer) => {
    for (let at = chunk.indexOf(0x0a); at >= 0; at = chunk.indexOf(0x0a, at + 1)) count++
    return true
  }
  await pool.scan(directory, ['cat-file', '--batch-all-objects', '--unordered', '--buffer', '--batch-check='], take, { deadline: DEADLINE })
  return count
}

/** A set of object ids at twenty-eight bytes each. */
class Ids {
  readonly #bytes: Buffer
  readonly #slots: Int32Array
  #count = 0

  /** Allocates room for so many. */
  constructor(most: number) {
    this.#bytes = Buffer.alloc(most * 20)
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(2 * most + 1))).fill(-1)
  }

  add(oid: Oid) {
    const at = this.#count * 20
    if (at + 20 > this.#bytes.length) throw new GitFault('rev-list', null, 'there are more objects than were counted')
    this.#bytes.write(oid, at, 'hex')
    const slot = this.#find(this.#bytes, at)
    if (this.#slots[slot] === -1) this.#slots[slot] = this.#count++
  }

  /** Whether the set has the id at an offset of some bytes. */
  has(ids: Buffer, at: number): boolean {
    return this.#slots[this.#find(ids, at)] !== -1
  }

  #find(ids: Buffer, at: number): number {
    // ids are as good as random
    const mask = this.#slots.length - 1
    for (let slot = ids.readUInt32LE(at) & mask; ; slot = (slot + 1) & mask) {
      const other = this.#slots[slot] as number
      if (other === -1 || ids.compare(this.#bytes, other * 20, other * 20 + 20, at, at + 20) === 0) return slot
    }
  }
}

/** The ids that git prints, one on each line. */
async function idsOf(pool: ProcessPool, directory: string, args: string[], input: string, most: number): Promise<Ids> {
  const ids = new Ids(most)
  let rest = ''
  const take = (chunk: Buffer) => {
    const lines = (rest + chunk.toString('latin1')).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) ids.add(line)
    return true
  }
  const end = await pool.scan(directory, args, take, { input, deadline: DEADLINE })
  if (end !== 'whole') throw new GitFault('rev-list', null, 'ran out of time')
  return ids
}

async function take(pool: ProcessPool, directory: string, packs: Pack[], loose: Oid[], reached: Ids): Promise<void> {
  const wanted: Oid[] = []
  const mixed: string[] = []
  const slice = new Slice()
  for (const { stem, count } of packs) {
    const ids = await idsIn(directory, { stem, count })
    const kept: Oid[] = []
    for (let at = 0; at < ids.length; at += 20) {
      if (slice.over) await slice.breathe()
      if (reached.has(ids, at)) kept.push(ids.toString('hex', at, at + 20))
    }
    if (kept.length === count) continue
    mixed.push(stem)
    for (const oid of kept) wanted.push(oid)
  }
  const folder = join(directory, 'objects', 'pack')
  if (wanted.length > 0) {
    const args = ['pack-objects', '-q', '--delta-base-offset', '--non-empty', join(folder, 'pack')]
    await pool.run(directory, args, { input: `${wanted.join('\n')}\n`, deadline: DEADLINE })
  }
  const gone = (name: string) => name.startsWith('multi-pack-index') || mixed.some((stem) => name.startsWith(`${stem}.`))
  if (mixed.length > 0) for (const name of (await readdir(folder)).filter(gone)) await rm(join(folder, name))
  for (const oid of loose) if (!reached.has(Buffer.from(oid, 'hex'), 0)) await rm(join(directory, 'objects', oid.slice(0, 2), oid.slice(2)))
}

async function packAnew(pool: ProcessPool, directory: string): Promise<void> {
  await pool.run(directory, ['repack', '-a', '-d', '-q', '--write-bitmap-index'], { deadline: 10 * DEADLINE })
  await pool.run(directory, ['prune', '--expire=now'], { deadline: DEADLINE })
}
