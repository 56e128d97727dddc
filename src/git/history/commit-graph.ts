import { existsSync, promises as fs, statSync } from 'node:fs'
import { join } from 'node:path'
import { yieldToEventLoop } from '../../lib/async/yield.js'
import type { Oid } from '../types.js'

const NO_PARENT = 0x70000000
const EXTRA_PARENTS = 0x80000000

interface Layer {
  /** The hash in the layer's file name; empty for a single file. */
  name: string
  /** The position of its first commit. */
  base: number
  count: number
  fanout: Buffer
}

/**
 * Git's commit-graph, decoded: each commit has a position, which indexes its date, level and parents. The parents of
 * its commits are always in it too.
 */
export class CommitGraph {
  readonly count: number
  readonly oids: Buffer
  readonly dates: Float64Array
  /** Topological level, greater than that of any parent; 0 if an old git wrote none. */
  readonly levels: Uint32Array
  readonly firstParents: Int32Array
  readonly otherParents: Map<number, number[]>
  /** Newest first. */
  readonly layers: Layer[]

  constructor(parts: Pick<CommitGraph, 'count' | 'oids' | 'dates' | 'levels' | 'firstParents' | 'otherParents' | 'layers'>) {
    this.count = parts.count
    this.oids = parts.oids
    this.dates = parts.dates
    this.levels = parts.levels
    this.firstParents = parts.firstParents
    this.otherParents = parts.otherParents
    this.layers = parts.layers
  }

  get bytes() {
    return 1_000 + this.count * 36 + this.otherParents.size * 120 + this.layers.length * 1_024
  }

  /** The position of a commit; -1 if it is not in the graph. */
  find(oid: Oid): number {
    const wanted = Buffer.from(oid, 'hex')
    const head = wanted[0] ?? 0
    for (const { base, fanout } of this.layers) {
      let low = base + (head === 0 ? 0 : fanout.readUInt32BE((head - 1) * 4))
      let high = base + fanout.readUInt32BE(head * 4)
      while (low < high) {
        const middle = (low + high) >>> 1
        const order = this.oids.compare(wanted, 0, 20, middle * 20, middle * 20 + 20)
        if (order === 0) return middle
        if (order < 0) low = middle + 1
        else high = middle
      }
    }
    return -1
  }

  oid(position: number): Oid {
    return this.oids.toString('hex', position * 20, position * 20 + 20)
  }

  parents(position: number): number[] {
    const first = this.firstParents[position] ?? -1
    return first < 0 ? [] : [first, ...(this.otherParents.get(position) ?? [])]
  }
}

export const hasCommitGraph = (directory: string): boolean =>
  existsSync(singleFile(directory)) || existsSync(join(chainDirectory(directory), 'commit-graph-chain'))

/** A string that changes whenever the repository's commit-graph files do. */
export function graphStamp(directory: string): string {
  const stamps = [singleFile(directory), join(chainDirectory(directory), 'commit-graph-chain')].map((file) => {
    const stat = statSync(file, { bigint: true, throwIfNoEntry: false })
    return stat ? `${stat.mtimeNs} ${stat.size} ${stat.ino}` : '-'
  })
  return stamps.join(' ')
}

/**
 * Reads the single file or the chain of split files; null if there is none or it is unreadable, for example because it
 * is being rewritten. Layers of `previous`, an earlier graph of this repository, are not read again.
 */
export async function readGraph(directory: string, previous: CommitGraph | null = null): Promise<CommitGraph | null> {
  try {
    return await decode([{ name: '', chunks: await readChunks(singleFile(directory)) }])
  } catch {
    // no single file: look for a chain
  }
  try {
    const names = (await fs.readFile(join(chainDirectory(directory), 'commit-graph-chain'), 'latin1'))
      .split('\n')
      .filter((name) => /^[0-9a-f]{40}$/.test(name))
    if (names.length === 0) return null
    const below = commonLayers(previous, names)
    const more = names.slice(below.length)
    const files = await Promise.all(
      more.map(async (name) => ({ name, chunks: await readChunks(join(chainDirectory(directory), `graph-${name}.graph`)) })),
    )
    return await decode(files, previous, below)
  } catch {
    return null
  }
}

const singleFile = (directory: string) => join(directory, 'objects/info/commit-graph')
const chainDirectory = (directory: string) => join(directory, 'objects/info/commit-graphs')

type Chunks = Map<string, Buffer>

