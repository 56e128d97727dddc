import { z } from 'zod'
import { humanDuration } from '../../rules/duration.js'
import type { TimeRecord } from '../../services/issuables/time-tracking.js'

export const TimeStats = z
  .strictObject({
    time_estimate: z.int(),
    total_time_spent: z.int(),
    human_time_estimate: z.string().nullable(),
    human_total_time_spent: z.string().nullable(),
  })
  .meta({ id: 'TimeStats', description: 'Estimated and spent time, in seconds and in words.' })

export const presentTimeStats = ({ time_estimate, total_time_spent }: TimeRecord): z.infer<typeof TimeStats> => ({
  time_estimate,
  total_time_spent,
  human_time_estimate: humanDuration(time_estimate),
  human_total_time_spent: humanDuration(total_time_spent),
})
