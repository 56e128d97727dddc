import type { LRUCache } from 'lru-cache'
import { Turn, yieldToEventLoop } from '../../lib/async/yield.js'
import { Unavailable } from '../../lib/unavailable.js'
import { type CatFile, isOid } from '../objects/cat-file.js'
import { parseCommit } from '../objects/object-codec.js'
import type { ProcessPool } from '../process/pool.js'
import type { Oid } from '../types.js'
import type { CommitGraph } from './commit-graph.js'

/** The date and parents of a commit outside the graph; immutable, so it is cached. */
export interface Link {
  date: number
  parents: Oid[]
}
export type LinkCache = LRUCache<Oid, Link>

/** Commits in log order: 20 bytes and a date each. */
export interface LogOrder {
  oids: Buffer
  /** Committer dates, seconds since 1970. */
  dates: Float64Array
}

/** The positions of commits in an order, without those that it does not contain. */
export async function positionsIn({ oids }: LogOrder, wanted: Oid[], turn: Turn): Promise<Map<Oid, number>> {
  const starts = new Set(wanted.map((oid) => Number.parseInt(oid.slice(0, 8), 16)))
  const whole = new Set(wanted)
  const positions = new Map<Oid, number>()
  for (let at = 0; at < oids.length; at += 20) {
    if (turn.over) await turn.end()
    if (!starts.has(oids.readUInt32BE(at))) continue
    const oid = oids.toString('hex', at, at + 20)
    if (whole.has(oid)) positions.set(oid, at / 20)
  }
  return positions
}

export interface HistorySource {
  pool: ProcessPool
  directory: string
  env?: NodeJS.ProcessEnv | undefined
  objects: CatFile
  links: LinkCache
}

/**
 * Commits outside the graph are read one by one up to MAX_SINGLE_READS; after that, `git rev-list` reads batches of
 * doubling size.
 */
const MAX_SINGLE_READS = 64
const BATCH_SIZE = 5_000
const MAX_BATCH_SIZE = 20_000
/** Maximum number of processes per walk; commits they do not return are read one by one. */
const MAX_BATCHES = 64
/** Parents of one commit that are read concurrently. */
const PARENT_BATCH = 100
/** How long a walk may read commits outside the graph; the next maintenance adds them to it. */
const WALK_DEADLINE_MS = 30_000
/** As in git: a walk ends after this many uninteresting commits in a row. */
const SLOP = 5

const SEEN = 1
const EXCLUDED = 2
const QUEUED = 4

/**
 * The commits of one repository as numbered nodes: first those of the commit-graph by position, then newer ones in
 * order of discovery.
 */
export class History {
  readonly #extra: { oid: Oid; date: number; parents: Oid[]; nodes: number[] | null }[] = []
  readonly #nodes = new Map<Oid, number>()
  #singleReads = 0
  #batches = 0
  readonly #started = performance.now()

  constructor(
    readonly graph: CommitGraph | null,
    readonly source: HistorySource,
  ) {}

