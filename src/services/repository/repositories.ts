import { and, eq } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import type { Context } from '../../context.js'
import type { Database } from '../../db/client.js'
import { projects } from '../../db/schema/index.js'
import { RepositoryMissing } from '../../git/errors.js'
import type { GitRepository, RepositoryKey, Signature } from '../../git/types.js'
import { lockSource } from '../groups/members.js'

/** The repository of a project. Its location depends on the id, never on the name (SEC-66). */
export const repositoryOf = (ctx: Pick<Context, 'git'>, project: { id: number; storage: string }): GitRepository =>
  ctx.git.open({ storage: project.storage, id: project.id, kind: 'project' })

/** Whether any project has its repository in a storage. */
export const hasRepositories = async (db: Database, storage: string): Promise<boolean> =>
  (await db.write.select({ id: projects.id }).from(projects).where(eq(projects.storage, storage)).limit(1)).length > 0

/** The key of a project's wiki repository, which may not exist yet. */
export const wikiKeyOf = ({ id, storage }: { id: number; storage: string }): RepositoryKey => ({ storage, id, kind: 'wiki' })

/** Whether the row of a project exists. */
export const projectExists = async ({ db }: Pick<Context, 'db'>, projectId: number): Promise<boolean> =>
  (await db.write.select({ id: projects.id }).from(projects).where(eq(projects.id, projectId))).length > 0

/** Runs background work on a project; errors are ignored when the project has been removed meanwhile. */
export async function unlessRemoved(ctx: Context, projectId: number, work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (await projectExists(ctx, projectId)) throw error
  }
}

/**
 * Creates a wiki repository if the project has none yet; RepositoryMissing if it had one, so that a lost wiki is not
 * replaced by an empty one (SEC-420). The project row is locked meanwhile, so that a concurrent removal either comes
 * first or also removes the new repository.
 */
export async function createWikiRepository(ctx: Context, project: { id: number; storage: string }): Promise<void> {
  const key = wikiKeyOf(project)
  if (await ctx.git.exists(key)) return
  await ctx.db.transaction(async (tx) => {
    await lockSource(tx, { kind: 'project', id: project.id })
    // a concurrent call waits here for the one that creates it
    const { rowCount } = await tx
      .update(projects)
      .set({ has_wiki: true })
      .where(and(eq(projects.id, project.id), eq(projects.has_wiki, false)))
    if (rowCount === 0 && !(await ctx.git.exists(key))) {
      ctx.log.error({ repository: key }, 'a repository is missing')
      throw new RepositoryMissing()
    }
    await ctx.git.create(key, ctx.config.defaultBranch)
  })
}

/** Removes characters that Git does not allow in an identity, and surrounding white space. */
const cleanIdentity = (text: string) => text.replace(/[<>\p{Cc}]/gu, '').trim()

/** The caller as author, committer or tagger, with the current time in UTC. */
export function signatureOf(ctx: Pick<Context, 'now'>, caller: SignedIn): Signature {
  const { name, username, email } = caller.user
  return { name: cleanIdentity(name) || username, email: cleanIdentity(email), seconds: Math.floor(ctx.now().getTime() / 1000), offset: '+0000' }
}

/** A project's repository and default branch; undefined when the project is gone. */
export async function repositoryById(ctx: Context, projectId: number) {
  const [project] = await ctx.db.write
    .select({ id: projects.id, storage: projects.storage, default_branch: projects.default_branch })
    .from(projects)
    .where(eq(projects.id, projectId))
  return project && { git: repositoryOf(ctx, project), defaultBranch: project.default_branch }
}
