import { and, asc, eq, sql } from 'drizzle-orm'
import type { ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { artifacts, commitStatuses } from '../../../db/schema/index.js'
import { mapConcurrently } from '../../../lib/async/concurrency.js'
import type { TestCase } from '../../../rules/ci/reports/junit.js'
import { getPipeline } from '../pipelines.js'
import { reportOf } from './read.js'

/** Tests of one job, with all reports that it has sent. */
export interface TestSuite {
  /** The name of the job. */
  name: string
  job: number
  cases: TestCase[]
  /** Why its report cannot be read. */
  error: string | null
}

/** Jobs whose reports are read for one pipeline; a further one is named with an error. */
const MAX_SUITES = 200
const AT_ONCE = 4

/** The tests of the latest jobs of a pipeline, in the order of their names (CI-251). */
export async function testsOf(ctx: Context, subject: ProjectSubject, pipelineId: number): Promise<TestSuite[]> {
  const { project } = subject
  await getPipeline(ctx, subject, pipelineId)
  const rows = await ctx.db.write
    .select({ job: commitStatuses.id, name: commitStatuses.name, artifact: artifacts })
    .from(commitStatuses)
    .innerJoin(artifacts, and(eq(artifacts.job_id, commitStatuses.id), eq(artifacts.file_type, 'junit')))
    .where(and(eq(commitStatuses.project_id, project.id), eq(commitStatuses.pipeline_id, pipelineId), sql`${commitStatuses.latest}`))
    .orderBy(asc(commitStatuses.name))
    .limit(MAX_SUITES * 10)
  const read = new Set(rows.slice(0, MAX_SUITES))
  return mapConcurrently(AT_ONCE, rows, async (row): Promise<TestSuite> => {
    const { job, name, artifact } = row
    if (!read.has(row)) return { name, job, cases: [], error: `only ${MAX_SUITES} reports are read` }
    const result = await reportOf(ctx, project, artifact, 'junit')
    return 'cases' in result
      ? { name, job, cases: result.cases, error: null }
      : { name, job, cases: [], error: 'error' in result ? result.error : null }
  })
}
