import type { Readable } from 'node:stream'
import { EMPTY_TREE } from '../diff/diff.js'
import type { ProcessPool } from '../process/pool.js'
import type { PatchOptions } from '../types.js'
import { NO_OTHER_PROGRAMS } from './archive.js'
import { outputOf } from './output.js'

/** The most commits of a patch series. */
const MAX_COMMITS = 1_000

/** Git refuses to compare line by line what needs more memory than this (SEC-147). */
const CONFIG = ['-c', 'core.bigFileThreshold=32m']
const OPTIONS = ['--no-ext-diff', '--no-textconv', '--no-color', '--binary', '--full-index', '--find-renames']

/** The changes between two commits, as `git apply` and `git am` read them. */
export function patch(pool: ProcessPool, directory: string, { kind, from, to, signal, holder }: PatchOptions): Promise<Readable> {
  const diff = ['diff', ...OPTIONS, from ?? EMPTY_TREE, to]
  const series = [
    'format-patch',
    '--stdout',
    '--no-signature',
    `--max-count=${MAX_COMMITS}`,
    ...OPTIONS,
    ...(from ? [`${from}..${to}`] : ['--root', to]),
  ]
  const args = [...CONFIG, ...(kind === 'diff' ? diff : series)]
  return outputOf(pool, directory, { command: kind, args, env: NO_OTHER_PROGRAMS, signal, holder })
}
