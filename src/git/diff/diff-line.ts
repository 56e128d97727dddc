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
 * The paths of the file in which the diff of two trees shows a line. Unlike a diff that is displayed it has no limits:
 * only the beginning of each line of one file is read.
 */
export async function findDiffLine(repository: Repository, from: Oid | null, to: Oid, at: DiffLine): Promise<DiffPaths | null> {
  if (at.old_line === null && at.new_line === null) return null
  const change = await changeOf(repository, from ?? EMPTY_TREE, to, at.path)
  if (!change || !(await holdsLine(repository, from ?? EMPTY_TREE, to, change, at))) return null
  return { old_path: (change.paths[0] as Buffer).toString('utf8'), new_path: at.path }
}

interface Change {
  oldOid: Oid
  newOid: Oid
  /** The old path and, for a rename, the new one. */
  paths: Buffer[]
}

/** The change whose new path is this one, with renames detected as everywhere (C-56). */
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
 * Lines of content have a prefix character, so a line that starts with `@@` or `index` is git's own. A path may have
 * been, or become, a folder, whose files are then in the output too: the object ids tell which part is meant.
 */
async function holdsLine(
  repository: Repository,
  from: Oid,
  to: Oid,
  { oldOid, newOid, paths }: Change,
  { old_line, new_line }: DiffLine,
): Promise<boolean> {
  let holds = false
  let meant = false
  /** The number of the next line on each side. */
  let [left, right] = [0, 0]
  /** False when nothing that follows can matter. */
  const judge = (text: string) => {
    const ids = INDEX.exec(text)
    if (ids) {
      if (meant) return false
      // an added line belongs to the new content of the file, any other to the old one
      meant = old_line === null ? ids[2] === newOid : ids[1] === oldOid
    }
    if (!meant) return true
    const hunk = HUNK.exec(text)
    if (hunk) [left, right] = [Number(hunk[1]), Number(hunk[2])]
    else if (left > 0 || right > 0) {
      const sign = text[0]
      const removed = sign === '-'
      const added = sign === '+'
      if (!removed && !added && sign !== ' ') return true
      holds = old_line === (added ? null : left) && new_line === (removed ? null : right)
      if (!added) left++
      if (!removed) right++
    }
    return !holds
  }
  let head = ''
  const names = paths.map((path) => path.toString('utf8'))
  // a path that cannot be passed as an argument is searched for among all the others
  const speakable = names.every((name, i) => name.length <= LONGEST && literalPath(name) === name && paths[i]?.equals(Buffer.from(name)))
  const options = OPTIONS.filter((option) => option !== '-z')
  const args = ['diff-tree', ...options, '-p', '-U3', from, to, '--', ...(speakable ? names : [])]
  await streamOf(repository, args, (chunk) => {
    let at = 0
    while (at < chunk.length) {
      const end = chunk.indexOf(0x0a, at)
      const stop = end < 0 ? chunk.length : end
      if (head.length < HEAD) head += chunk.toString('latin1', at, Math.min(stop, at + HEAD))
      if (end < 0) return true
      if (!judge(head)) return false
      head = ''
      at = end + 1
    }
    return true
  })
  return holds
}

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/
const INDEX = /^index ([0-9a-f]+)\.\.([0-9a-f]+)/
/** Characters of a line that are enough to recognise these headers. */
const HEAD = 120
const LONGEST = 20_000

/** Reads git's output until `take` returns false. */
async function streamOf({ pool, directory, env }: Repository, args: string[], take: (chunk: Buffer) => boolean): Promise<void> {
  const release = await pool.acquire(directory)
  try {
    const child = await pool.start(directory, [...CONFIG, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    let enough = false
    let stderr = ''
    child.stderr?.on('data', (chunk: Buffer) => {
      stderr = (stderr + chunk.toString('utf8')).slice(-2_000)
    })
    await new Promise<void>((resolve, reject) => {
      child.stdout?.on('data', (chunk: Buffer) => {
        if (enough || take(chunk)) return
        enough = true
        kill(child)
      })
      void child.closed.then((code) => (code === 0 || enough ? resolve() : reject(gitFailure(args[0] ?? '', code, stderr))))
    })
  } finally {
    release()
  }
}
