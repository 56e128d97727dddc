import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { coalesceChunks } from '../../lib/async/coalesce-chunks.js'
import { Unavailable } from '../../lib/unavailable.js'
import { gitFailure } from '../errors.js'
import { type GitProcess, kill } from '../process/spawner.js'

/**
 * Pipes the body into git. A git that has read enough does not end the connection, because its answer still has to be
 * sent; a client that stops in the middle ends git.
 */
export function feed(body: Readable, child: GitProcess, leave: () => void) {
  const stdin = child.stdin as Writable
  stdin.on('error', () => {
    body.unpipe(stdin)
    body.resume()
  })
  body.on('error', leave)
  body.on('close', () => {
    if (!body.readableEnded) leave()
  })
  if (body.destroyed) leave()
  else body.pipe(stdin)
}

interface Relaying {
  /** Written before the answer. */
  prefix?: string
  leave?: () => void
  /** Milliseconds without a byte sent after which the answer is ended; 0: never. */
  stall?: number
  /** Whether an exit code that is not 0 is a failure also after the first byte. */
  exits?: boolean
  /** A body that git may still be reading: while it arrives, an answer need not come. */
  asking?: Readable
}

/**
 * Pipes git's output to the client, as fast as the client reads it. Throws when git failed before its first byte, so
 * that a status can still be chosen; afterwards the output itself tells the client. Throws also when git was killed:
 * the output is cut then, and a client that takes it for whole waits for the rest for ever.
 */
export async function relay(
  child: GitProcess,
  out: Writable,
  command: string,
  { prefix = '', leave = () => stop(child), stall = 0, asking, exits = false }: Relaying = {},
) {
  const stderr = errorsOf(child)
  let begun = false
  let gone = false
  let stalled = false
  const closed = finished(out, { readable: false }).catch(() => {
    gone = true
    leave()
  })
  const timer =
    stall > 0
      ? setTimeout(() => {
          stalled = true
          stop(child)
          out.destroy(begun ? new Unavailable(`git ${command} stalled`) : undefined)
        }, stall)
      : undefined
  const moved = () => void timer?.refresh()
  asking?.on('data', moved)
  try {
    for await (const chunk of coalesceChunks(child.stdout as Readable)) {
      if (gone) continue // read on: a git that has begun to move refs must not fail on a full pipe
      if (!begun && prefix) out.write(prefix)
      begun = true
      if (!out.write(chunk)) await Promise.race([once(out, 'drain').catch(() => {}), closed])
      moved()
    }
    const exitCode = await child.closed
    if (gone || stalled) {
      if (stalled && !begun) throw new Unavailable(`git ${command} stalled`)
      return
    }
    if (exitCode !== 0 && (!begun || exits || exitCode === null)) throw failureOf(command, exitCode, stderr())
    out.end()
    moved()
    await closed
  } finally {
    clearTimeout(timer)
    asking?.off('data', moved)
  }
}

/** Waits for a git whose output is read elsewhere. Throws when it failed, unless its client has gone. */
export async function ended(child: GitProcess, command: string, signal: AbortSignal): Promise<void> {
  const stderr = errorsOf(child)
  const exitCode = await child.closed
  if (exitCode !== 0 && !signal.aborted) throw failureOf(command, exitCode, stderr())
}

/** What git has written on standard error so far, or the first part of it. */
function errorsOf(child: GitProcess): () => string {
  let stderr = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    if (stderr.length < 65_536) stderr += text
  })
  return () => stderr
}

const failureOf = (command: string, exitCode: number | null, stderr: string) =>
  exitCode === null ? new Unavailable(`git ${command} was ended`) : gitFailure(command, exitCode, stderr)

/** Lets git clean up after itself, for a moment. */
export function stop(child: GitProcess) {
  if (!child.running) return
  kill(child, 'SIGTERM')
  setTimeout(() => kill(child), 500)
}
