import { z } from 'zod'
import type { View } from '../../http/view.js'
import type { Trigger as Record } from '../../services/ci/triggers/triggers.js'
import { presentUserRef, UserRef } from '../identity/user.js'

export const Trigger = z
  .strictObject({
    id: z.int(),
    token: z.string().nullable().describe('Whole for its owner, its first 4 characters for others.'),
    description: z.string(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    last_used: z.iso.datetime().nullable(),
    expires_at: z.null(),
    owner: UserRef,
  })
  .meta({ id: 'Trigger', description: 'A token that triggers pipelines.' })

export const presentTrigger = (trigger: Record, view: View): z.infer<typeof Trigger> => ({
  id: trigger.id,
  token: trigger.token,
  description: trigger.description,
  created_at: trigger.created_at.toISOString(),
  updated_at: trigger.updated_at.toISOString(),
  last_used: trigger.last_used_at?.toISOString() ?? null,
  expires_at: null,
  owner: presentUserRef(trigger.owner, view),
})
