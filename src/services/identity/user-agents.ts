import { eq } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import { findIssueFor } from '../../access/issues.js'
import { getProjectFor } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { userAgentDetails } from '../../db/schema/index.js'
import { notFound } from '../../failures.js'

export type UserAgentDetail = typeof userAgentDetails.$inferSelect

/** The item that a call created. */
type CreatedItem = { issue_id: number } | { snippet_id: number }

const MAX_USER_AGENT_LENGTH = 255

/** What is recorded about the call that creates an item (UA-1). */
export const callOrigin = ({ origin }: Context) =>
  origin && { user_agent: origin.userAgent.slice(0, MAX_USER_AGENT_LENGTH), ip_address: origin.address }

/** Records the address and user agent of the call that creates a snippet. */
export async function recordUserAgent(
  ctx: Context,
  db: Pick<Transaction, 'insert'>,
  { user }: SignedIn,
  item: { snippet_id: number },
): Promise<void> {
  const call = callOrigin(ctx)
  if (call) await db.insert(userAgentDetails).values({ ...item, ...call, user_id: user.id, created_at: ctx.now() })
}

/** The recorded user agent of an item; 404 when none was recorded, or its user has been removed. */
export async function userAgentOf(ctx: Context, item: CreatedItem): Promise<UserAgentDetail> {
  const where = 'issue_id' in item ? eq(userAgentDetails.issue_id, item.issue_id) : eq(userAgentDetails.snippet_id, item.snippet_id)
  const [detail] = await ctx.db.read.select().from(userAgentDetails).where(where)
  if (!detail) throw notFound('UserAgentDetail')
  return detail
}

/** The recorded user agent of an issue, by project and iid. */
export async function userAgentOfIssue(ctx: Context, caller: SignedIn, project: string, iid: number): Promise<UserAgentDetail> {
  const subject = await getProjectFor(ctx, caller, project)
  const found = subject.can('read_issue') ? await findIssueFor(ctx, caller, subject, iid) : null
  if (!found) throw notFound()
  return userAgentOf(ctx, { issue_id: found.issue.id })
}
