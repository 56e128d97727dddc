import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { type Config, ConfigFault } from '../config.js'
import { withContext } from './context.js'

export const AUDIT_USAGE = 'roost audit --since YYYY-MM-DD[Thh:mm:ssZ] [--until …]'

/** Prints the audit log, one JSON object a line, oldest first (SEC-168); while the service runs or without it. */
export async function printAudit(given: Config, args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: { since: { type: 'string' }, until: { type: 'string' } } })
  if (values.since === undefined) throw new ConfigFault(`--since is missing; usage: ${AUDIT_USAGE}`)
  const since = moment('--since', values.since)
  const until = values.until === undefined ? undefined : moment('--until', values.until)
  await withContext(given, async (ctx) => {
    const { auditTrail } = await import('../services/core/audit.js')
    for await (const event of auditTrail(ctx, { since, until })) {
      if (!process.stdout.write(`${JSON.stringify(event)}\n`)) await once(process.stdout, 'drain')
    }
  })
}

function moment(option: string, text: string): Date {
  const date = new Date(text)
  if (!/^\d{4}-\d{2}-\d{2}/.test(text) || Number.isNaN(date.getTime())) throw new ConfigFault(`${option} ${text} is no moment in ISO 8601`)
  return date
}
