export const NOTIFICATION_LEVELS = ['disabled', 'participating', 'watch', 'global', 'mention', 'custom'] as const
export type NotificationLevel = (typeof NOTIFICATION_LEVELS)[number]

/** The numbers of levels in the entities of projects. */
export const NOTIFICATION_NUMBERS: Record<NotificationLevel, number> = { disabled: 0, participating: 1, watch: 2, global: 3, mention: 4, custom: 5 }

/** The events that the level `custom` can enable (ML-6). */
export const MAIL_EVENTS = [
  'new_note',
  'new_issue',
  'reopen_issue',
  'close_issue',
  'reassign_issue',
  'new_merge_request',
  'reopen_merge_request',
  'close_merge_request',
  'reassign_merge_request',
  'change_reviewer_merge_request',
  'merge_merge_request',
  'failed_pipeline',
  'success_pipeline',
  'new_release',
] as const
export type MailEvent = (typeof MAIL_EVENTS)[number]
