import { z } from 'zod'
import type { Activity as ActivityRecord } from '../../services/identity/activities.js'

export const Activity = z
  .strictObject({ username: z.string(), last_activity_on: z.string(), last_activity_at: z.string() })
  .meta({ id: 'UserActivity', description: 'The last day of activity of a user.' })

/** `last_activity_at` repeats `last_activity_on` (U-39). */
export function presentActivity({ username, last_activity_on }: ActivityRecord): z.infer<typeof Activity> {
  return { username, last_activity_on, last_activity_at: last_activity_on }
}
