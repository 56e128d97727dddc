import { type Command, InvalidArgumentError } from 'commander'
import { readConfig } from '../../config.js'
import { withContext } from '../context.js'
import { printJson } from '../output.js'

const TIME_FORMAT = 'YYYY-MM-DD[Thh:mm:ssZ]'

export function auditCommand(program: Command): void {
  program
    .command('audit')
    .summary('print the audit log')
    .description('Print what was done to users, tokens, members and settings, one JSON object a line, oldest first.')
    .requiredOption('--since <moment>', `the first moment, ${TIME_FORMAT}`, moment)
    .option('--until <moment>', `the last moment, ${TIME_FORMAT}`, moment)
    .action(printAudit)
}

/** Prints the audit log (SEC-168), whether or not the service is running. */
async function printAudit({ since, until }: { since: Date; until?: Date }): Promise<void> {
  await withContext(readConfig(), async (ctx) => {
    const { auditTrail } = await import('../../services/core/audit.js')
    for await (const event of auditTrail(ctx, { since, until })) await printJson(event)
  })
}

function moment(text: string): Date {
  const date = new Date(text)
  if (/^\d{4}-\d{2}-\d{2}/.test(text) && !Number.isNaN(date.getTime())) return date
  throw new InvalidArgumentError('It is not a moment in ISO 8601.')
}
