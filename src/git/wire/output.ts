import { finished, Readable } from 'node:stream'
import { GitFault, gitFailure } from '../errors.js'
import type { ProcessPool } from '../process/pool.js'
import { kill } from '../process/spawner.js'

/** A download is cancelled when the client reads nothing for this long. */
const STALL_TIMEOUT_MS = 30_000

export interface OutputOptions {
  /** Git's arguments, with its command at `command`. */
  args: string[]
  command: string
  env?: NodeJS.ProcessEnv
  /** Kills git when aborted. */
  signal: AbortSignal
  /** The user or client address that the process counts against. */
  holder?: string | undefined
}

/**
 * What git writes, as a stream with backpressure. Rejects if git fails before the first byte. Use a separate pool: a
 * download occupies its slot for as long as it takes.
 */
export async function outputOf(pool: ProcessPool, directory: string, { args, command, env, signal, holder }: OutputOptions): Promise<Readable> {
  const release = await pool.acquire(directory, signal, holder)
  try {
    const child = await pool.start(directory, args, { ...(env && { env }), signal, stdio: ['ignore', 'pipe', 'pipe'] })
    let stderr = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      if (stderr.length < 65_536) stderr += text
    })
    void child.closed.then(release)
    const stdout = child.stdout as Readable
    await Promise.race([new Promise<void>((resolve) => stdout.once('readable', resolve)), child.closed])
    if (signal.aborted || stdout.readableLength === 0) {
      stdout.resume()
      const code = await child.closed
      if (signal.aborted) throw signal.reason
      if (code !== 0) throw gitFailure(command, code, stderr)
      return Readable.from([], { objectMode: false })
    }

    const relay = async function* () {
      for await (const chunk of stdout) {
        timer.refresh()
        yield chunk as Buffer
      }
      // truncated output must not look complete
      const code = await child.closed
      if (code !== 0) throw gitFailure(command, code, stderr)
    }
    const out = Readable.from(relay(), { objectMode: false })
    const timer = setTimeout(() => out.destroy(new GitFault(command, null, 'stalled')), STALL_TIMEOUT_MS)
    finished(out, () => {
      clearTimeout(timer)
      stdout.destroy()
      kill(child)
    })
    return out
  } catch (fault) {
    release()
    throw fault
  }
}
