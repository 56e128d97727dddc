import { asc, gte, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import { users } from '../../db/schema/index.js'
import { dayOf } from '../../lib/text/day.js'
import { limits, type Page, type Paging } from '../core/page.js'

export interface Activity {
  username: string
  last_activity_on: string
}

const DEFAULT_MONTHS = 6

/**
 * Users who were active since a day, the least recently active first (U-38 to U-40); by default in the last six months.
 */
export async function listActivities(ctx: Context, { from, ...paging }: { from?: string | undefined } & Paging): Promise<Page<Activity>> {
  const { limit, offset } = limits(paging)
  const active = gte(users.last_activity_on, from ?? monthsBefore(ctx.now(), DEFAULT_MONTHS))
  const [items, total] = await Promise.all([
    ctx.db.read
      .select({ username: users.username, last_activity_on: sql<string>`${users.last_activity_on}::text` })
      .from(users)
      .where(active)
      .orderBy(asc(users.last_activity_on), asc(users.id))
      .limit(limit)
      .offset(offset),
    ctx.db.read.$count(users, active),
  ])
  return { items, total }
}

/** The same day of an earlier month, or its last day when it is shorter. */
function monthsBefore(now: Date, months: number): string {
  const day = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months + 1, 0))
  day.setUTCDate(Math.min(day.getUTCDate(), now.getUTCDate()))
  return dayOf(day)
}
