import { createHash } from 'node:crypto'
import { mkdir, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { imageSize } from 'image-size'
import type { Context } from '../../context.js'
import { syncDirectory, writeNewFile } from '../../lib/files/durable.js'

/** The kind of subject that has the avatar. */
export type AvatarKind = 'user' | 'project' | 'group' | 'topic'

/** Maximum size of an image file (UP-4). */
const MAX_BYTES = 200 * 1024
/** Maximum width and height of an image (SEC-78). */
const MAX_SIDE_PIXELS = 4_096

/** The accepted image formats, as detected from the content, and their media types. */
const TYPES: Record<string, string> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  gif: 'image/gif',
  bmp: 'image/bmp',
  tiff: 'image/tiff',
  webp: 'image/webp',
  ico: 'image/x-icon',
}

/** What is wrong with an uploaded image: its format as detected, file size or dimensions (UP-4, SEC-78). */
export function imageFaults(data: Buffer): string[] {
  if (data.length > MAX_BYTES) return ['is too big (should be at most 200 KB)']
  const image = sizeOf(data)
  if (!image || !Object.hasOwn(TYPES, image.type ?? '')) return ['only images allowed']
  const sides = [image, ...(image.images ?? [])].flatMap(({ width, height }) => [width, height])
  return sides.every((side) => side > 0 && side <= MAX_SIDE_PIXELS) ? [] : [`is too large (at most ${MAX_SIDE_PIXELS} x ${MAX_SIDE_PIXELS} pixels)`]
}

function sizeOf(data: Buffer) {
  try {
    return imageSize(data)
  } catch {
    return null
  }
}

const folderOf = (ctx: Pick<Context, 'config'>, kind: AvatarKind, id: number) => join(ctx.config.dataDir, 'uploads', kind, String(id))

/** Stores a valid image durably and returns its file name, which is derived from its content. */
export async function storeAvatar(ctx: Context, kind: AvatarKind, id: number, data: Buffer): Promise<string> {
  const name = `${createHash('sha256').update(data).digest('hex').slice(0, 16)}.${sizeOf(data)?.type}`
  const folder = folderOf(ctx, kind, id)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const temporary = join(folder, `.${ctx.origin?.requestId ?? process.pid}-${name}`)
  await rm(temporary, { force: true })
  await writeNewFile(temporary, data, 0o600)
  await rename(temporary, join(folder, name))
  await Promise.all([syncDirectory(folder), syncDirectory(dirname(folder))])
  return name
}

/** A stored image with its media type; null when there is none of that name. */
export async function readAvatar(ctx: Context, kind: AvatarKind, id: number, name: string): Promise<{ type: string; data: Buffer } | null> {
  const type = /^[0-9a-f]{16}\.([a-z]+)$/.exec(name)?.[1]
  if (type === undefined || !Object.hasOwn(TYPES, type)) return null
  const data = await readFile(join(folderOf(ctx, kind, id), name)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  return data && { type: TYPES[type] as string, data }
}

/** Removes one image of a subject, or all of them. */
export async function removeAvatar(ctx: Context, kind: AvatarKind, id: number, name?: string): Promise<void> {
  await rm(name === undefined ? folderOf(ctx, kind, id) : join(folderOf(ctx, kind, id), name), { recursive: true, force: true })
}
