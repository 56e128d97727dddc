import { and, eq, gt, sql } from 'drizzle-orm'
import type { Context } from '../../../context.js'
import { events, processes, refIntents } from '../../../db/schema/index.js'
import { RepositoryMissing } from '../../../git/errors.js'
import { type GitRepository, type Oid, type RefUpdate, ZERO } from '../../../git/types.js'
import { readSettings } from '../../core/settings.js'
import { repositoryById } from '../repositories.js'
import { follow } from './follow.js'
import { leaveIntent } from './intents.js'

/**
 * Finishes or drops one intent by its refs: a ref that has its new value, or has moved on from it, did move (SEC-158).
 */
export async function settleIntent(
  ctx: Context,
  intent: typeof refIntents.$inferSelect,
  may: { finish: boolean; drop: boolean } = { finish: true, drop: true },
): Promise<void> {
  const repository = await repositoryById(ctx, intent.project_id)
  const moved: RefUpdate[] = []
  // of a repository that is gone nothing is left to finish; where that cannot be told this throws
  if (repository && (await ctx.git.exists(repository.git.key))) {
    for (const update of intent.updates) {
      const now: Oid = (await repository.git.ref(update.ref)) ?? ZERO
      if (now !== update.new && !(await hasGoneOn(repository.git, update.new, now))) continue
      const other = await sameMove(ctx, intent, update)
      // judged again when that one has ended
      if (other === 'under way') return
      if (other === null) moved.push(update)
    }
  }
  if (moved.length > 0 ? !may.finish : !may.drop) return
  if (moved.length > 0)
    await follow(ctx, { projectId: intent.project_id, moves: moved, intent: intent.id, settings: await readSettings(ctx), merge: intent.merge })
  else await ctx.db.write.delete(refIntents).where(eq(refIntents.id, intent.id))
  ctx.intents.delete(intent.id)
}

/**
 * Whether another push makes or has made this very move, as of a client that repeats what a killed process did not
 * answer: of several intents for one move only one has happened.
 */
async function sameMove(
  ctx: Context,
  { id, project_id, created_at }: typeof refIntents.$inferSelect,
  { ref, old, new: to }: RefUpdate,
): Promise<'under way' | 'made' | null> {
  const same = sql`${refIntents.updates} @> ${JSON.stringify([{ ref, new: to }])}::jsonb`
  const later = ctx.db.write.select({ id: refIntents.id }).from(refIntents)
  if ((await later.where(and(eq(refIntents.project_id, project_id), gt(refIntents.id, id), same)).limit(1)).length > 0) return 'under way'
  const move = { ref: ref.replace(/^refs\/(heads|tags)\//, ''), commit_from: old === ZERO ? null : old, commit_to: to === ZERO ? null : to }
  const known = ctx.db.write.select({ id: events.id }).from(events)
  const since = sql`${events.created_at} >= ${created_at.toISOString()}::timestamptz - interval '5 seconds'`
  const recorded = sql`${events.push} @> ${JSON.stringify(move)}::jsonb`
  return (await known.where(and(eq(events.project_id, project_id), since, recorded)).limit(1)).length > 0 ? 'made' : null
}

/** Whether a ref that was at one commit may since have moved on to the other. */
async function hasGoneOn(repository: GitRepository, from: Oid, to: Oid): Promise<boolean> {
  if (from === ZERO || to === ZERO) return false
  const known = await Promise.all([repository.commit(from), repository.commit(to)])
  return known.every((commit) => commit !== null) && repository.isAncestor(from, to)
}

/**
 * Milliseconds: an intent of this process that is younger may be one whose id it does not know yet, and one of a killed
 * process may still have a git at work on it.
 */
const YOUNG = 3_000
/**
 * Milliseconds after which an intent of another service on the same database is taken over: one whose refs have moved,
 * and one whose refs have not.
 */
const OTHERS_MOVED = 60_000
const OTHERS_UNMOVED = 600_000
/**
 * Milliseconds that a process must have been silent for before an intent is dropped whose refs it has not moved: it may
 * have been stopped, not killed.
 */
const SILENT = 60_000

/**
 * Finishes or drops the intents that nobody works on (SEC-158): those of a killed process at the start, and those that
 * a lost database connection cut short while the service runs. `alone`: no other service can be at work on this
 * database, whoever it belongs to.
 */
export async function settleLeftIntents(ctx: Context, { start = false, alone = false } = {}): Promise<void> {
  const age = sql<number>`extract(epoch from pg_catalog.now() - ${refIntents.created_at})::float8 * 1000`
  /** How long its process has said nothing; negative while it lives, null where that is not known. */
  const silent = sql<
    number | null
  >`case when ${refIntents.owner} is not null then coalesce((select extract(epoch from pg_catalog.now() - p.alive_until)::float8 * 1000
    from ${processes} p where p.id = ${refIntents.owner}), 'infinity') end`
  const left = await ctx.db.write.select({ intent: refIntents, age, silent }).from(refIntents).orderBy(refIntents.id)
  for (const { intent, age, silent } of left) {
    const state = ctx.intents.get(intent.id)
    // a database of our own has no other service that could be at work on it
    const others = ctx.config.databaseUrl !== undefined || ctx.workers > 1
    const shared = !alone && others && state !== 'left'
    const maybeOwn = intent.owner === null || intent.owner === ctx.jobs.id
    if ((state === 'moving' && age < OTHERS_UNMOVED) || (!state && !start && maybeOwn && age < YOUNG)) continue
    if ((shared || !start) && state !== 'left' && silent !== null && silent < 0) continue
    // whoever was killed while they moved the refs has left their locks
    await (await repositoryById(ctx, intent.project_id))?.git.removeStaleLocks()
    const may = !shared
      ? { finish: true, drop: true }
      : silent === null
        ? { finish: start || age > OTHERS_MOVED, drop: age > OTHERS_UNMOVED }
        : { finish: true, drop: silent > SILENT && (start || age > YOUNG) }
    try {
      await settleIntent(ctx, intent, may)
    } catch (error) {
      // its disk may be mounted later; the others are settled all the same
      if (!(error instanceof RepositoryMissing)) throw error
    }
  }
  // those that are gone from the table were settled by somebody else
  const known = new Set(left.map(({ intent }) => intent.id))
  for (const [id, state] of ctx.intents) if (state === 'left' && !known.has(id)) ctx.intents.delete(id)
}

/** Settles an intent whose push is over. */
export async function settleOwn(ctx: Context, id: number): Promise<void> {
  try {
    const [left] = await ctx.db.write.select().from(refIntents).where(eq(refIntents.id, id))
    if (left) await settleIntent(ctx, left)
    else ctx.intents.delete(id)
  } catch (error) {
    leaveIntent(ctx, id)
    throw error
  }
}
