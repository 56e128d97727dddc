import { createHash } from 'node:crypto'
import { mkdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { eq } from 'drizzle-orm'
import type { Context } from '../../../context.js'
import { namespaces, projects } from '../../../db/schema/index.js'
import { conflict, notFound } from '../../../failures.js'
import type { RefSnapshot, RepositoryKey } from '../../../git/types.js'
import { audit } from '../../core/audit.js'
import { wikiKeyOf } from '../../repository/repositories.js'
import { folderOf } from './export.js'
import { entriesOf, packOf } from './tar.js'

/** Git knows no repository without them. */
const FOLDERS = ['./refs/heads', './refs/tags', './objects/pack', './objects/info']
/** After so long a snapshot that was not finished is taken for one of a killed process. */
const ABANDONED_MS = 6 * 3_600_000

/**
 * The bare repository of a project, or of its wiki, as a tar archive, for administrators (RX-36); 404 without one. It is
 * copied with the refs of the moment, so that pushes and maintenance go on while it is downloaded; 409 while another
 * download of it runs.
 */
export async function openSnapshot(ctx: Context, id: number, { wiki }: { wiki: boolean }) {
  const [found] = await ctx.db.write
    .select({ project: projects, above: namespaces.full_path })
    .from(projects)
    .innerJoin(namespaces, eq(namespaces.id, projects.namespace_id))
    .where(eq(projects.id, id))
  if (!found) throw notFound('Project')
  const { project, above } = found
  const key: RepositoryKey = wiki ? wikiKeyOf(project) : { storage: project.storage, id, kind: 'project' }
  const refs = await ctx.git.snapshotRefs(key)
  if (!refs) throw notFound(wiki ? 'Wiki' : 'Repository')
  const digest = createHash('sha256')
    .update(JSON.stringify([refs.head, refs.refs]))
    .digest('hex')
  return { etag: `W/"${digest}"`, filename: 'snapshot.tar', open: () => streamOf(ctx, key, refs, `${above}/${project.path}`) }
}

async function streamOf(ctx: Context, key: RepositoryKey, refs: RefSnapshot, name: string): Promise<Readable> {
  const folder = join(folderOf(ctx), `.${key.id}.snapshot-${key.kind}`)
  await claim(folder)
  const done = () => rm(folder, { recursive: true, force: true })
  try {
    await audit(ctx, ctx.db.write, { action: 'project_exported', target: { type: 'project', id: key.id, name }, changes: { snapshot: key.kind } })
    if (!(await ctx.git.saveRepository(key, refs, folder))) throw notFound('Repository')
    const stream = Readable.from(packOf(FOLDERS, entriesOf(folder, '.')))
    stream.once('close', () => void done())
    return stream
  } catch (error) {
    await done()
    throw error
  }
}

/** Makes the folder of the copy; 409 if another download has it. */
async function claim(folder: string): Promise<void> {
  await mkdir(join(folder, '..'), { recursive: true, mode: 0o700 })
  const found = await stat(folder).catch(() => null)
  if (found && found.mtimeMs + ABANDONED_MS < Date.now()) await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { mode: 0o700 }).catch((error: { code?: string }) => {
    throw error.code === 'EEXIST' ? conflict('A snapshot of this repository is being downloaded') : error
  })
}