/** Reads only the chunks that walks need; others, such as the changed-path filters, may be many times larger. */
async function readChunks(path: string): Promise<Chunks> {
  const file = await fs.open(path)
  try {
    const read = async (at: number, length: number) => {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, at)
      if (bytesRead < length) throw new Error('the commit-graph is cut short')
      return buffer
    }
    const header = await read(0, 8)
    const amount = header[6] ?? 0
    if (header.toString('latin1', 0, 4) !== 'CGPH' || header[4] !== 1 || header[5] !== 1) throw new Error('no commit-graph of a known kind')
    const table = await read(8, (amount + 1) * 12)
    const chunks: Chunks = new Map()
    for (let i = 0; i < amount; i++) {
      const name = table.toString('latin1', i * 12, i * 12 + 4)
      const at = Number(table.readBigUInt64BE(i * 12 + 4))
      const end = Number(table.readBigUInt64BE(i * 12 + 16))
      if (['OIDF', 'OIDL', 'CDAT', 'EDGE'].includes(name)) chunks.set(name, await read(at, end - at))
    }
    return chunks
  } finally {
    await file.close()
  }
}

/** The lowest layers that a graph and a chain of names have in common, lowest first. */
function commonLayers(previous: CommitGraph | null, names: string[]): Layer[] {
  const layers = previous?.layers.toReversed() ?? []
  const differs = layers.findIndex(({ name }, i) => name !== names[i])
  return differs < 0 ? layers : layers.slice(0, differs)
}

/** Decodes layers, lowest first, on top of the layers `below` of an earlier graph. */
async function decode(files: { name: string; chunks: Chunks }[], previous: CommitGraph | null = null, below: Layer[] = []): Promise<CommitGraph> {
  let base = below.reduce((sum, { count }) => sum + count, 0)
  const count = files.reduce((sum, { chunks }) => sum + commitCount(chunks), base)
  const dates = new Float64Array(count)
  const levels = new Uint32Array(count)
  const firstParents = new Int32Array(count)
  const otherParents = new Map<number, number[]>()
  const lower = base === 0 ? null : previous
  if (lower) {
    dates.set(lower.dates.subarray(0, base))
    levels.set(lower.levels.subarray(0, base))
    firstParents.set(lower.firstParents.subarray(0, base))
    for (const [position, parents] of lower.otherParents) if (position < base) otherParents.set(position, parents)
  }
  const oids = Buffer.concat([...(lower ? [lower.oids.subarray(0, base * 20)] : []), ...files.map(({ chunks }) => requireChunk(chunks, 'OIDL'))])
  const layers = below.toReversed()
  for (const { name, chunks } of files) {
    const data = requireChunk(chunks, 'CDAT')
    const edges = chunks.get('EDGE')
    const length = commitCount(chunks)
    for (let i = 0; i < length; i++) {
      if (i % 20_000 === 19_999) await yieldToEventLoop()
      const at = i * 36 + 20
      const first = data.readUInt32BE(at)
      const second = data.readUInt32BE(at + 4)
      const high = data.readUInt32BE(at + 8)
      firstParents[base + i] = first === NO_PARENT ? -1 : first
      if (second >= EXTRA_PARENTS && edges) otherParents.set(base + i, extraParents(edges, second - EXTRA_PARENTS))
      else if (second !== NO_PARENT) otherParents.set(base + i, [second])
      levels[base + i] = high >>> 2
      dates[base + i] = (high & 3) * 0x100000000 + data.readUInt32BE(at + 12)
    }
    layers.unshift({ name, base, count: length, fanout: requireChunk(chunks, 'OIDF') })
    base += length
  }
  return new CommitGraph({ count, oids, dates, levels, firstParents, otherParents, layers })
}

function extraParents(edges: Buffer, at: number): number[] {
  const parents: number[] = []
  for (let i = at; ; i++) {
    const parent = edges.readUInt32BE(i * 4)
    parents.push(parent >= EXTRA_PARENTS ? parent - EXTRA_PARENTS : parent)
    if (parent >= EXTRA_PARENTS) return parents
  }
}

const commitCount = (chunks: Chunks) => requireChunk(chunks, 'OIDL').length / 20

function requireChunk(chunks: Chunks, name: string): Buffer {
  const chunk = chunks.get(name)
  if (!chunk) throw new Error(`the commit-graph has no ${name}`)
  return chunk
}
