import { randomBytes } from 'node:crypto'
import { GitTimeout } from '../errors.js'
import { BatchProcess, type Exchange, STOP_READING } from '../process/batch-process.js'
import type { ProcessPool } from '../process/pool.js'
import type { Diff, DiffLimits, Oid, Stats } from '../types.js'
import { DiffParser, TOO_LARGE } from './diff-parser.js'

/** The empty tree, which git knows even if it is not stored. */
export const EMPTY_TREE = '4b825dc642cb6eb9a060e54bf8d69288fbee4904'

/**
 * The deadline of a diff: five seconds of the usual thirty. Files of millions of lines with little in common take git
 * much longer; a second attempt omits their text (C-52).
 */
export const deadlineOf = ({ limits }: ProcessPool) => limits.deadline / 6

/** The second attempt treats larger files as binary. */
const SMALL_FILES_ONLY = ['-c', 'core.bigFileThreshold=256k']

/**
 * Neither configuration nor attributes of a repository affect diffs (SEC-85); blobs above 10 MiB count as binary
 * without being read (SEC-146).
 */
export const CONFIG = ['-c', 'core.bigFileThreshold=10m', '-c', 'diff.renameLimit=1000', '-c', 'core.bare=true']
/** Options of every diff of trees. */
export const OPTIONS = [
  '-r',
  '-M50%',
  '--no-ext-diff',
  '--no-textconv',
  '--no-color',
  '--full-index',
  '--src-prefix=a/',
  '--dst-prefix=b/',
  '--diff-algorithm=myers',
  '-z',
]

// `-U3` implies a patch, so it is not among the options above
const PATCH = ['--raw', '-p', '-U3']

/**
 * Diffs of single commits through a long-lived `git diff-tree`. It is given pairs of trees only: given a commit with
 * parents, the process would keep those parents for the rest of its life.
 */
export class DiffTree {
  readonly batchProcess: BatchProcess

  constructor(
    readonly pool: ProcessPool,
    directory: string,
    kind: 'patch' | 'numstat',
    env?: NodeJS.ProcessEnv,
  ) {
    const output = kind === 'patch' ? PATCH : ['--numstat']
    this.batchProcess = new BatchProcess(
      () => pool.start(directory, [...CONFIG, 'diff-tree', '--stdin', ...OPTIONS, ...output], { env, deadline: 0 }),
      deadlineOf(pool),
    )
  }

  /** Needs a process of kind `patch`. */
  async patch(from: Oid, to: Oid, limits: DiffLimits): Promise<Diff> {
    const answer = new PatchAnswer(from, to, limits)
    await this.batchProcess.ask(answer)
    return answer.parser.finish()
  }

  /** Needs a process of kind `numstat`. */
  async stats(from: Oid, to: Oid): Promise<Stats> {
    const answer = new NumstatAnswer(from, to)
    await this.batchProcess.ask(answer)
    return answer.stats
  }

  retire() {
    this.batchProcess.retire()
  }
}

/** Two trees and their repository. */
export interface TreePair {
  pool: ProcessPool
  directory: string
  env?: NodeJS.ProcessEnv | undefined
  from: Oid
  to: Oid
}

/** The diff of any two trees, by a separate process that is read until the limits are reached. */
export async function diffRange(pair: TreePair, limits: DiffLimits): Promise<Diff> {
  const { parser, end } = await patchOf(pair, CONFIG, limits)
  if (end === 'timeout') throw new GitTimeout('git diff-tree ran out of time')
  return parser.finish()
}

/**
 * The diff without the text of large files, as if they were too large to show (C-57); partial if even that times out.
 */
export async function diffWithoutLargeFiles(pair: TreePair, limits: DiffLimits): Promise<Diff> {
  const { parser, end } = await patchOf(pair, [...CONFIG, ...SMALL_FILES_ONLY], limits)
  const { files, truncated, similarity, blobs } = parser.finish()
  return {
    similarity,
    blobs,
    files: files.map((file) => (file.diff.startsWith('Binary files ') ? { ...file, diff: '', ...TOO_LARGE } : file)),
    truncated: truncated || end === 'timeout',
  }
}

