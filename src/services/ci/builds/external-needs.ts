import { sql } from 'drizzle-orm'
import type { SignedIn } from '../../../access/actor.js'
import { getProjectFor } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { type builds, commitStatuses, pipelines } from '../../../db/schema/index.js'
import { nullOnFailure } from '../../../failures.js'
import { numericId } from '../../../lib/numeric-id.js'
import type { ExternalNeed } from '../../../rules/ci/types.js'
import { type Artifact, archiveNamed, latestArchive } from '../artifacts/read.js'

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
  const related = sql`(select q.id from ${pipelines} q where q.id = ${id} and coalesce(q.root_id, q.id) = ${pipeline.root_id ?? pipeline.id})`
  return archiveNamed(ctx, pipeline.project_id, job, sql`${commitStatuses.status} = 'success' and ${commitStatuses.pipeline_id} = ${related}`)
}
