import type { Readable } from 'node:stream'
import { programOnPath } from '../process/environment.js'
import type { ProcessPool } from '../process/pool.js'
import type { ArchiveKind, ArchiveOptions } from '../types.js'
import { outputOf } from './output.js'

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

/** The files of a commit; the same request gives the same bytes. */
export function archive(pool: ProcessPool, directory: string, { kind, commit, prefix, path, signal, holder }: ArchiveOptions): Promise<Readable> {
  const bzip2 = kind === 'tar.bz2' ? ['-c', `tar.tar.bz2.command=${bzip2Path()}`] : []
  const args = [...ARCHIVE_CONFIG, ...bzip2, 'archive', `--format=${kind}`, `--prefix=${prefix}/`, commit, ...(path === '' ? [] : ['--', path])]
  return outputOf(pool, directory, { command: 'archive', args, env: NO_OTHER_PROGRAMS, signal, holder })
}

/** Whether this machine can produce the archive kind. */
export const canArchive = (kind: ArchiveKind): boolean => kind !== 'tar.bz2' || bzip2Path() !== null

/** The path of bzip2, if it has only characters for which git uses no shell. */
function bzip2Path(): string | null {
  const path = programOnPath('bzip2')
  return path && /^[\w./+-]+$/.test(path) ? path : null
}
