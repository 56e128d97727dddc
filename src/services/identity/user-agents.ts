import { eq } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import { findIssueFor } from '../../access/issues.js'
import { findProjectFor } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { userAgentDetails } from '../../db/schema/index.js'
import { notFound } from '../../failures.js'

export type UserAgentDetail = typeof userAgentDetails.$inferSelect

/** What was created. */
type Made = { issue_id: number } | { snippet_id: number }

/** Characters of a user agent that are kept. */
const LONGEST = 255

/** What is recorded of the call that creates something (UA-1). */
export const callMade = ({ origin }: Context) => origin && { user_agent: origin.userAgent.slice(0, LONGEST), ip_address: origin.address }

/** Records the address and user agent of the call that creates a snippet. */
export async function recordUserAgent(
  ctx: Context,
  db: Pick<Transaction, 'insert'>,
  { user }: SignedIn,
  made: { snippet_id: number },
): Promise<void> {
  const call = callMade(ctx)
  if (call) await db.insert(userAgentDetails).values({ ...made, ...call, user_id: user.id, created_at: ctx.now() })
}

/** What was recorded; 404 for what was created before that was done, or by a user who is gone. */
export async function userAgentOf(ctx: Context, made: Made): Promise<UserAgentDetail> {
  const where = 'issue_id' in made ? eq(userAgentDetails.issue_id, made.issue_id) : eq(userAgentDetails.snippet_id, made.snippet_id)
  const [detail] = await ctx.db.read.select().from(userAgentDetails).where(where)
  if (!detail) throw notFound('UserAgentDetail')
  return detail
}

/** Of an issue by its project and number. */
export async function userAgentOfIssue(ctx: Context, caller: SignedIn, project: string, iid: number): Promise<UserAgentDetail> {
  const subject = await findProjectFor(ctx, caller, project)
  const found = subject.can('read_issue') ? await findIssueFor(ctx, caller, subject, iid) : null
  if (!found) throw notFound()
  return userAgentOf(ctx, { issue_id: found.issue.id })
}
