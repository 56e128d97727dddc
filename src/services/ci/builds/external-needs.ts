import { and, desc, eq, sql } from 'drizzle-orm'
import type { SignedIn } from '../../../access/actor.js'
import { getProjectFor } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { artifacts, type builds, commitStatuses, pipelines } from '../../../db/schema/index.js'
import { nullOnFailure } from '../../../failures.js'
import { numericId } from '../../../lib/numeric-id.js'
import type { ExternalNeed } from '../../../rules/ci/types.js'
import { type Artifact, latestArchive } from '../artifacts/read.js'

/** The job that needs. */
interface Needing {
  pipeline: typeof pipelines.$inferSelect
  build: typeof builds.$inferSelect
}

/** An archive of another pipeline or project that a job needs. */
interface ExternalDependency {
  id: number
  name: string
  token: string
  artifacts_file: { filename: string; size: number }
}

/**
 * The archives that a job needs of other pipelines and projects, which its user may read (CI-311). Null: one that is not
 * optional cannot be had.
 */
export async function externalDependencies(
  ctx: Context,
  record: Needing,
  caller: SignedIn,
  token: string,
  expand: (text: string) => string,
): Promise<ExternalDependency[] | null> {
  const found: ExternalDependency[] = []
  for (const need of record.build.definition.external_needs) {
    if (!need.artifacts) continue
    const archive = need.pipeline === null ? await ofProject(ctx, caller, need, expand) : await ofPipeline(ctx, record, need, expand(need.pipeline))
    if (archive) found.push({ id: archive.job_id, name: need.job, token, artifacts_file: { filename: archive.filename, size: archive.size } })
    else if (!need.optional) return null
  }
  return found
}

async function ofProject(
  ctx: Context,
  caller: SignedIn,
  { project, ref, job }: ExternalNeed,
  expand: (text: string) => string,
): Promise<Artifact | null> {
  const path = expand(project ?? '')
  const subject = path.includes('/') ? await nullOnFailure(getProjectFor(ctx, caller, path)) : null
  return subject?.can('read_pipeline') ? nullOnFailure(latestArchive(ctx, subject, expand(ref ?? ''), expand(job))) : null
}

/** Of a pipeline that has led to this one, or that one of these has led to. */
async function ofPipeline(ctx: Context, { pipeline }: Needing, { job }: ExternalNeed, given: string): Promise<Artifact | null> {
  const id = numericId(given)
  if (id === null) return null
  const [found] = await ctx.db.write
    .select({ artifact: artifacts })
    .from(artifacts)
    .innerJoin(commitStatuses, eq(commitStatuses.id, artifacts.job_id))
    .innerJoin(pipelines, eq(pipelines.id, commitStatuses.pipeline_id))
    .where(
      and(
        eq(artifacts.project_id, pipeline.project_id),
        eq(artifacts.file_type, 'archive'),
        eq(commitStatuses.name, job),
        eq(pipelines.id, id),
        sql`${commitStatuses.latest} and ${commitStatuses.status} = 'success' and coalesce(${pipelines.root_id}, ${pipelines.id}) = ${pipeline.root_id ?? pipeline.id}`,
      ),
    )
    .orderBy(desc(artifacts.id))
    .limit(1)
  return found?.artifact ?? null
}
