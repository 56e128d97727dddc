import { eq, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import { issues, mergeRequests } from '../../db/schema/index.js'
import { invalidRecord, notFound } from '../../failures.js'
import { humanDuration, parseDuration } from '../../rules/duration.js'
import type { Target } from '../activity/subscriptions.js'
import { writeSystemNotes } from '../activity/system-notes.js'
import { actAs } from '../outbox/acting.js'

/** Tracked time, in seconds. */
export interface TimeRecord {
  time_estimate: number
  total_time_spent: number
}

/** The table with the tracked time of each kind of issuable. */
const TABLES = { Issue: issues, MergeRequest: mergeRequests }

export type TimedTarget = Target & { type: keyof typeof TABLES }

/** The largest value of the columns. */
const MAX_SECONDS = 2_147_483_647

async function changeTimes(
  ctx: Context,
  target: TimedTarget,
  authorId: number,
  compute: (now: TimeRecord) => Partial<TimeRecord>,
  note: string,
): Promise<TimeRecord> {
  const table = TABLES[target.type]
  return ctx.db.transaction(async (tx) => {
    const [[row]] = await Promise.all([
      tx
        .select({ time_estimate: table.time_estimate, total_time_spent: table.total_time_spent })
        .from(table)
        .where(eq(table.id, target.id))
        .for('update'),
      actAs(tx, authorId),
    ])
    if (!row) throw notFound()
    const after = { ...row, ...compute(row) }
    if (after.time_estimate === row.time_estimate && after.total_time_spent === row.total_time_spent) return row
    const now = ctx.now()
    await tx
      .update(table)
      .set({ ...after, updated_at: sql`greatest(${table.updated_at}, ${now.toISOString()}::timestamptz)` })
      .where(eq(table.id, target.id))
    await writeSystemNotes(tx, target, authorId, [note], now)
    return after
  })
}

const invalidFormat = (field: 'time_estimate' | 'time_spent') => invalidRecord({ [field]: ['has an invalid format'] })

/** Sets the estimate; a zero, negative or malformed duration is refused (TT-3, TT-4). */
export async function setEstimate(ctx: Context, target: TimedTarget, authorId: number, duration: string): Promise<TimeRecord> {
  const seconds = parseDuration(duration)
  if (seconds === null || seconds < 0) throw invalidFormat('time_estimate')
  return changeTimes(ctx, target, authorId, () => ({ time_estimate: seconds }), `changed time estimate to ${humanDuration(seconds)}`)
}

/** Resets the estimate (TT-5). */
export const resetEstimate = (ctx: Context, target: TimedTarget, authorId: number) =>
  changeTimes(ctx, target, authorId, () => ({ time_estimate: 0 }), 'removed time estimate')

/**
 * Adds or subtracts spent time; more than the total cannot be subtracted (TT-6 to TT-8). The system note names the day
 * on which it was spent, if one is given.
 */
export async function addSpentTime(ctx: Context, target: TimedTarget, authorId: number, duration: string, day?: string): Promise<TimeRecord> {
  const seconds = parseDuration(duration)
  if (seconds === null) throw invalidFormat('time_spent')
  const verb = seconds > 0 ? 'added' : 'subtracted'
  const note = `${verb} ${humanDuration(Math.abs(seconds))} of time spent${day === undefined ? '' : ` at ${day}`}`
  const compute = ({ total_time_spent }: TimeRecord) => {
    const total = total_time_spent + seconds
    if (total < 0) throw invalidRecord({ time_spent: ['Time to subtract exceeds the total time spent'] })
    if (total > MAX_SECONDS) throw invalidFormat('time_spent')
    return { total_time_spent: total }
  }
  return changeTimes(ctx, target, authorId, compute, note)
}

/** Resets the spent time (TT-9). */
export const resetSpentTime = (ctx: Context, target: TimedTarget, authorId: number) =>
  changeTimes(ctx, target, authorId, () => ({ total_time_spent: 0 }), 'removed time spent')
