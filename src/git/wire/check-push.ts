import type { Readable } from 'node:stream'
import { Slice } from '../../lib/async/yield.js'
import { GitFault } from '../errors.js'
import type { ProcessPool } from '../process/pool.js'
import { kill } from '../process/spawner.js'
import type { Oid } from '../types.js'
import { POINTER_BYTES } from './lfs-pointers.js'

/** Bytes of a commit or an annotated tag, because they are read whole. */
const MESSAGE_BYTES = 10 * 1024 ** 2
const PARENTS = 1_000
/** `parent`, an id and two characters: a commit of fewer bytes has fewer parents. */
const PARENT_LINE = 48
/**
 * Bytes of a path; no common system can open longer ones. Git copies the whole path of each entry it meets, so a few
 * deep folders with long names cost gigabytes in every clone.
 */
const PATH_BYTES = 4_096
/** The bytes of a tree entry beside its name, less the slash that the name adds to a path. */
const AROUND_NAME = 26
/** Folders of one push whose paths are computed, and how often they may contain each other. */
const MAX_TREES = 250_000
const MAX_EDGES = 5_000_000

/** New files of one push that are read in search of pointers. */
const MAX_SMALL = 100_000

export interface PushedObjects {
  pool: ProcessPool
  directory: string
  /** The environment in which git sees what was pushed. */
  env: NodeJS.ProcessEnv & { GIT_OBJECT_DIRECTORY: string }
  /** Bytes of one object of any kind. */
  objectBytes: number
  /** Milliseconds. */
  deadline: number
}

/**
 * What is wrong with the objects of a push beyond what git checks by itself (SEC-88), as a message to the user; else
 * the files that may be pointers of Git LFS. The number of processes does not depend on the size of the push.
 */
export async function checkObjects(pushed: PushedObjects): Promise<{ fault: string | null; small: Oid[] }> {
  const { fault, trees, wide, small } = await listed(pushed)
  const refused = (text: string) => ({ fault: text, small: [] })
  if (fault) return refused(fault)
  if (wide.length > 0 && (await anyWithMoreParents(pushed, wide))) return refused(`A commit has more than ${PARENTS} parents.`)
  if (trees.length > 0 && (await longestPath(pushed, trees)) > PATH_BYTES) return refused(`A path is longer than ${PATH_BYTES} bytes.`)
  return { fault: null, small }
}

interface Listed {
  fault: string | null
  /**
   * Folders to be examined; none if together they are too few or too small for an overlong path, or too many to be
   * examined.
   */
  trees: Oid[]
  /** Commits that may have too many parents. */
  wide: Oid[]
  /** Files of the size of a pointer, up to a number. */
  small: Oid[]
}

async function listed({ pool, directory, env, objectBytes, deadline }: PushedObjects): Promise<Listed> {
  // without the repository's own objects: only the pushed ones are meant
  const args = ['cat-file', '--batch-all-objects', '--unordered', '--batch-check=%(objecttype) %(objectsize) %(objectname)']
  const child = await pool.start(directory, args, {
    env: { GIT_OBJECT_DIRECTORY: env.GIT_OBJECT_DIRECTORY },
    deadline,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const ended = child.exited
  const found: Listed = { fault: null, trees: [], wide: [], small: [] }
  let names = 0
  let rest = ''
  for await (const chunk of (child.stdout as Readable).setEncoding('latin1')) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const [type, digits, oid = ''] = line.split(' ')
      const size = Number(digits)
      if (size > objectBytes) found.fault = `An object is larger than ${objectBytes} bytes.`
      else if (type === 'blob') {
        if (size >= POINTER_BYTES.least && size <= POINTER_BYTES.most && found.small.length < MAX_SMALL) found.small.push(oid)
      } else if (type === 'commit' || type === 'tag') {
        if (size > MESSAGE_BYTES) found.fault = `A ${type} is larger than ${MESSAGE_BYTES} bytes.`
        if (type === 'commit' && size > PARENTS * PARENT_LINE) found.wide.push(oid)
      } else if (type === 'tree' && size > AROUND_NAME) {
        names += size - AROUND_NAME
        if (found.trees.length <= MAX_TREES) found.trees.push(oid)
      }
    }
    if (found.fault) {
      kill(child)
      return found
    }
  }
  const code = await ended
  if (code !== 0) throw new GitFault('cat-file', code, 'the pushed objects cannot be listed')
  if (names <= PATH_BYTES || found.trees.length > MAX_TREES) found.trees = []
  return found
}

async function anyWithMoreParents({ pool, directory, env, deadline }: PushedObjects, commits: Oid[]): Promise<boolean> {
  const args = ['rev-list', '--no-walk=unsorted', `--min-parents=${PARENTS + 1}`, '--max-count=1', '--stdin']
  const child = await pool.start(directory, args, { env, deadline, stdio: ['pipe', 'pipe', 'ignore'] })
  const ended = child.exited
  child.stdin?.on('error', () => {})
  child.stdin?.end(`${commits.join('\n')}\n`)
  let bytes = 0
  for await (const chunk of child.stdout as Readable) bytes += (chunk as Buffer).length
  const code = await ended
  if (code !== 0) throw new GitFault('rev-list', code, 'the pushed commits cannot be read')
  return bytes > 0
}

