import { randomBytes } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, readdir, rm, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { and, eq, sql } from 'drizzle-orm'
import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { decoded } from '../../db/decoded.js'
import { containerBlobs } from '../../db/schema/index.js'
import { notFound } from '../../failures.js'
import { WrongObject } from '../../lib/files/object-store.js'
import { lockFile, packagesQuota, tooBig, withStore } from '../packages/files.js'
import { digestInvalid, RegistryFailure } from './failures.js'
import type { Repository } from './repositories.js'

/** The most bytes of a layer (OCI-8). */
export const MAX_BLOB_BYTES = 20 * 1024 ** 3
/** The most uploads of a repository that have not ended. */
const MAX_UPLOADS = 200
const UPLOAD = /^(\d+)-([0-9a-f]{32})$/

export interface Blob {
  oid: string
  size: number
}

/** A blob that a repository has; null if it has none. */
export async function findBlob(ctx: Context, repository: Pick<Repository, 'id'>, oid: string): Promise<Blob | null> {
  const [found] = await ctx.db.write
    .select({ oid: containerBlobs.oid, size: containerBlobs.size })
    .from(containerBlobs)
    .where(and(eq(containerBlobs.repository_id, repository.id), eq(containerBlobs.oid, oid)))
  return found ?? null
}

/**
 * Stores bytes as a blob of a repository, which is made only for them; nothing is left of others than those of the digest
 * (OCI-5).
 */
export async function storeBlob(ctx: Context, repository: () => Promise<Repository>, body: Readable, oid: string): Promise<void> {
  const staged = await ctx.packages.stage(body, oid, MAX_BLOB_BYTES).catch((fault: unknown) => {
    if (!(fault instanceof WrongObject)) throw fault
    throw fault.fault === 'size' ? new RegistryFailure(413, 'SIZE_INVALID', 'the layer is too large') : digestInvalid()
  })
  try {
    const to = await repository()
    await withStore(ctx, oid, () => keepBlob(ctx, to, { oid, size: staged.size }, staged.commit))
  } finally {
    await staged.discard()
  }
}

/** Gives a repository a blob that another one has, whose bytes are stored. */
export const mountBlob = (ctx: Context, repository: Repository, blob: Blob): Promise<void> => keepBlob(ctx, repository, blob, async () => undefined)

async function keepBlob(ctx: Context, { id, project_id }: Repository, { oid, size }: Blob, commit: () => Promise<void>): Promise<void> {
  const quota = await packagesQuota(ctx)
  await ctx.db.transaction(async (tx) => {
    await lockFile(tx, oid)
    const [used] = await tx
      .select({ bytes: decoded(sql<number>`coalesce(sum(size), 0)`, Number) })
      .from(
        sql`(select distinct ${containerBlobs.oid}, ${containerBlobs.size} as size from ${containerBlobs} where ${containerBlobs.project_id} = ${project_id} and ${containerBlobs.oid} <> ${oid}) b`,
      )
    if ((used?.bytes ?? 0) + size > quota) throw tooBig(`the images of a project may have ${quota / 1_048_576} MiB`)
    await commit()
    await tx
      .insert(containerBlobs)
      .values({ repository_id: id, project_id, oid, size, created_at: ctx.now() })
      .onConflictDoUpdate({ target: [containerBlobs.repository_id, containerBlobs.oid], set: { created_at: ctx.now() } })
  })
}

/** The bytes of a blob, or a part of them. */
export async function openBlob(ctx: Context, subject: ProjectSubject, oid: string, range?: { start: number; end: number }): Promise<Readable> {
  const stream = await ctx.packages.get(oid, range)
  if (stream) return stream
  ctx.log.error({ oid, project: subject.project.id }, 'a layer is missing: see roost doctor')
  throw notFound('Blob')
}

const folderOf = (ctx: Pick<Context, 'config'>) => join(ctx.config.dataDir, 'container-uploads')

