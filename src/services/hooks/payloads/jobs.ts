import { and, asc, eq, inArray, sql } from 'drizzle-orm'
import type { Context } from '../../../context.js'
import { artifacts, builds, pipelines, type RowImage, runners } from '../../../db/schema/index.js'
import { ZERO } from '../../../git/types.js'
import type { PlannedJob } from '../../../rules/ci/types.js'
import type { HookChange } from '../../outbox/changes.js'
import type { WebhookEvent } from '../event.js'
import { type PayloadData, repositoryObject, userById } from '../payload-data.js'
import { repositoryIn } from './commits.js'

/** What a job for a runner has in payloads, beside its row of `commit_statuses`. */
export interface BuildFacts {
  when: PlannedJob['when']
  environment: PlannedJob['environment']
  runner: typeof runners.$inferSelect | null
  archive: { filename: string; size: number } | null
}

/** Those of several jobs, by id; statuses have none. */
export async function buildFactsOf({ db }: Context, ids: number[]): Promise<Map<number, BuildFacts>> {
  if (ids.length === 0) return new Map()
  const rows = await db.write
    .select({
      id: builds.job_id,
      when: sql<PlannedJob['when']>`${builds.definition} ->> 'when'`,
      environment: sql<PlannedJob['environment']>`nullif(${builds.definition} -> 'environment', 'null')`,
      runner: runners,
      filename: artifacts.filename,
      size: artifacts.size,
    })
    .from(builds)
    .leftJoin(runners, eq(runners.id, builds.runner_id))
    .leftJoin(artifacts, and(eq(artifacts.job_id, builds.job_id), eq(artifacts.file_type, 'archive')))
    .where(inArray(builds.job_id, ids))
    .orderBy(asc(builds.job_id))
  return new Map(
    rows.map(({ id, filename, size, ...facts }) => [id, { ...facts, archive: filename !== null && size !== null ? { filename, size } : null }]),
  )
}

export const runnerObject = (runner: BuildFacts['runner']) =>
  runner && {
    id: runner.id,
    description: runner.description,
    runner_type: runner.kind,
    active: !runner.paused,
    is_shared: runner.kind === 'instance_type',
    tags: runner.tags,
  }

export const environmentObject = (environment: PlannedJob['environment']) =>
  environment && { name: environment.name, action: environment.action, deployment_tier: environment.deployment_tier }

const iso = (value: unknown) => (typeof value === 'string' ? new Date(value).toISOString() : null)
/** Seconds from one time to another. */
export const secondsBetween = (from: unknown, to: unknown) =>
  typeof from === 'string' && typeof to === 'string' ? Math.max(0, (new Date(to).getTime() - new Date(from).getTime()) / 1_000) : null

/** The event of a job whose state has changed (CI-246). */
export async function jobOf(data: PayloadData, job: RowImage): Promise<WebhookEvent[]> {
  const { ctx } = data
  const project = await data.project(job['project_id'])
  const [pipeline] = await ctx.db.write
    .select()
    .from(pipelines)
    .where(eq(pipelines.id, Number(job['pipeline_id'])))
  if (!project || !pipeline) return []
  const id = Number(job['id'])
  const facts = (await buildFactsOf(ctx, [id])).get(id)
  const commit = await repositoryIn(data, project).commit(pipeline.sha)
  const author = commit && (await authorUrl(data, commit.author.email))
  const { rows } = await ctx.db.write.execute<{ started: string | null; finished: string | null }>(
    sql`select to_json(min(s.started_at)) #>> '{}' as started, to_json(max(s.finished_at)) #>> '{}' as finished from commit_statuses s
      where s.project_id = ${project.id} and s.pipeline_id = ${pipeline.id} and s.latest`,
  )
  const ended = ['success', 'failed', 'canceled', 'skipped'].includes(pipeline.status)
  const [started, finished] = [rows[0]?.started ?? null, ended ? (rows[0]?.finished ?? null) : null]
  const duration = secondsBetween(started, finished)
  const body = {
    object_kind: 'build',
    ref: pipeline.ref,
    tag: pipeline.tag,
    before_sha: pipeline.before_sha ?? ZERO,
    sha: pipeline.sha,
    build_id: id,
    build_name: job['name'],
    build_stage: job['stage'],
    build_status: job['status'],
    build_created_at: iso(job['created_at']),
    build_started_at: iso(job['started_at']),
    build_finished_at: iso(job['finished_at']),
    build_duration: secondsBetween(job['started_at'], job['finished_at']),
    build_queued_duration: secondsBetween(job['queued_at'], job['started_at']),
    build_allow_failure: job['allow_failure'],
    // the original has no job without a reason
    build_failure_reason: job['failure_reason'] ?? 'unknown_failure',
    pipeline_id: pipeline.id,
    runner: runnerObject(facts?.runner ?? null),
    project_id: project.id,
    project_name: `${project.namespace['full_name']} / ${project.row['name']}`,
    user: await userById(data, job['user_id']),
    commit: {
      // of the pipeline, as in the original
      id: pipeline.id,
      sha: pipeline.sha,
      message: commit?.message ?? null,
      author_name: commit?.author.name ?? null,
      author_email: commit?.author.email ?? null,
      author_url: author,
      status: pipeline.status,
      duration: duration === null ? null : Math.round(duration),
      started_at: iso(started),
      finished_at: iso(finished),
    },
    repository: {
      ...repositoryObject(data, project),
      git_http_url: ctx.links.http(project.fullPath),
      git_ssh_url: ctx.links.ssh(project.fullPath),
      visibility_level: project.row['visibility'],
    },
    environment: environmentObject(facts?.environment ?? null),
  }
  return [{ listens: 'job', event: 'Job Hook', project: project.id, body }]
}

/** The page of a commit's author, or a link to write to them. */
async function authorUrl({ ctx }: PayloadData, email: string): Promise<string> {
  const { rows } = await ctx.db.write.execute<{ username: string }>(
    sql`select u.username from users u where lower(u.email) = lower(${email}) and u.state = 'active' limit 1`,
  )
  return rows[0] ? `${ctx.links.base}/${rows[0].username}` : `mailto:${email}`
}

/** The event of a changed row. */
export const jobsOf = (data: PayloadData, { after }: HookChange): Promise<WebhookEvent[]> => (after ? jobOf(data, after) : Promise.resolve([]))
