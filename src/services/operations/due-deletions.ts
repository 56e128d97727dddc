import { type SQL, sql } from 'drizzle-orm'
import { z } from 'zod'
import type { Context } from '../../context.js'
import { namespaces, projects } from '../../db/schema/index.js'
import { defineJob } from '../../jobs/kinds.js'
import { removeDueProject } from '../projects/deletion.js'
import { removeDueGroup } from './group-deletion.js'

/** How many are read at once. */
const BATCH_SIZE = 100

/** Removes the deleted projects and groups whose time to be restored is over (PR-28, GR-44). */
export const dueDeletions = defineJob({
  kind: 'due deletions',
  slots: 'upkeep',
  input: z.object({}),
  async run(ctx: Context, _, { signal }) {
    const failures: unknown[] = []
    for (const [table, remove] of [
      [namespaces, removeDueGroup],
      [projects, removeDueProject],
    ] as const) {
      for await (const id of idsOfDue(ctx, sql`${table}`)) {
        if (signal.aborted) return
        // one that cannot be removed must not keep the others
        await remove(ctx, id).catch((error: unknown) => failures.push(error))
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, `${failures.length} deleted projects or groups could not be removed`)
  },
  every: 60_000,
  deadline: 3_600_000,
})

async function* idsOfDue(ctx: Context, table: SQL): AsyncGenerator<number> {
  for (let last = 0; ; ) {
    const { rows } = await ctx.db.write.execute<{ id: string }>(sql`select id from ${table}
      where deletion_due_at <= ${ctx.now().toISOString()} and id > ${last} order by id limit ${BATCH_SIZE}`)
    for (const { id } of rows) yield Number(id)
    if (rows.length < BATCH_SIZE) return
    last = Number(rows.at(-1)?.id)
  }
}
