import { eq } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import type { Context } from '../../context.js'
import type { Database } from '../../db/client.js'
import { projects } from '../../db/schema/index.js'
import type { GitRepository, RepositoryKey, Signature } from '../../git/types.js'
import { lockSource } from '../groups/members.js'

/** The repository of a project, found by its id and never by its name (SEC-66). */
export const repositoryOf = (ctx: Context, project: { id: number; storage: string }): GitRepository =>
  ctx.git.open({ storage: project.storage, id: project.id, kind: 'project' })

/** Whether projects have their repositories in a storage. */
export const holdsRepositories = async (db: Database, storage: string): Promise<boolean> =>
  (await db.write.select({ id: projects.id }).from(projects).where(eq(projects.storage, storage)).limit(1)).length > 0

/** The key of its wiki's repository, which may not exist yet. */
export const wikiKeyOf = ({ id, storage }: { id: number; storage: string }): RepositoryKey => ({ storage, id, kind: 'wiki' })

/** Whether a project is there, as the rows say. */
export const isThere = async ({ db }: Pick<Context, 'db'>, projectId: number): Promise<boolean> =>
  (await db.write.select({ id: projects.id }).from(projects).where(eq(projects.id, projectId))).length > 0

/** Does work on a project in the background; once the project is gone, with its files, a fault of it is none. */
export async function whileThere(ctx: Context, projectId: number, work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (await isThere(ctx, projectId)) throw error
  }
}

/**
 * Creates the repository of a wiki where it is missing. The project is held meanwhile: its removal takes this folder
 * along, or comes first.
 */
export async function createWikiRepository(ctx: Context, project: { id: number; storage: string }): Promise<void> {
  const key = wikiKeyOf(project)
  if (await ctx.git.exists(key)) return
  await ctx.db.transaction(async (tx) => {
    await lockSource(tx, { kind: 'project', id: project.id })
    await ctx.git.create(key, ctx.config.defaultBranch)
  })
}

/** Removes what Git cannot store in an identity, and what it would trim. */
const clean = (text: string) => text.replace(/[<>\p{Cc}]/gu, '').trim()

/** The caller as committer or tagger, now, in UTC. */
export function signatureOf(ctx: Context, caller: SignedIn): Signature {
  const { name, username, email } = caller.user
  return { name: clean(name) || username, email: clean(email), seconds: Math.floor(ctx.now().getTime() / 1000), offset: '+0000' }
}

/** A project's repository and the branch it calls its default; null when the project is gone. */
export async function repositoryById(ctx: Context, projectId: number) {
  const [project] = await ctx.db.write
    .select({ id: projects.id, storage: projects.storage, default_branch: projects.default_branch })
    .from(projects)
    .where(eq(projects.id, projectId))
  return project && { git: repositoryOf(ctx, project), defaultBranch: project.default_branch }
}
