import { type Command, InvalidArgumentError } from 'commander'
import { readConfig } from '../../config.js'
import { withContext } from '../context.js'
import { printJson } from '../output.js'

/** How many entries are printed without `--since`. */
const LAST = 50
const TIME_FORMAT = 'YYYY-MM-DD[Thh:mm:ssZ]'

export function auditCommand(program: Command): void {
  program
    .command('audit')
    .summary('print the audit log')
    .description('Print who did what, one JSON object a line, oldest first. Without --since, the last 50 entries.')
    .option('--since <moment>', `the first moment, ${TIME_FORMAT}`, moment)
    .option('--until <moment>', `the last moment, ${TIME_FORMAT}`, moment)
    .action(printAudit)
}

/** Prints the audit log (SEC-168), whether or not the service is running. */
async function printAudit({ since, until }: { since?: Date; until?: Date }): Promise<void> {
  await withContext(readConfig(), async (ctx) => {
    const { auditTrail, lastAuditEvents } = await import('../../services/core/audit.js')
    for await (const event of since ? auditTrail(ctx, { since, until }) : await lastAuditEvents(ctx, LAST, until)) await printJson(event)
  })
}

function moment(text: string): Date {
  const date = new Date(text)
  if (/^\d{4}-\d{2}-\d{2}/.test(text) && !Number.isNaN(date.getTime())) return date
  throw new InvalidArgumentError('It is not a moment in ISO 8601.')
}
