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

/** The response for one object: actions to transfer it, or an error; neither when there is nothing to do. */
export interface BatchAnswer extends LfsObject {
  authenticated?: true
  actions?: { download?: Action; upload?: Action; verify?: Action }
  error?: { code: number; message: string }
}

/** Where a client transfers objects; no credentials are needed for public downloads. */
export interface BatchEndpoint {
  /** The URL of the project's LFS routes. */
  href: string
  credentials: LfsCredentials | null
}

const MAX_CONCURRENT_LOOKUPS = 16

/**
 * Answers a batch request, one entry per object in the same order (LF-6). The caller has checked the operation. Objects
 * of other projects are shared if `readerId` may read them.
 */
export async function answerBatch(
  ctx: Context,
  { project, readerId }: { project: Project; readerId: number | null },
  operation: LfsOperation,
  objects: LfsObject[],
  endpoint: BatchEndpoint,
): Promise<BatchAnswer[]> {
  const fault = ({ oid, size }: LfsObject) =>
    isObjectId(oid) && Number.isSafeInteger(size) && size >= 0 ? null : { code: 422, message: 'The object has no valid id or size' }
  const valid = objects.filter((object) => fault(object) === null)
  const answer = operation === 'upload' ? await uploads(ctx, project, readerId, valid, endpoint) : await downloads(ctx, project.id, valid, endpoint)
  return objects.map(({ oid, size }) => {
    const error = fault({ oid, size })
    return error ? { oid, size, error } : answer({ oid, size })
  })
}

const action = ({ href, credentials }: BatchEndpoint, path: string): Action => ({
  href: `${href}/objects/${path}`,
  ...(credentials && { header: credentials.header, expires_in: credentials.expires_in, expires_at: credentials.expires_at }),
})

async function downloads(ctx: Context, projectId: number, objects: LfsObject[], endpoint: BatchEndpoint) {
  const owned = await objectsOf(
    ctx,
    projectId,
    objects.map(({ oid }) => oid),
  )
  return ({ oid, size }: LfsObject): BatchAnswer => {
    const known = owned.get(oid)
    if (known === undefined) return { oid, size, error: { code: 404, message: 'The project does not have this object' } }
    return { oid, size: known, authenticated: true, actions: { download: action(endpoint, oid) } }
  }
}

async function uploads(ctx: Context, project: Project, readerId: number | null, objects: LfsObject[], endpoint: BatchEndpoint) {
  const missing = new Set((await missingObjects(ctx, readerId, project.id, objects)).map(({ oid }) => oid))
  // an object whose file was lost is uploaded again
  await mapConcurrently(
    MAX_CONCURRENT_LOOKUPS,
    objects.filter(({ oid }) => !missing.has(oid)),
    async ({ oid }) => (await ctx.lfs.size(oid)) ?? missing.add(oid),
  )
  const limits = await lfsLimits(ctx)
  let remaining = limits.project - project.lfs_objects_size
  return ({ oid, size }: LfsObject): BatchAnswer => {
    if (!missing.has(oid)) return { oid, size, authenticated: true }
    if (size > limits.object) return { oid, size, error: { code: 422, message: tooLargeText(limits.object) } }
    if (size > remaining) return { oid, size, error: { code: 507, message: quotaText(limits.project) } }
    remaining -= size
    return { oid, size, authenticated: true, actions: { upload: action(endpoint, oid), verify: action(endpoint, 'verify') } }
  }
}

const MEBIBYTE = 1024 * 1024
export const tooLargeText = (limit: number) => `The object is larger than the ${limit / MEBIBYTE} MiB that the administrator allows`
export const quotaText = (limit: number) => `The project may have no more than ${limit / MEBIBYTE} MiB of LFS objects`
