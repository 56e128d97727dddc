import type { Context } from '../../src/context.js'
import type { NewProject } from '../../src/services/projects/create.js'
import { anAdmin, aProject, aUser, type TestProject, type TestUser } from './factories.js'

/** All kinds of callers of a project, in order of increasing permissions. */
export const CAST = ['anonymous', 'stranger', 'guest', 'reporter', 'developer', 'maintainer', 'owner', 'admin'] as const
export type Role = (typeof CAST)[number]

export interface Cast {
  project: TestProject
  as: Record<Exclude<Role, 'anonymous'>, TestUser> & { anonymous: null }
}

/** A project with one user for each role. */
export async function aCast(ctx: Context, given: Partial<NewProject> & { files?: Record<string, string> } = {}): Promise<Cast> {
  const [stranger, guest, reporter, developer, maintainer, owner, admin] = await Promise.all([
    aUser(ctx),
    aUser(ctx),
    aUser(ctx),
    aUser(ctx),
    aUser(ctx),
    aUser(ctx),
    anAdmin(ctx),
  ])
  const project = await aProject(ctx, { creator: owner, guest, reporter, developer, maintainer, ...given })
  return { project, as: { anonymous: null, stranger, guest, reporter, developer, maintainer, owner, admin } }
}

/** The expected status for each role, as `[role, status]`: `usual`, with exceptions. */
export const statuses = (usual: number, others: Partial<Record<Role, number>> = {}) => CAST.map((role) => [role, others[role] ?? usual] as const)
