import { Readable, type Writable } from 'node:stream'
import { Turn } from '../../lib/async/yield.js'
import { gitFailure } from '../errors.js'
import type { ProcessPool } from '../process/pool.js'
import type { LfsPointer, Oid } from '../types.js'

/** The size range of a pointer file; Git LFS clients do not treat larger files as pointers. */
export const POINTER_BYTES = { min: 120, max: 1_024 }

const POINTER = /^version https:\/\/(?:git-lfs|hawser)\.github\.com\/spec\/v1\n(?:ext-[^\n]*\n)*oid sha256:([0-9a-f]{64})\nsize (\d{1,15})\n?$/

/** Parses a pointer file; null if it is another file. */
export function pointerIn(content: Buffer): LfsPointer | null {
  const found = POINTER.exec(content.toString('latin1'))
  return found ? { oid: found[1] as string, size: Number(found[2]) } : null
}

interface ReadOptions {
  pool: ProcessPool
  directory: string
  env?: NodeJS.ProcessEnv | undefined
  /** Milliseconds. */
  deadline: number
}

/** The pointers among these blobs, one per object; other objects and large files are skipped. */
export async function pointersAmong(options: ReadOptions, blobs: Oid[]): Promise<LfsPointer[]> {
  if (blobs.length === 0) return []
  const found = new Map<string, LfsPointer>()
  await readPointers(options, Readable.from([`${blobs.join('\n')}\n`]), (pointer) => found.set(pointer.oid, pointer))
  return [...found.values()]
}

/** Calls `visit` for the pointers among blobs, whose ids come one per line. */
async function readPointers({ pool, directory, env, deadline }: ReadOptions, blobs: Readable, visit: (pointer: LfsPointer) => void): Promise<void> {
  const child = await pool.start(directory, ['cat-file', '--batch', '--buffer'], { env, deadline, stdio: ['pipe', 'pipe', 'ignore'] })
  const ended = child.exited
  child.stdin?.on('error', () => {})
  blobs.pipe(child.stdin as Writable)
  const turn = new Turn(1)
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of child.stdout as Readable) {
    rest = readWholeFiles(Buffer.concat([rest, chunk as Buffer]), (content) => {
      const pointer = pointerIn(content)
      if (pointer) visit(pointer)
    })
    if (turn.over) await turn.end()
  }
  const code = await ended
  if (code !== 0) throw gitFailure('cat-file', code, 'small files cannot be read')
}

/** Calls `visit` for each complete file in the output of `git cat-file --batch`; returns the rest. */
function readWholeFiles(data: Buffer, visit: (content: Buffer) => void): Buffer {
  let at = 0
  for (;;) {
    const end = data.indexOf(0x0a, at)
    if (end < 0) break
    const size = / blob (\d+)$/.exec(data.toString('latin1', at, end))?.[1]
    const next = size === undefined ? end + 1 : end + 1 + Number(size) + 1
    if (next > data.length) break
    if (size !== undefined && Number(size) <= POINTER_BYTES.max) visit(data.subarray(end + 1, next - 1))
    at = next
  }
  return data.subarray(at)
}

/** Lists the small files that commits add, one id per line. */
const SMALL_FILES = [
  ...['rev-list', '--objects', '--no-object-names', `--filter=blob:limit=${POINTER_BYTES.max + 1}`, '--filter=object:type=blob'],
  '--filter-provided-objects',
]

/** The pointers that commits add to what `have` and the branches reach. */
export async function pointersOf(pool: ProcessPool, directory: string, commits: Oid[], have: Oid[]): Promise<LfsPointer[]> {
  const input = [...commits, ...have.map((oid) => `^${oid}`), ''].join('\n')
  const { stdout } = await pool.run(directory, [...SMALL_FILES, '--stdin', '--not', '--branches'], { input, deadline: DEADLINE_MS })
  const release = await pool.acquire(directory)
  try {
    return await pointersAmong({ pool, directory, deadline: DEADLINE_MS }, stdout.toString('latin1').split('\n').filter(Boolean))
  } finally {
    release()
  }
}

/**
 * Calls `visit` for the pointers in all commits that refs reach, without removing duplicates. Nothing is collected in
 * memory, because a history may have millions of small files.
 */
export async function forEachPointer(pool: ProcessPool, directory: string, visit: (pointer: LfsPointer) => void): Promise<void> {
  const release = await pool.acquire(directory)
  try {
    const lister = await pool.start(directory, [...SMALL_FILES, '--all'], { deadline: HISTORY_DEADLINE_MS, stdio: ['ignore', 'pipe', 'ignore'] })
    await readPointers({ pool, directory, deadline: HISTORY_DEADLINE_MS }, lister.stdout as Readable, visit)
    const code = await lister.exited
    if (code !== 0) throw gitFailure('rev-list', code, 'the history cannot be read')
  } finally {
    release()
  }
}

/** The history of a fork may be long. */
const DEADLINE_MS = 300_000
/** For whole histories, in the background. */
const HISTORY_DEADLINE_MS = 900_000
