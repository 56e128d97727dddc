import { and, eq, isNull, sql } from 'drizzle-orm'
import type { Project } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { mirrors, namespaces, projects } from '../../../db/schema/index.js'
import { errorText, Incomplete, type Mirror, type Remote, remoteOf } from './address.js'
import { pullAgain, pushAgain } from './backoff.js'

/** Longest time of one update of a mirror. */
export const UPDATE_DEADLINE_MS = 3 * 3_600_000

export interface Updated {
  mirror: Mirror
  project: Project
  remote: Remote
  signal: AbortSignal
}

/**
 * Updates a mirror and records how that went (PM-9, PM-22). Returns when a failed push is tried again. An update that
 * is interrupted is repeated from the start.
 */
export async function updateMirror(
  ctx: Context,
  id: number,
  jobSignal: AbortSignal,
  update: (updated: Updated) => Promise<void>,
): Promise<Date | undefined> {
  const [found] = await ctx.db.write
    .select({ mirror: mirrors, project: projects, namespace: namespaces })
    .from(mirrors)
    .innerJoin(projects, eq(projects.id, mirrors.project_id))
    .innerJoin(namespaces, eq(namespaces.id, projects.namespace_id))
    .where(and(eq(mirrors.id, id), mirrors.enabled, isNull(projects.marked_for_deletion_at)))
  if (!found) return undefined
  const { mirror } = found
  const signal = AbortSignal.any([ctx.process.stopping, jobSignal])
  await ctx.db.write.update(mirrors).set({ update_status: 'started', last_update_started_at: ctx.now() }).where(eq(mirrors.id, id))
  let remote: Remote | undefined
  try {
    remote = await remoteOf(ctx, mirror)
    await update({ mirror, project: { ...found.project, namespace: found.namespace }, remote, signal })
  } catch (error) {
    signal.throwIfAborted()
    ctx.log.warn({ project: mirror.project_id, mirror: id, reason: error instanceof Error ? error.name : undefined }, 'a mirror was not updated')
    return recordFailure(ctx, mirror, error, remote?.secrets ?? [])
  }
  const now = ctx.now()
  const next_update_at = mirror.direction === 'pull' ? pullAgain(now, 0) : null
  const done = {
    update_status: 'finished',
    last_error: null,
    last_update_at: now,
    last_successful_update_at: now,
    failures: 0,
    next_update_at,
  } as const
  await ctx.db.write.update(mirrors).set(done).where(sameAddress(mirror))
  return undefined
}

/** A mirror whose address has been changed meanwhile begins anew, so nothing is recorded for it. */
const sameAddress = ({ id, url, sealed_url }: Mirror) =>
  and(eq(mirrors.id, id), eq(mirrors.url, url), sql`${mirrors.sealed_url} is not distinct from ${sealed_url}`)

async function recordFailure(ctx: Context, mirror: Mirror, error: unknown, secrets: string[]): Promise<Date | undefined> {
  const now = ctx.now()
  const failures = mirror.failures + 1
  // what is refused for a reason of the project is not done by trying again
  const again = mirror.direction === 'push' && !(error instanceof Incomplete) ? pushAgain(now, failures) : null
  const failed = {
    update_status: again ? 'to_retry' : 'failed',
    last_error: errorText(error, secrets),
    last_update_at: now,
    failures,
    next_update_at: mirror.direction === 'pull' ? pullAgain(now, failures) : null,
  } as const
  const changed = await ctx.db.write.update(mirrors).set(failed).where(sameAddress(mirror)).returning({ id: mirrors.id })
  return changed.length > 0 ? (again ?? undefined) : undefined
}
