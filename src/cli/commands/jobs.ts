import type { Command } from 'commander'
import { readConfig } from '../../config.js'
import type { FailedJob, JobCounts } from '../../jobs/overview.js'
import { StartFault } from '../../lib/start-fault.js'
import { withContext } from '../context.js'
import { id, numberOr } from '../numbers.js'
import { print, printJson, table } from '../output.js'

/** The maximum number of failed jobs to list. */
const MAX_FAILED = 200

export function jobsCommand(program: Command): void {
  program
    .command('jobs')
    .summary('show work in the background, and retry what failed')
    .description('Print the jobs by kind (waiting, due later, running, failed, delay of the oldest), and those that failed with their errors.')
    .option('--retry <id>', 'try a failed job again, or all of them', idOrAll)
    .option('--remove <id>', 'remove a failed job, which is then never done', id)
    .option('--json', 'as JSON')
    .action(showJobs)
}

/** Works whether or not the service is running. */
async function showJobs({ retry, remove, json }: { retry?: number | 'all'; remove?: number; json?: boolean }): Promise<void> {
  await withContext(readConfig(), async (ctx) => {
    const [{ countJobs, failedJobs }, { removeJob, retryJobs }] = await Promise.all([
      import('../../jobs/overview.js'),
      import('../../services/operations/job-queue.js'),
    ])
    if (retry !== undefined) {
      const retried = await retryJobs(ctx, retry === 'all' ? null : retry)
      if (retried === 0 && retry !== 'all') throw new StartFault(`there is no failed job ${retry}`)
      return json ? printJson({ retried }) : print(`${retried} jobs are tried again\n`)
    }
    if (remove !== undefined) {
      if (!(await removeJob(ctx, remove))) throw new StartFault(`there is no failed job ${remove}`)
      return json ? printJson({ removed: remove }) : print(`job ${remove} is removed\n`)
    }
    const [kinds, failed] = [await countJobs(ctx.db), await failedJobs(ctx.db, MAX_FAILED)]
    return json ? printJson({ kinds, failed }) : print(`${overview(kinds)}${list(failed)}`)
  })
}

const idOrAll = (text: string): number | 'all' => (text === 'all' ? text : numberOr("It is neither an id nor 'all'.")(text))

const overview = (kinds: JobCounts[]): string =>
  kinds.length === 0
    ? 'no jobs\n'
    : table(
        ['kind', 'waiting', 'later', 'running', 'failed', 'delay'],
        kinds.map(({ kind, waiting, later, running, failed, delay }) => [kind, waiting, later, running, failed, `${Math.round(delay)}s`]),
      )

const list = (failed: FailedJob[]): string =>
  failed
    .map(
      ({ id, kind, payload, attempts, failed_at, error }) =>
        `\nfailed job ${id}: ${kind} ${JSON.stringify(payload)}, ${attempts} attempts, at ${failed_at}\n  ${(error ?? '').replaceAll(/\s+/g, ' ')}\n`,
    )
    .join('')
