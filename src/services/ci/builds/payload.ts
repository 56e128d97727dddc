import { and, asc, eq } from 'drizzle-orm'
import { actingAs, actorOf } from '../../../access/actor.js'
import { fullPathOf, type Project } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { artifacts, builds, commitStatuses, namespaces, pipelines, projects } from '../../../db/schema/index.js'
import { type Oid, ZERO } from '../../../git/types.js'
import { expandEach, expandVariables, valuesOf } from '../../../rules/ci/expand-variables.js'
import { releaseScript } from '../../../rules/ci/release-script.js'
import type { PlannedJob, Variable } from '../../../rules/ci/types.js'
import { DEFAULT_GIT_DEPTH } from '../../../rules/project-settings.js'
import { getUser } from '../../identity/users.js'
import { repositoryOf } from '../../repository/repositories.js'
import { isFrozen } from '../environments/freeze-periods.js'
import { environmentVariables, isOutdated, recordAddress } from '../environments/of-jobs.js'
import { requestOfPipeline, requestsOf } from '../merge-requests/facts.js'
import { predefinedVariables } from '../predefined.js'
import { dotenvFor } from '../reports/dotenv.js'
import type { Runner } from '../runners/runners.js'
import { overridingVariables } from '../variables.js'
import { cachesOf } from './caches.js'
import { isDependencyOf } from './dependencies.js'
import { externalDependencies } from './external-needs.js'
import { canMask, keepMasks } from './masking.js'
import type { TakenBuild } from './queue.js'

/** A variable as a runner gets it. */
interface SentVariable {
  key: string
  value: string
  public: boolean
  masked: boolean
  file: boolean
  raw: boolean
}

/** Everything of a job that its payload is made of. */
export interface BuildRecord {
  job: typeof commitStatuses.$inferSelect
  build: typeof builds.$inferSelect
  pipeline: typeof pipelines.$inferSelect
  project: Project
}

export async function loadBuild(ctx: Context, id: number): Promise<BuildRecord | null> {
  const [row] = await ctx.db.write
    .select({ job: commitStatuses, build: builds, pipeline: pipelines, project: projects, namespace: namespaces })
    .from(commitStatuses)
    .innerJoin(builds, eq(builds.job_id, commitStatuses.id))
    .innerJoin(pipelines, eq(pipelines.id, commitStatuses.pipeline_id))
    .innerJoin(projects, eq(projects.id, commitStatuses.project_id))
    .innerJoin(namespaces, eq(namespaces.id, projects.namespace_id))
    .where(eq(commitStatuses.id, id))
  return row ? { ...row, project: { ...row.project, namespace: row.namespace } } : null
}

/** A job that cannot be given to a runner, with the reason for which it fails. */
export class Unfit extends Error {
  constructor(readonly reason: string) {
    super(reason)
  }
}

