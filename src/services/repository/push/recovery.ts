import { and, eq, gt, sql } from 'drizzle-orm'
import type { Context, Move } from '../../../context.js'
import { events, processes, refIntents } from '../../../db/schema/index.js'
import { RepositoryMissing } from '../../../git/errors.js'
import { type GitRepository, type Oid, type RefUpdate, ZERO } from '../../../git/types.js'
import { readSettings } from '../../core/settings.js'
import { repositoryById } from '../repositories.js'
import { applyMoves } from './finish.js'
import { releaseIntent } from './intents.js'

/**
 * Finishes or drops one intent by looking at its refs: a ref at its new value, or at a descendant of it, has moved
 * (SEC-158).
 */
export async function resolveIntent(
  ctx: Context,
  intent: typeof refIntents.$inferSelect,
  allowed: { finish: boolean; drop: boolean } = { finish: true, drop: true },
): Promise<void> {
  const repository = await repositoryById(ctx, intent.project_id)
  const moved: Move[] = []
  // nothing is left to finish when the repository is gone; throws when its storage is not available
  if (repository && (await ctx.git.exists(repository.git.key))) {
    for (const update of intent.updates) {
      const current: Oid = (await repository.git.ref(update.ref)) ?? ZERO
      if (current !== update.new && !(await hasAdvanced(repository.git, update.new, current))) continue
      const other = await findSameMove(ctx, intent, update)
      // decided again once the other push has ended
      if (other === 'pending') return
      if (other === null) moved.push(update)
    }
  }
  if (moved.length > 0 ? !allowed.finish : !allowed.drop) return
  if (moved.length > 0)
    await applyMoves(ctx, { projectId: intent.project_id, moves: moved, intent: intent.id, settings: await readSettings(ctx), merge: intent.merge })
  else await ctx.db.write.delete(refIntents).where(eq(refIntents.id, intent.id))
  ctx.process.intents.delete(intent.id)
}

/**
 * Whether another push is making or has made the same ref update, for instance because a client repeated a push that a
 * killed process did not answer. Of several intents for one update only one has moved the ref.
 */
async function findSameMove(
  ctx: Context,
  { id, project_id, created_at }: typeof refIntents.$inferSelect,
  { ref, old, new: to }: RefUpdate,
): Promise<'pending' | 'done' | null> {
  const sameUpdate = sql`${refIntents.updates} @> ${JSON.stringify([{ ref, new: to }])}::jsonb`
  const later = ctx.db.write.select({ id: refIntents.id }).from(refIntents)
  if ((await later.where(and(eq(refIntents.project_id, project_id), gt(refIntents.id, id), sameUpdate)).limit(1)).length > 0) return 'pending'
  const move = { ref: ref.replace(/^refs\/(heads|tags)\//, ''), commit_from: old === ZERO ? null : old, commit_to: to === ZERO ? null : to }
  const known = ctx.db.write.select({ id: events.id }).from(events)
  const since = sql`${events.created_at} >= ${created_at.toISOString()}::timestamptz - interval '5 seconds'`
  const recorded = sql`${events.push} @> ${JSON.stringify(move)}::jsonb`
  return (await known.where(and(eq(events.project_id, project_id), since, recorded)).limit(1)).length > 0 ? 'done' : null
}

/** Whether `to` is a descendant of `from`, so that a ref may have moved on since. */
async function hasAdvanced(repository: GitRepository, from: Oid, to: Oid): Promise<boolean> {
  if (from === ZERO || to === ZERO) return false
  const known = await Promise.all([repository.commit(from), repository.commit(to)])
  return known.every((commit) => commit !== null) && repository.isAncestor(from, to)
}

/**
 * Minimum age of an intent. A younger one of this process may not be registered in memory yet, and a git process may
 * still be working on a younger one of a killed process.
 */
const MIN_AGE_MS = 3_000
/** Age from which no insertion of this process can still be waiting for its answer. */
const MAX_UNANSWERED_MS = 60_000
/**
 * Age at which an intent of another service on the same database is taken over, when its refs have moved and when they
 * have not.
 */
const FOREIGN_MOVED_AGE_MS = 60_000
const FOREIGN_UNMOVED_AGE_MS = 600_000
/**
 * How long a process must have sent no heartbeat before its intents with unmoved refs are dropped: it may be stopped
 * (SIGSTOP) and continue.
 */
const MIN_SILENCE_MS = 60_000

/**
 * Finishes or drops abandoned intents (SEC-158): those of a killed process at the start, and those interrupted by a
 * lost database connection while the service runs. `alone`: no other service uses this database.
 */
export async function resolveAbandonedIntents(ctx: Context, { start = false, alone = false } = {}): Promise<void> {
  const age = sql<number>`extract(epoch from pg_catalog.now() - ${refIntents.created_at})::float8 * 1000`
  /** Milliseconds since the owner's lease expired; negative while it is alive, null for an intent without owner. */
  const silent = sql<
    number | null
  >`case when ${refIntents.owner} is not null then coalesce((select extract(epoch from pg_catalog.now() - p.alive_until)::float8 * 1000
    from ${processes} p where p.id = ${refIntents.owner}), 'infinity') end`
  const pending = await ctx.db.write.select({ intent: refIntents, age, silent }).from(refIntents).orderBy(refIntents.id)
  for (const { intent, age, silent } of pending) {
    const state = ctx.process.intents.get(intent.id)
    // an embedded database is used by no other service
    const others = ctx.config.databaseUrl !== undefined || ctx.process.workers > 1
    // an own one that is not registered was inserted, but the connection was lost before the answer came
    const abandoned = state === 'abandoned' || (!state && !start && intent.owner !== null && intent.owner === ctx.jobs.id && age > MAX_UNANSWERED_MS)
    const shared = !alone && others && !abandoned
    const maybeOwn = intent.owner === null || intent.owner === ctx.jobs.id
    if ((state === 'moving' && age < FOREIGN_UNMOVED_AGE_MS) || (!state && !start && maybeOwn && age < MIN_AGE_MS)) continue
    if ((shared || !start) && !abandoned && silent !== null && silent < 0) continue
    // a process that was killed while it moved refs has left lock files
    await (await repositoryById(ctx, intent.project_id))?.git.removeStaleLocks()
    const allowed = !shared
      ? { finish: true, drop: true }
      : silent === null
        ? { finish: start || age > FOREIGN_MOVED_AGE_MS, drop: age > FOREIGN_UNMOVED_AGE_MS }
        : { finish: true, drop: silent > MIN_SILENCE_MS && (start || age > MIN_AGE_MS) }
    try {
      await resolveIntent(ctx, intent, allowed)
    } catch (error) {
      // its storage may be mounted later; the other intents are resolved regardless
      if (!(error instanceof RepositoryMissing)) throw error
    }
  }
  // intents without a row have been resolved by another process
  const known = new Set(pending.map(({ intent }) => intent.id))
  for (const [id, state] of ctx.process.intents) if (state === 'abandoned' && !known.has(id)) ctx.process.intents.delete(id)
}

/** Resolves an intent of this process whose push is over. */
export async function resolveOwnIntent(ctx: Context, id: number): Promise<void> {
  try {
    const [pending] = await ctx.db.write.select().from(refIntents).where(eq(refIntents.id, id))
    if (pending) await resolveIntent(ctx, pending)
    else ctx.process.intents.delete(id)
  } catch (error) {
    releaseIntent(ctx, id)
    throw error
  }
}
