import { z } from 'zod'
import { escapeHtml } from '../../lib/text/html.js'
import type { UserStatus as UserStatusRecord } from '../../services/identity/user-statuses.js'

export const UserStatus = z
  .strictObject({
    emoji: z.string().nullable(),
    message: z.string().nullable(),
    availability: z.string().nullable(),
    message_html: z.string().nullable(),
    clear_status_at: z.null(),
  })
  .meta({ id: 'UserStatus', description: 'What a user says they are doing.' })

/** The status of a user; all null if none is set (OT-3). */
export function presentUserStatus(status: UserStatusRecord | null): z.infer<typeof UserStatus> {
  return {
    emoji: status?.emoji ?? null,
    message: status?.message ?? null,
    availability: status?.availability ?? null,
    message_html: status?.message ? escapeHtml(status.message) : null,
    clear_status_at: null,
  }
}