/** The payload of a job for the runner that has taken it (CI-116). Throws Unfit. */
export async function payloadOf(ctx: Context, runner: Runner, taken: TakenBuild): Promise<object> {
  const record = await loadBuild(ctx, taken.job)
  if (!record) throw new Unfit('unknown_failure')
  const { job, build, pipeline, project } = record
  const { definition } = build
  const repository = repositoryOf(ctx, project)
  const [user, commit, dependencies] = await Promise.all([
    getUser(ctx, job.user_id),
    repository.commit(pipeline.sha as Oid),
    dependenciesOf(ctx, record, taken.token),
  ])
  if (user.state !== 'active') throw new Unfit('user_blocked')
  if (!commit) throw new Unfit('unknown_failure')
  if (project.ci_forward_deployment_enabled && definition.when !== 'manual' && (await isOutdated(ctx, job.id)))
    throw new Unfit('forward_deployment_failure')
  const path = fullPathOf(project)
  const base = new URL(ctx.links.http(path))
  base.username = 'gitlab-ci-token'
  base.password = taken.token
  const request = await requestOfPipeline(ctx, pipeline.id)
  const requests = await requestsOf(ctx, { ...pipeline, request, project, user: actorOf(user) })
  const frozen = await isFrozen(ctx, project)
  const predefined = [
    ...predefinedVariables(ctx, { ...pipeline, ...requests, project, commit, user: actorOf(user), frozen, pipeline }),
    ...jobVariables(ctx, record, runner),
    ...environmentVariables(definition),
  ]
  const secret: Variable[] = [
    { key: 'CI_JOB_TOKEN', value: taken.token, masked: true },
    { key: 'CI_REPOSITORY_URL', value: base.href },
    { key: 'CI_REGISTRY_PASSWORD', value: taken.token, masked: true },
  ]
  const { stored, given } = await overridingVariables(ctx, { project, pipeline, environment: definition.environment?.name ?? null })
  const overriding = [...stored, ...given, ...build.variables]
  const dotenv = await dotenvFor(ctx, job, definition)
  const hidden = new Set([...secret, ...dotenv, ...overriding].map(({ key }) => key))
  const all = expandEach([...valuesOf([...predefined, ...secret, ...definition.variables, ...dotenv, ...overriding]).values()])
  const values = valuesOf(all)
  const expand = (text: string) => expandVariables(text, values)
  await recordAddress(ctx, job.id, definition, expand)
  const external = await externalDependencies(
    ctx,
    record,
    { ...actingAs(actorOf(user)), job: { id: job.id, project: project.id } },
    taken.token,
    expand,
  )
  if (!external) throw new Unfit('missing_dependency_failure')
  const variables: SentVariable[] = all.map(({ key, value, file, raw, masked }) => ({
    key,
    value,
    public: !hidden.has(key),
    masked: masked ?? false,
    file: file ?? false,
    raw: raw ?? false,
  }))
  const masks = all.flatMap(({ value, masked }) => (masked ? [value] : []))
  if (!canMask(masks)) throw new Unfit('data_integrity_failure')
  await keepMasks(ctx, job.id, masks)
  const container = ({ name, entrypoint, pull_policy }: { name: string; entrypoint: string[] | null; pull_policy: string[] }) => ({
    name: expand(name),
    entrypoint,
    ports: [],
    pull_policy: pull_policy.length > 0 ? pull_policy : null,
  })
  const standard = project.ci_default_git_depth ?? DEFAULT_GIT_DEPTH
  const depth = Number(values.get('GIT_DEPTH')?.value ?? standard)
  const branch = pipeline.tag ? `refs/tags/${pipeline.ref}` : `refs/heads/${pipeline.ref}`
  const local = pipeline.tag ? branch : `refs/remotes/origin/${pipeline.ref}`
  const all_refs = ['+refs/heads/*:refs/remotes/origin/*', '+refs/tags/*:refs/tags/*']
  // the commit by its id: its branch may have moved on, or be gone
  const refspecs = [
    `+${pipeline.sha}:refs/pipelines/${pipeline.id}`,
    ...(depth === 0 ? all_refs : request === null && (await repository.ref(branch)) ? [`+${branch}:${local}`] : []),
  ]
  return {
    id: job.id,
    token: taken.token,
    allow_git_fetch: project.build_git_strategy === 'fetch',
    job_info: {
      id: job.id,
      name: job.name,
      stage: job.stage,
      project_id: project.id,
      project_name: project.path,
      project_full_path: path,
      pipeline_id: pipeline.id,
      user_id: job.user_id,
      time_in_queue_seconds: job.queued_at && job.started_at ? Math.round((job.started_at.getTime() - job.queued_at.getTime()) / 1_000) : 0,
      project_jobs_running_on_instance_runners_count: '+Inf',
    },
    git_info: {
      repo_url: base.href,
      repo_object_format: 'sha1',
      ref: pipeline.ref,
      sha: pipeline.sha,
      before_sha: pipeline.before_sha ?? ZERO,
      ref_type: pipeline.tag ? 'tag' : 'branch',
      refspecs,
      depth: Number.isInteger(depth) && depth >= 0 ? depth : standard,
      protected: pipeline.protected,
    },
    runner_info: { timeout: taken.timeout, runner_session_url: null },
    variables,
    steps: stepsOf(definition, taken.timeout),
    image: definition.image && container(definition.image),
    services: definition.services.map((service) => ({
      ...container(service),
      alias: service.alias,
      command: service.command,
      variables: service.variables,
    })),
    artifacts: artifactsOf(definition, expand),
    cache: await cachesOf(repository, pipeline.sha as Oid, definition, expand, pipeline.protected),
    credentials: project.container_registry_enabled
      ? [{ type: 'registry', url: ctx.links.registry, username: 'gitlab-ci-token', password: taken.token }]
      : [],
    dependencies: [...dependencies, ...external],
    features: {
      trace_sections: true,
      token_mask_prefixes: ['glrt-'],
      failure_reasons: ['script_failure', 'runner_system_failure', 'job_execution_timeout', 'unknown_failure'],
    },
  }
}

