import { and, eq, isNull } from 'drizzle-orm'
import type { Context } from '../../context.js'
import { issues, mergeRequests, type TARGETS, users } from '../../db/schema/index.js'
import { setSubscribed } from '../activity/subscriptions.js'

type TargetType = (typeof TARGETS)[number]

/** What a link ends the mails about, and whose mails. */
export interface MailThread {
  user: number
  type: TargetType
  id: number
}

const PURPOSE = 'unsubscribe'
const textOf = ({ user, type, id }: MailThread) => `${user}-${type}-${id}`

/** The link that ends mails about a thing, for one user and without sign-in (ML-17). */
export function unsubscribeLink({ links, encryption }: Context, thread: MailThread): string {
  const text = textOf(thread)
  return `${links.base}/sent_notifications/unsubscribe?token=${text}-${encryption.sign(text, PURPOSE)}`
}

/** What a token of such a link stands for; null: it is none, or what it stands for is gone. */
export async function threadOf(ctx: Context, token: string): Promise<MailThread | null> {
  const [, user, type, id, signature] = /^(\d{1,15})-(Issue|MergeRequest)-(\d{1,15})-([A-Za-z0-9_-]{1,100})$/.exec(token) ?? []
  if (signature === undefined) return null
  const thread: MailThread = { user: Number(user), type: type as TargetType, id: Number(id) }
  if (!ctx.encryption.verify(textOf(thread), signature, PURPOSE)) return null
  return (await projectOf(ctx, thread)) === null ? null : thread
}

/** The project of the thing, if it and the user are there. */
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

/** Ends the mails about a thing, as `unsubscribe` of the API does (ML-4). */
export async function unsubscribe(ctx: Context, thread: MailThread): Promise<void> {
  const project_id = await projectOf(ctx, thread)
  if (project_id !== null) await setSubscribed(ctx.db.write, { type: thread.type, id: thread.id, project_id }, thread.user, false)
}
