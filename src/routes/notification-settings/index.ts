import { z } from 'zod'
import type { Access } from '../../access/access.js'
import { type GroupSubject, onGroupSignedIn, onProjectSignedIn, type ProjectSubject, signedIn } from '../../access/rules.js'
import {
  GlobalNotificationSetting,
  NotificationSetting,
  presentGlobalNotificationSetting,
  presentNotificationSetting,
} from '../../entities/identity/notification-setting.js'
import { endpoint } from '../../http/endpoint.js'
import { bool, oneOf, opt, str, updateOf } from '../../http/params.js'
import { MAIL_EVENTS, type MailEvent, NOTIFICATION_LEVELS } from '../../rules/notifications.js'
import { type SettingSource, showNotificationSetting, updateNotificationSetting } from '../../services/mail/settings.js'

const flag = opt(bool())
const events = Object.fromEntries(MAIL_EVENTS.map((event) => [event, flag])) as Record<MailEvent, typeof flag>

const settingOf = <Subject>(kind: 'project' | 'group', access: Access<Subject, true>, sourceOf: (subject: Subject) => SettingSource) => [
  endpoint({
    method: 'GET',
    path: `/${kind}s/:id/notification_settings`,
    summary: `Get the caller's notification settings for a ${kind}`,
    access,
    output: NotificationSetting,
    handler: async ({ ctx, caller, subject }) => presentNotificationSetting(await showNotificationSetting(ctx, caller.user, sourceOf(subject))),
  }),
  endpoint({
    method: 'PUT',
    path: `/${kind}s/:id/notification_settings`,
    summary: `Update the caller's notification settings for a ${kind}`,
    access,
    input: updateOf(z.object({ level: opt(oneOf(NOTIFICATION_LEVELS)), ...events })),
    output: NotificationSetting,
    async handler({ ctx, caller, subject, input: { level, ...on } }) {
      return presentNotificationSetting(await updateNotificationSetting(ctx, caller.user, sourceOf(subject), { level, events: on }))
    },
  }),
]

/** The global setting cannot be `global`: there is no setting above it. */
const OWN_LEVELS = ['disabled', 'participating', 'watch', 'mention', 'custom'] as const

/** Notification settings (OT-9, ML-2). */
export const notificationSettings = [
  endpoint({
    method: 'GET',
    path: '/notification_settings',
    summary: "Get the caller's notification settings",
    access: signedIn,
    output: GlobalNotificationSetting,
    handler: async ({ ctx, caller }) => presentGlobalNotificationSetting(await showNotificationSetting(ctx, caller.user, 'everything')),
  }),
  endpoint({
    method: 'PUT',
    path: '/notification_settings',
    summary: "Update the caller's notification settings",
    access: signedIn,
    input: updateOf(z.object({ level: opt(oneOf(OWN_LEVELS)), notification_email: opt(str()), ...events })),
    output: GlobalNotificationSetting,
    async handler({ ctx, caller, input: { level, notification_email, ...on } }) {
      const setting = await updateNotificationSetting(ctx, caller.user, 'everything', { level, notification_email, events: on })
      return presentGlobalNotificationSetting(setting)
    },
  }),
  ...settingOf('project', onProjectSignedIn('read_project'), ({ project }: ProjectSubject) => ({ project_id: project.id })),
  ...settingOf('group', onGroupSignedIn('read_group'), ({ group }: GroupSubject) => ({ namespace_id: group.id })),
]
