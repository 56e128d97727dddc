import { z } from 'zod'
import type { FreezePeriod as Record } from '../../services/ci/environments/freeze-periods.js'

export const FreezePeriod = z
  .strictObject({
    id: z.int(),
    freeze_start: z.string(),
    freeze_end: z.string(),
    cron_timezone: z.string(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'FreezePeriod', description: 'When a project is not to be deployed.' })

export const presentFreezePeriod = (period: Record): z.infer<typeof FreezePeriod> => ({
  id: period.id,
  freeze_start: period.freeze_start,
  freeze_end: period.freeze_end,
  cron_timezone: period.cron_timezone,
  created_at: period.created_at.toISOString(),
  updated_at: period.updated_at.toISOString(),
})