async function patchOf({ pool, directory, env, from, to }: TreePair, config: string[], limits: DiffLimits) {
  const parser = new DiffParser(limits, null, false)
  const onChunk = (chunk: Buffer) => {
    parser.consume(chunk)
    return !parser.full
  }
  const args = [...config, 'diff-tree', ...OPTIONS, ...PATCH, from, to]
  return { parser, end: await pool.scan(directory, args, onChunk, { deadline: deadlineOf(pool), ...(env && { env }) }) }
}

/** Line counts without large files, which count as binary; zero if even that times out. */
export async function statsWithoutLargeFiles({ pool, directory, env, from, to }: TreePair): Promise<Stats> {
  const stats: Stats = { additions: 0, deletions: 0 }
  const chunks: Buffer[] = []
  const onChunk = (chunk: Buffer) => chunks.push(chunk) > 0
  const args = [...CONFIG, ...SMALL_FILES_ONLY, 'diff-tree', ...OPTIONS, '--numstat', from, to]
  if ((await pool.scan(directory, args, onChunk, { deadline: deadlineOf(pool), ...(env && { env }) })) === 'timeout') return stats
  const fields = Buffer.concat(chunks).toString('latin1').split('\0')
  for (let at = 0; at < fields.length; at++) {
    const [added = '', deleted = '', path] = (fields[at] as string).split('\t')
    stats.additions += Number(added) || 0
    stats.deletions += Number(deleted) || 0
    if (path === '') at += 2
  }
  return stats
}

/** A line that git echoes after its output, because it is not an object id. */
const endLine = () => Buffer.from(`end ${randomBytes(12).toString('hex')}\n`)

class PatchAnswer implements Exchange {
  readonly input: string
  readonly expectedBytes = 65_536
  readonly #end = endLine()
  parser: DiffParser

  constructor(
    from: Oid,
    to: Oid,
    readonly limits: DiffLimits,
  ) {
    this.input = `${from} ${to}\n${this.#end}`
    this.parser = new DiffParser(limits, this.#end, true)
  }

  consume(chunk: Buffer) {
    const rest = this.parser.consume(chunk)
    return rest === null && this.parser.full ? STOP_READING : rest
  }

  reset() {
    this.parser = new DiffParser(this.limits, this.#end, true)
  }
}

/**
 * `additions TAB deletions TAB path NUL`, with `-` for binary files; for a rename the path is empty and two paths
 * follow.
 */
class NumstatAnswer implements Exchange {
  readonly input: string
  readonly expectedBytes = 4_096
  readonly #end = endLine()
  stats: Stats = { additions: 0, deletions: 0 }
  #rest: Buffer = Buffer.alloc(0)
  #skip = 0
  #started = false

  constructor(from: Oid, to: Oid) {
    this.input = `${from} ${to}\n${this.#end}`
  }

  consume(chunk: Buffer): Buffer | null {
    const data = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk
    let at = 0
    if (!this.#started) {
      at = data.indexOf(0x0a) + 1
      if (at === 0) return this.#wait(data)
      this.#started = true
    }
    for (;;) {
      const first = data[at]
      if (first === undefined) return this.#wait(data.subarray(at))
      // only the end line starts with a letter, except where a path is expected
      if (this.#skip === 0 && first === 0x65) {
        if (data.length - at < this.#end.length) return this.#wait(data.subarray(at))
        return data.subarray(at + this.#end.length)
      }
      if (this.#skip === 0 && first !== 0x2d && (first < 0x30 || first > 0x39)) throw new Error('unexpected output of git diff-tree')
      const stop = data.indexOf(0, at)
      if (stop < 0) return this.#wait(data.subarray(at))
      if (this.#skip > 0) this.#skip--
      else {
        const [added = '', deleted = '', path] = data.toString('latin1', at, stop).split('\t')
        this.stats.additions += Number(added) || 0
        this.stats.deletions += Number(deleted) || 0
        if (path === '') this.#skip = 2
      }
      at = stop + 1
    }
  }

  reset() {
    this.stats = { additions: 0, deletions: 0 }
    this.#rest = Buffer.alloc(0)
    this.#skip = 0
    this.#started = false
  }

  #wait(rest: Buffer): null {
    this.#rest = rest
    return null
  }
}
