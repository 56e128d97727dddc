import { gitFailure } from '../errors.js'
import { literalPath } from '../history/log.js'
import type { ProcessPool } from '../process/pool.js'
import { kill } from '../process/spawner.js'
import type { DiffLine, DiffPaths, Oid } from '../types.js'
import { CONFIG, EMPTY_TREE, OPTIONS } from './diff.js'

interface Repository {
  pool: ProcessPool
  directory: string
  env?: NodeJS.ProcessEnv | undefined
}

/**
 * Finds the file in which the diff of two trees shows a line. Unlike displayed diffs this has no limits: only the
 * beginning of each line of one file is read.
 */
export async function findDiffLine(repository: Repository, from: Oid | null, to: Oid, at: DiffLine): Promise<DiffPaths | null> {
  if (at.old_line === null && at.new_line === null) return null
  const change = await changeOf(repository, from ?? EMPTY_TREE, to, at.path)
  if (!change || !(await showsLine(repository, from ?? EMPTY_TREE, to, change, at))) return null
  return { old_path: (change.paths[0] as Buffer).toString('utf8'), new_path: at.path }
}

interface Change {
  oldOid: Oid
  newOid: Oid
  /** The old path and, for a rename, the new one. */
  paths: Buffer[]
}

/** The change with the given new path, with renames detected as in other diffs (C-56). */
async function changeOf(repository: Repository, from: Oid, to: Oid, path: string): Promise<Change | null> {
  const wanted = Buffer.from(path)
  let found: Change | null = null
  let rest: Buffer = Buffer.alloc(0)
  await streamOf(repository, ['diff-tree', ...OPTIONS, '--raw', from, to], (chunk) => {
    const data = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
    let at = 0
    for (;;) {
      const header = data.indexOf(0, at)
      const first = header < 0 ? -1 : data.indexOf(0, header + 1)
      if (first < 0) break
      const [, , oldOid = '', newOid = '', status = ''] = data.toString('latin1', at + 1, header).split(' ')
      const renamed = status.startsWith('R')
      const last = renamed ? data.indexOf(0, first + 1) : first
      if (last < 0) break
      if (data.subarray(renamed ? first + 1 : header + 1, last).equals(wanted)) {
        const names = [data.subarray(header + 1, first), ...(renamed ? [data.subarray(first + 1, last)] : [])]
        found = { oldOid, newOid, paths: names.map((name) => Buffer.from(name)) }
        return false
      }
      at = last + 1
    }
    rest = data.subarray(at)
    return true
  })
  return found
}

/**
 * Whether the diff of a file shows the line. Content lines have a prefix character, so lines that start with `@@` or
 * `index` are headers. The path may be a folder on one side, whose files are then in the output too: the object ids in
 * the `index` header tell which section is that of the file.
 */
async function showsLine(
  repository: Repository,
  from: Oid,
  to: Oid,
  { oldOid, newOid, paths }: Change,
  { old_line, new_line }: DiffLine,
): Promise<boolean> {
  let found = false
  let inFile = false
  /** The next line number on each side. */
  let [left, right] = [0, 0]
  /** Returns false to stop reading. */
  const readLine = (text: string) => {
    const ids = INDEX.exec(text)
    if (ids) {
      if (inFile) return false
      // an added line is in the new content of the file, any other line in the old one
      inFile = old_line === null ? ids[2] === newOid : ids[1] === oldOid
    }
    if (!inFile) return true
    const hunk = HUNK.exec(text)
    if (hunk) [left, right] = [Number(hunk[1]), Number(hunk[2])]
    else if (left > 0 || right > 0) {
      const sign = text[0]
      const removed = sign === '-'
      const added = sign === '+'
      if (!removed && !added && sign !== ' ') return true
      found = old_line === (added ? null : left) && new_line === (removed ? null : right)
      if (!added) left++
      if (!removed) right++
    }
    return !found
  }
  let head = ''
  const names = paths.map((path) => path.toString('utf8'))
  // without a path that can be passed as an argument, the whole diff is searched
  const passable = names.every((name, i) => name.length <= MAX_PATH_CHARS && literalPath(name) === name && paths[i]?.equals(Buffer.from(name)))
  const options = OPTIONS.filter((option) => option !== '-z')
  const args = ['diff-tree', ...options, '-p', '-U3', from, to, '--', ...(passable ? names : [])]
  await streamOf(repository, args, (chunk) => {
    let at = 0
    while (at < chunk.length) {
      const end = chunk.indexOf(0x0a, at)
      const stop = end < 0 ? chunk.length : end
      if (head.length < HEADER_CHARS) head += chunk.toString('latin1', at, Math.min(stop, at + HEADER_CHARS))
      if (end < 0) return true
      if (!readLine(head)) return false
      head = ''
      at = end + 1
    }
    return true
  })
  return found
}

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/
const INDEX = /^index ([0-9a-f]+)\.\.([0-9a-f]+)/
/** Characters of a line that are read, enough for these headers. */
const HEADER_CHARS = 120
const MAX_PATH_CHARS = 20_000

/** Passes git's output to `onChunk` until it returns false. */
async function streamOf({ pool, directory, env }: Repository, args: string[], onChunk: (chunk: Buffer) => boolean): Promise<void> {
  const release = await pool.acquire(directory)
  try {
    const child = await pool.start(directory, [...CONFIG, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    let stopped = false
    let stderr = ''
    child.stderr?.on('data', (chunk: Buffer) => {
      stderr = (stderr + chunk.toString('utf8')).slice(-2_000)
    })
    await new Promise<void>((resolve, reject) => {
      child.stdout?.on('data', (chunk: Buffer) => {
        if (stopped || onChunk(chunk)) return
        stopped = true
        kill(child)
      })
      void child.closed.then((code) => (code === 0 || stopped ? resolve() : reject(gitFailure(args[0] ?? '', code, stderr))))
    })
  } finally {
    release()
  }
}
