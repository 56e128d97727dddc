import { sql } from 'drizzle-orm'
import type { Transaction } from '../db/client.js'
import { iidCounters } from '../db/schema/index.js'

/** The next number of a kind of thing within its project, from 1 on. Whoever takes the next one waits for the end of this transaction, and a number goes back when it fails: no gaps, no number twice (SEC-165). */
export async function nextIid(tx: Transaction, projectId: number, kind: 'pipeline'): Promise<number> {
  const [row] = await tx
    .insert(iidCounters)
    .values({ project_id: projectId, kind, last: 1 })
    .onConflictDoUpdate({ target: [iidCounters.project_id, iidCounters.kind], set: { last: sql`${iidCounters.last} + 1` } })
    .returning({ last: iidCounters.last })
  return row?.last as number
}
