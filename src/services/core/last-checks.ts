import type { Context } from '../../context.js'
import { lastChecks } from '../../db/schema/index.js'

export type LastCheck = typeof lastChecks.$inferSelect

type CheckName = 'backup' | 'doctor' | `provider ${string}`

const MAX_MESSAGE = 500

/** Keeps what was found, in place of what was found before (WB-205). */
export async function recordCheck(ctx: Pick<Context, 'db' | 'now'>, name: CheckName, good: boolean, message: string): Promise<void> {
  const found = { good, message: message.replaceAll('\0', '').slice(0, MAX_MESSAGE), checked_at: ctx.now() }
  await ctx.db.write
    .insert(lastChecks)
    .values({ name, ...found })
    .onConflictDoUpdate({ target: lastChecks.name, set: found })
}

/** What was found last, by name. */
export async function readChecks({ db }: Pick<Context, 'db'>): Promise<Map<string, LastCheck>> {
  const rows = await db.write.select().from(lastChecks)
  return new Map(rows.map((row) => [row.name, row]))
}
