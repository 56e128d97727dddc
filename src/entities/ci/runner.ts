import { z } from 'zod'
import type { View } from '../../http/view.js'
import type { RunnerRecord } from '../../services/ci/runners/list.js'
import type { SeenRunnerRef } from '../../services/ci/runners/runners.js'

export const RunnerBasic = z
  .strictObject({
    id: z.int(),
    description: z.string().nullable(),
    ip_address: z.string().nullable(),
    active: z.boolean(),
    paused: z.boolean(),
    is_shared: z.boolean(),
    runner_type: z.string(),
    name: z.string().nullable(),
    online: z.boolean().nullable(),
    status: z.string(),
  })
  .meta({ id: 'RunnerBasic', description: 'A runner, in lists.' })

export const RunnerDetails = z
  .strictObject({
    ...RunnerBasic.shape,
    tag_list: z.array(z.string()),
    run_untagged: z.boolean(),
    locked: z.boolean(),
    maximum_timeout: z.int().nullable(),
    access_level: z.string(),
    maintenance_note: z.string().nullable(),
    version: z.string().nullable(),
    revision: z.string().nullable(),
    platform: z.string().nullable(),
    architecture: z.string().nullable(),
    contacted_at: z.iso.datetime().nullable(),
    projects: z.array(z.strictObject({ id: z.int(), name: z.string(), path: z.string(), path_with_namespace: z.string() })),
    groups: z.array(z.strictObject({ id: z.int(), name: z.string(), web_url: z.string() })),
  })
  .meta({ id: 'RunnerDetails', description: 'A runner, with what it takes and what it said of itself.' })

/** The response to a registration: the token is shown this once. */
export const NewRunner = z
  .strictObject({ id: z.int(), token: z.string(), token_expires_at: z.null() })
  .meta({ id: 'NewRunner', description: 'A runner that was registered, with its token.' })

export const presentNewRunner = (id: number, token: string): z.infer<typeof NewRunner> => ({ id, token, token_expires_at: null })

export function presentRunner(runner: SeenRunnerRef): z.infer<typeof RunnerBasic> {
  return {
    id: runner.id,
    description: runner.description,
    ip_address: runner.ip_address,
    active: !runner.paused,
    paused: runner.paused,
    is_shared: runner.kind === 'instance_type',
    runner_type: runner.kind,
    name: runner.info.name ?? null,
    online: runner.contacted_at === null ? null : runner.online,
    status: runner.contacted_at === null ? 'never_contacted' : runner.online ? 'online' : 'offline',
  }
}

export function presentRunnerDetails({ runner, projects, groups }: RunnerRecord, view: View): z.infer<typeof RunnerDetails> {
  return Object.assign(presentRunner(runner), {
    tag_list: runner.tags,
    run_untagged: runner.run_untagged,
    locked: runner.locked,
    maximum_timeout: runner.maximum_timeout,
    access_level: runner.protected ? 'ref_protected' : 'not_protected',
    maintenance_note: runner.maintenance_note,
    version: runner.info.version ?? null,
    revision: runner.info.revision ?? null,
    platform: runner.info.platform ?? null,
    architecture: runner.info.architecture ?? null,
    contacted_at: runner.contacted_at?.toISOString() ?? null,
    projects: projects.map(({ id, name, path, full_path }) => ({ id, name, path, path_with_namespace: full_path })),
    groups: groups.map(({ id, name, full_path }) => ({ id, name, web_url: view.links.group(full_path) })),
  })
}
