import { and, eq, isNull } from 'drizzle-orm'
import type { Context } from '../../context.js'
import { issues, mergeRequests, type TARGETS, users } from '../../db/schema/index.js'
import { setSubscribed } from '../activity/subscriptions.js'

type TargetType = (typeof TARGETS)[number]

/** The user and the issue or merge request of an unsubscribe link. */
export interface MailThread {
  user: number
  type: TargetType
  id: number
}

const PURPOSE = 'unsubscribe'
const textOf = ({ user, type, id }: MailThread) => `${user}-${type}-${id}`

/** The link that unsubscribes a user without sign-in (ML-17). */
export function unsubscribeLink({ links, encryption }: Context, thread: MailThread): string {
  const text = textOf(thread)
  return `${links.base}/sent_notifications/unsubscribe?token=${text}-${encryption.sign(text, PURPOSE)}`
}

/** Decodes the token of such a link; null if it is invalid, or if the user or the target no longer exists. */
export async function threadOf(ctx: Context, token: string): Promise<MailThread | null> {
  const [, user, type, id, signature] = /^(\d{1,15})-(Issue|MergeRequest)-(\d{1,15})-([A-Za-z0-9_-]{1,100})$/.exec(token) ?? []
  if (signature === undefined) return null
  const thread: MailThread = { user: Number(user), type: type as TargetType, id: Number(id) }
  if (!ctx.encryption.verify(textOf(thread), signature, PURPOSE)) return null
  return (await projectOf(ctx, thread)) === null ? null : thread
}

/** The project of the target; null if the target or the user no longer exists. */
async function projectOf({ db }: Context, { user, type, id }: MailThread): Promise<number | null> {
  const [found] =
    type === 'Issue'
      ? await db.write.select({ project: issues.project_id }).from(issues).innerJoin(users, eq(users.id, user)).where(eq(issues.id, id))
      : await db.write
          .select({ project: mergeRequests.project_id })
          .from(mergeRequests)
          .innerJoin(users, eq(users.id, user))
          .where(and(eq(mergeRequests.id, id), isNull(mergeRequests.deleted_at)))
  return found?.project ?? null
}

/** Unsubscribes the user, as the API's `unsubscribe` does (ML-4). */
export async function unsubscribe(ctx: Context, thread: MailThread): Promise<void> {
  const project_id = await projectOf(ctx, thread)
  if (project_id !== null) await setSubscribed(ctx.db.write, { type: thread.type, id: thread.id, project_id }, thread.user, false)
}
