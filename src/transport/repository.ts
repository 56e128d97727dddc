import type { ActorUser } from '../access/actor.js'
import { findProjectFor, formerProjectId, type ProjectSubject } from '../access/rules.js'
import type { Context } from '../context.js'
import { Failure } from '../failures.js'

/** The project with the user's abilities; null when it is absent or they do not see it. */
export async function findSubject(ctx: Context, user: ActorUser | null, named: string): Promise<ProjectSubject | null> {
  try {
    return await findProjectFor(ctx, { user }, named)
  } catch (error) {
    if (error instanceof Failure && error.kind === 'not_found') return null
    throw error
  }
}

/** The project whose repository, or whose wiki's, a path names; by its former path too (GH-4). Null as above. */
export async function findRepository(
  ctx: Context,
  user: ActorUser | null,
  path: string,
): Promise<{ subject: ProjectSubject; wiki: boolean; moved: boolean } | null> {
  const find = (named: string) => findSubject(ctx, user, named)
  const whole = path.includes('/') ? await find(path) : null
  if (whole) return { subject: whole, wiki: false, moved: false }
  const wiki = path.endsWith('.wiki')
  const stem = wiki ? path.slice(0, -'.wiki'.length) : path
  const ofWiki = wiki ? await find(stem) : null
  if (ofWiki) return { subject: ofWiki, wiki, moved: false }
  const former = await formerProjectId(ctx, stem)
  const subject = former === null ? null : await find(String(former))
  return subject && { subject, wiki, moved: true }
}
