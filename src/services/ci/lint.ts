import type { Caller } from '../../access/actor.js'
import { fullPathOf, type ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { notFound } from '../../failures.js'
import type { CompiledJob, PipelineContext, Variable } from '../../rules/ci/types.js'
import { protectionsOf } from '../repository/protection.js'
import { repositoryOf } from '../repository/repositories.js'
import { resolveRevision } from '../repository/revisions.js'
import { comparisonOf, planWithChanges } from './changes.js'
import { isFrozen } from './environments/freeze-periods.js'
import { configurationPath, includeResolver, type OwnFiles, pathsOf, readOwnFile } from './includes.js'
import { requestsOf } from './merge-requests/facts.js'
import { predefinedVariables } from './predefined.js'

export interface LintRecord {
  errors: string[]
  warnings: string[]
  merged_yaml: string | null
  /** Only if they are asked for. */
  jobs?: LintJob[]
}

/** A job that the file has, or in a dry run the pipeline would have. */
export type LintJob = Pick<
  CompiledJob,
  'name' | 'stage' | 'before_script' | 'script' | 'after_script' | 'tags' | 'environment' | 'when' | 'allow_failure'
> &
  Partial<Pick<CompiledJob, 'only' | 'except' | 'needs'>>

export interface LintOptions {
  /** Also whether there would be a pipeline for a branch or tag, by default the default branch. */
  dry_run?: boolean | undefined
  ref?: string | undefined
  include_jobs?: boolean | undefined
}

/** Checks a configuration of no project (CI-61). */
export async function lintText(ctx: Context, caller: Pick<Caller, 'user'>, content: string): Promise<LintRecord> {
  return ctx.cpu.ci.compile(content, { variables: [], wants_merged_yaml: true }, includeResolver(ctx, caller, null, comparisonOf(ctx, null, null)))
}

/** Checks a configuration as if it were that of the default branch of a project (CI-62). */
export async function lintForProject(
  ctx: Context,
  caller: Pick<Caller, 'user'>,
  subject: ProjectSubject,
  { content, ...options }: LintOptions & { content: string },
): Promise<LintRecord> {
  const found = await resolveRevision(ctx, subject, subject.project.default_branch)
  return lint(ctx, caller, { subject, commit: found?.commit ?? null }, { content, ...options })
}

/** Checks the configuration that a project has at a revision (CI-62). */
export async function lintOfProject(
  ctx: Context,
  caller: Pick<Caller, 'user'>,
  subject: ProjectSubject,
  { sha, ...options }: LintOptions & { sha?: string | undefined },
): Promise<LintRecord> {
  const found = await resolveRevision(ctx, subject, sha ?? subject.project.default_branch)
  if (!found) throw notFound('Commit')
  const content = await readOwnFile(ctx, { subject, commit: found.commit }, configurationPath(subject.project))
  return lint(ctx, caller, { subject, commit: found.commit }, { content: content ?? '', ...options })
}

async function lint(
  ctx: Context,
  caller: Pick<Caller, 'user'>,
  { subject, commit }: { subject: ProjectSubject; commit: OwnFiles['commit'] | null },
  { content, dry_run, include_jobs, ref = subject.project.default_branch }: LintOptions & { content: string },
): Promise<LintRecord> {
  const own = commit === null ? null : { subject, commit }
  const predefined = await predefinedOf(ctx, caller, subject, ref)
  const changed = comparisonOf(ctx, own, null)
  const resolver = includeResolver(ctx, caller, own, changed)
  const compiled = await ctx.cpu.ci.compile(content, { variables: predefined ?? [], wants_merged_yaml: true }, resolver)
  const { errors, warnings, merged_yaml } = compiled
  const answer = (faults: string[], jobs: LintJob[]) => ({ errors: faults, warnings, merged_yaml, ...(include_jobs && { jobs }) })
  if (dry_run !== true || errors.length > 0) return answer(errors, compiled.jobs)
  if (!predefined) return answer(['Reference not found'], [])
  const plan = await planWithChanges(ctx, changed, compiled, {
    ...pipelineOf(subject, ref, predefined),
    tree: compiled.reads.exists && own ? await pathsOf(ctx, own) : [],
  })
  const jobs = plan.jobs.map(({ name, stage, before_script, script, after_script, tags, environment, when, allow_failure }) => ({
    ...{ name, stage, before_script, script, after_script, tags, environment, when, allow_failure },
  }))
  return answer(plan.errors, jobs)
}

/** A pipeline as of a push, which has nothing to compare with. */
const pipelineOf = (
  { project }: ProjectSubject,
  ref: string,
  predefined: Variable[],
): Omit<PipelineContext, 'tree' | 'changed_paths' | 'changed_paths_since'> => ({
  source: 'push',
  ref,
  is_tag: predefined.some((each) => each.key === 'CI_COMMIT_TAG'),
  is_merge_request: false,
  project_path: fullPathOf(project),
  predefined,
  overriding: [],
})

/** Variables that are known of a branch or tag before there is a pipeline; null if it does not exist. */
async function predefinedOf(ctx: Context, caller: Pick<Caller, 'user'>, subject: ProjectSubject, ref: string): Promise<Variable[] | null> {
  const { project } = subject
  const found = await resolveRevision(ctx, subject, ref)
  const commit = found?.ref ? await repositoryOf(ctx, project).commit(found.commit) : null
  if (!found?.ref || !commit) return null
  const tag = found.ref.startsWith('refs/tags/')
  const protections = await protectionsOf(ctx, project.id)
  const isProtected = tag ? protections.isTagProtected(ref) : protections.isProtected(ref)
  const user = caller.user
  const none = { request: null, open_requests: [] }
  const known = user ? await requestsOf(ctx, { request: null, project, ref, tag, sha: commit.oid, user }) : none
  return predefinedVariables(ctx, {
    ...known,
    project,
    ref,
    tag,
    source: 'push',
    before_sha: null,
    protected: isProtected,
    frozen: await isFrozen(ctx, project),
    commit,
    user,
    pipeline: null,
  })
}
