import type { Readable } from 'node:stream'
import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { notAcceptable, notFound } from '../../failures.js'
import type { ArchiveKind, Oid } from '../../git/types.js'
import { canArchive } from '../../git/wire/archive.js'
import { repositoryOf } from './repositories.js'

/** The names of each kind of archive (RE-6). */
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

export interface ArchivePlan {
  commit: Oid
  kind: ArchiveKind
  prefix: string
  path: string
  filename: string
}

/**
 * What an archive will hold and what it is called: 404 `File` where there is nothing to pack, 406 for a kind this
 * machine cannot make.
 */
export async function planArchive(
  ctx: Context,
  { project }: ProjectSubject,
  { sha, format, path }: { sha?: string | undefined; format: ArchiveFormat; path?: string | undefined },
): Promise<ArchivePlan> {
  const kind = KINDS[format]
  if (!canArchive(kind)) throw notAcceptable()
  const repository = repositoryOf(ctx, project)
  const ref = sha || project.default_branch
  const found = await repository.resolve(ref)
  if (!found) throw notFound('File')
  const below = (path ?? '').replace(/^\/+|\/+$/g, '')
  if (below !== '' && !(await repository.entry(found.commit, below))) throw notFound('File')
  const prefix = `${project.path}-${ref.replaceAll('/', '-')}-${found.commit}`
  return { commit: found.commit, kind, prefix, path: below, filename: `${prefix}.${format}` }
}

/** The bytes of the archive; git packs as fast as they are read, and ends with the signal. */
export const streamArchive = (
  ctx: Context,
  { project }: ProjectSubject,
  { filename: _, ...plan }: ArchivePlan,
  signal: AbortSignal,
): Promise<Readable> => repositoryOf(ctx, project).archive({ ...plan, signal, holder: ctx.origin?.address })
