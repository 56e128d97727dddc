import { createReadStream } from 'node:fs'
import { copyFile, mkdir, readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { and, eq, gt } from 'drizzle-orm'
import { z } from 'zod'
import { actingAs } from '../../../access/actor.js'
import { effectiveLevel } from '../../../access/can.js'
import { getProjectFor } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { ArchiveFault, readProjectRows } from '../../../db/copies/project-archive.js'
import { labels, projects, releases } from '../../../db/schema/index.js'
import { nullOnFailure } from '../../../failures.js'
import { GitFault, TooLarge } from '../../../git/errors.js'
import { enqueue } from '../../../jobs/enqueue.js'
import { defineJob } from '../../../jobs/kinds.js'
import { syncDirectory, writeNewFile } from '../../../lib/files/durable.js'
import { isObjectId } from '../../../lib/files/object-store.js'
import { branchNameFault } from '../../../rules/refs/branch-name.js'
import { descriptionHtml } from '../../core/description-html.js'
import { imageFaults, storeAvatar } from '../../identity/avatars.js'
import { ghostId } from '../../identity/ghost.js'
import { getUser } from '../../identity/users.js'
import { lfsLimits, storeObject } from '../../repository/lfs/objects.js'
import { createWikiRepository, repositoryOf, wikiKeyOf } from '../../repository/repositories.js'
import { beginImport, fillRepository, recordImportFailure } from '../import.js'
import { uploadsFolder } from '../uploads.js'
import { FORMAT, ownerExists } from './export.js'
import { readTar } from './tar.js'

const DEADLINE_MS = 6 * 3_600_000

/** Where archives wait for their import, and are unpacked. */
export const folderOf = (ctx: Pick<Context, 'config'>) => join(ctx.config.dataDir, 'imports')
const fileOf = (ctx: Pick<Context, 'config'>, id: number) => join(folderOf(ctx), `${id}.tar.gz`)

/** Keeps the archive for a new project and enqueues its import, in the transaction that creates the project (EX-5). */
export async function recordArchive(ctx: Context, tx: Transaction, id: number, archive: Buffer): Promise<void> {
  await mkdir(folderOf(ctx), { recursive: true, mode: 0o700 })
  // left by a project with this id whose creation was not committed
  await rm(fileOf(ctx, id), { force: true })
  await writeNewFile(fileOf(ctx, id), archive, 0o600)
  await syncDirectory(folderOf(ctx))
  await enqueue(tx, importArchive, { project: id }, { key: String(id), lane: importArchive.kind })
}

export const importArchive = defineJob({
  kind: 'import of an archive',
  input: z.object({ project: z.int() }),
  run: (ctx: Context, { project }, { signal }) => run(ctx, project, AbortSignal.any([ctx.process.stopping, signal])),
  async failed(ctx, { project }) {
    await recordImportFailure(ctx, { project })
    await rm(fileOf(ctx, project), { recursive: true, force: true })
  },
  concurrency: 1,
  deadline: DEADLINE_MS,
})

async function run(ctx: Context, id: number, signal: AbortSignal): Promise<void> {
  const work = join(folderOf(ctx), `.${id}`)
  await rm(work, { recursive: true, force: true })
  const project = await beginImport(ctx, id)
  if (project) {
    try {
      await mkdir(work, { recursive: true, mode: 0o700 })
      await readTar(fileOf(ctx, id), work, signal)
      await bringIn(ctx, project, work, signal)
    } catch (error) {
      // the job is tried again from the start
      signal.throwIfAborted()
      const reason = reasonOf(error)
      if (reason === null) throw error
      ctx.log.warn({ project: id, reason }, 'an import failed')
      await ctx.db.write.update(projects).set({ import_status: 'failed', import_error: reason }).where(eq(projects.id, id))
    } finally {
      await rm(work, { recursive: true, force: true })
    }
  }
  await rm(fileOf(ctx, id), { force: true })
}

/** What is wrong with the archive; null for what is not its fault, which is tried again. */
function reasonOf(error: unknown): string | null {
  if (error instanceof ArchiveFault) return `The archive cannot be imported: ${error.message}`.slice(0, 1_000)
  if (error instanceof TooLarge) return 'The repository is too large'
  if (error instanceof GitFault) return 'The archive cannot be imported: git does not take its repository'
  return null
}

const Version = z.object({ format: z.int() })
const ProjectRow = z.object({ default_branch: z.string(), archived: z.boolean(), avatar: z.string().nullable() })

async function readJson<T extends z.ZodType>(file: string, shape: T): Promise<z.output<T>> {
  try {
    return shape.parse(JSON.parse((await readFile(file, 'utf8')).split('\n', 1)[0] ?? ''))
  } catch {
    throw new ArchiveFault('the file is not an archive of a project')
  }
}

type Project = typeof projects.$inferSelect

/** Files first, rows last: until they are committed, an interrupted import begins again. */
async function bringIn(ctx: Context, project: Project, work: string, signal: AbortSignal): Promise<void> {
  const { id } = project
  const { format } = await readJson(join(work, 'version.json'), Version)
  if (format > FORMAT) throw new ArchiveFault('a newer version has made it')
  const row = await readJson(join(work, 'rows', 'projects.jsonl'), ProjectRow)
  if (branchNameFault(row.default_branch)) throw new ArchiveFault('the name of its default branch is invalid')
  const names = new Set(await readdir(work))
  const bundleOf = (name: string) => ({ url: join(work, name), addresses: [] })
  if (names.has('project.bundle'))
    await fillRepository(
      ctx,
      repositoryOf(ctx, project),
      {
        id,
        source: bundleOf('project.bundle'),
        default_branch: row.default_branch,
        refspecs: ['merge-requests', 'keep-around'].map((kind) => `refs/${kind}/*:refs/${kind}/*`),
      },
      signal,
    )
  if (names.has('wiki.bundle')) {
    await createWikiRepository(ctx, project)
    await ctx.git.open(wikiKeyOf(project)).fetch(bundleOf('wiki.bundle'), signal)
  }
  const uploads = await copyUploads(join(work, 'uploads'), uploadsFolder(ctx, id))
  await storeObjects(ctx, id, join(work, 'lfs'))
  const images = await readdir(join(work, 'avatar')).catch(() => [] as string[])
  const avatar = row.avatar !== null && images.includes(row.avatar) ? await readFile(join(work, 'avatar', row.avatar)) : null
  const shown = avatar && imageFaults(avatar).length === 0 ? await storeAvatar(ctx, 'project', id, avatar) : null
  const ghost = await ghostId(ctx)
  const level = await levelOfImporter(ctx, project)
  await ctx.db.transaction(async (tx) => {
    await readProjectRows(tx, join(work, 'rows'), { projectId: id, ghost, level, uploads, now: ctx.now() })
    await renderDescriptions(ctx, tx, id)
    await tx
      .update(projects)
      .set({ import_status: 'finished', import_error: null, archived: row.archived, ...(shown && { avatar: shown }) })
      .where(eq(projects.id, id))
  })
}

/** What the importer may give others at most: their own level now (EX-67). */
async function levelOfImporter(ctx: Context, { id, creator_id }: Project): Promise<number> {
  const importer = creator_id === null ? null : await getUser(ctx, creator_id)
  const subject = importer && (await nullOnFailure(getProjectFor(ctx, actingAs(importer), String(id))))
  return subject ? effectiveLevel(subject) : 0
}

/** Rows that are rendered in one step. */
const RENDERED = 100

/** Renders what is kept as HTML: that of an archive could be any (EX-67). */
async function renderDescriptions(ctx: Context, tx: Transaction, projectId: number): Promise<void> {
  for (const table of [labels, releases] as const)
    for (let last = 0; ; ) {
      const rows = await tx
        .select({ id: table.id, description: table.description })
        .from(table)
        .where(and(eq(table.project_id, projectId), gt(table.id, last)))
        .orderBy(table.id)
        .limit(RENDERED)
      for (const { id, description } of rows) {
        last = id
        if (description)
          await tx
            .update(table)
            .set({ description_html: await descriptionHtml(ctx, description) })
            .where(eq(table.id, id))
      }
      if (rows.length < RENDERED) break
    }
}

/** Copies uploaded files; returns their sizes by secret. */
async function copyUploads(from: string, to: string): Promise<Map<string, number>> {
  const sizes = new Map<string, number>()
  const secrets = await readdir(from).catch(() => [] as string[])
  if (secrets.length > 0) await mkdir(to, { recursive: true, mode: 0o700 })
  for (const secret of secrets) {
    await copyFile(join(from, secret), join(to, secret))
    sizes.set(secret, (await stat(join(to, secret))).size)
  }
  return sizes
}

async function storeObjects(ctx: Context, id: number, folder: string): Promise<void> {
  const { object } = await lfsLimits(ctx)
  for (const oid of (await readdir(folder).catch(() => [] as string[])).filter(isObjectId)) {
    const staged = await ctx.lfs.stage(createReadStream(join(folder, oid)), oid, object).catch(() => {
      throw new ArchiveFault(`the object ${oid} of Git LFS is damaged or too large`)
    })
    try {
      await storeObject(ctx, id, oid, staged)
    } finally {
      await staged.discard()
    }
  }
}

/** Removes archives of projects and groups that are gone, and what killed attempts have left. */
export const removeArchives = defineJob({
  kind: 'old archives',
  slots: 'upkeep',
  input: z.object({}),
  async run(ctx: Context) {
    for (const name of await readdir(folderOf(ctx)).catch(() => [] as string[]))
      if (!(await ownerExists(ctx, name))) await rm(join(folderOf(ctx), name), { recursive: true, force: true })
  },
  every: 3_600_000,
})
