import { cp, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import { loadProject, type RestoredProject } from '../../db/copies/project-rows.js'
import { pendingRepositoryDeletions } from '../../db/schema/index.js'
import { StartFault } from '../../lib/start-fault.js'
import { readSettings } from '../core/settings.js'
import { ghostId } from '../identity/ghost.js'
import { pickStorage } from '../projects/create.js'
import { cancelReservation } from '../projects/reservations.js'
import type { Backup } from './backup.js'
import { restoreObject } from './backup-objects.js'
import { counters } from './doctor/rows.js'

/** How long the files of the project may take; a restore that was killed leaves them for so long. */
const RESERVATION_TTL = '1 day'

/** How long the removal of the files that the project had is waited for, in milliseconds. */
const REMOVAL_MS = 60_000

/** Keeps others from the files of a project; waits for the service that removes them after a deletion. */
async function reserve(ctx: Context, id: number, storage: string): Promise<void> {
  for (const end = Date.now() + REMOVAL_MS; ; await setTimeout(250)) {
    const { rowCount } = await ctx.db.write.execute(sql`insert into ${pendingRepositoryDeletions} (project_id, storage, due_at)
      values (${id}, ${storage}, pg_catalog.now() + ${RESERVATION_TTL}::interval) on conflict do nothing`)
    if (rowCount !== 0) return
    if (Date.now() > end) throw new StartFault('the files of the deleted project are still being removed: try again in a minute')
  }
}

/**
 * Brings one deleted project of a backup back, whether or not the service is running: rows with their ids and numbers,
 * repository, wiki, uploads and LFS objects, as of the backup (SEC-261).
 */
export async function restoreProject(
  ctx: Context,
  databaseUrl: string,
  { root, database, repositories }: Backup,
  only: { path: string; as?: string | undefined },
): Promise<RestoredProject> {
  const settings = await readSettings(ctx)
  const storageFor = (storage: string) => (ctx.config.storages[storage] === undefined ? pickStorage(ctx, settings) : storage)
  const request = { ...only, ghost: await ghostId(ctx), storageFor }
  let reserved: number | null = null
  const placeFiles = async (project: RestoredProject) => {
    const { id, from, storage, lfsObjects, artifacts, packages } = project
    if (!repositories.some((key) => key.id === id && key.kind === 'project')) throw new StartFault(`the backup has no repository of ${only.path}`)
    // until the row is committed, the repository counts as pending deletion
    await reserve(ctx, id, storage)
    reserved = id
    for (const kind of ['project', 'wiki'] as const) {
      if (!repositories.some((key) => key.id === id && key.kind === kind)) continue
      const saved = join(root, 'repositories', from, `${id}${kind === 'wiki' ? '.wiki' : ''}.git`)
      await ctx.git.restoreRepository(saved, { storage, id, kind })
    }
    for (const kind of ['files', 'project']) {
      const saved = join(root, 'uploads', kind, String(id))
      if (await stat(saved).catch(() => null)) await cp(saved, join(ctx.config.dataDir, 'uploads', kind, String(id)), { recursive: true })
    }
    for (const oid of lfsObjects) {
      const saved = join(root, 'lfs', oid.slice(0, 2), oid)
      if (await stat(saved).catch(() => null)) await restoreObject(ctx.lfs, saved, oid)
    }
    for (const [kind, oids] of Object.entries({ artifacts, packages }))
      for (const oid of oids) {
        const saved = join(root, kind, oid.slice(0, 2), oid)
        if (await stat(saved).catch(() => null)) await restoreObject(ctx[kind as 'artifacts' | 'packages'], saved, oid)
      }
  }
  try {
    const project = await loadProject(databaseUrl, join(root, 'database'), database, request, placeFiles)
    // stars and awards of users who are not there any more have not come back
    for await (const { repair } of counters(ctx)) await repair?.()
    return project
  } catch (error) {
    if (reserved !== null) await cancelReservation(ctx, reserved)
    throw error
  }
}
