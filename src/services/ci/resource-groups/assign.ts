import { and, eq, sql } from 'drizzle-orm'
import { z } from 'zod'
import type { Context } from '../../../context.js'
import { builds, commitStatuses, resourceGroups } from '../../../db/schema/index.js'
import { enqueueAll } from '../../../jobs/enqueue.js'
import { defineJob } from '../../../jobs/kinds.js'
import type { ProcessMode } from '../../../rules/ci/resource-groups.js'
import { enqueueBuilds } from '../builds/advance.js'
import { changeJobs } from '../builds/change.js'
import { assigning } from '../builds/later.js'
import { isFree } from './groups.js'

/** How often one run looks for another job, if the one that it found has gone meanwhile. */
const ATTEMPTS = 10

/** The condition and order of the jobs that get the resource next, by the mode of the group (CI-292). */
export const UPCOMING: Record<ProcessMode, { states: string[]; order: ReturnType<typeof sql> }> = {
  unordered: { states: ['waiting_for_resource'], order: sql`s.id` },
  oldest_first: {
    states: ['waiting_for_resource', 'scheduled', 'created'],
    order: sql`s.pipeline_id, s.status <> 'waiting_for_resource', s.id`,
  },
  newest_first: {
    states: ['waiting_for_resource', 'scheduled', 'created'],
    order: sql`s.pipeline_id desc, s.status <> 'waiting_for_resource', s.id`,
  },
}

/** Gives the free resource of a group to the job that is next, if it waits for it. */
export const assignResource = defineJob({
  ...assigning,
  async run(ctx: Context, { group }) {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const next = await nextOf(ctx, group)
      if (next === null || (await give(ctx, group, next))) return
    }
  },
})

interface Next {
  job: number
  pipeline: number
}

async function nextOf(ctx: Context, group: number): Promise<Next | null> {
  const [found] = await ctx.db.write.select({ mode: resourceGroups.process_mode }).from(resourceGroups).where(eq(resourceGroups.id, group))
  if (!found) return null
  const { states, order } = UPCOMING[found.mode]
  const { rows } = await ctx.db.write.execute<{ id: string; pipeline_id: string; status: string }>(sql`select s.id, s.pipeline_id, s.status
    from ${builds} b join ${commitStatuses} s on s.id = b.job_id join ${resourceGroups} g on g.id = b.resource_group_id
    where g.id = ${group} and ${isFree} and s.latest and s.status in ${states} order by ${order} limit 1`)
  const [first] = rows
  return first?.status === 'waiting_for_resource' ? { job: Number(first.id), pipeline: Number(first.pipeline_id) } : null
}

/** Whether the job has got the resource, or nobody needs to give it any more. */
async function give(ctx: Context, group: number, { job, pipeline: id }: Next): Promise<boolean> {
  const given = await changeJobs(ctx, id, async (tx, pipeline) => {
    const { rows: free } = await tx.execute(sql`select 1 from ${resourceGroups} g where g.id = ${group} and ${isFree} for update of g`)
    if (free.length === 0) return null
    const changed = await tx
      .update(commitStatuses)
      .set({ status: 'pending', queued_at: ctx.now() })
      .where(and(eq(commitStatuses.id, job), eq(commitStatuses.status, 'waiting_for_resource')))
      .returning({ id: commitStatuses.id })
    if (changed.length === 0) return null
    await tx.update(resourceGroups).set({ job_id: job }).where(eq(resourceGroups.id, group))
    await enqueueBuilds(tx, pipeline, [job], { hasResource: true })
    return true
  })
  return given !== null
}

/** Every minute: gives free resources to jobs that wait for them, where that was not done (CI-291). */
export const assignFreeResources = defineJob({
  kind: 'assign free resources',
  input: z.object({}),
  every: 60_000,
  async run(ctx: Context) {
    const { rows } = await ctx.db.write.execute<{ id: string }>(sql`select distinct g.id from ${commitStatuses} s
      join ${builds} b on b.job_id = s.id join ${resourceGroups} g on g.id = b.resource_group_id
      where s.status = 'waiting_for_resource' and ${isFree}`)
    await enqueueAll(
      ctx.db,
      assigning,
      rows.map(({ id }) => ({ input: { group: Number(id) }, key: id })),
    )
  },
})
