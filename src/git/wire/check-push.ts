import type { Readable } from 'node:stream'
import { Turn } from '../../lib/async/yield.js'
import { gitFailure } from '../errors.js'
import type { ProcessPool } from '../process/pool.js'
import { kill } from '../process/spawner.js'
import type { Oid } from '../types.js'
import { POINTER_BYTES } from './lfs-pointers.js'

/** Maximum size of a commit or annotated tag, because these are read whole. */
const MAX_MESSAGE_BYTES = 10 * 1024 ** 2
const MAX_PARENTS = 1_000
/** The length of a `parent` header line: a commit shorter than MAX_PARENTS such lines cannot have too many parents. */
const PARENT_LINE_BYTES = 48
/**
 * Maximum length of a path; no common system can open longer ones. Git copies the whole path of each entry that it
 * visits, so a few deep folders with long names would cost gigabytes in every clone.
 */
const MAX_PATH_BYTES = 4_096
/** The size of a tree entry without its name, less the slash that the name adds to a path. */
const TREE_ENTRY_OVERHEAD_BYTES = 26
/** Limits of the path check: trees in one push, and references between them. */
const MAX_TREES = 250_000
const MAX_EDGES = 5_000_000

/** Maximum number of new files that are read to find Git LFS pointers. */
const MAX_POINTER_CANDIDATES = 100_000

export interface PushedObjects {
  pool: ProcessPool
  directory: string
  /** The environment in which git sees the pushed objects. */
  env: NodeJS.ProcessEnv & { GIT_OBJECT_DIRECTORY: string }
  /** Maximum size of an object in bytes. */
  objectBytes: number
  /** Milliseconds. */
  deadline: number
}

/**
 * Checks the objects of a push beyond what git checks itself (SEC-88). Returns a message to the user in `fault`, or the
 * files that may be Git LFS pointers. The number of processes does not depend on the size of the push.
 */
export async function checkObjects(pushed: PushedObjects): Promise<{ fault: string | null; pointerCandidates: Oid[] }> {
  const { fault, trees, wideCommits, pointerCandidates } = await listObjects(pushed)
  const refused = (text: string) => ({ fault: text, pointerCandidates: [] })
  if (fault) return refused(fault)
  if (wideCommits.length > 0 && (await anyWithMoreParents(pushed, wideCommits))) return refused(`A commit has more than ${MAX_PARENTS} parents.`)
  if (trees.length > 0 && (await longestPath(pushed, trees)) > MAX_PATH_BYTES) return refused(`A path is longer than ${MAX_PATH_BYTES} bytes.`)
  return { fault: null, pointerCandidates }
}

interface ListedObjects {
  fault: string | null
  /** Trees whose paths need checking; none if they are too small for an overlong path, or too many to check. */
  trees: Oid[]
  /** Commits that may have too many parents. */
  wideCommits: Oid[]
  /** Files with the size of a pointer, at most MAX_POINTER_CANDIDATES. */
  pointerCandidates: Oid[]
}

async function listObjects({ pool, directory, env, objectBytes, deadline }: PushedObjects): Promise<ListedObjects> {
  // without the repository's own objects, so that only pushed ones are listed
  const args = ['cat-file', '--batch-all-objects', '--unordered', '--batch-check=%(objecttype) %(objectsize) %(objectname)']
  const child = await pool.start(directory, args, {
    env: { GIT_OBJECT_DIRECTORY: env.GIT_OBJECT_DIRECTORY },
    deadline,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const ended = child.exited
  const found: ListedObjects = { fault: null, trees: [], wideCommits: [], pointerCandidates: [] }
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
        if (size >= POINTER_BYTES.min && size <= POINTER_BYTES.max && found.pointerCandidates.length < MAX_POINTER_CANDIDATES)
          found.pointerCandidates.push(oid)
      } else if (type === 'commit' || type === 'tag') {
        if (size > MAX_MESSAGE_BYTES) found.fault = `A ${type} is larger than ${MAX_MESSAGE_BYTES} bytes.`
        if (type === 'commit' && size > MAX_PARENTS * PARENT_LINE_BYTES) found.wideCommits.push(oid)
      } else if (type === 'tree' && size > TREE_ENTRY_OVERHEAD_BYTES) {
        names += size - TREE_ENTRY_OVERHEAD_BYTES
        if (found.trees.length <= MAX_TREES) found.trees.push(oid)
      }
    }
    if (found.fault) {
      kill(child)
      return found
    }
  }
  const code = await ended
  if (code !== 0) throw gitFailure('cat-file', code, 'the pushed objects cannot be listed')
  if (names <= MAX_PATH_BYTES || found.trees.length > MAX_TREES) found.trees = []
  return found
}

