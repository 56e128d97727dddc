import { sql } from 'drizzle-orm'
import { z } from 'zod'
import { actingAs, actorOf, type SignedIn } from '../../access/actor.js'
import { getProjectFor, type Project, type ProjectSubject } from '../../access/rules.js'
import type { Context, PushEvent } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { isUniqueViolation } from '../../db/errors.js'
import { onlyRow } from '../../db/only-row.js'
import { builds, commitStatuses, mergeRequestPipelines, mergeRequests, pipelines, pipelineVariables } from '../../db/schema/index.js'
import { Failure, invalidRecord, nullOnFailure } from '../../failures.js'
import { type Commit, type Oid, ZERO } from '../../git/types.js'
import { defineJob } from '../../jobs/kinds.js'
import type { CompiledConfig, InputValue, PipelineSource, Plan, PlannedJob, Variable } from '../../rules/ci/types.js'
import { nextIid } from '../core/iids.js'
import { getUser } from '../identity/users.js'
import { protectionsOf } from '../repository/protection.js'
import { repositoryOf } from '../repository/repositories.js'
import { cancelRedundant } from './auto-cancel.js'
import { type ChildConfig, withFiles } from './bridges/config.js'
import { advance, lockJobs } from './builds/advance.js'
import { comparisonOf, planWithChanges } from './changes.js'
import { isFrozen } from './environments/freeze-periods.js'
import { environmentFaults, insertDeployments } from './environments/of-jobs.js'
import { announce } from './events.js'
import { configurationPath, includeResolver, pathsOf, readOwnFile } from './includes.js'
import { type RequestsOfPipeline, requestsOf } from './merge-requests/facts.js'
import { becomeHead } from './merge-requests/heads.js'
import { predefinedVariables } from './predefined.js'
import { openPushVariables } from './push-variables.js'
import { insertResourceGroups, resourceGroupFaults } from './resource-groups/groups.js'
import { targetOf } from './target.js'
import { keysFault, pipelineVariablePurpose, refuseVariables, storedVariables } from './variables.js'

/** What a pipeline is made for. */
export interface NewPipeline {
  source: PipelineSource
  /** The short name of a branch or tag. */
  ref: string
  tag: boolean
  sha: Oid
  before_sha: Oid | null
  /** Given with the call: they are above those of the project. */
  variables: (Variable & { file?: boolean })[]
  /** The job of the queue that makes it: it is made once. */
  made_by: number | null
  /**
   * Whether what makes no pipeline is refused: a configuration with faults or without jobs, or the latter alone. Else
   * faults make a failed one, and without jobs there is none.
   */
  strict: boolean | 'if empty'
  /** It is for this merge request, whose source the project is; of a child pipeline: as its parent (CI-205). */
  merge_request?: number | undefined
  /** The job of another pipeline that makes it, and the first of the pipelines that lead to it. */
  bridge_id?: number
  root_id?: number
  schedule_id?: number
  /** Instead of the file of the project: of a child pipeline. */
  config?: ChildConfig | undefined
  /** For `spec: inputs` of the file. */
  inputs?: Record<string, InputValue> | undefined
}

/** What is planned for a pipeline, or why there is none. */
interface Planned {
  compiled: CompiledConfig | null
  plan: Plan | null
  /** A fault of the configuration, or that no job is wanted. */
  errors: string[]
  /** There is nothing to run, which is no fault. */
  nothing: boolean
}

/** What is wrong with a planned job, whose names are known now. */
const jobFaults = (job: PlannedJob): string[] => [...environmentFaults(job), ...resourceGroupFaults(job)]

