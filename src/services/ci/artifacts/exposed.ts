import { and, asc, eq, gt, isNull, or, sql } from 'drizzle-orm'
import type { ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { artifacts, builds, commitStatuses } from '../../../db/schema/index.js'

/** The most that a merge request links, as in the original. */
const MAX_EXPOSED = 10

export interface ExposedArtifact {
  job: number
  /** What `expose_as` says. */
  name: string
  /** The only path of the job's artifacts, as in the archive; null: there are several, or it has variables. */
  path: string | null
}

/** What jobs of a pipeline show in its merge request by `artifacts: expose_as`, as long as the archives are there (CI-262). */
export async function exposedArtifacts(ctx: Context, { project }: ProjectSubject, pipeline: number): Promise<ExposedArtifact[]> {
  const rows = await ctx.db.write
    .select({ job: builds.job_id, definition: builds.definition })
    .from(commitStatuses)
    .innerJoin(builds, eq(builds.job_id, commitStatuses.id))
    .innerJoin(artifacts, and(eq(artifacts.job_id, builds.job_id), eq(artifacts.file_type, 'archive')))
    .where(
      and(
        eq(commitStatuses.project_id, project.id),
        eq(commitStatuses.pipeline_id, pipeline),
        sql`${commitStatuses.latest} and ${builds.definition} -> 'artifacts' ->> 'expose_as' is not null`,
        or(isNull(artifacts.expires_at), gt(artifacts.expires_at, ctx.now())),
      ),
    )
    .orderBy(asc(builds.job_id))
    .limit(MAX_EXPOSED)
  return rows.map(({ job, definition }) => {
    const [path = '', ...others] = definition.artifacts?.paths ?? []
    const parts = path.split('/').filter((part) => part !== '' && part !== '.')
    return { job, name: definition.artifacts?.expose_as ?? '', path: others.length > 0 || path.includes('$') ? null : parts.join('/') }
  })
}