  get #count() {
    return this.graph?.count ?? 0
  }

  /** The node of a commit; -1 if it does not exist. */
  async node(oid: Oid): Promise<number> {
    const position = this.graph?.find(oid) ?? -1
    if (position >= 0) return position
    const known = this.#nodes.get(oid)
    if (known !== undefined) return known
    const link = isOid(oid) ? (this.source.links.get(oid) ?? (await this.#link(oid))) : null
    return link ? this.#add(oid, link) : -1
  }

  oid(node: number): Oid {
    return node < this.#count ? (this.graph as CommitGraph).oid(node) : (this.#extra[node - this.#count]?.oid ?? '')
  }

  date(node: number): number {
    return (node < this.#count ? this.graph?.dates[node] : this.#extra[node - this.#count]?.date) ?? 0
  }

  /** The topological level, greater than that of any parent: Infinity for a commit outside the graph, 0 if unknown. */
  level(node: number): number {
    return node < this.#count ? (this.graph?.levels[node] ?? 0) : Number.POSITIVE_INFINITY
  }

  isNew(node: number) {
    return node >= this.#count
  }

  /** The parents if they are already known; otherwise null. */
  parentsNow(node: number): number[] | null {
    if (node < this.#count) return (this.graph as CommitGraph).parents(node)
    return this.#extra[node - this.#count]?.nodes ?? null
  }

  async parents(node: number): Promise<number[]> {
    const now = this.parentsNow(node)
    if (now) return now
    const extra = this.#extra[node - this.#count]
    if (!extra) return []
    if (extra.parents.length > 2) await this.#readMany(extra.parents)
    const nodes: number[] = []
    for (const parent of extra.parents) {
      const node = await this.node(parent)
      if (node >= 0) nodes.push(node)
    }
    extra.nodes = nodes
    return nodes
  }

  /** Reads many unknown commits concurrently. */
  async #readMany(oids: Oid[]) {
    const unknown = [...new Set(oids)].filter((oid) => isOid(oid) && !this.#nodes.has(oid) && (this.graph?.find(oid) ?? -1) < 0)
    for (let at = 0; at < unknown.length; at += PARENT_BATCH) {
      this.#checkDeadline()
      const batch = unknown.slice(at, at + PARENT_BATCH)
      const links = await Promise.all(batch.map((oid) => this.source.links.get(oid) ?? this.#read(oid)))
      for (const [i, link] of links.entries()) if (link) this.#add(batch[i] as Oid, link)
    }
  }

  #checkDeadline() {
    if (performance.now() - this.#started > WALK_DEADLINE_MS) throw new Unavailable('the history could not be walked in time')
  }

  #add(oid: Oid, link: Link): number {
    const node = this.#count + this.#extra.length
    this.#extra.push({ oid, ...link, nodes: null })
    this.#nodes.set(oid, node)
    return node
  }

  async #link(oid: Oid): Promise<Link | null> {
    const { links, pool, directory, env } = this.source
    this.#checkDeadline()
    if (++this.#singleReads > MAX_SINGLE_READS && this.#batches < MAX_BATCHES) {
      const many = Math.min(BATCH_SIZE * 2 ** this.#batches++, MAX_BATCH_SIZE)
      const args = ['rev-list', '--timestamp', '--parents', `--max-count=${many}`, oid]
      const { stdout } = await pool.run(directory, args, { ...(env && { env }) })
      let lines = 0
      for (const line of stdout.toString('latin1').split('\n')) {
        if (++lines % 2_000 === 0) await yieldToEventLoop()
        const [date, commit, ...parents] = line.split(' ')
        if (commit) links.set(commit, { date: Number(date), parents })
      }
      const link = links.get(oid)
      if (link) return link
    }
    return this.#read(oid)
  }

  async #read(oid: Oid): Promise<Link | null> {
    const { links, objects } = this.source
    const object = await objects.readCommitStart(oid, HEADER_BYTES, MAX_COMMIT_BYTES)
    if (!object) return null
    const { committer, parents } = parseCommit(oid, object.content)
    // git stores dates unsigned, so a date before 1970 sorts as one far in the future
    const link = { date: committer.seconds < 0 ? committer.seconds + UNSIGNED : committer.seconds, parents }
    links.set(oid, link)
    return link
  }
}

/** Bytes of a large commit that are read for its date and parents. */
const HEADER_BYTES = 65_536
/** Larger commits are not read. */
export const MAX_COMMIT_BYTES = 33_554_432
const UNSIGNED = 2 ** 64

/** Converts git's unsigned date back to the signed one. */
export const signed = (date: number) => (date >= UNSIGNED / 2 ? date - UNSIGNED : date)

/**
 * The commits that `from` reaches and `exclude` does not, in exactly the order of `git log` (C-9): newest committer
 * date first, ties in order of discovery. Stops after visiting `limit` commits of either side.
 */
export async function walk(history: History, from: Oid[], exclude: Oid[], firstParent: boolean, limit = Number.POSITIVE_INFINITY): Promise<LogOrder> {
  const frontier = new Frontier(history)
  for (const oid of exclude) frontier.add(await history.node(oid), EXCLUDED)
  for (const oid of from) frontier.add(await history.node(oid), 0)
  const found: number[] = []
  const turn = new Turn()
  let slop = SLOP
  let date = Number.POSITIVE_INFINITY
  for (let node = frontier.pop(), left = limit; node >= 0 && left > 0; node = frontier.pop(), left--) {
    if (turn.over) await turn.end()
    const parents = history.parentsNow(node) ?? (await history.parents(node))
    if (!frontier.isExcluded(node)) {
      for (const parent of firstParent ? parents.slice(0, 1) : parents) frontier.add(parent, 0)
      date = history.date(node)
      found.push(node)
      continue
    }
    for (const parent of parents) {
      frontier.exclude(parent)
      // git looks one generation ahead, which matters where dates run backwards
      for (const above of history.parentsNow(parent) ?? (await history.parents(parent))) frontier.exclude(above)
      frontier.add(parent, 0)
    }
    if (frontier.isEmpty) break
    slop = frontier.mayExclude(date) ? SLOP : slop - 1
    if (slop === 0) break
  }
  const kept = exclude.length === 0 ? found : found.filter((node) => !frontier.isExcluded(node))
  return orderOf(history, kept, turn)
}

/** The ids and dates of nodes, in the given order. */
export async function orderOf(history: History, nodes: number[], turn: Turn): Promise<LogOrder> {
  const order = { oids: Buffer.alloc(nodes.length * 20), dates: new Float64Array(nodes.length) }
  for (const [i, node] of nodes.entries()) {
    if (turn.over) await turn.end()
    if (history.graph && !history.isNew(node)) history.graph.oids.copy(order.oids, i * 20, node * 20, node * 20 + 20)
    else order.oids.write(history.oid(node), i * 20, 'hex')
    order.dates[i] = signed(history.date(node))
  }
  return order
}

/** The targets that are `into` or its ancestors. */
export async function reachableAmong(history: History, targets: number[], into: number): Promise<Set<number>> {
  const open = new Set(targets)
  const found = new Set<number>()
  // commits below the lowest target cannot reach a target, and commits in the graph never reach newer ones
  const floor = targets.reduce((lowest, target) => Math.min(lowest, history.level(target)), Number.POSITIVE_INFINITY)
  const flags = new Flags(history.graph?.count ?? 0)
  const stack = [into]
  flags.set(into, SEEN)
  const turn = new Turn()
  for (let node = stack.pop(); node !== undefined && open.size > 0; node = stack.pop()) {
    if (turn.over) await turn.end()
    if (open.delete(node)) found.add(node)
    const level = history.level(node)
    if (!history.isNew(node) && level > 0 && level <= floor) continue
    for (const parent of history.parentsNow(node) ?? (await history.parents(node))) {
      if (flags.get(parent) & SEEN) continue
      flags.set(parent, SEEN)
      stack.push(parent)
    }
  }
  return found
}

const OURS = 1
const THEIRS = 2
const BELOW = 8
const BASE = 16

/**
 * The only best common ancestor of two commits; null if there is none, 'several' if there is more than one. Paints both
 * histories, as git does, until everything left in the queue is below a commit with both colours.
 */
export async function findUniqueMergeBase(history: History, ours: number, theirs: number): Promise<number | 'several' | null> {
  if (ours === theirs) return ours
  const flags = new Flags(history.graph?.count ?? 0)
  const queue = new DateQueue()
  /** Number of queued nodes that are not below a common ancestor. */
  let open = 0
  const paint = (node: number, colours: number) => {
    const before = flags.get(node)
    const after = before | colours
    if (after === before) return
    flags.set(node, after | QUEUED)
    if (!(before & QUEUED)) {
      queue.push(node, history.date(node))
      if (!(after & BELOW)) open++
    } else if (after & ~before & BELOW) open--
  }
  paint(ours, OURS)
  paint(theirs, THEIRS)
  const found: number[] = []
  const turn = new Turn()
  while (open > 0) {
    if (turn.over) await turn.end()
    const node = queue.pop()
    flags.clear(node, QUEUED)
    const state = flags.get(node)
    let colours = state & (OURS | THEIRS | BELOW)
    if (!(state & BELOW)) open--
    if (colours === (OURS | THEIRS)) {
      colours |= BELOW
      if (!(state & BASE)) {
        flags.set(node, state | BASE)
        found.push(node)
      }
    }
    for (const parent of history.parentsNow(node) ?? (await history.parents(node))) paint(parent, colours)
  }
  const best = await withoutAncestors(
    history,
    found.filter((node) => !(flags.get(node) & BELOW)),
  )
  return best.length > 1 ? 'several' : (best[0] ?? null)
}

/** With more candidates than this, ancestors among them are not removed. */
const MAX_COMPARED_BASES = 8

/** Removes nodes that other nodes reach: with dates that run backwards, painting may end before it detects them. */
async function withoutAncestors(history: History, nodes: number[]): Promise<number[]> {
  if (nodes.length < 2 || nodes.length > MAX_COMPARED_BASES) return nodes
  const below = new Set<number>()
  for (const node of nodes) {
    const others = nodes.filter((other) => other !== node)
    for (const found of await reachableAmong(history, others, node)) below.add(found)
  }
  return nodes.filter((node) => !below.has(node))
}

/** A few bits for every node. */
class Flags {
  readonly #known: Uint8Array
  readonly #extra: number[] = []

  constructor(readonly count: number) {
    this.#known = new Uint8Array(count)
  }

  get(node: number): number {
    return (node < this.count ? this.#known[node] : this.#extra[node - this.count]) ?? 0
  }

  set(node: number, bits: number) {
    if (node < this.count) this.#known[node] = this.get(node) | bits
    else this.#extra[node - this.count] = this.get(node) | bits
  }

  clear(node: number, bits: number) {
    if (node < this.count) this.#known[node] = this.get(node) & ~bits
    else this.#extra[node - this.count] = this.get(node) & ~bits
  }
}

/** The commits that a walk has seen; visits the newest unvisited one next. */
export class Frontier {
  readonly #flags: Flags
  readonly #queue = new DateQueue()
  /** Number of queued commits that are not excluded. */
  #interesting = 0

  constructor(readonly history: History) {
    this.#flags = new Flags(history.graph?.count ?? 0)
  }

  get isEmpty() {
    return this.size === 0
  }

  /** Number of commits seen and not visited. */
  get size() {
    return this.#queue.size
  }

  /** The commit that is visited next; -1 if there is none. */
  get next() {
    return this.#queue.next
  }

  /** Whether both queues hold the same commits in the same order. */
  equals(other: Frontier): boolean {
    const theirs = other.#queue.inOrder()
    return this.#queue.inOrder().every((node, i) => node === theirs[i])
  }

  isExcluded(node: number): boolean {
    return (this.#flags.get(node) & EXCLUDED) !== 0
  }

  /** Adds a commit unless it was seen before; ignores -1. */
  add(node: number, bits: number): void {
    if (node < 0 || this.#flags.get(node) & SEEN) return
    this.#flags.set(node, SEEN | QUEUED | bits)
    if (!this.isExcluded(node)) this.#interesting++
    this.#queue.push(node, this.history.date(node))
  }

  /** Removes and returns the next commit; -1 if there is none. */
  pop(): number {
    const node = this.#queue.pop()
    if (node < 0) return node
    this.#flags.clear(node, QUEUED)
    if (!this.isExcluded(node)) this.#interesting--
    return node
  }

  /** Excludes a commit and those of its ancestors that were already seen. */
  exclude(node: number): void {
    const stack = [node]
    for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
      const state = this.#flags.get(next)
      if (state & EXCLUDED) continue
      this.#flags.set(next, EXCLUDED)
      if (!(state & SEEN)) continue
      if (state & QUEUED) this.#interesting--
      for (const parent of this.history.parentsNow(next) ?? []) stack.push(parent)
    }
  }

  /** Whether the walk can still find or exclude commits, given the date of the last commit found. */
  mayExclude(date: number): boolean {
    return date <= this.#queue.nextDate || this.#interesting > 0
  }
}

/** A priority queue: newest date first, ties in insertion order. */
class DateQueue {
  readonly #nodes: number[] = []
  readonly #dates: number[] = []
  readonly #sequence: number[] = []
  #nextSequence = 0

  get size() {
    return this.#nodes.length
  }

  get next() {
    return this.#nodes[0] ?? -1
  }

  /** All nodes in the order in which they would be removed. */
  inOrder(): number[] {
    const positions = Array.from(this.#nodes.keys())
    positions.sort((a, b) => (this.#before(this.#dates[a] as number, this.#sequence[a] as number, b) ? -1 : 1))
    return positions.map((at) => this.#nodes[at] as number)
  }

  /** The date of the next node. */
  get nextDate() {
    return this.#dates[0] ?? Number.NEGATIVE_INFINITY
  }

  push(node: number, date: number) {
    let at = this.#nodes.length
    const sequence = this.#nextSequence++
    for (let above = (at - 1) >> 1; at > 0 && this.#before(date, sequence, above); above = (at - 1) >> 1) {
      this.#move(above, at)
      at = above
    }
    this.#put(at, node, date, sequence)
  }

  /** Returns -1 if the queue is empty. */
  pop(): number {
    const first = this.#nodes[0]
    if (first === undefined) return -1
    const node = this.#nodes.pop() as number
    const date = this.#dates.pop() as number
    const sequence = this.#sequence.pop() as number
    const size = this.#nodes.length
    if (size === 0) return first
    let at = 0
    for (let below = 1; below < size; below = at * 2 + 1) {
      if (below + 1 < size && this.#before(this.#dates[below + 1] as number, this.#sequence[below + 1] as number, below)) below++
      if (this.#before(date, sequence, below)) break
      this.#move(below, at)
      at = below
    }
    this.#put(at, node, date, sequence)
    return first
  }

  #before(date: number, sequence: number, at: number) {
    const other = this.#dates[at] as number
    return date > other || (date === other && sequence < (this.#sequence[at] as number))
  }

  #move(from: number, to: number) {
    this.#put(to, this.#nodes[from] as number, this.#dates[from] as number, this.#sequence[from] as number)
  }

  #put(at: number, node: number, date: number, sequence: number) {
    this.#nodes[at] = node
    this.#dates[at] = date
    this.#sequence[at] = sequence
  }
}
