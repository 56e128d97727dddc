import type { IncomingMessage } from 'node:http'
import { z } from 'zod'
import type { projects } from '../../db/schema/index.js'
import type { FetchSource, LfsPointer } from '../../git/types.js'
import { WrongObject } from '../../lib/files/object-store.js'
import { BadTarget, checkTarget, type Target } from '../../lib/ssrf-guard.js'
import { parseUrl } from '../../lib/url.js'
import { lfsLimits, objectsOf, storeObject } from '../repository/lfs/objects.js'
import { repositoryOf } from '../repository/repositories.js'
import { CannotImport, importItem } from './items.js'
import type { ImportedItem, Run } from './run.js'
import { NotAvailable, openResponse, readJson } from './source/client.js'

type ProjectStorage = Pick<typeof projects.$inferSelect, 'id' | 'storage'>

/** Objects per batch request. */
const BATCH_SIZE = 100
/** Objects imported per project. */
const MAX_OBJECTS = 1_000_000
const LFS_CONTENT_TYPE = 'application/vnd.git-lfs+json'

/** Imports the LFS objects that a project's commits point to. `source` is the repository on the source server. */
export async function importLfsObjects(run: Run, place: ImportedItem, project: ProjectStorage, source: FetchSource): Promise<void> {
  if (run.ledger.dry) return
  const pointers = new Map<string, LfsPointer>()
  await repositoryOf(run.ctx, project).forEachLfsPointer((pointer) => {
    if (pointers.size < MAX_OBJECTS) pointers.set(pointer.oid, pointer)
  })
  const wanted = [...pointers.values()]
  for (let at = 0; at < wanted.length; at += BATCH_SIZE) {
    const batch = wanted.slice(at, at + BATCH_SIZE)
    const stored = await objectsOf(
      run.ctx,
      project.id,
      batch.map(({ oid }) => oid),
    )
    const missing = batch.filter(({ oid }) => !stored.has(oid))
    if (missing.length > 0) await importBatch(run, place, { project, source }, missing)
  }
}

interface Transfer {
  project: ProjectStorage
  source: FetchSource
}

async function importBatch(run: Run, { key, path }: ImportedItem, transfer: Transfer, objects: LfsPointer[]): Promise<void> {
  const answers = new Map<string, z.infer<typeof BatchObject>>()
  let fault: string | null = null
  try {
    for (const offer of await requestDownloads(run, transfer.source, objects)) answers.set(offer.oid, offer)
  } catch (error) {
    run.signal.throwIfAborted()
    fault = error instanceof Error ? error.message : String(error)
  }
  for (const { oid } of objects)
    await importItem(run, { kind: 'LFS object', key: `${key}/${oid}`, name: `${path}: ${oid}` }, async () => {
      const action = answers.get(oid)?.actions?.download
      if (!action) throw new CannotImport(fault ?? answers.get(oid)?.error?.message ?? 'the server does not offer it')
      await download(run, transfer, oid, { ...action, path })
      return async () => null
    })
}

const BatchObject = z.object({
  oid: z.string().max(100),
  actions: z
    .object({
      download: z.object({ href: z.string().max(8_192), header: z.record(z.string().max(100), z.string().max(8_192)).nullish() }).optional(),
    })
    .nullish(),
  error: z.object({ message: z.string().max(500) }).nullish(),
})
const BatchResponse = z.object({ objects: z.array(BatchObject).max(BATCH_SIZE) })

/** Calls the batch API for download links. */
async function requestDownloads(run: Run, { url, authorization }: FetchSource, objects: LfsPointer[]): Promise<z.infer<typeof BatchObject>[]> {
  const target = { ...run.source.client.target, url: new URL(`${url}/info/lfs/objects/batch`) }
  const headers = { accept: LFS_CONTENT_TYPE, 'content-type': LFS_CONTENT_TYPE, ...(authorization && { authorization }) }
  const body = JSON.stringify({ operation: 'download', transfers: ['basic'], objects })
  const answer = await readJson(await openResponse(target, { headers, body, signal: run.signal, timeoutMs: 120_000 }))
  const parsed = BatchResponse.safeParse(answer)
  if (!parsed.success) throw new NotAvailable('the server has no objects of Git LFS for it')
  return parsed.data.objects
}

/** Downloads one object into the store, which verifies its digest. */
async function download(
  run: Run,
  { project, source }: Transfer,
  oid: string,
  { href, header, path }: { href: string; header?: Record<string, string> | null | undefined; path: string },
): Promise<void> {
  const { ctx } = run
  const target = await targetOf(run, href, path)
  const isSourceServer = target.addresses === run.source.client.target.addresses
  const headers = {
    accept: '*/*',
    ...(isSourceServer && source.authorization && { authorization: source.authorization }),
    ...lowerCaseNames(header ?? {}),
  }
  const body: IncomingMessage = await openResponse(target, { headers, signal: run.signal }).catch((error: Error) => {
    run.signal.throwIfAborted()
    throw new CannotImport(`the object could not be downloaded: ${error.message}`)
  })
  try {
    if (body.statusCode !== 200) throw new CannotImport(`the server answers ${body.statusCode}`)
    const staged = await ctx.lfs.stage(body, oid, (await lfsLimits(ctx)).object)
    try {
      await storeObject(ctx, project.id, oid, staged)
    } finally {
      await staged.discard()
    }
  } catch (error) {
    if (error instanceof WrongObject) throw new CannotImport(error.message)
    // the connection was lost
    if (body.errored) throw new CannotImport(`the object could not be downloaded: ${body.errored.message}`)
    throw error
  } finally {
    body.destroy()
  }
}

const lowerCaseNames = (header: Record<string, string>) =>
  Object.fromEntries(Object.entries(header).map(([name, value]) => [name.toLowerCase(), value]))

/**
 * A path below the repository is on the source server, whatever host the link has; any other target must be public
 * (unless local requests are allowed).
 */
async function targetOf({ ctx, source: { client } }: Run, href: string, path: string): Promise<Target> {
  const at = parseUrl(href)
  const inside = at ? at.pathname.indexOf(`/${path}.git/`) : -1
  if (at && inside >= 0) return { ...client.target, url: new URL(`${client.base}${at.pathname.slice(inside)}${at.search}`) }
  try {
    return await checkTarget(href, { protocols: ['http:', 'https:'], allowLocal: ctx.config.allowLocalRequests })
  } catch (error) {
    if (error instanceof BadTarget) throw new CannotImport(`the address of the object ${error.message}`)
    throw error
  }
}
