import { finished, Readable } from 'node:stream'
import { GitFault, gitFailure } from '../errors.js'
import { programOnPath } from '../process/environment.js'
import type { ProcessPool } from '../process/pool.js'
import { kill } from '../process/spawner.js'
import type { ArchiveKind, ArchiveOptions } from '../types.js'

/**
 * Git compresses internally, except bzip2, which it starts without a shell (SEC-79). Large files are streamed
 * (SEC-147).
 */
export const ARCHIVE_CONFIG = ['-c', 'tar.tar.gz.command=git archive gzip', '-c', 'core.bigFileThreshold=32m']

/**
 * Keeps git from finding other programs: a repository's attributes could otherwise make it start a signature verifier
 * (SEC-85).
 */
export const NO_OTHER_PROGRAMS = { PATH: '/nonexistent' }

/** An archive is cancelled when the client reads nothing for this long. */
const STALL_TIMEOUT_MS = 30_000

/**
 * The files of a commit as a stream with backpressure; the same request gives the same bytes. Rejects if git fails
 * before the first byte. Use a separate pool: a download occupies its slot for as long as it takes.
 */
export async function archive(
  pool: ProcessPool,
  directory: string,
  { kind, commit, prefix, path, signal, holder }: ArchiveOptions,
): Promise<Readable> {
  const release = await pool.acquire(directory, signal, holder)
  try {
    const bzip2 = kind === 'tar.bz2' ? ['-c', `tar.tar.bz2.command=${bzip2Path()}`] : []
    const args = [...ARCHIVE_CONFIG, ...bzip2, 'archive', `--format=${kind}`, `--prefix=${prefix}/`, commit, ...(path === '' ? [] : ['--', path])]
    const child = await pool.start(directory, args, { env: NO_OTHER_PROGRAMS, signal, stdio: ['ignore', 'pipe', 'pipe'] })
    let stderr = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      if (stderr.length < 65_536) stderr += text
    })
    void child.closed.then(release)
    const stdout = child.stdout as Readable
    await Promise.race([new Promise<void>((resolve) => stdout.once('readable', resolve)), child.closed])
    if (signal.aborted || stdout.readableLength === 0) {
      stdout.resume()
      throw signal.aborted ? signal.reason : gitFailure('archive', await child.closed, stderr)
    }

    const relay = async function* () {
      for await (const chunk of stdout) {
        timer.refresh()
        yield chunk as Buffer
      }
      // a truncated archive must not look complete
      const code = await child.closed
      if (code !== 0) throw gitFailure('archive', code, stderr)
    }
    const out = Readable.from(relay(), { objectMode: false })
    const timer = setTimeout(() => out.destroy(new GitFault('archive', null, 'stalled')), STALL_TIMEOUT_MS)
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

/** Whether this machine can produce the archive kind. */
export const canArchive = (kind: ArchiveKind): boolean => kind !== 'tar.bz2' || bzip2Path() !== null

/** The path of bzip2, if it has only characters for which git uses no shell. */
function bzip2Path(): string | null {
  const path = programOnPath('bzip2')
  return path && /^[\w./+-]+$/.test(path) ? path : null
}
