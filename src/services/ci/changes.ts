import type { Context } from '../../context.js'
import { type GitRepository, type Oid, ZERO } from '../../git/types.js'
import type { CompiledConfig, PipelineContext, Plan } from '../../rules/ci/types.js'
import { repositoryOf } from '../repository/repositories.js'
import { resolveRevision } from '../repository/revisions.js'
import type { Comparison, OwnFiles } from './includes.js'

/** The most paths of a change that `changes` is compared with; beyond it holds. */
const MAX_CHANGED = 10_000
const PATHS_ONLY = { files: MAX_CHANGED, lines: 0, bytes: 0, fileBytes: 0 }
/** The most different refs of `compare_to` for one pipeline. */
const MAX_COMPARED = 10

/** Finds out each once. `own` is null where there is no commit, `from` where nothing is known of what was there before. */
export function comparisonOf(ctx: Context, own: OwnFiles | null, from: Oid | null): Comparison {
  const known = new Map<string | null, ReturnType<Comparison>>()
  return (compareTo) => {
    const found = known.get(compareTo) ?? (compareTo === null ? changedSince(ctx, own, from) : changedSinceRef(ctx, own, compareTo))
    known.set(compareTo, found)
    return found
  }
}

async function changedSince(ctx: Context, own: OwnFiles | null, from: Oid | null): Promise<string[] | null> {
  if (!own || from === null || from === ZERO) return null
  const repository = repositoryOf(ctx, own.subject.project)
  return (await repository.commit(from)) ? pathsBetween(repository, from, own.commit) : null
}

async function pathsBetween(repository: GitRepository, from: Oid, to: Oid): Promise<string[] | null> {
  const { files, truncated } = await repository.diff(from, to, PATHS_ONLY)
  return truncated ? null : [...new Set(files.flatMap(({ old_path, new_path }) => [old_path, new_path]))]
}

/** Plans a pipeline, and finds out what its rules compare with (CI-261). */
export async function planWithChanges(
  ctx: Context,
  changed: Comparison,
  compiled: CompiledConfig,
  given: Omit<PipelineContext, 'changed_paths' | 'changed_paths_since'>,
): Promise<Plan> {
  const context = { ...given, changed_paths: compiled.reads.changes ? (await changed(null)) || null : null }
  const since = new Map<string, string[] | null | false>()
  for (;;) {
    // each round adds a ref: which ones are asked for depends on the rules before
    const planned = await ctx.cpu.ci.plan(compiled, { ...context, changed_paths_since: Object.fromEntries(since) })
    if (planned.compares.length === 0) return planned
    if (since.size + planned.compares.length > MAX_COMPARED)
      return { ...planned, compares: [], errors: [`rules:changes:compare_to has more than ${MAX_COMPARED} different refs`] }
    for (const ref of planned.compares) since.set(ref, await changed(ref))
  }
}

/** What a commit changes since its merge base with a branch, tag or commit; false: that does not exist. */
async function changedSinceRef(ctx: Context, own: OwnFiles | null, ref: string): Promise<string[] | null | false> {
  if (!own) return false
  const { subject, commit } = own
  const repository = repositoryOf(ctx, subject.project)
  const named = /^refs\/(?:heads|tags)\//.test(ref) ? await repository.ref(ref) : null
  const found = named ? await repository.resolve(named) : await resolveRevision(ctx, subject, ref)
  if (!found?.commit) return false
  const base = await repository.mergeBase(found.commit, commit)
  return base === null ? null : pathsBetween(repository, base, commit)
}