/** Begins an upload; its id is a secret of the client. */
export async function beginUpload(ctx: Context, repository: Repository): Promise<string> {
  await mkdir(folderOf(ctx), { recursive: true, mode: 0o700 })
  const open = (await readdir(folderOf(ctx))).filter((name) => name.startsWith(`${repository.id}-`))
  if (open.length >= MAX_UPLOADS) throw new RegistryFailure(429, 'TOOMANYREQUESTS', 'too many uploads of this repository have not ended')
  const id = randomBytes(16).toString('hex')
  await pipeline([], createWriteStream(pathOf(ctx, repository, id), { flags: 'wx', mode: 0o600 }))
  return id
}

const pathOf = (ctx: Pick<Context, 'config'>, { id }: Pick<Repository, 'id'>, upload: string) => {
  const name = `${id}-${upload}`
  if (!UPLOAD.test(name)) throw uploadUnknown()
  return join(folderOf(ctx), name)
}

export const uploadUnknown = () => new RegistryFailure(404, 'BLOB_UPLOAD_UNKNOWN', 'there is no such upload')

/** How many bytes of an upload there are. */
export async function uploadSize(ctx: Context, repository: Repository, upload: string): Promise<number> {
  const found = await stat(pathOf(ctx, repository, upload)).catch(() => null)
  if (!found) throw uploadUnknown()
  return found.size
}

/** The bytes that a client says a piece of an upload is. */
export interface Piece {
  first: number
  last: number
}

/**
 * Appends bytes to an upload, those of the piece if it is given; answers its size. A piece that does not come whole is
 * taken back, so that the client can send it again.
 */
export async function appendUpload(ctx: Context, repository: Repository, upload: string, body: Readable, piece: Piece | null): Promise<number> {
  const path = pathOf(ctx, repository, upload)
  return ctx.process.mutex.runHere(`container upload ${upload}`, async () => {
    const before = await uploadSize(ctx, repository, upload)
    if (piece && piece.first !== before)
      throw new RegistryFailure(416, 'BLOB_UPLOAD_INVALID', 'the upload does not go on there', { range: `0-${Math.max(before - 1, 0)}` })
    let size = before
    async function* counted() {
      for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        size += chunk.length
        if (size > MAX_BLOB_BYTES) throw new RegistryFailure(413, 'SIZE_INVALID', 'the layer is too large')
        yield chunk
      }
    }
    try {
      await pipeline(counted, createWriteStream(path, { flags: 'r+', start: before, mode: 0o600 }))
      if (piece && size !== piece.last + 1) throw new RegistryFailure(400, 'SIZE_INVALID', 'the piece has another length than it says')
      return size
    } catch (fault) {
      await truncate(path, before)
      throw fault
    }
  })
}

/** Makes the bytes of an upload, and those that come last, a blob; the upload is over then. */
export async function finishUpload(
  ctx: Context,
  repository: Repository,
  upload: string,
  { body, piece }: { body: Readable; piece: Piece | null },
  oid: string,
): Promise<void> {
  await appendUpload(ctx, repository, upload, body, piece)
  const path = pathOf(ctx, repository, upload)
  await storeBlob(ctx, async () => repository, createReadStream(path, { highWaterMark: 1 << 20 }), oid)
  await rm(path, { force: true })
}

export async function cancelUpload(ctx: Context, repository: Repository, upload: string): Promise<void> {
  await uploadSize(ctx, repository, upload)
  await rm(pathOf(ctx, repository, upload), { force: true })
}

/** Removes uploads that nothing was added to for a day (OCI-9). */
export async function removeStalledLayers(ctx: Pick<Context, 'config'>, unchanged = 86_400_000): Promise<void> {
  for (const name of await readdir(folderOf(ctx)).catch(() => [])) {
    const path = join(folderOf(ctx), name)
    const found = await stat(path).catch(() => null)
    if (found && Date.now() - found.mtimeMs >= unchanged) await rm(path, { force: true })
  }
}
