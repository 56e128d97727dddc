import { parseArgs } from 'node:util'
import { type Config, ConfigFault } from '../config.js'
import type { FailedJob, JobCounts } from '../jobs/overview.js'
import { StartFault } from '../lib/start-fault.js'
import { withContext } from './context.js'

export const JOBS_USAGE = 'roost jobs [--retry ID|all] [--json]'

/** Failed jobs that are listed. */
const MAX_FAILED = 200

/** Prints the jobs by kind and state and those that were set aside, and tries these again; beside a running service or without it. */
export async function tellJobs(given: Config, args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: { retry: { type: 'string' }, json: { type: 'boolean', default: false } } })
  if (values.retry !== undefined && !/^(all|\d{1,15})$/.test(values.retry))
    throw new ConfigFault(`--retry ${values.retry} is neither an id nor 'all'`)
  await withContext(given, async ({ db }) => {
    const { countJobs, failedJobs, retryFailed } = await import('../jobs/overview.js')
    if (values.retry !== undefined) {
      const retried = await retryFailed(db, values.retry === 'all' ? null : Number(values.retry))
      if (retried === 0 && values.retry !== 'all') throw new StartFault(`there is no failed job ${values.retry}`)
      process.stdout.write(values.json ? `${JSON.stringify({ retried })}\n` : `${retried} jobs are tried again\n`)
      return
    }
    const [kinds, failed] = [await countJobs(db), await failedJobs(db, MAX_FAILED)]
    process.stdout.write(values.json ? `${JSON.stringify({ kinds, failed })}\n` : `${table(kinds)}${list(failed)}`)
  })
}

const COLUMNS = ['waiting', 'later', 'running', 'failed', 'delay'] as const

/** A line for each kind, with its numbers below their names. */
function table(kinds: JobCounts[]): string {
  if (kinds.length === 0) return 'no jobs\n'
  const lines = [
    ['kind', ...COLUMNS],
    ...kinds.map((of) => [of.kind, ...COLUMNS.map((name) => (name === 'delay' ? `${Math.round(of.delay)}s` : `${of[name]}`))]),
  ]
  const widths = lines[0]?.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0))) ?? []
  const padded = (cell: string, at: number) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))
  return lines.map((line) => `${line.map(padded).join('  ')}\n`).join('')
}

const list = (failed: FailedJob[]): string =>
  failed
    .map(
      ({ id, kind, payload, attempts, failed_at, error }) =>
        `\nfailed job ${id}: ${kind} ${JSON.stringify(payload)}, ${attempts} attempts, at ${failed_at}\n  ${(error ?? '').replaceAll(/\s+/g, ' ')}\n`,
    )
    .join('')