/**
 * Bytes of the longest path that the pushed folders form together; paths end at folders that were there before, because
 * those were checked when they came.
 */
async function longestPath({ pool, directory, env, deadline }: PushedObjects, trees: Oid[]): Promise<number> {
  const numbers = new Map(trees.map((oid, at) => [Buffer.from(oid, 'hex').toString('latin1'), at]))
  const reader = new TreeReader(numbers)
  const child = await pool.start(directory, ['cat-file', '--batch', '--buffer'], { env, deadline, stdio: ['pipe', 'pipe', 'ignore'] })
  const ended = child.exited
  child.stdin?.on('error', () => {})
  child.stdin?.end(`${trees.join('\n')}\n`)
  const slice = new Slice(1)
  for await (const chunk of child.stdout as Readable) {
    reader.take(chunk as Buffer)
    if (reader.longestName > PATH_BYTES || reader.edges > MAX_EDGES) {
      kill(child)
      break
    }
    if (slice.over) await slice.breathe()
  }
  if (reader.longestName > PATH_BYTES) return reader.longestName
  if (reader.edges > MAX_EDGES) return 0
  const code = await ended
  if (code !== 0) throw new GitFault('cat-file', code, 'the pushed folders cannot be read')
  return reader.longestPath()
}

/**
 * Reads trees as `git cat-file --batch` prints them, in the order of their numbers, and keeps the lengths of their
 * names and which folders they contain.
 */
class TreeReader {
  longestName = 0
  /** For each tree its longest name; later the longest path below it. */
  readonly #lengths: number[] = []
  /** Where the folders of each tree begin in the two lists of folders. */
  readonly #starts: number[] = []
  readonly #children: number[] = []
  readonly #names: number[] = []
  #rest: Buffer = Buffer.alloc(0)
  /** Bytes left of the tree that is being read; negative between two trees. */
  #left = -1

  constructor(readonly numbers: Map<string, number>) {}

  get edges() {
    return this.#children.length
  }

  take(chunk: Buffer) {
    const data = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk
    let at = 0
    for (;;) {
      if (this.#left < 0) {
        const end = data.indexOf(0x0a, at)
        if (end < 0) break
        const size = / tree (\d+)$/.exec(data.toString('latin1', at, end))?.[1]
        this.#lengths.push(0)
        this.#starts.push(this.#children.length)
        at = end + 1
        if (size !== undefined) this.#left = Number(size)
      } else if (this.#left === 0) {
        if (at === data.length) break
        at++
        this.#left = -1
      } else {
        const end = data.indexOf(0, at)
        // a name without an end is too long, whatever follows
        if (end < 0) this.longestName = Math.max(this.longestName, data.length - at - 8)
        if (end < 0 || end + 21 > data.length) break
        this.#entry(data, at, end)
        this.#left -= end + 21 - at
        at = end + 21
      }
    }
    this.#rest = Buffer.from(data.subarray(at))
  }

  #entry(data: Buffer, at: number, end: number) {
    const tree = this.#lengths.length - 1
    const space = data.indexOf(0x20, at)
    const length = end - space - 1
    this.longestName = Math.max(this.longestName, length)
    this.#lengths[tree] = Math.max(this.#lengths[tree] ?? 0, length)
    // 40000: a folder
    if (data[at] !== 0x34) return
    const child = this.numbers.get(data.toString('latin1', end + 1, end + 21))
    if (child === undefined) return
    this.#children.push(child)
    this.#names.push(length)
  }

  /** No tree can contain itself, so each is done when everything it contains is. */
  async longestPath(): Promise<number> {
    const count = this.#lengths.length
    const next = this.#starts.slice()
    const begun = new Uint8Array(count)
    const slice = new Slice()
    let longest = 0
    for (let top = 0; top < count; top++) {
      const stack = begun[top] ? [] : [top]
      for (let tree = stack.at(-1); tree !== undefined; tree = stack.at(-1)) {
        if (slice.over) await slice.breathe()
        begun[tree] = 1
        const at = next[tree] ?? 0
        const end = this.#starts[tree + 1] ?? this.#children.length
        const child = this.#children[at]
        if (at >= end || child === undefined) {
          longest = Math.max(longest, this.#lengths[tree] ?? 0)
          stack.pop()
        } else if (begun[child]) {
          this.#lengths[tree] = Math.max(this.#lengths[tree] ?? 0, (this.#names[at] ?? 0) + 1 + (this.#lengths[child] ?? 0))
          next[tree] = at + 1
        } else stack.push(child)
      }
    }
    return longest
  }
}