/** Reads the configuration of a commit and plans its jobs. */
async function planFor(
  ctx: Context,
  caller: SignedIn,
  subject: ProjectSubject,
  { commit, isProtected, requests, ...given }: NewPipeline & { commit: Commit; isProtected: boolean; requests: RequestsOfPipeline },
): Promise<Planned> {
  const none = (error: string, nothing: boolean): Planned => ({ compiled: null, plan: null, errors: [error], nothing })
  const { project } = subject
  const own = { subject, commit: commit.oid }
  const text = given.config ? given.config.text : await readOwnFile(ctx, own, configurationPath(project))
  if (text === null) return none('Missing CI config file', true)
  if (text === undefined) return none('The CI config file is too large', false)
  const { user } = caller
  const frozen = await isFrozen(ctx, project)
  const predefined = predefinedVariables(ctx, { ...given, ...requests, project, commit, user, frozen, pipeline: null, protected: isProtected })
  const overriding = [...(await storedVariables(ctx, project, isProtected)), ...given.variables]
  // of a merge request since the merge base with the target branch (CI-209)
  const changed = comparisonOf(ctx, own, requests.request ? requests.request.base : given.before_sha)
  const resolver = includeResolver(ctx, caller, own, changed)
  const compiled = await ctx.cpu.ci.compile(
    text,
    { variables: [...predefined, ...overriding], ...(given.inputs && { inputs: given.inputs }) },
    given.config ? withFiles(given.config.files, resolver) : resolver,
  )
  if (compiled.errors.length > 0) return { compiled, plan: null, errors: compiled.errors, nothing: false }
  const planned = await planWithChanges(ctx, changed, compiled, {
    source: given.source,
    ref: given.ref,
    is_tag: given.tag,
    is_merge_request: requests.request !== null,
    project_path: `${project.namespace.full_path}/${project.path}`,
    predefined,
    overriding,
    tree: compiled.reads.exists ? await pathsOf(ctx, own) : null,
  })
  const errors = planned.errors.length > 0 ? planned.errors : planned.jobs.flatMap(jobFaults)
  return { compiled, plan: planned, errors, nothing: planned.is_filtered || planned.is_empty }
}

/** Whether the message of a commit says that nothing is to run. */
const skipsCi = (message: string) => /\[(?:ci[ -]skip|skip[ -]ci)\]/i.test(message)

export const refusedPipeline = (errors: string[]) => new Failure('invalid', { message: { base: errors } })

/** Pipelines that a job triggers or a schedule makes: their variables were written by those who may do that. */
const FROM_JOBS: PipelineSource[] = ['pipeline', 'parent_pipeline', 'schedule']

/**
 * Makes a pipeline of the configuration of a commit, with its jobs, and begins it. Null: there is nothing to run. A strict
 * call is refused where another gets a failed pipeline.
 */
export async function createPipeline(ctx: Context, caller: SignedIn, subject: ProjectSubject, given: NewPipeline): Promise<number | null> {
  const { project } = subject
  if (given.variables.length > 0 && !FROM_JOBS.includes(given.source)) refuseVariables(subject)
  const commit = await repositoryOf(ctx, project).commit(given.sha)
  if (!commit) throw refusedPipeline(['Commit not found'])
  const isProtected = await hasProtectedRef(ctx, project, given)
  const requests = await requestsOf(ctx, { ...given, request: given.merge_request ?? null, project, user: caller.user })
  const { compiled, plan: planned, errors, nothing } = await planFor(ctx, caller, subject, { ...given, commit, isProtected, requests })
  if (errors.length > 0 && (given.strict === true || (given.strict && nothing))) throw refusedPipeline(errors)
  if (nothing) return null
  const skipped = (given.source === 'push' || given.source === 'merge_request_event') && skipsCi(commit.message)
  const jobs = errors.length > 0 || skipped || !planned ? [] : planned.jobs
  const now = ctx.now()
  try {
    const [id, made, state] = await ctx.db.transaction(async (tx) => {
      const row = onlyRow(
        await tx
          .insert(pipelines)
          .values({
            project_id: project.id,
            iid: await nextIid(tx, project.id, 'pipeline'),
            sha: given.sha,
            ref: given.ref,
            tag: given.tag,
            source: given.source,
            user_id: caller.user.id,
            before_sha: given.before_sha,
            protected: isProtected,
            made_by: given.made_by,
            bridge_id: given.bridge_id ?? null,
            root_id: given.root_id ?? null,
            schedule_id: given.schedule_id ?? null,
            status: errors.length > 0 ? 'failed' : skipped ? 'skipped' : 'created',
            yaml_errors: errors.length > 0 ? errors.join('\n') : null,
            stages: compiled && planned ? planned.stages : [],
            auto_cancel: planned?.auto_cancel ?? null,
            created_at: now,
            updated_at: now,
          })
          .returning(),
      )
      if (given.variables.length > 0)
        await tx.insert(pipelineVariables).values(
          given.variables.map(({ key, value, file }) => ({
            pipeline_id: row.id,
            key,
            sealed: ctx.encryption.seal(value, pipelineVariablePurpose(row.id, key)),
            file: file ?? false,
          })),
        )
      if (given.merge_request !== undefined) await insertRequestPipeline(tx, row.id, given.merge_request)
      if (row.source !== 'parent_pipeline') await becomeHead(tx, row, given.merge_request ?? null)
      if (jobs.length === 0) return [row.id, { ...row, status: 'created' as const }, row.status] as const
      // what is deployed for a merge request is of its source branch (CI-216)
      await insertJobs(tx, { ...row, ref: requests.request?.source_branch ?? row.ref }, caller.user.id, jobs, now)
      const locked = await lockJobs(tx, row.id)
      return [row.id, row, await advance(ctx, tx, locked ?? row)] as const
    })
    await announce(ctx, made, state)
    await cancelRedundant(ctx, project, given)
    return id
  } catch (error) {
    // an earlier attempt of the job has made it, and may have ended there
    if (given.made_by === null || !isUniqueViolation(error)) throw error
    await cancelRedundant(ctx, project, given)
    return null
  }
}

