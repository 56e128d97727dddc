import type { Caller } from '../../access/actor.js'
import { fullPathOf, type ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { notFound } from '../../failures.js'
import type { PipelineContext, Variable } from '../../rules/ci/types.js'
import { protectionsOf } from '../repository/protection.js'
import { repositoryOf } from '../repository/repositories.js'
import { resolveRevision } from '../repository/revisions.js'
import { planWithChanges } from './changes.js'
import { configurationPath, includeResolver, type OwnFiles, pathsOf, readOwnFile } from './includes.js'
import { requestsOf } from './merge-requests/facts.js'
import { predefinedVariables } from './predefined.js'

export interface LintRecord {
  errors: string[]
  warnings: string[]
  merged_yaml: string | null
}

export interface LintOptions {
  /** Also whether there would be a pipeline for a branch or tag, by default the default branch. */
  dry_run?: boolean | undefined
  ref?: string | undefined
}

/** Checks a configuration of no project (CI-61). */
export async function lintText(ctx: Context, caller: Pick<Caller, 'user'>, content: string): Promise<LintRecord> {
  return ctx.cpu.ci.compile(content, { variables: [], wants_merged_yaml: true }, includeResolver(ctx, caller, null))
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
  { content, dry_run, ref = subject.project.default_branch }: LintOptions & { content: string },
): Promise<LintRecord> {
  const own = commit === null ? null : { subject, commit }
  const predefined = await predefinedOf(ctx, caller, subject, ref)
  const compiled = await ctx.cpu.ci.compile(content, { variables: predefined ?? [], wants_merged_yaml: true }, includeResolver(ctx, caller, own))
  if (dry_run !== true || compiled.errors.length > 0) return compiled
  if (!predefined) return { ...compiled, errors: ['Reference not found'] }
  const plan = await planWithChanges(ctx, own, compiled, {
    ...pipelineOf(subject, ref, predefined),
    tree: compiled.reads.exists && own ? await pathsOf(ctx, own) : [],
  })
  return { ...compiled, errors: plan.errors }
}

/** A pipeline as of a push, which has nothing to compare with. */
const pipelineOf = ({ project }: ProjectSubject, ref: string, predefined: Variable[]): Omit<PipelineContext, 'tree'> => ({
  source: 'push',
  ref,
  is_tag: predefined.some((each) => each.key === 'CI_COMMIT_TAG'),
  is_merge_request: false,
  project_path: fullPathOf(project),
  predefined,
  overriding: [],
  changed_paths: null,
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
    commit,
    user,
    pipeline: null,
  })
}
