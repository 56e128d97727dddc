import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Turn } from '../../lib/async/yield.js'
import { syncDirectory } from '../../lib/files/durable.js'
import { GitFault } from '../errors.js'
import { idsIn, type Pack, packsOf } from '../objects/pack-index.js'
import type { ProcessPool } from '../process/pool.js'
import type { Oid } from '../types.js'

/** Counting a history without bitmaps may take long. */
const DEADLINE_MS = 300_000
/** Maximum number of object ids held in memory; for more objects, git repacks what is reachable. */
const MAX_OIDS_IN_MEMORY = 2_000_000

/**
 * Removes what `tips` do not reach from a repository that is not in use yet, so that what was removed from the source
 * of a fork does not survive in it. Packs without unreachable objects stay unchanged. The check whether there is
 * anything to remove only counts objects, which is instant with bitmaps.
 */
export async function dropUnreachable(pool: ProcessPool, directory: string, tips: Oid[]): Promise<void> {
  const input = `${[...new Set(tips)].join('\n')}\n`
  const walk = ['rev-list', '--objects', '--use-bitmap-index', '--ignore-missing', '--stdin']
  const counted = await pool.run(directory, [...walk, '--count'], { input, deadline: DEADLINE_MS })
  const reached = Number(counted.stdout.toString('latin1'))
  const packs = await packsOf(directory)
  const loose = await looseObjects(directory)
  const stored = packs.reduce((sum, { count }) => sum + count, loose.length)
  if (stored === reached || (await countDistinctObjects(pool, directory)) === reached) return
  if (reached > MAX_OIDS_IN_MEMORY) await repackAll(pool, directory)
  else await removeUnreachable(pool, directory, packs, loose, await readOids(pool, directory, [...walk, '--no-object-names'], input, reached))
  // the commit-graph may name removed commits; maintenance writes a new one
  for (const name of ['commit-graph', 'commit-graphs']) await rm(join(directory, 'objects', 'info', name), { recursive: true, force: true })
  await syncDirectory(join(directory, 'objects', 'pack'))
}

async function looseObjects(directory: string): Promise<Oid[]> {
  const objects = join(directory, 'objects')
  const shards = (await readdir(objects)).filter((name) => /^[0-9a-f]{2}$/.test(name))
  const found = await Promise.all(shards.map(async (shard) => (await readdir(join(objects, shard))).map((name) => shard + name)))
  return found.flat()
}

/** The number of objects, counting those in several packs once. */
async function countDistinctObjects(pool: ProcessPool, directory: string): Promise<number> {
  let count = 0
  const onChunk = (chunk: Buffer) => {
    for (let at = chunk.indexOf(0x0a); at >= 0; at = chunk.indexOf(0x0a, at + 1)) count++
    return true
  }
  await pool.scan(directory, ['cat-file', '--batch-all-objects', '--unordered', '--buffer', '--batch-check='], onChunk, { deadline: DEADLINE_MS })
  return count
}

/** A set of object ids, at about 28 bytes per id. */
class OidSet {
  readonly #bytes: Buffer
  readonly #slots: Int32Array
  #count = 0

  constructor(capacity: number) {
    this.#bytes = Buffer.alloc(capacity * 20)
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(2 * capacity + 1))).fill(-1)
  }

  add(oid: Oid) {
    const at = this.#count * 20
    if (at + 20 > this.#bytes.length) throw new GitFault('rev-list', null, 'there are more objects than were counted')
    this.#bytes.write(oid, at, 'hex')
    const slot = this.#find(this.#bytes, at)
    if (this.#slots[slot] === -1) this.#slots[slot] = this.#count++
  }

  /** Whether the set has the id at offset `at` of `ids`. */
  has(ids: Buffer, at: number): boolean {
    return this.#slots[this.#find(ids, at)] !== -1
  }

  #find(ids: Buffer, at: number): number {
    // ids are uniformly distributed, so their first bytes serve as the hash
    const mask = this.#slots.length - 1
    for (let slot = ids.readUInt32LE(at) & mask; ; slot = (slot + 1) & mask) {
      const other = this.#slots[slot] as number
      if (other === -1 || ids.compare(this.#bytes, other * 20, other * 20 + 20, at, at + 20) === 0) return slot
    }
  }
}

/** Reads the object ids that git prints, one per line. */
async function readOids(pool: ProcessPool, directory: string, args: string[], input: string, capacity: number): Promise<OidSet> {
  const ids = new OidSet(capacity)
  let rest = ''
  const onChunk = (chunk: Buffer) => {
    const lines = (rest + chunk.toString('latin1')).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) ids.add(line)
    return true
  }
  const end = await pool.scan(directory, args, onChunk, { input, deadline: DEADLINE_MS })
  if (end !== 'complete') throw new GitFault('rev-list', null, 'ran out of time')
  return ids
}

async function removeUnreachable(pool: ProcessPool, directory: string, packs: Pack[], loose: Oid[], reached: OidSet): Promise<void> {
  const wanted: Oid[] = []
  const obsolete: string[] = []
  const turn = new Turn()
  for (const { stem, count } of packs) {
    const ids = await idsIn(directory, { stem, count })
    const kept: Oid[] = []
    for (let at = 0; at < ids.length; at += 20) {
      if (turn.over) await turn.end()
      if (reached.has(ids, at)) kept.push(ids.toString('hex', at, at + 20))
    }
    if (kept.length === count) continue
    obsolete.push(stem)
    for (const oid of kept) wanted.push(oid)
  }
  const folder = join(directory, 'objects', 'pack')
  if (wanted.length > 0) {
    const args = ['pack-objects', '-q', '--delta-base-offset', '--non-empty', join(folder, 'pack')]
    await pool.run(directory, args, { input: `${wanted.join('\n')}\n`, deadline: DEADLINE_MS })
  }
  const isObsolete = (name: string) => name.startsWith('multi-pack-index') || obsolete.some((stem) => name.startsWith(`${stem}.`))
  if (obsolete.length > 0) for (const name of (await readdir(folder)).filter(isObsolete)) await rm(join(folder, name))
  for (const oid of loose) if (!reached.has(Buffer.from(oid, 'hex'), 0)) await rm(join(directory, 'objects', oid.slice(0, 2), oid.slice(2)))
}

async function repackAll(pool: ProcessPool, directory: string): Promise<void> {
  await pool.run(directory, ['repack', '-a', '-d', '-q', '--write-bitmap-index'], { deadline: 10 * DEADLINE_MS })
  await pool.run(directory, ['prune', '--expire=now'], { deadline: DEADLINE_MS })
}
