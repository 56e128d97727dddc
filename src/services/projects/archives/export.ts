import { mkdir, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { eq, sql } from 'drizzle-orm'
import { z } from 'zod'
import type { SignedIn } from '../../../access/actor.js'
import { fullPathOf, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { writeProjectRows } from '../../../db/copies/project-archive.js'
import { jobs, namespaces, projects } from '../../../db/schema/index.js'
import { notFound } from '../../../failures.js'
import { enqueue } from '../../../jobs/enqueue.js'
import { defineJob } from '../../../jobs/kinds.js'
import { syncDirectory } from '../../../lib/files/durable.js'
import { audit } from '../../core/audit.js'
import { readSettings } from '../../core/settings.js'
import { projectExists, repositoryOf, wikiKeyOf } from '../../repository/repositories.js'
import { uploadsFolder } from '../uploads.js'
import { type Entry, entriesOf, writeTar } from './tar.js'

/** The format of archives; an import refuses higher numbers. */
export const FORMAT = 1
/** How long an archive can be downloaded. */
const KEPT_MS = 86_400_000
const DEADLINE_MS = 6 * 3_600_000

export type ExportStatus = 'none' | 'queued' | 'started' | 'finished' | 'regeneration_in_progress'

/** Where archives are made, and what is left of them is removed. */
export const folderOf = (ctx: Pick<Context, 'config'>) => join(ctx.config.dataDir, 'exports')
const fileOf = (ctx: Pick<Context, 'config'>, name: number | string) => join(folderOf(ctx), `${name}.tar.gz`)

/** 404 while the setting `project_export_enabled` is off, as for an endpoint that does not exist (EX-1). */
async function checkEnabled(ctx: Context): Promise<void> {
  if (!(await readSettings(ctx)).project_export_enabled) throw notFound()
}

/** Makes an archive of the project in the background; a call while one is made changes nothing (EX-1). */
export async function startExport(ctx: Context, caller: SignedIn, { project }: ProjectSubject): Promise<void> {
  await checkEnabled(ctx)
  await ctx.db.transaction(async (tx) => {
    await audit(ctx, tx, { action: 'project_exported', target: { type: 'project', id: project.id, name: fullPathOf(project) } })
    await enqueue(tx, exportProject, { project: project.id }, { key: String(project.id), lane: `exports of user ${caller.user.id}` })
  })
}

/** How far the archive of a project is (EX-3). */
export async function exportStatus(ctx: Context, { project }: Pick<ProjectSubject, 'project'>): Promise<ExportStatus> {
  await checkEnabled(ctx)
  const { rows } = await ctx.db.write.execute<{ running: boolean }>(
    sql`select worker is not null as running from ${jobs} where kind = ${exportProject.kind} and key = ${String(project.id)} and failed_at is null`,
  )
  const finished = (await kept(ctx, project.id)) !== null
  if (rows.length > 0) return finished ? 'regeneration_in_progress' : rows.some(({ running }) => running) ? 'started' : 'queued'
  return finished ? 'finished' : 'none'
}

async function kept(ctx: Context, name: number | string): Promise<{ size: number; mtimeMs: number } | null> {
  const found = await stat(fileOf(ctx, name)).catch(() => null)
  return found && found.mtimeMs + KEPT_MS > Date.now() ? found : null
}

/** The archive of a project for a download; 404 without one (EX-4). */
export async function openExport(ctx: Context, { project }: Pick<ProjectSubject, 'project'>) {
  await checkEnabled(ctx)
  return openArchive(ctx, project.id, fullPathOf(project))
}

/** An archive by its name in the folder, as a download that is named after the path of what it is of. */
export async function openArchive(ctx: Context, name: number | string, path: string) {
  const file = fileOf(ctx, name)
  const found = await kept(ctx, name)
  if (!found) throw notFound()
  const made = new Date(found.mtimeMs).toISOString().replace(/[T:]/g, '-').slice(0, 19)
  return {
    size: found.size,
    etag: `"${found.mtimeMs.toString(36)}-${found.size}"`,
    filename: `${made}_${path.replaceAll('/', '_')}_export.tar.gz`,
    // opened before it can be removed
    open: async (range?: { start: number; end: number }) => (await open(file, 'r')).createReadStream(range),
  }
}

export const exportProject = defineJob({
  kind: 'export',
  input: z.object({ project: z.int() }),
  run: (ctx: Context, { project }, { signal }) => makeExport(ctx, project, AbortSignal.any([ctx.process.stopping, signal])),
  concurrency: 1,
  deadline: DEADLINE_MS,
})

async function makeExport(ctx: Context, id: number, signal: AbortSignal): Promise<void> {
  const [project] = await ctx.db.write.select().from(projects).where(sql`id = ${id}`)
  if (!project) return
  const folder = folderOf(ctx)
  const work = join(folder, `.${id}`)
  // an attempt that was killed has left it
  await rm(work, { recursive: true, force: true })
  await mkdir(join(work, 'rows'), { recursive: true, mode: 0o700 })
  try {
    await ctx.db.transaction(async (tx) => {
      await tx.execute(sql`set transaction isolation level repeatable read, read only`)
      await writeProjectRows(tx, id, join(work, 'rows'))
    })
    await repositoryOf(ctx, project).bundle(join(work, 'project.bundle'), signal)
    if (await ctx.git.exists(wikiKeyOf(project))) await ctx.git.open(wikiKeyOf(project)).bundle(join(work, 'wiki.bundle'), signal)
    await writeFile(join(work, 'version.json'), `${JSON.stringify({ format: FORMAT })}\n`, { mode: 0o600 })
    const packed = join(folder, `.${id}.tar.gz`)
    await rm(packed, { force: true })
    await writeTar(packed, entriesFor(ctx, id, work), signal)
    await rename(packed, fileOf(ctx, id))
    await syncDirectory(folder)
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

async function* entriesFor(ctx: Context, id: number, work: string): AsyncGenerator<Entry> {
  yield* entriesOf(work, '')
  yield* entriesOf(uploadsFolder(ctx, id), 'uploads')
  yield* entriesOf(join(ctx.config.dataDir, 'uploads', 'project', String(id)), 'avatar')
  const { rows } = await ctx.db.write.execute<{ oid: string }>(sql`select oid from lfs_object_projects where project_id = ${id} order by oid`)
  for (const { oid } of rows) {
    const size = await ctx.lfs.size(oid)
    const content = size === null ? null : await ctx.lfs.get(oid)
    if (size !== null && content) yield { name: `lfs/${oid}`, size, open: () => content }
  }
}

/** Whether the project or group is there that a file in the folder of exports or imports is named after. */
export async function ownerExists(ctx: Context, name: string): Promise<boolean> {
  const [, group, id] = /^\.?(group-)?(\d{1,15})/.exec(name) ?? []
  if (id === undefined) return false
  return group ? (await ctx.db.write.$count(namespaces, eq(namespaces.id, Number(id)))) > 0 : projectExists(ctx, Number(id))
}

/** Removes archives that are a day old, those of projects and groups that are gone, and what killed attempts have left. */
export const removeExports = defineJob({
  kind: 'old exports',
  slots: 'upkeep',
  input: z.object({}),
  async run(ctx: Context) {
    const folder = folderOf(ctx)
    for (const name of await readdir(folder).catch(() => [] as string[])) {
      const found = await stat(join(folder, name)).catch(() => null)
      const old = !found || found.mtimeMs + KEPT_MS < Date.now()
      if (old || !(await ownerExists(ctx, name))) await rm(join(folder, name), { recursive: true, force: true })
    }
  },
  every: 3_600_000,
})