/** Whether protected variables and runners serve a pipeline; the ref of a merge request is no branch (CI-210). */
async function hasProtectedRef(ctx: Context, project: Project, { tag, ref, merge_request }: NewPipeline): Promise<boolean> {
  const protections = await protectionsOf(ctx, project.id)
  if (merge_request !== undefined && ref.startsWith('refs/merge-requests/')) return false
  return tag ? protections.isTagProtected(ref) : protections.isProtected(ref)
}

const insertRequestPipeline = (tx: Transaction, pipeline: number, request: number) =>
  tx.execute(sql`insert into ${mergeRequestPipelines} (pipeline_id, project_id, merge_request_id)
    select ${pipeline}::bigint, r.project_id, r.id from ${mergeRequests} r where r.id = ${request}`)

/** Rows of jobs are inserted this many at a time. */
const ROWS = 500

async function insertJobs(tx: Transaction, pipeline: typeof pipelines.$inferSelect, user: number, jobs: PlannedJob[], now: Date): Promise<void> {
  const groups = await insertResourceGroups(tx, pipeline.project_id, jobs)
  for (let at = 0; at < jobs.length; at += ROWS) {
    const part = jobs.slice(at, at + ROWS)
    const rows = await tx
      .insert(commitStatuses)
      .values(
        part.map((job) => ({
          project_id: pipeline.project_id,
          pipeline_id: pipeline.id,
          user_id: user,
          kind: job.kind,
          name: job.name,
          stage: job.stage,
          stage_index: job.stage_index,
          status: 'created' as const,
          allow_failure: job.allow_failure,
          created_at: now,
        })),
      )
      .returning({ id: commitStatuses.id, name: commitStatuses.name })
    const ids = new Map(rows.map(({ id, name }) => [name, id]))
    await tx.insert(builds).values(
      part.map((definition) => ({
        job_id: ids.get(definition.name) as number,
        definition,
        needs: definition.needs?.map(({ job }) => job) ?? null,
        resource_group_id: definition.resource_group === null ? null : (groups.get(definition.resource_group) ?? null),
      })),
    )
    const inserted = part.map((definition) => ({ id: ids.get(definition.name) as number, definition }))
    await insertDeployments(tx, pipeline, inserted, user, now)
  }
}

