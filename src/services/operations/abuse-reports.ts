import { and, desc, eq, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import { z } from 'zod'
import type { SignedIn } from '../../access/actor.js'
import type { Context } from '../../context.js'
import { onlyRow } from '../../db/only-row.js'
import { abuseReports, users } from '../../db/schema/index.js'
import { invalidRecord, notFound, tooMany } from '../../failures.js'
import { enqueue } from '../../jobs/enqueue.js'
import { type Attempt, defineJob } from '../../jobs/kinds.js'
import { lengthOf, tooLong } from '../../rules/path.js'
import { audit } from '../core/audit.js'
import { MAIL_JOB, MAIL_LANE, mailHost, messageId, sendMessage } from '../core/mail.js'
import { limits, type Page, type Paging } from '../core/page.js'
import { readSettings } from '../core/settings.js'
import { getUser, type User } from '../identity/users.js'

type Report = typeof abuseReports.$inferSelect

/** A report with the people that it is from and about. */
export interface AbuseReport {
  report: Report
  reporter: Pick<User, 'username' | 'name'>
  user: Pick<User, 'username' | 'name' | 'state' | 'created_at'>
}

const MAX_MESSAGE = 5_000
/** Reports of one user in a day. */
const MAX_REPORTS = 20
const DAY_S = 86_400

/** The person that a report is about; 404 if there is none. */
export async function reportable(ctx: Context, id: number): Promise<User> {
  const user = await getUser(ctx, id)
  if (user.kind !== 'human' || user.removal !== null) throw notFound('User')
  return user
}

/** Tells the administrators about a user, once by each reporter (WB-184). */
export async function reportAbuse(ctx: Context, { user: reporter }: SignedIn, userId: number, message: string): Promise<Report> {
  const { id: user_id } = await reportable(ctx, userId)
  const faults: Record<string, string[]> = {}
  if (message.trim() === '') faults['message'] = ["can't be blank"]
  else if (lengthOf(message) > MAX_MESSAGE) faults['message'] = [tooLong(MAX_MESSAGE)]
  if (user_id === reporter.id) faults['user_id'] = ['is your own account']
  if (Object.keys(faults).length > 0) throw invalidRecord(faults)
  const { count, until } = await ctx.access.counters.add(`abuse reports ${reporter.id}`, DAY_S)
  if (count > MAX_REPORTS) throw tooMany(Math.max(1, Math.ceil((until.getTime() - ctx.now().getTime()) / 1_000)))
  const { admin_notification_email } = await readSettings(ctx)
  return ctx.db.transaction(async (tx) => {
    const created = await tx
      .insert(abuseReports)
      .values({ reporter_id: reporter.id, user_id, message, created_at: ctx.now() })
      .onConflictDoNothing()
      .returning()
    if (created.length === 0) throw invalidRecord({ user_id: ['has already been reported by you'] })
    const report = onlyRow(created)
    if (ctx.mail !== null && admin_notification_email) await enqueue(tx, abuseMail, { report: report.id }, MAIL_LANE)
    return report
  })
}

const reporters = alias(users, 'reporters')
const columns = {
  report: abuseReports,
  reporter: { username: reporters.username, name: reporters.name },
  user: { username: users.username, name: users.name, state: users.state, created_at: users.created_at },
}

/** The reports that nobody has closed, the newest first. */
export async function listReports({ db }: Context, paging: Paging): Promise<Page<AbuseReport>> {
  const { limit, offset } = limits(paging)
  const [items, total] = await Promise.all([
    db.write
      .select(columns)
      .from(abuseReports)
      .innerJoin(reporters, eq(reporters.id, abuseReports.reporter_id))
      .innerJoin(users, eq(users.id, abuseReports.user_id))
      .orderBy(desc(abuseReports.id))
      .limit(limit)
      .offset(offset),
    db.read.$count(abuseReports),
  ])
  return { items, total }
}

/** Closes a report: it is removed, and the audit log keeps what it was about. */
export async function closeReport(ctx: Context, id: number): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const [report] = await tx.delete(abuseReports).where(eq(abuseReports.id, id)).returning()
    if (!report) throw notFound()
    const [user] = await tx.select({ username: users.username }).from(users).where(eq(users.id, report.user_id))
    await audit(ctx, tx, {
      action: 'abuse_report_closed',
      target: { type: 'user', id: report.user_id, name: user?.username ?? '' },
      changes: { report: id, reporter_id: report.reporter_id },
    })
  })
}

/** Mails `admin_notification_email` a report. */
export const abuseMail = defineJob({
  ...MAIL_JOB,
  kind: 'mail: abuse report',
  input: z.object({ report: z.int() }),
  async run(ctx: Context, { report: id }, { id: job, signal }: Attempt) {
    const { admin_notification_email: address } = await readSettings(ctx)
    if (!ctx.mail || !address) return
    const [found] = await ctx.db.write
      .select(columns)
      .from(abuseReports)
      .innerJoin(reporters, eq(reporters.id, abuseReports.reporter_id))
      .innerJoin(users, and(eq(users.id, abuseReports.user_id), sql`${abuseReports.id} = ${id}`))
    if (!found) return
    const message = {
      kind: 'abuse_report',
      to: { name: '', address },
      subject: `Abuse report about ${found.user.username}`,
      messageId: messageId(ctx, `mail-${job}`),
      parts: [
        `At ${mailHost(ctx.links.base)} ${found.reporter.username} reports ${found.user.username}:`,
        found.report.message,
        { text: 'All reports', link: `${ctx.links.base}/admin/abuse_reports`, button: true },
      ],
      footer: [{ text: 'Sent by', link: ctx.links.base }],
    }
    await sendMessage(ctx, message, signal)
  },
})
