import type { IncomingMessage } from 'node:http'
import { z } from 'zod'
import type { projects } from '../../db/schema/index.js'
import type { FetchSource, LfsPointer } from '../../git/types.js'
import { WrongObject } from '../../lib/files/object-store.js'
import { BadTarget, checkTarget, type Target } from '../../lib/ssrf-guard.js'
import { parseUrl } from '../../lib/url.js'
import { lfsLimits, objectsOf, storeObject } from '../repository/lfs/objects.js'
import { repositoryOf } from '../repository/repositories.js'
import { bring, Refused } from './bring.js'
import type { Place, Run } from './run.js'
import { NotGiven, openAnswer, readJson } from './source/client.js'

type Home = Pick<typeof projects.$inferSelect, 'id' | 'storage'>

/** Objects that are asked for at a time. */
const BATCH = 100
/** Objects of one project that are brought. */
const MAX_OBJECTS = 1_000_000
const TYPE = 'application/vnd.git-lfs+json'

/** Brings the objects of Git LFS that the commits of a project point to. `source` is its repository there. */
export async function bringLfsObjects(run: Run, place: Place, project: Home, source: FetchSource): Promise<void> {
  if (run.ledger.dry) return
  const pointers = new Map<string, LfsPointer>()
  await repositoryOf(run.ctx, project).forEachLfsPointer((pointer) => {
    if (pointers.size < MAX_OBJECTS) pointers.set(pointer.oid, pointer)
  })
  const wanted = [...pointers.values()]
  for (let at = 0; at < wanted.length; at += BATCH) {
    const batch = wanted.slice(at, at + BATCH)
    const here = await objectsOf(
      run.ctx,
      project.id,
      batch.map(({ oid }) => oid),
    )
    const due = batch.filter(({ oid }) => !here.has(oid))
    if (due.length > 0) await bringBatch(run, place, { project, source }, due)
  }
}

interface Sides {
  project: Home
  source: FetchSource
}

async function bringBatch(run: Run, { key, path }: Place, sides: Sides, objects: LfsPointer[]): Promise<void> {
  const answers = new Map<string, z.infer<typeof Offer>>()
  let fault: string | null = null
  try {
    for (const offer of await offersOf(run, sides.source, objects)) answers.set(offer.oid, offer)
  } catch (error) {
    run.signal.throwIfAborted()
    fault = error instanceof Error ? error.message : String(error)
  }
  for (const { oid } of objects)
    await bring(run, { kind: 'LFS object', key: `${key}/${oid}`, name: `${path}: ${oid}` }, async () => {
      const action = answers.get(oid)?.actions?.download
      if (!action) throw new Refused(fault ?? answers.get(oid)?.error?.message ?? 'the server does not offer it')
      await download(run, sides, oid, { ...action, path })
      return async () => null
    })
}

const Offer = z.object({
  oid: z.string().max(100),
  actions: z
    .object({
      download: z.object({ href: z.string().max(8_192), header: z.record(z.string().max(100), z.string().max(8_192)).nullish() }).optional(),
    })
    .nullish(),
  error: z.object({ message: z.string().max(500) }).nullish(),
})
const Batch = z.object({ objects: z.array(Offer).max(BATCH) })

/** What the server says of where its objects are. */
async function offersOf(run: Run, { url, authorization }: FetchSource, objects: LfsPointer[]): Promise<z.infer<typeof Offer>[]> {
  const target = { ...run.source.client.target, url: new URL(`${url}/info/lfs/objects/batch`) }
  const headers = { accept: TYPE, 'content-type': TYPE, ...(authorization && { authorization }) }
  const body = JSON.stringify({ operation: 'download', transfers: ['basic'], objects })
  const answer = await readJson(await openAnswer(target, { headers, body, signal: run.signal, within: 120_000 }))
  const parsed = Batch.safeParse(answer)
  if (!parsed.success) throw new NotGiven('the server has no objects of Git LFS for it')
  return parsed.data.objects
}

/** Reads one object into the store, which checks its digest. */
async function download(
  run: Run,
  { project, source }: Sides,
  oid: string,
  { href, header, path }: { href: string; header?: Record<string, string> | null | undefined; path: string },
): Promise<void> {
  const { ctx } = run
  const target = await targetOf(run, href, path)
  const isOwn = target.addresses === run.source.client.target.addresses
  const headers = { accept: '*/*', ...(isOwn && source.authorization && { authorization: source.authorization }), ...lowerCase(header ?? {}) }
  const body: IncomingMessage = await openAnswer(target, { headers, signal: run.signal }).catch((error: Error) => {
    run.signal.throwIfAborted()
    throw new Refused(`the object did not come: ${error.message}`)
  })
  try {
    if (body.statusCode !== 200) throw new Refused(`the server answers ${body.statusCode}`)
    const staged = await ctx.lfs.stage(body, oid, (await lfsLimits(ctx)).object)
    try {
      await storeObject(ctx, project.id, oid, staged)
    } finally {
      await staged.discard()
    }
  } catch (error) {
    if (error instanceof WrongObject) throw new Refused(error.message)
    // the connection was lost
    if (body.errored) throw new Refused(`the object did not come: ${body.errored.message}`)
    throw error
  } finally {
    body.destroy()
  }
}

const lowerCase = (header: Record<string, string>) => Object.fromEntries(Object.entries(header).map(([name, value]) => [name.toLowerCase(), value]))

/** Below the repository it is the server itself, by whichever name it calls itself; elsewhere it must be public. */
async function targetOf({ ctx, source: { client } }: Run, href: string, path: string): Promise<Target> {
  const at = parseUrl(href)
  const inside = at ? at.pathname.indexOf(`/${path}.git/`) : -1
  if (at && inside >= 0) return { ...client.target, url: new URL(`${client.base}${at.pathname.slice(inside)}${at.search}`) }
  try {
    return await checkTarget(href, { protocols: ['http:', 'https:'], allowLocal: ctx.config.allowLocalRequests })
  } catch (error) {
    if (error instanceof BadTarget) throw new Refused(`the address of the object ${error.message}`)
    throw error
  }
}
