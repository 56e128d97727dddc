import { sql } from 'drizzle-orm'
import { z } from 'zod'
import type { Context } from '../../context.js'
import { namespaces, projects, repositoryChecks } from '../../db/schema/index.js'
import { enqueue } from '../../jobs/enqueue.js'
import { type Attempt, defineJob } from '../../jobs/kinds.js'
import { MAIL_JOB, MAIL_LANE, messageId, sendMessage } from '../core/mail.js'
import { readSettings } from '../core/settings.js'

/** How long damage is collected for one mail. */
const COLLECT_MS = 600_000
/** The most repositories that a mail lists. */
const MAX_LISTED = 50

/** Mails `admin_notification_email` the repositories that checks have recently found damaged (ML-22). */
export const damageMail = defineJob({
  ...MAIL_JOB,
  kind: 'mail: damage',
  input: z.object({ since: z.iso.datetime() }),
  async run(ctx: Context, { since }, { id, signal }: Attempt) {
    const { admin_notification_email: address } = await readSettings(ctx)
    if (!ctx.mail || !address) return
    const { rows } = await ctx.db.write.execute<{ path: string; fault: string }>(sql`
      select n.full_path || '/' || p.path as path, c.fault from ${repositoryChecks} c join ${projects} p on p.id = c.project_id
      join ${namespaces} n on n.id = p.namespace_id where c.fault <> '' and c.checked_at >= ${since}::timestamptz order by 1 limit ${MAX_LISTED + 1}`)
    if (rows.length === 0) return
    const named = rows.slice(0, MAX_LISTED).map(({ path, fault }) => `${path}: ${fault}`)
    const message = {
      kind: 'damage',
      to: { name: '', address },
      subject: 'Repositories are damaged',
      messageId: messageId(ctx, `mail-${id}`),
      parts: [
        'A check of all objects has found damage:',
        ...named,
        ...(rows.length > MAX_LISTED ? ['There are more.'] : []),
        'roost doctor says more.',
      ],
      footer: [{ text: 'Sent by', link: ctx.links.base }],
    }
    await sendMessage(ctx, message, signal)
  },
})

/** Enqueues one mail about all damage that is found within `COLLECT_MS`. */
export async function enqueueDamageMail(ctx: Context): Promise<void> {
  if (ctx.mail === null || !(await readSettings(ctx)).admin_notification_email) return
  const since = new Date(ctx.now().getTime() - COLLECT_MS).toISOString()
  await enqueue(ctx.db, damageMail, { since }, { ...MAIL_LANE, key: 'damage', delay: COLLECT_MS })
}
