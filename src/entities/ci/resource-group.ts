import { z } from 'zod'
import { PROCESS_MODES } from '../../rules/ci/resource-groups.js'
import type { ResourceGroup as Row } from '../../services/ci/resource-groups/list.js'

export const ResourceGroup = z
  .strictObject({
    id: z.int(),
    key: z.string(),
    process_mode: z.enum(PROCESS_MODES),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'ResourceGroup', description: 'Jobs of which one runs at a time.' })

export const presentResourceGroup = ({ id, key, process_mode, created_at, updated_at }: Row): z.infer<typeof ResourceGroup> => ({
  id,
  key,
  process_mode,
  created_at: created_at.toISOString(),
  updated_at: updated_at.toISOString(),
})
