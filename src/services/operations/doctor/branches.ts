import { eq } from 'drizzle-orm'
import type { Context } from '../../../context.js'
import { projects, refIntents } from '../../../db/schema/index.js'
import type { Examination, GitRepository } from '../../../git/types.js'
import { readSettings } from '../../core/settings.js'
import { protectDefaultBranch } from '../../repository/push/finish.js'
import type { Check } from './fault.js'

const HEADS = 'refs/heads/'
const COMMON_DEFAULT_BRANCHES = ['main', 'master']

/** Compares the default branch of a project with the branches and HEAD of its repository. */
export async function* branchFaults(ctx: Context, projectId: number, repository: GitRepository, { brokenRefs }: Examination): Check {
  const of = `project ${projectId}`
  const state = await stateOf(ctx, projectId, repository)
  // a push in progress changes row and repository one after the other
  if (!state || state.moving) return
  const { project, branches, head } = state
  // an unreadable branch is reported as a broken ref, with its own repair
  const unreadable = brokenRefs.some(({ name }) => name.startsWith(HEADS) && !branches.includes(name.slice(HEADS.length)))
  if (unreadable) return
  const repair = () => repairBranches(ctx, projectId, repository)
  const missing = branches.length > 0 && !branches.includes(project.default_branch)
  if (missing) yield { kind: 'missing default branch', of, text: `${project.default_branch} is not there, and other branches are`, repair }
  else if (project.empty_repo !== (branches.length === 0))
    yield {
      kind: 'wrong state',
      of,
      text: project.empty_repo ? 'it is called empty, and has branches' : 'it has no branch, and is not called empty',
      repair,
    }
  else if (branches.length > 0 && head !== project.default_branch)
    yield { kind: 'wrong HEAD', of, text: `HEAD names ${head ?? 'no branch'}, and the default branch is ${project.default_branch}`, repair }
}

async function stateOf(ctx: Context, projectId: number, repository: GitRepository) {
  const [project] = await ctx.db.write
    .select({ default_branch: projects.default_branch, empty_repo: projects.empty_repo, import_status: projects.import_status })
    .from(projects)
    .where(eq(projects.id, projectId))
  const branches = (await repository.refs(HEADS)).map(({ name }) => name.slice(HEADS.length))
  const head = await repository.headBranch()
  const intents = await ctx.db.write.select({ id: refIntents.id }).from(refIntents).where(eq(refIntents.project_id, projectId)).limit(1)
  const moving = intents.length > 0 || ['scheduled', 'started'].includes(project?.import_status ?? '')
  return project && { project, branches, head, moving }
}

/**
 * Updates the row and HEAD from the branches. If the default branch is missing, HEAD's branch replaces it, or else
 * `main`, `master`, or the first branch.
 */
async function repairBranches(ctx: Context, projectId: number, repository: GitRepository): Promise<string> {
  const settings = await readSettings(ctx)
  return ctx.db.transaction(async (tx) => {
    const [project] = await tx.select({ default_branch: projects.default_branch }).from(projects).where(eq(projects.id, projectId)).for('update')
    if (!project) return 'the project is gone'
    const branches = (await repository.refs(HEADS)).map(({ name }) => name.slice(HEADS.length))
    const head = await repository.headBranch()
    const wanted = [project.default_branch, head, ...COMMON_DEFAULT_BRANCHES, branches[0]]
    const branch = wanted.find((name): name is string => typeof name === 'string' && branches.includes(name)) ?? project.default_branch
    if (head !== branch) await repository.setHeadBranch(branch)
    await tx
      .update(projects)
      .set({ default_branch: branch, empty_repo: branches.length === 0 })
      .where(eq(projects.id, projectId))
    if (branches.length > 0) await protectDefaultBranch(tx, projectId, branch, settings)
    return branches.length === 0 ? 'called empty' : `the default branch and HEAD are ${branch}`
  })
}
