import { z } from 'zod'
import type { Mirror } from '../../services/projects/mirrors/address.js'

const state = {
  id: z.int(),
  url: z.string().describe('With user and password masked.'),
  last_error: z.string().nullable(),
  last_update_at: z.iso.datetime().nullable(),
  last_update_started_at: z.iso.datetime().nullable(),
  last_successful_update_at: z.iso.datetime().nullable(),
  update_status: z.enum(['none', 'scheduled', 'started', 'finished', 'failed', 'to_retry']),
}

export const RemoteMirror = z
  .strictObject({
    ...state,
    enabled: z.boolean(),
    only_protected_branches: z.boolean(),
    keep_divergent_refs: z.boolean(),
    auth_method: z.literal('password'),
  })
  .meta({ id: 'RemoteMirror', description: 'A repository elsewhere that a project is pushed to.' })

export const PullMirror = z
  .strictObject({
    ...state,
    enabled: z.boolean(),
    mirror_trigger_builds: z.boolean(),
    only_mirror_protected_branches: z.boolean(),
    mirror_overwrites_diverged_branches: z.boolean(),
  })
  .meta({ id: 'PullMirror', description: 'The repository elsewhere that a project follows.' })

const presentState = (mirror: Mirror) => ({
  id: mirror.id,
  url: mirror.url,
  last_error: mirror.last_error,
  last_update_at: mirror.last_update_at?.toISOString() ?? null,
  last_update_started_at: mirror.last_update_started_at?.toISOString() ?? null,
  last_successful_update_at: mirror.last_successful_update_at?.toISOString() ?? null,
  update_status: mirror.update_status,
})

export const presentRemoteMirror = (mirror: Mirror): z.infer<typeof RemoteMirror> =>
  Object.assign(presentState(mirror), {
    enabled: mirror.enabled,
    only_protected_branches: mirror.only_protected_branches,
    keep_divergent_refs: !mirror.overwrites_diverged,
    auth_method: 'password' as const,
  })

export const presentPullMirror = (mirror: Mirror): z.infer<typeof PullMirror> =>
  Object.assign(presentState(mirror), {
    enabled: mirror.enabled,
    mirror_trigger_builds: mirror.trigger_builds,
    only_mirror_protected_branches: mirror.only_protected_branches,
    mirror_overwrites_diverged_branches: mirror.overwrites_diverged,
  })
