import { eq, inArray, sql } from 'drizzle-orm'
import { z } from 'zod'
import { LEVELS } from '../../access/can.js'
import { getProjectAtLevel, type ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { projects, routes } from '../../db/schema/index.js'
import { nullOnFailure } from '../../failures.js'
import { isRepositoryName } from '../../rules/registry/names.js'
import { readSettings } from '../core/settings.js'
import { type PackageCaller, projectFor } from '../packages/caller.js'

/** What a client does with a repository, as tokens say it. */
export const ACTIONS = ['pull', 'push', 'delete'] as const
export type Action = (typeof ACTIONS)[number]

/** The ability that each action needs (OCI-2). */
const ABILITY = { pull: 'read_image', push: 'create_image', delete: 'destroy_image' } as const

export interface Access {
  name: string
  actions: Action[]
}

/** What a caller may do with a repository of a project; another project that gets its path later is not meant. */
export interface Grant extends Access {
  project: number | null
}

const Claims = z.object({
  exp: z.number(),
  user: z.number().nullable(),
  access: z.array(z.object({ name: z.string(), project: z.number().nullable(), actions: z.array(z.enum(ACTIONS)) })),
})
export type Claims = z.infer<typeof Claims>

const PURPOSE = 'container registry token'

/** Where a repository is: its project, and what its name has after the path of that. */
export interface Place {
  project: number
  rest: string
}

/** The project whose path is the beginning of a name, the longest one; null if there is none. */
export async function placeOf(ctx: Context, name: string): Promise<Place | null> {
  if (!isRepositoryName(name)) return null
  const parts = name.split('/')
  const paths = parts.slice(1).map((_, at) => parts.slice(0, at + 2).join('/'))
  const [found] = await ctx.db.read
    .select({ project: projects.id, key: routes.key })
    .from(routes)
    .innerJoin(projects, eq(projects.id, routes.project_id))
    .where(inArray(routes.key, paths))
    .orderBy(sql`length(${routes.key}) desc`)
    .limit(1)
  return found ? { project: found.project, rest: name.slice(found.key.length + 1) } : null
}

/** The actions of those asked for that the caller may do with a repository. */
export async function allowed(ctx: Context, who: PackageCaller, name: string, asked: readonly Action[]): Promise<Grant> {
  const place = await placeOf(ctx, name)
  const subject = place && (await nullOnFailure(projectFor(ctx, who, String(place.project))))
  if (!subject) return { name, project: null, actions: [] }
  const actions = asked.filter((action) => (action === 'pull' ? who.reads : who.writes) && subject.can(ABILITY[action]))
  return { name, project: place.project, actions }
}

/** A token for a client of the registry, and for how many seconds it is good (OCI-2). */
export async function issueToken(ctx: Context, who: PackageCaller, access: Grant[]): Promise<{ token: string; seconds: number }> {
  const seconds = (await readSettings(ctx)).container_registry_token_expire_delay * 60
  const claims: Claims = { exp: ctx.now().getTime() + seconds * 1_000, user: who.user?.id ?? null, access }
  return { token: Buffer.from(ctx.encryption.seal(JSON.stringify(claims), PURPOSE)).toString('base64url'), seconds }
}

/** What a token says; null for one that has ended or is none of ours. */
export function readToken(ctx: Context, token: string): Claims | null {
  try {
    const claims = Claims.parse(JSON.parse(ctx.encryption.open(Buffer.from(token, 'base64url').toString(), PURPOSE)))
    return claims.exp > ctx.now().getTime() ? claims : null
  } catch {
    return null
  }
}

/** The project of a repository for a client whose token allows an action; null if there is none, or it may not now. */
export async function projectOfToken(ctx: Context, place: Place, actions: readonly Action[]): Promise<ProjectSubject | null> {
  const level = actions.includes('push') || actions.includes('delete') ? LEVELS.developer : LEVELS.reporter
  return nullOnFailure(getProjectAtLevel(ctx, null, String(place.project), async () => level))
}

export const abilityOf = (action: Action) => ABILITY[action]
