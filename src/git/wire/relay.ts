import { once } from 'node:events'
import type { Readable, Transform, Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { coalesceChunks } from '../../lib/async/coalesce-chunks.js'
import { Unavailable } from '../../lib/unavailable.js'
import { gitFailure } from '../errors.js'
import { type GitProcess, kill } from '../process/spawner.js'

/**
 * Pipes the body into git, through `guard` if there is one, which may end git's input early. When git stops reading, the
 * connection stays open for its answer; a client that disconnects in the middle of the body triggers `onDisconnect`.
 */
export function pipeInput(body: Readable, child: GitProcess, onDisconnect: () => void, guard?: Transform) {
  const stdin = child.stdin as Writable
  const first = guard ?? stdin
  stdin.on('error', () => {
    body.unpipe(first)
    guard?.destroy()
    body.resume()
  })
  body.on('error', onDisconnect)
  body.on('close', () => {
    if (!body.readableEnded) onDisconnect()
  })
  guard?.pipe(stdin)
  if (body.destroyed) onDisconnect()
  else body.pipe(first)
}

interface RelayOptions {
  /** Written before git's output. */
  prefix?: string
  onDisconnect?: () => void
  /** Milliseconds without progress after which the response is aborted; 0 means never. */
  stall?: number
  /** Whether a nonzero exit code is an error even after the first byte. */
  checkExitCode?: boolean
  /** The request body: data arriving there counts as progress. */
  input?: Readable
  /** Changes git's output on its way. */
  transform?: (chunks: AsyncIterable<Buffer>) => AsyncIterable<Buffer>
}

/**
 * Pipes git's output to the client with backpressure. Throws if git fails before its first byte, so that an HTTP status
 * can still be chosen; after that, git's output itself reports the error. Also throws if git was killed, because the
 * output is cut off then, and a client that took it for complete would wait for the rest forever.
 */
export async function relay(
  child: GitProcess,
  out: Writable,
  command: string,
  { prefix = '', onDisconnect = () => stop(child), stall = 0, input, checkExitCode = false, transform = (chunks) => chunks }: RelayOptions = {},
) {
  const stderr = errorsOf(child)
  let started = false
  let disconnected = false
  let stalled = false
  const closed = finished(out, { readable: false }).catch(() => {
    disconnected = true
    onDisconnect()
  })
  const timer =
    stall > 0
      ? setTimeout(() => {
          stalled = true
          stop(child)
          out.destroy(started ? new Unavailable(`git ${command} stalled`) : undefined)
        }, stall)
      : undefined
  const onProgress = () => void timer?.refresh()
  input?.on('data', onProgress)
  try {
    for await (const chunk of transform(coalesceChunks(child.stdout as Readable))) {
      if (disconnected) continue // keep reading: git must not fail on a full pipe while it moves refs
      if (!started && prefix) out.write(prefix)
      started = true
      if (!out.write(chunk)) await Promise.race([once(out, 'drain').catch(() => {}), closed])
      onProgress()
    }
    const exitCode = await child.closed
    if (disconnected || stalled) {
      if (stalled && !started) throw new Unavailable(`git ${command} stalled`)
      return
    }
    if (exitCode !== 0 && (!started || checkExitCode || exitCode === null)) throw gitFailure(command, exitCode, stderr())
    out.end()
    onProgress()
    await closed
  } finally {
    clearTimeout(timer)
    input?.off('data', onProgress)
  }
}

/** Waits for a git process whose output is read elsewhere. Throws if it fails, unless the request was aborted. */
export async function waitForExit(child: GitProcess, command: string, signal: AbortSignal): Promise<void> {
  const stderr = errorsOf(child)
  const exitCode = await child.closed
  if (exitCode !== 0 && !signal.aborted) throw gitFailure(command, exitCode, stderr())
}

/** Collects the first 64 KiB of git's stderr. */
function errorsOf(child: GitProcess): () => string {
  let stderr = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    if (stderr.length < 65_536) stderr += text
  })
  return () => stderr
}

/** Terminates git, giving it half a second to clean up. */
export function stop(child: GitProcess) {
  if (!child.running) return
  kill(child, 'SIGTERM')
  setTimeout(() => kill(child), 500)
}
