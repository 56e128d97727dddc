import type { Project } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { mapConcurrently } from '../../../lib/async/concurrency.js'
import { isObjectId } from '../../../lib/files/object-store.js'
import type { LfsCredentials, LfsOperation } from './credentials.js'
import { type LfsObject, lfsLimits, objectsOf } from './objects.js'
import { missingObjects } from './sharing.js'

interface Action {
  href: string
  header?: LfsCredentials['header']
  expires_in?: number
  expires_at?: string
}

/** What the batch API says of one object: where to send it to or get it from, or why not; neither: nothing to do. */
export interface BatchAnswer extends LfsObject {
  authenticated?: true
  actions?: { download?: Action; upload?: Action; verify?: Action }
  error?: { code: number; message: string }
}

/** Where and how a client goes on; without credentials for what is open to everybody. */
export interface BatchPlace {
  /** The URL of the project's LFS routes. */
  href: string
  credentials: LfsCredentials | null
}

/** Objects of a batch that are looked for in the store at a time. */
const LOOKUPS = 16

/**
 * The answer to a batch: one for each object, in their order (LF-6). The caller may do this operation; objects of other
 * projects are shared with what `readerId` may read.
 */
export async function answerBatch(
  ctx: Context,
  { project, readerId }: { project: Project; readerId: number | null },
  operation: LfsOperation,
  objects: LfsObject[],
  place: BatchPlace,
): Promise<BatchAnswer[]> {
  const fault = ({ oid, size }: LfsObject) =>
    isObjectId(oid) && Number.isSafeInteger(size) && size >= 0 ? null : { code: 422, message: 'The object has no valid id or size' }
  const valid = objects.filter((object) => fault(object) === null)
  const answer = operation === 'upload' ? await uploads(ctx, project, readerId, valid, place) : await downloads(ctx, project.id, valid, place)
  return objects.map(({ oid, size }) => {
    const error = fault({ oid, size })
    return error ? { oid, size, error } : answer({ oid, size })
  })
}

const action = ({ href, credentials }: BatchPlace, path: string): Action => ({
  href: `${href}/objects/${path}`,
  ...(credentials && { header: credentials.header, expires_in: credentials.expires_in, expires_at: credentials.expires_at }),
})

async function downloads(ctx: Context, projectId: number, objects: LfsObject[], place: BatchPlace) {
  const there = await objectsOf(
    ctx,
    projectId,
    objects.map(({ oid }) => oid),
  )
  return ({ oid, size }: LfsObject): BatchAnswer => {
    const known = there.get(oid)
    if (known === undefined) return { oid, size, error: { code: 404, message: 'The project does not have this object' } }
    return { oid, size: known, authenticated: true, actions: { download: action(place, oid) } }
  }
}

async function uploads(ctx: Context, project: Project, readerId: number | null, objects: LfsObject[], place: BatchPlace) {
  const missing = new Set((await missingObjects(ctx, readerId, project.id, objects)).map(({ oid }) => oid))
  // a file that was lost comes back with the next push
  await mapConcurrently(
    LOOKUPS,
    objects.filter(({ oid }) => !missing.has(oid)),
    async ({ oid }) => (await ctx.lfs.size(oid)) ?? missing.add(oid),
  )
  const limits = await lfsLimits(ctx)
  let left = limits.project - project.lfs_objects_size
  return ({ oid, size }: LfsObject): BatchAnswer => {
    if (!missing.has(oid)) return { oid, size, authenticated: true }
    if (size > limits.object) return { oid, size, error: { code: 422, message: tooLargeText(limits.object) } }
    if (size > left) return { oid, size, error: { code: 507, message: fullText(limits.project) } }
    left -= size
    return { oid, size, authenticated: true, actions: { upload: action(place, oid), verify: action(place, 'verify') } }
  }
}

const MEBIBYTE = 1024 * 1024
export const tooLargeText = (limit: number) => `The object is larger than the ${limit / MEBIBYTE} MiB that the administrator allows`
export const fullText = (limit: number) => `The project may have no more than ${limit / MEBIBYTE} MiB of LFS objects`