async function anyWithMoreParents({ pool, directory, env, deadline }: PushedObjects, commits: Oid[]): Promise<boolean> {
  const args = ['rev-list', '--no-walk=unsorted', `--min-parents=${MAX_PARENTS + 1}`, '--max-count=1', '--stdin']
  const child = await pool.start(directory, args, { env, deadline, stdio: ['pipe', 'pipe', 'ignore'] })
  const ended = child.exited
  child.stdin?.on('error', () => {})
  child.stdin?.end(`${commits.join('\n')}\n`)
  let bytes = 0
  for await (const chunk of child.stdout as Readable) bytes += (chunk as Buffer).length
  const code = await ended
  if (code !== 0) throw gitFailure('rev-list', code, 'the pushed commits cannot be read')
  return bytes > 0
}

/**
 * The length of the longest path in the pushed trees. Paths end at trees that existed before, because those were
 * checked when they were pushed.
 */
async function longestPath({ pool, directory, env, deadline }: PushedObjects, trees: Oid[]): Promise<number> {
  const numbers = new Map(trees.map((oid, at) => [Buffer.from(oid, 'hex').toString('latin1'), at]))
  const reader = new TreeReader(numbers)
  const child = await pool.start(directory, ['cat-file', '--batch', '--buffer'], { env, deadline, stdio: ['pipe', 'pipe', 'ignore'] })
  const ended = child.exited
  child.stdin?.on('error', () => {})
  child.stdin?.end(`${trees.join('\n')}\n`)
  const turn = new Turn(1)
  for await (const chunk of child.stdout as Readable) {
    reader.consume(chunk as Buffer)
    if (reader.longestName > MAX_PATH_BYTES || reader.edges > MAX_EDGES) {
      kill(child)
      break
    }
    if (turn.over) await turn.end()
  }
  if (reader.longestName > MAX_PATH_BYTES) return reader.longestName
  if (reader.edges > MAX_EDGES) return 0
  const code = await ended
  if (code !== 0) throw gitFailure('cat-file', code, 'the pushed folders cannot be read')
  return reader.longestPath()
}

/**
 * Parses trees printed by `git cat-file --batch` in the order of their numbers, and records the lengths of their names
 * and which trees they contain.
 */
class TreeReader {
  longestName = 0
  /** For each tree, its longest name; later the longest path below it. */
  readonly #lengths: number[] = []
  /** For each tree, the index of its first subtree in `#children` and `#names`. */
  readonly #starts: number[] = []
  readonly #children: number[] = []
  readonly #names: number[] = []
  #rest: Buffer = Buffer.alloc(0)
  /** Bytes left of the current tree; negative between trees. */
  #remaining = -1

  constructor(readonly numbers: Map<string, number>) {}

  get edges() {
    return this.#children.length
  }

  consume(chunk: Buffer) {
    const data = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk
    let at = 0
    for (;;) {
      if (this.#remaining < 0) {
        const end = data.indexOf(0x0a, at)
        if (end < 0) break
        const size = / tree (\d+)$/.exec(data.toString('latin1', at, end))?.[1]
        this.#lengths.push(0)
        this.#starts.push(this.#children.length)
        at = end + 1
        if (size !== undefined) this.#remaining = Number(size)
      } else if (this.#remaining === 0) {
        if (at === data.length) break
        at++
        this.#remaining = -1
      } else {
        const end = data.indexOf(0, at)
        // also counts a name whose end has not arrived yet
        if (end < 0) this.longestName = Math.max(this.longestName, data.length - at - 8)
        if (end < 0 || end + 21 > data.length) break
        this.#entry(data, at, end)
        this.#remaining -= end + 21 - at
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
    // mode 40000: a tree
    if (data[at] !== 0x34) return
    const child = this.numbers.get(data.toString('latin1', end + 1, end + 21))
    if (child === undefined) return
    this.#children.push(child)
    this.#names.push(length)
  }

  /** A depth-first traversal: trees cannot contain themselves, so each is finished after all of its subtrees. */
  async longestPath(): Promise<number> {
    const count = this.#lengths.length
    const next = this.#starts.slice()
    const begun = new Uint8Array(count)
    const turn = new Turn()
    let longest = 0
    for (let top = 0; top < count; top++) {
      const stack = begun[top] ? [] : [top]
      for (let tree = stack.at(-1); tree !== undefined; tree = stack.at(-1)) {
        if (turn.over) await turn.end()
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
