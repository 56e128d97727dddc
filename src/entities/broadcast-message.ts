import { z } from 'zod'
import type { BroadcastMessage as BroadcastMessageRecord } from '../services/core/broadcast-messages.js'

/** A message of the administrators for all pages (WB-181). */
export const BroadcastMessage = z
  .strictObject({
    id: z.int(),
    message: z.string(),
    starts_at: z.iso.datetime(),
    ends_at: z.iso.datetime(),
    color: z.string().nullable(),
    font: z.string().nullable(),
    active: z.boolean(),
    target_path: z.string().nullable(),
    broadcast_type: z.enum(['banner', 'notification']),
    dismissable: z.boolean(),
  })
  .meta({ id: 'BroadcastMessage', description: 'A message for all pages.' })

export const presentBroadcastMessage = (record: BroadcastMessageRecord, now: Date): z.infer<typeof BroadcastMessage> => ({
  id: record.id,
  message: record.message,
  starts_at: record.starts_at.toISOString(),
  ends_at: record.ends_at.toISOString(),
  color: record.color,
  font: record.font,
  active: record.starts_at <= now && now < record.ends_at,
  target_path: record.target_path,
  broadcast_type: record.broadcast_type,
  dismissable: record.dismissable,
})
