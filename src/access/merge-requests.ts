import { sql } from 'drizzle-orm'
import { z } from 'zod'
import type { Context } from '../context.js'
import { completeTexts, LONG_TEXTS, READ_COLUMNS } from '../db/long-text.js'
import { mergeRequests } from '../db/schema/index.js'
import { statement } from '../db/statement.js'
import { forbidden, invalidInput, notFound, unauthenticated } from '../failures.js'
import type { ProjectAbility } from './abilities/project.js'
import type { Access } from './access.js'
import type { Caller } from './actor.js'
import { canMergeRequest, seesMergeRequest } from './can.js'
import { pathNumber } from './path-number.js'
import { getProjectFor, type ProjectSubject } from './rules.js'

export type MergeRequest = typeof mergeRequests.$inferSelect

/** A merge request, with the caller's level and abilities on its project, the target. */
export interface MergeRequestSubject extends ProjectSubject {
  request: MergeRequest
  may(ability: ProjectAbility): boolean
}

const selectMergeRequest = statement('merge request by number', (db) =>
  db
    .select(READ_COLUMNS.mergeRequests)
    .from(mergeRequests)
    .where(
      sql`${mergeRequests.project_id} = ${sql.placeholder('project')} and ${mergeRequests.iid} = ${sql.placeholder('iid')} and ${mergeRequests.deleted_at} is null`,
    ),
)

/** A merge request of the project by its iid; null if it does not exist, `hidden` if the caller may not read it. */
async function lookUp(
  ctx: Context,
  { user }: Pick<Caller, 'user'>,
  subject: ProjectSubject,
  iid: number,
): Promise<MergeRequestSubject | 'hidden' | null> {
  const [request] = await selectMergeRequest(ctx.db, null).execute({ project: subject.project.id, iid })
  if (!request) return null
  const input = { ...subject, user }
  if (!seesMergeRequest(input, request)) return 'hidden'
  await completeTexts(ctx, LONG_TEXTS.mergeRequests, [request], 'whole')
  return { ...subject, request, may: (ability) => canMergeRequest(input, ability, request) }
}

/** A merge request of the project by its iid; null if it does not exist or the caller may not read it. */
export async function findMergeRequestFor(
  ctx: Context,
  caller: Pick<Caller, 'user'>,
  subject: ProjectSubject,
  iid: number,
): Promise<MergeRequestSubject | null> {
  const found = await lookUp(ctx, caller, subject, iid)
  return found === 'hidden' ? null : found
}

/**
 * How the endpoints of this family refuse (behaviours, chapter 9): an unreadable merge request is 403 for reads and
 * updates, and 404 where something is accepted, cancelled or deleted; accepting without the right is 401,
 * everything else 403.
 */
interface RefusalOptions {
  hidden?: 'forbidden' | 'missing'
  without?: 'forbidden' | 'unauthenticated'
  /** The name in a 404 message. */
  kind?: string | undefined
}

/**
 * Requires an ability on a merge request, after the other parameters are parsed (G-10): 401 without a credential, 404
 * if the project is not visible or has no such merge request, otherwise as the options say. Everything is 403 while the
 * feature is off (AC-10).
 */
export const onMergeRequest = (
  ability: ProjectAbility,
  { hidden = 'forbidden', without = 'forbidden', kind }: RefusalOptions = {},
): Access<MergeRequestSubject, true> => ({
  rule: `signed in, merge request: ${ability}${hidden === 'missing' ? ', hidden is missing' : ''}${without === 'unauthenticated' ? ', else 401' : ''}`,
  signedIn: true,
  early: false,
  path: z.object({ id: z.string(), merge_request_iid: z.string() }),
  async find(ctx, caller, params) {
    const iid = pathNumber(params['merge_request_iid'] as string)
    if (iid === null) throw invalidInput('merge_request_iid is invalid')
    const subject = await getProjectFor(ctx, caller, params['id'] as string)
    if (!subject.can('read_own_merge_request')) throw forbidden()
    const found = await lookUp(ctx, caller, subject, iid)
    if (found === null || (found === 'hidden' && hidden === 'missing')) throw notFound(kind)
    if (found === 'hidden') throw forbidden()
    // in an archived project nobody has the ability, so signing in would not help: 403 (SEC-107)
    if (!found.may(ability)) throw without === 'unauthenticated' && !subject.project.archived ? unauthenticated() : forbidden()
    return found
  },
})
