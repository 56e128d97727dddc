import { createHash } from 'node:crypto'
import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { notAcceptable, notFound } from '../../failures.js'
import type { ArchiveKind, Oid } from '../../git/types.js'
import { canArchive } from '../../git/wire/archive.js'
import type { CachedFile } from '../../lib/files/file-cache.js'
import { withoutAround } from '../../lib/text/without-trailing.js'
import { repositoryOf } from './repositories.js'
import { resolveRevision } from './revisions.js'

/** The archive formats and their aliases (RE-6). */
const KINDS = {
  'tar.gz': 'tar.gz',
  tgz: 'tar.gz',
  gz: 'tar.gz',
  zip: 'zip',
  tar: 'tar',
  'tar.bz2': 'tar.bz2',
  tbz: 'tar.bz2',
  tbz2: 'tar.bz2',
  tb2: 'tar.bz2',
  bz2: 'tar.bz2',
} satisfies Record<string, ArchiveKind>

export type ArchiveFormat = keyof typeof KINDS
export const ARCHIVE_FORMATS = Object.keys(KINDS) as [ArchiveFormat, ...ArchiveFormat[]]

/** One name of each format that this machine can make. */
export const availableArchives = (): ArchiveFormat[] => (['zip', 'tar.gz', 'tar.bz2', 'tar'] as const).filter((format) => canArchive(KINDS[format]))

export interface ArchiveRequest {
  /** A revision; by default the default branch. */
  sha?: string | undefined
  format: ArchiveFormat
  path?: string | undefined
  /** The file name without its suffix, where the address has one: if it is that of the project and the ref, the commit id is left out. */
  name?: string | undefined
}

export interface ArchivePlan {
  /** The cache key: equal for archives with the same content. */
  name: string
  commit: Oid
  kind: ArchiveKind
  prefix: string
  path: string
  filename: string
}

/**
 * Determines the content and file name of an archive; 404 `File` for an unknown revision or path, 406 for a format that
 * this machine cannot produce.
 */
export async function planArchive(ctx: Context, subject: ProjectSubject, { sha, format, path, name: wanted }: ArchiveRequest): Promise<ArchivePlan> {
  const kind = KINDS[format]
  if (!canArchive(kind)) throw notAcceptable()
  const { project } = subject
  const ref = sha || project.default_branch
  const found = await resolveRevision(ctx, subject, ref)
  if (!found) throw notFound('File')
  const subpath = withoutAround(path ?? '', '/')
  if (subpath !== '' && !(await repositoryOf(ctx, project).entry(found.commit, subpath))) throw notFound('File')
  const short = `${project.path}-${ref.replaceAll('/', '-')}`
  const prefix = wanted === short ? short : `${short}-${found.commit}`
  const name = createHash('sha256')
    .update(JSON.stringify([project.id, found.commit, kind, prefix, subpath]))
    .digest('hex')
  return { name, commit: found.commit, kind, prefix, path: subpath, filename: `${wanted ?? prefix}.${format}` }
}

/** The archive file; concurrent and later requests share it through the cache (RE-13). */
export const openArchive = (ctx: Context, { project }: ProjectSubject, plan: ArchivePlan, signal: AbortSignal): Promise<CachedFile> => {
  const { filename: _, name, ...packed } = plan
  const holder = ctx.origin?.address
  return ctx.caches.archives.read(`${project.id}/${name}`, (signal) => repositoryOf(ctx, project).archive({ ...packed, signal, holder }), signal)
}
