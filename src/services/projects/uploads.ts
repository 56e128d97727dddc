import { createReadStream } from 'node:fs'
import { mkdir, open, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { and, eq, isNull, sql } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import { fullPathOf, type ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { decoded } from '../../db/decoded.js'
import { onlyRow } from '../../db/only-row.js'
import { projects, projectUploads, routes } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { tooLarge } from '../../failures.js'
import { syncDirectory, writeNewFile } from '../../lib/files/durable.js'
import { readSettings } from '../core/settings.js'
import { checkUploadQuota } from '../repository/quotas.js'

/** Media types of files that are served inline, by extension: images and videos, never SVG or HTML (UP-7). */
const INLINE_TYPES: Record<string, string> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  bmp: 'image/bmp',
  tiff: 'image/tiff',
  webp: 'image/webp',
  ico: 'image/x-icon',
  mp4: 'video/mp4',
  m4v: 'video/mp4',
  mov: 'video/quicktime',
  webm: 'video/webm',
  ogv: 'video/ogg',
}

/** The media type of a file that is served inline; null when it is served as a download. */
export function inlineType(filename: string): string | null {
  const extension = /\.([a-z0-9]+)$/i.exec(filename)?.[1]?.toLowerCase() ?? ''
  return Object.hasOwn(INLINE_TYPES, extension) ? (INLINE_TYPES[extension] as string) : null
}

const MEBIBYTE = 1024 * 1024
const MAX_NAME_LENGTH = 255

/** Sanitises a file name: letters and digits of all scripts, `.`, `_`, `-` and `+` remain (UP-7). */
export function safeName(given: string): string {
  const base = given.slice(Math.max(given.lastIndexOf('/'), given.lastIndexOf('\\')) + 1)
  const name = [
    ...base
      .toWellFormed()
      .normalize('NFC')
      .replace(/[^\p{L}\p{M}\p{N}._+-]+/gu, '_'),
  ]
    .slice(-MAX_NAME_LENGTH)
    .join('')
  return /^\.*$/.test(name) ? 'file' : name
}

/** The folder with the files of a project, one folder for each. */
export const uploadsFolder = (ctx: Pick<Context, 'config'>, projectId: number) => join(ctx.config.dataDir, 'uploads', 'files', String(projectId))

export interface UploadRecord {
  id: number
  secret: string
  filename: string
  fullPath: string
}

/** Stores a file attached to a text of the project, under an unguessable URL (UP-1). */
export async function storeUpload(
  ctx: Context,
  caller: SignedIn,
  { project }: ProjectSubject,
  file: { filename: string; data: Buffer },
): Promise<UploadRecord> {
  const { max_attachment_size } = await readSettings(ctx)
  if (file.data.length > max_attachment_size * MEBIBYTE) throw tooLarge()
  const filename = safeName(file.filename)
  const secret = ctx.random.bytes('upload', 16).toString('hex')
  const folder = uploadsFolder(ctx, project.id)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, secret)
  await writeNewFile(path, file.data, 0o600)
  await Promise.all([folder, dirname(folder)].map(syncDirectory))
  try {
    const rows = await ctx.db.transaction(async (tx) => {
      await checkUploadQuota(ctx, tx, { uploaderId: caller.user.id, projectId: project.id, bytes: file.data.length })
      return tx
        .insert(projectUploads)
        .values({ project_id: project.id, uploader_id: caller.user.id, secret, filename, size: file.data.length, created_at: ctx.now() })
        .returning({ id: projectUploads.id })
    })
    return { id: onlyRow(rows).id, secret, filename, fullPath: fullPathOf(project) }
  } catch (error) {
    await rm(path, { force: true })
    throw error
  }
}

const selectUpload = statement('upload by address', (db) =>
  db
    .select({ project_id: projectUploads.project_id, size: projectUploads.size })
    .from(projectUploads)
    .innerJoin(routes, eq(routes.project_id, projectUploads.project_id))
    .innerJoin(projects, and(eq(projects.id, projectUploads.project_id), isNull(projects.marked_for_deletion_at)))
    .where(
      sql`${routes.key} = ${sql.placeholder('path')} and ${projectUploads.secret} = ${sql.placeholder('secret')} and ${projectUploads.filename} = ${sql.placeholder('filename')}`,
    ),
)

/** The upload at a URL; null when there is none. */
export async function findUpload(
  ctx: Context,
  { path, secret, filename }: { path: string; secret: string; filename: string },
): Promise<{ project_id: number; size: number } | null> {
  const [row] = await selectUpload(ctx.db, null).execute({ path: path.toLowerCase(), secret, filename })
  return row ?? null
}

/** The content of an upload, or a byte range of it; null when the file is missing. */
export async function readUpload(
  ctx: Context,
  projectId: number,
  secret: string,
  part: { start: number; end: number } | undefined,
): Promise<Readable | null> {
  const file = await open(join(uploadsFolder(ctx, projectId), secret), 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  return file && createReadStream('', { fd: file, ...part })
}

/** The bytes that the file of an upload has; null when it is missing. */
export const storedSize = (ctx: Context, projectId: number, secret: string): Promise<number | null> =>
  stat(join(uploadsFolder(ctx, projectId), secret)).then(
    ({ size }) => size,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null
      throw error
    },
  )

/** Removes all uploads of a project. */
export async function removeUploads(ctx: Context, projectId: number): Promise<void> {
  await rm(uploadsFolder(ctx, projectId), { recursive: true, force: true })
}

/** The bytes of all files uploaded to a project. */
export async function uploadsSize(ctx: Context, projectId: number): Promise<number> {
  const size = decoded(sql<number>`coalesce(sum(${projectUploads.size}), 0)`, Number)
  const [row] = await ctx.db.read.select({ size }).from(projectUploads).where(eq(projectUploads.project_id, projectId))
  return row?.size ?? 0
}
