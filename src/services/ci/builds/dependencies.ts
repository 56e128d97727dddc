import { and, eq, inArray, lt, type SQL, sql } from 'drizzle-orm'
import { commitStatuses } from '../../../db/schema/index.js'
import type { PlannedJob } from '../../../rules/ci/types.js'

/** The condition for the jobs whose files a job gets: those that it names, or all of earlier stages (CI-32). */
export function isDependencyOf(job: typeof commitStatuses.$inferSelect, { dependencies, needs }: PlannedJob): SQL | undefined {
  const named = dependencies ?? needs?.flatMap(({ job: name, artifacts }) => (artifacts ? [name] : [])) ?? null
  return and(
    eq(commitStatuses.project_id, job.project_id),
    eq(commitStatuses.pipeline_id, job.pipeline_id),
    sql`${commitStatuses.latest}`,
    named ? inArray(commitStatuses.name, named) : lt(commitStatuses.stage_index, job.stage_index),
  )
}
