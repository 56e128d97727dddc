import { and, eq, isNull, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { emails, notificationSettings, users } from '../../db/schema/index.js'
import { retryOnUniqueViolation } from '../../db/unique-violation.js'
import { invalidRecord } from '../../failures.js'
import { normaliseEmail } from '../../rules/email.js'
import type { MailEvent, NotificationLevel } from '../../rules/notifications.js'

/** What a setting is for: a project, a group, or everything. */
export type SettingSource = { project_id: number } | { namespace_id: number } | 'everything'

export interface NotificationSetting {
  level: NotificationLevel
  events: MailEvent[]
  /** The address that mails go to; only in the setting for everything. */
  notification_email: string | null
}

export interface SettingChange {
  level?: NotificationLevel | undefined
  notification_email?: string | undefined
  /** Events to switch on or off. */
  events: { [event in MailEvent]?: boolean | undefined }
}

/** Events that are on by default (ML-6). */
const DEFAULT_EVENTS: MailEvent[] = ['failed_pipeline']

const settingOf = (userId: number, source: SettingSource) =>
  and(
    eq(notificationSettings.user_id, userId),
    source !== 'everything' && 'project_id' in source
      ? eq(notificationSettings.project_id, source.project_id)
      : isNull(notificationSettings.project_id),
    source !== 'everything' && 'namespace_id' in source
      ? eq(notificationSettings.namespace_id, source.namespace_id)
      : isNull(notificationSettings.namespace_id),
  )

type Row = typeof notificationSettings.$inferSelect

const defaultSetting = (source: SettingSource): Pick<Row, 'level' | 'events' | 'email'> => ({
  level: source === 'everything' ? 'participating' : 'global',
  events: DEFAULT_EVENTS,
  email: null,
})

/** The user's setting, or the default (ML-2). */
export async function showNotificationSetting(
  ctx: Context,
  user: { id: number; email: string },
  source: SettingSource,
): Promise<NotificationSetting> {
  const [row] = await ctx.db.write.select().from(notificationSettings).where(settingOf(user.id, source))
  const { level, events, email } = row ?? defaultSetting(source)
  const address = source === 'everything' ? ((await ownAddress(ctx.db.write, user.id, email)) ?? user.email) : null
  return { level, events, notification_email: address }
}

/** Changes the given attributes (OT-9). */
export async function updateNotificationSetting(
  ctx: Context,
  user: { id: number; email: string },
  source: SettingSource,
  { level, notification_email, events }: SettingChange,
): Promise<NotificationSetting> {
  const email = notification_email === undefined ? undefined : normaliseEmail(notification_email)
  const update = () =>
    ctx.db.transaction(async (tx) => {
      if (email !== undefined && email !== normaliseEmail(user.email) && (await ownAddress(tx, user.id, email)) === null)
        throw invalidRecord({ notification_email: ['is not an email you own'] })
      const [row] = await tx.select().from(notificationSettings).where(settingOf(user.id, source)).for('update')
      const before = row ?? defaultSetting(source)
      const on = new Set(before.events)
      for (const [event, wanted] of Object.entries(events)) if (wanted !== undefined) on[wanted ? 'add' : 'delete'](event as MailEvent)
      const next = { level: level ?? before.level, events: [...on].sort(), email: email ?? before.email, updated_at: ctx.now() }
      if (row) await tx.update(notificationSettings).set(next).where(eq(notificationSettings.id, row.id))
      else await tx.insert(notificationSettings).values({ user_id: user.id, ...(source !== 'everything' && source), ...next })
    })
  await retryOnUniqueViolation(update)
  return showNotificationSetting(ctx, user, source)
}

/** The address if it is a confirmed primary or secondary address of the user; otherwise null (ML-12). */
async function ownAddress(tx: Pick<Transaction, 'select'>, userId: number, email: string | null): Promise<string | null> {
  if (email === null) return null
  const [own] = await tx
    .select({ email: users.email })
    .from(users)
    .where(sql`${users.id} = ${userId} and lower(${users.email}) = ${email} and ${users.confirmed_at} is not null`)
    .union(
      tx
        .select({ email: emails.email })
        .from(emails)
        .where(sql`${emails.user_id} = ${userId} and lower(${emails.email}) = ${email} and ${emails.confirmed_at} is not null`),
    )
  return own?.email ?? null
}

/** The address that a user's mails go to; null if they have no confirmed address (ML-12). */
export async function mailAddressOf(ctx: Context, user: { id: number; email: string; confirmed_at: Date | null }): Promise<string | null> {
  const [row] = await ctx.db.write.select({ email: notificationSettings.email }).from(notificationSettings).where(settingOf(user.id, 'everything'))
  return (await ownAddress(ctx.db.write, user.id, row?.email ?? null)) ?? (user.confirmed_at === null ? null : user.email)
}
