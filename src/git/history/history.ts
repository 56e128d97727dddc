import type { LRUCache } from 'lru-cache'
import { Slice, yieldToEventLoop } from '../../lib/async/yield.js'
import { Unavailable } from '../../lib/unavailable.js'
import { type CatFile, isOid } from '../objects/cat-file.js'
import { parseCommit } from '../objects/object-codec.js'
import type { ProcessPool } from '../process/pool.js'
import type { Oid } from '../types.js'
import type { CommitGraph } from './commit-graph.js'

/** What a walk needs of a commit outside the graph; immutable, so it is cached. */
export interface Link {
  date: number
  parents: Oid[]
}
export type LinkCache = LRUCache<Oid, Link>

/** Commits in the order of a log: 20 bytes and a date each. */
export interface LogOrder {
  oids: Buffer
  /** Committer dates, seconds since 1970. */
  dates: Float64Array
}

/** The places of some commits in an order; those it does not have are left out. */
export async function positionsIn({ oids }: LogOrder, wanted: Oid[], slice: Slice): Promise<Map<Oid, number>> {
  const starts = new Set(wanted.map((oid) => Number.parseInt(oid.slice(0, 8), 16)))
  const whole = new Set(wanted)
  const positions = new Map<Oid, number>()
  for (let at = 0; at < oids.length; at += 20) {
    if (slice.over) await slice.breathe()
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
 * Links that are read one by one before git is asked for thousands at once, and for twice as many each time after that.
 */
const MAX_SINGLE_READS = 64
const BATCH_SIZE = 5_000
const MAX_BATCH_SIZE = 20_000
/** Processes of one walk, whatever the history looks like; what they do not return is read one by one. */
const MAX_BATCHES = 64
/** Parents of one commit that are read at a time. */
const PARENT_BATCH = 100
/** Milliseconds that a walk may spend on commits outside the graph; after the next maintenance they are in it. */
const WALK_DEADLINE_MS = 30_000
/** As in git: how many uninteresting commits in a row end a walk. */
const SLOP = 5

const SEEN = 1
const EXCLUDED = 2
const QUEUED = 4

/**
 * The commits of one repository as numbered nodes: those of the commit-graph by position, then newer ones in the order
 * they are found.
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

  /** The node of a commit; -1 when there is no such commit. */
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

  /**
   * Greater than the level of any parent; greater than all others for a commit newer than the graph, 0 when unknown.
   */
  level(node: number): number {
    return node < this.#count ? (this.graph?.levels[node] ?? 0) : Number.POSITIVE_INFINITY
  }

  isNew(node: number) {
    return node >= this.#count
  }

  /** The parents, if they are known without waiting; otherwise null. */
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

  /** Reads many unknown commits at once, by one process. */
  async #readMany(oids: Oid[]) {
    const unknown = [...new Set(oids)].filter((oid) => isOid(oid) && !this.#nodes.has(oid) && (this.graph?.find(oid) ?? -1) < 0)
    for (let at = 0; at < unknown.length; at += PARENT_BATCH) {
      this.#checkDeadline()
      const some = unknown.slice(at, at + PARENT_BATCH)
      const links = await Promise.all(some.map((oid) => this.source.links.get(oid) ?? this.#read(oid)))
      for (const [i, link] of links.entries()) if (link) this.#add(some[i] as Oid, link)
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
    const object = await objects.read(oid, MAX_COMMIT_BYTES)
    if (object?.type !== 'commit') return null
    const { committer, parents } = parseCommit(oid, object.content)
    // git stores dates unsigned: one before 1970 sorts as far in the future
    const link = { date: committer.seconds < 0 ? committer.seconds + UNSIGNED : committer.seconds, parents }
    links.set(oid, link)
    return link
  }
}

/** Bytes of the largest commit that is read. */
export const MAX_COMMIT_BYTES = 33_554_432
const UNSIGNED = 2 ** 64

/** The date as it was written, from one that git stores unsigned. */
export const signed = (date: number) => (date >= UNSIGNED / 2 ? date - UNSIGNED : date)

/**
 * The commits that `from` reaches and `exclude` does not, in exactly the order of `git log` (C-9): newest committer
 * date first, and in the order of discovery among equals. After `most` commits of both it ends with what it has found.
 */
export async function walk(history: History, from: Oid[], exclude: Oid[], firstParent: boolean, limit = Number.POSITIVE_INFINITY): Promise<LogOrder> {
  const frontier = new Frontier(history)
  for (const oid of exclude) frontier.add(await history.node(oid), EXCLUDED)
  for (const oid of from) frontier.add(await history.node(oid), 0)
  const found: number[] = []
  const slice = new Slice()
  let slop = SLOP
  let date = Number.POSITIVE_INFINITY
  for (let node = frontier.pop(), left = limit; node >= 0 && left > 0; node = frontier.pop(), left--) {
    if (slice.over) await slice.breathe()
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
  return orderOf(history, kept, slice)
}

/** The order of these nodes, as they stand. */
export async function orderOf(history: History, nodes: number[], slice: Slice): Promise<LogOrder> {
  const order = { oids: Buffer.alloc(nodes.length * 20), dates: new Float64Array(nodes.length) }
  for (const [i, node] of nodes.entries()) {
    if (slice.over) await slice.breathe()
    if (history.graph && !history.isNew(node)) history.graph.oids.copy(order.oids, i * 20, node * 20, node * 20 + 20)
    else order.oids.write(history.oid(node), i * 20, 'hex')
    order.dates[i] = signed(history.date(node))
  }
  return order
}

/** Which of the targets are `into` or its ancestors. */
export async function reachableAmong(history: History, targets: number[], into: number): Promise<Set<number>> {
  const open = new Set(targets)
  const found = new Set<number>()
  // nothing below the lowest target can lead to one, and a commit of the graph never leads to one newer than the graph
  const floor = targets.reduce((lowest, target) => Math.min(lowest, history.level(target)), Number.POSITIVE_INFINITY)
  const flags = new Flags(history.graph?.count ?? 0)
  const stack = [into]
  flags.set(into, SEEN)
  const slice = new Slice()
  for (let node = stack.pop(); node !== undefined && open.size > 0; node = stack.pop()) {
    if (slice.over) await slice.breathe()
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
 * The only best common ancestor of two commits; null: there is none, 'several': there are more. Both histories are
 * painted, as git does, until everything left is below a commit with both colours.
 */
export async function uniqueMergeBase(history: History, ours: number, theirs: number): Promise<number | 'several' | null> {
  if (ours === theirs) return ours
  const flags = new Flags(history.graph?.count ?? 0)
  const queue = new DateQueue()
  /** Nodes in the queue that are not below a common ancestor. */
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
  const slice = new Slice()
  while (open > 0) {
    if (slice.over) await slice.breathe()
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

/** Commits of which many are rarely compared. */
const MAX_COMPARED_BASES = 8

/**
 * Without those that others of them reach: where dates run backwards, the painting ends before it has met them again.
 */
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

/** The commits that a walk has seen: the newest that it has not visited yet is taken next. */
export class Frontier {
  readonly #flags: Flags
  readonly #queue = new DateQueue()
  /** Commits in the queue that are not excluded. */
  #interesting = 0

  constructor(readonly history: History) {
    this.#flags = new Flags(history.graph?.count ?? 0)
  }

  get isEmpty() {
    return this.size === 0
  }

  /** Commits seen and not visited. */
  get size() {
    return this.#queue.size
  }

  /** The commit that is taken next; -1 when there is none. */
  get next() {
    return this.#queue.next
  }

  /** Whether both would take the same commits in the same order, if no others were added. */
  equals(other: Frontier): boolean {
    const theirs = other.#queue.inOrder()
    return this.#queue.inOrder().every((node, i) => node === theirs[i])
  }

  isExcluded(node: number): boolean {
    return (this.#flags.get(node) & EXCLUDED) !== 0
  }

  /** Adds a commit that has not been seen; -1, which is none, is passed over. */
  add(node: number, bits: number): void {
    if (node < 0 || this.#flags.get(node) & SEEN) return
    this.#flags.set(node, SEEN | QUEUED | bits)
    if (!this.isExcluded(node)) this.#interesting++
    this.#queue.push(node, this.history.date(node))
  }

  /** The next commit; -1 when there is none. */
  pop(): number {
    const node = this.#queue.pop()
    if (node < 0) return node
    this.#flags.clear(node, QUEUED)
    if (!this.isExcluded(node)) this.#interesting--
    return node
  }

  /**
   * Excludes a commit, and what was seen of its ancestors before it turned out to be reachable from an excluded one.
   */
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

  /** Whether going on may still find or exclude commits, the last found one being of this date. */
  mayExclude(date: number): boolean {
    return date <= this.#queue.nextDate || this.#interesting > 0
  }
}

/** Gives the newest node first, and of equals the one that came first. */
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

  /** All nodes, as they would be given. */
  inOrder(): number[] {
    const positions = Array.from(this.#nodes.keys())
    positions.sort((a, b) => (this.#before(this.#dates[a] as number, this.#sequence[a] as number, b) ? -1 : 1))
    return positions.map((at) => this.#nodes[at] as number)
  }

  /** The date of the node that is next. */
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

  /** -1 when there is none. */
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
