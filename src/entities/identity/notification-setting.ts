import { z } from 'zod'
import { MAIL_EVENTS, type MailEvent, NOTIFICATION_LEVELS } from '../../rules/notifications.js'
import type { NotificationSetting as Setting } from '../../services/mail/settings.js'

const events = z.strictObject(Object.fromEntries(MAIL_EVENTS.map((event) => [event, z.boolean()])) as Record<MailEvent, z.ZodBoolean>)
const base = { level: z.enum(NOTIFICATION_LEVELS), events: events.optional() }

/** What a user wants to be mailed about in a project or group (OT-9). */
export const NotificationSetting = z
  .strictObject(base)
  .meta({ id: 'NotificationSetting', description: 'What a user is notified of in a project or group.' })

/** The default for all projects and groups, and the address that mails are sent to. */
export const GlobalNotificationSetting = z
  .strictObject({ ...base, notification_email: z.string() })
  .meta({ id: 'GlobalNotificationSetting', description: 'What a user is notified of, and where.' })

const eventsOf = ({ level, events: on }: Setting) =>
  level === 'custom' && { events: Object.fromEntries(MAIL_EVENTS.map((event) => [event, on.includes(event)])) as z.infer<typeof events> }

export const presentNotificationSetting = (setting: Setting): z.infer<typeof NotificationSetting> => ({ level: setting.level, ...eventsOf(setting) })

export const presentGlobalNotificationSetting = (setting: Setting): z.infer<typeof GlobalNotificationSetting> =>
  Object.assign(presentNotificationSetting(setting), {
    notification_email: setting.notification_email ?? '',
  })