/** Makes the pipelines of the branches and tags that a push has moved (CI-103). */
export const pushPipelines = defineJob({
  kind: 'pipelines of a push',
  input: z.object({
    project: z.int(),
    user: z.int(),
    moves: z.array(z.object({ ref: z.string(), tag: z.boolean(), old: z.string(), new: z.string() })),
    /** Encrypted: PO-20. */
    variables: z.string().optional(),
  }),
  async run(ctx: Context, { project: id, user: userId, moves, variables: sealed }, { id: job }) {
    const user = await nullOnFailure(getUser(ctx, userId))
    if (user?.state !== 'active') return
    const caller = actingAs(actorOf(user))
    const subject = await nullOnFailure(getProjectFor(ctx, caller, String(id)))
    if (!subject || !runsJobs(subject.project)) return
    const variables = sealed === undefined ? [] : openPushVariables(ctx, id, sealed)
    // without them its jobs could do what the pusher did not want
    if (!variables) return
    for (const { ref, tag, old, new: to } of moves) {
      const sha = (await repositoryOf(ctx, subject.project).resolve(to))?.commit
      if (sha)
        await createPipeline(ctx, caller, subject, {
          source: 'push',
          ref,
          tag,
          sha,
          before_sha: old,
          variables,
          made_by: job,
          strict: false,
        })
    }
  },
})

/** Whether pipelines are made in a project at all. */
export const runsJobs = ({ builds_access_level, archived }: Pick<Project, 'builds_access_level' | 'archived'>) => builds_access_level > 0 && !archived

const BRANCH_OR_TAG = /^refs\/(heads|tags)\/(.+)$/s
/** Of a push with more branches and tags, the others get none, as in the original. */
export const MAX_PIPELINES_OF_A_PUSH = 4

/** What follows a push: its pipelines are made by a job that is stored with the end of the push. */
export async function enqueuePipelines(_: Context, { projectId, moves, actor, enqueue }: PushEvent): Promise<void> {
  const wanted = moves.flatMap(({ ref, old, new: to, skip_ci, without_ci }) => {
    const [, kind, name] = BRANCH_OR_TAG.exec(ref) ?? []
    return name === undefined || to === ZERO || skip_ci || without_ci ? [] : [{ ref: name, tag: kind === 'tags', old, new: to }]
  })
  const user = wanted.length > 0 ? await actor() : null
  if (user !== null && wanted.length <= MAX_PIPELINES_OF_A_PUSH)
    enqueue(pushPipelines, { project: projectId, user, moves: wanted, variables: moves.find((each) => each.ci_variables)?.ci_variables })
}

/** What is asked of a pipeline that no push makes. */
type RequestedPipeline = Pick<NewPipeline, 'ref' | 'variables' | 'source' | 'root_id' | 'schedule_id'>

/** Makes a pipeline for a branch or tag, as the API and the page do (CI-104). */
export async function runPipeline(ctx: Context, caller: SignedIn, subject: ProjectSubject, given: RequestedPipeline): Promise<number> {
  const id = await runPipelineOnce(ctx, caller, subject, { ...given, made_by: null })
  if (id === null) throw refusedPipeline(['No stages / jobs for this pipeline.'])
  return id
}

/** The same, once for each job of the queue; null: the job has made it before. */
export async function runPipelineOnce(
  ctx: Context,
  caller: SignedIn,
  subject: ProjectSubject,
  given: RequestedPipeline & Pick<NewPipeline, 'made_by'>,
): Promise<number | null> {
  const { variables } = given
  if (!subject.can('create_pipeline') || !runsJobs(subject.project)) throw refusedPipeline(['Insufficient permissions to create a new pipeline'])
  const { malformed, twice } = keysFault(variables)
  if (malformed) throw invalidRecord({ variables: [malformed] })
  if (twice) throw refusedPipeline([`Variables ${twice}`])
  const target = await targetOf(ctx, subject, given.ref)
  if (!target) throw refusedPipeline(['Reference not found'])
  if (target.refusal !== null) throw refusedPipeline([target.refusal])
  return createPipeline(ctx, caller, subject, { ...given, ref: target.ref, tag: target.tag, sha: target.sha, before_sha: null, strict: true })
}