/** Variables that differ among the jobs of a pipeline. */
function jobVariables(ctx: Pick<Context, 'links'>, { job, build: { definition }, project }: BuildRecord, runner: Runner): Variable[] {
  const values: Record<string, string | undefined> = {
    CI_JOB_ID: String(job.id),
    CI_JOB_NAME: job.name,
    CI_JOB_STAGE: job.stage,
    CI_JOB_STARTED_AT: job.started_at?.toISOString(),
    CI_JOB_URL: `${ctx.links.project(fullPathOf(project))}/-/jobs/${job.id}`,
    CI_JOB_MANUAL: definition.when === 'manual' ? 'true' : undefined,
    CI_JOB_IMAGE: definition.image?.name,
    CI_NODE_TOTAL: String(definition.parallel?.total ?? 1),
    CI_NODE_INDEX: definition.parallel ? String(definition.parallel.index) : undefined,
    CI_RUNNER_ID: String(runner.id),
    CI_RUNNER_DESCRIPTION: runner.description ?? '',
    CI_RUNNER_TAGS: JSON.stringify(runner.tags),
  }
  return Object.entries(values).flatMap(([key, value]) => (value === undefined ? [] : [{ key, value }]))
}

function stepsOf({ before_script: before, script, after_script: after, release }: PlannedJob, timeout: number) {
  const step = (name: string, lines: string[]) => ({ name, script: lines, timeout, when: 'on_success', allow_failure: false })
  const main = [step('script', [...before, ...script]), ...(release ? [step('release', [releaseScript(release)])] : [])]
  return after.length > 0 ? [...main, { name: 'after_script', script: after, timeout, when: 'always', allow_failure: true }] : main
}

/** File names and formats of reports; others are sent as they are. */
const ZIPPED_REPORTS: Record<string, string> = { junit: 'junit.xml', dotenv: '.env', cobertura: 'cobertura-coverage.xml', metrics: 'metrics.txt' }
const RAW_REPORTS: Record<string, string> = { codequality: 'gl-code-quality-report.json', terraform: 'tfplan.json' }

function artifactsOf({ artifacts: given }: PlannedJob, expand: (text: string) => string) {
  if (!given) return null
  const { name, untracked, paths, exclude, when, expire_in, reports } = given
  const archive =
    paths.length > 0 || untracked
      ? [
          {
            name: expand(name ?? 'artifacts'),
            untracked,
            paths: paths.map(expand),
            exclude: exclude.map(expand),
            when,
            expire_in,
            artifact_type: 'archive',
            artifact_format: 'zip',
          },
        ]
      : []
  const files = reports.map(({ type, paths: of }) => ({
    name: ZIPPED_REPORTS[type] ?? RAW_REPORTS[type] ?? `gl-${type.replaceAll('_', '-')}-report.json`,
    untracked: false,
    paths: of.map(expand),
    exclude: [],
    when: 'always',
    expire_in,
    artifact_type: type,
    artifact_format: type in ZIPPED_REPORTS ? 'gzip' : 'raw',
  }))
  return [...archive, ...files]
}

/** The jobs whose archives the runner downloads before it begins, which it may read with the job's own token. */
async function dependenciesOf(ctx: Context, { job, build: { definition } }: BuildRecord, token: string): Promise<object[]> {
  const rows = await ctx.db.write
    .select({ id: commitStatuses.id, name: commitStatuses.name, filename: artifacts.filename, size: artifacts.size })
    .from(commitStatuses)
    .innerJoin(artifacts, and(eq(artifacts.job_id, commitStatuses.id), eq(artifacts.file_type, 'archive')))
    .where(isDependencyOf(job, definition))
    .orderBy(asc(commitStatuses.id))
  return rows.map(({ id, name, filename, size }) => ({ id, name, token, artifacts_file: { filename, size } }))
}
