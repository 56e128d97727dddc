import { Readable, type Writable } from 'node:stream'
import { Slice } from '../../lib/async/yield.js'
import { GitFault } from '../errors.js'
import type { ProcessPool } from '../process/pool.js'
import type { LfsPointer, Oid } from '../types.js'

/** Bytes of a file that may be a pointer: clients read no longer one as such. */
export const POINTER_BYTES = { least: 120, most: 1_024 }

const POINTER = /^version https:\/\/(?:git-lfs|hawser)\.github\.com\/spec\/v1\n(?:ext-[^\n]*\n)*oid sha256:([0-9a-f]{64})\nsize (\d{1,15})\n?$/

/** The pointer in a file; null: it is another file. */
export function pointerIn(content: Buffer): LfsPointer | null {
  const found = POINTER.exec(content.toString('latin1'))
  return found ? { oid: found[1] as string, size: Number(found[2]) } : null
}

interface Reading {
  pool: ProcessPool
  directory: string
  env?: NodeJS.ProcessEnv | undefined
  /** Milliseconds. */
  deadline: number
}

/** The pointers among these files, each object once; everything that is no small file is passed over. */
export async function pointersAmong(reading: Reading, blobs: Oid[]): Promise<LfsPointer[]> {
  if (blobs.length === 0) return []
  const found = new Map<string, LfsPointer>()
  await readPointers(reading, Readable.from([`${blobs.join('\n')}\n`]), (pointer) => found.set(pointer.oid, pointer))
  return [...found.values()]
}

/** Passes on the pointers among files whose ids come one on each line. */
async function readPointers({ pool, directory, env, deadline }: Reading, blobs: Readable, take: (pointer: LfsPointer) => void): Promise<void> {
  const child = await pool.start(directory, ['cat-file', '--batch', '--buffer'], { env, deadline, stdio: ['pipe', 'pipe', 'ignore'] })
  const ended = child.exited
  child.stdin?.on('error', () => {})
  blobs.pipe(child.stdin as Writable)
  const slice = new Slice(1)
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of child.stdout as Readable) {
    rest = takeWhole(Buffer.concat([rest, chunk as Buffer]), (content) => {
      const pointer = pointerIn(content)
      if (pointer) take(pointer)
    })
    if (slice.over) await slice.breathe()
  }
  const code = await ended
  if (code !== 0) throw new GitFault('cat-file', code, 'small files cannot be read')
}

/** Passes on each file that has come whole, as `git cat-file --batch` prints them; what is left over is returned. */
function takeWhole(data: Buffer, take: (content: Buffer) => void): Buffer {
  let at = 0
  for (;;) {
    const end = data.indexOf(0x0a, at)
    if (end < 0) break
    const size = / blob (\d+)$/.exec(data.toString('latin1', at, end))?.[1]
    const next = size === undefined ? end + 1 : end + 1 + Number(size) + 1
    if (next > data.length) break
    if (size !== undefined && Number(size) <= POINTER_BYTES.most) take(data.subarray(end + 1, next - 1))
    at = next
  }
  return data.subarray(at)
}

/** Lists small files that commits bring, one id on each line. */
const SMALL_FILES = [
  ...['rev-list', '--objects', '--no-object-names', `--filter=blob:limit=${POINTER_BYTES.most + 1}`, '--filter=object:type=blob'],
  '--filter-provided-objects',
]

/** The pointers that commits bring beyond what `have` and the branches reach. */
export async function pointersOf(pool: ProcessPool, directory: string, commits: Oid[], have: Oid[]): Promise<LfsPointer[]> {
  const input = [...commits, ...have.map((oid) => `^${oid}`), ''].join('\n')
  const { stdout } = await pool.run(directory, [...SMALL_FILES, '--stdin', '--not', '--branches'], { input, deadline: DEADLINE })
  const release = await pool.acquire(directory)
  try {
    return await pointersAmong({ pool, directory, deadline: DEADLINE }, stdout.toString('latin1').split('\n').filter(Boolean))
  } finally {
    release()
  }
}

/**
 * Passes on the pointers in all commits that any ref reaches, an object as often as it is found. Nothing is collected:
 * a history may have millions of small files.
 */
export async function eachPointer(pool: ProcessPool, directory: string, take: (pointer: LfsPointer) => void): Promise<void> {
  const release = await pool.acquire(directory)
  try {
    const lister = await pool.start(directory, [...SMALL_FILES, '--all'], { deadline: LONG, stdio: ['ignore', 'pipe', 'ignore'] })
    await readPointers({ pool, directory, deadline: LONG }, lister.stdout as Readable, take)
    const code = await lister.exited
    if (code !== 0) throw new GitFault('rev-list', code, 'the history cannot be read')
  } finally {
    release()
  }
}

/** Milliseconds: the history of a fork may be long. */
const DEADLINE = 300_000
/** The same for all of a history, in the background. */
const LONG = 900_000
