import { PassThrough, type Readable } from 'node:stream'
import { and, desc, eq, ne, type SQL, sql } from 'drizzle-orm'
import * as yauzl from 'yauzl'
import { actingAs } from '../../../access/actor.js'
import { findCallingJob } from '../../../access/jobs/job-tokens.js'
import { getProjectFor, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { artifacts, commitStatuses, pipelines } from '../../../db/schema/index.js'
import { notFound, nullOnFailure, refused } from '../../../failures.js'
import type { ObjectStore } from '../../../lib/files/object-store.js'
import { runningByToken } from '../builds/running.js'
import { isNoChild, isOfRef } from '../merge-requests/heads.js'

export type Artifact = typeof artifacts.$inferSelect

/** The archive of a job of a project; 404 if it has none. */
export const archiveOf = (ctx: Context, subject: ProjectSubject, job: number): Promise<Artifact> => artifactOf(ctx, subject, job, 'archive')

/** The archive or a report of a job of a project; 404 if it has none. */
export async function artifactOf(ctx: Context, { project }: ProjectSubject, job: number, type: string): Promise<Artifact> {
  const [found] = await ctx.db.write
    .select()
    .from(artifacts)
    .where(and(eq(artifacts.project_id, project.id), eq(artifacts.job_id, job), eq(artifacts.file_type, type)))
  if (!found) throw notFound()
  return found
}

/** The archive of the newest job of a project with a name that is the latest of its pipeline; `where` is about `commit_statuses`. */
export async function archiveNamed(ctx: Context, project: number, name: string, where: SQL): Promise<Artifact | null> {
  const [found] = await ctx.db.write
    .select({ artifact: artifacts })
    .from(artifacts)
    .innerJoin(commitStatuses, eq(commitStatuses.id, artifacts.job_id))
    .where(
      and(eq(artifacts.project_id, project), eq(artifacts.file_type, 'archive'), eq(commitStatuses.name, name), sql`${commitStatuses.latest}`, where),
    )
    .orderBy(desc(artifacts.id))
    .limit(1)
  return found?.artifact ?? null
}

/** The archive of a job by its name in the newest pipeline of a branch or tag that succeeded (CI-132). */
export async function latestArchive(ctx: Context, { project }: ProjectSubject, ref: string, name: string): Promise<Artifact> {
  const newest = sql`(select max(${pipelines.id}) from ${pipelines} where ${and(eq(pipelines.project_id, project.id), eq(pipelines.ref, ref), eq(pipelines.status, 'success'), isNoChild, isOfRef)})`
  const found = await archiveNamed(ctx, project.id, name, eq(commitStatuses.pipeline_id, newest))
  if (!found) throw notFound()
  return found
}

/** The bytes of a stored file; 404 if they are gone. */
export async function contentOf(ctx: Context, { oid }: Pick<Artifact, 'oid'>): Promise<Readable> {
  const stream = await ctx.artifacts.get(oid)
  if (!stream) throw notFound()
  return stream
}

/** Reads parts of an archive in the store, as the reader of archives asks for them. */
class StoredArchive extends yauzl.RandomAccessReader {
  constructor(
    private readonly store: ObjectStore,
    private readonly oid: string,
  ) {
    super()
  }

  override _readStreamForRange(start: number, end: number): Readable {
    const out = new PassThrough()
    this.store.get(this.oid, { start, end: end - 1 }).then(
      (stream) => (stream ? stream.on('error', (error) => out.destroy(error)).pipe(out) : out.destroy(new Error('the archive is gone'))),
      (error: Error) => out.destroy(error),
    )
    return out
  }
}

/** A name that stays inside of the folder into which it is unpacked. */
export const isSafe = (name: string) => yauzl.validateFileName(name) === null && !name.includes('\0')

/** Opens an archive in the store. */
export async function opened<T>(
  ctx: Context,
  { oid, size }: Artifact,
  work: (zip: yauzl.ZipFile, done: (result: T) => void, failed: (error: Error) => void) => void,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    yauzl.fromRandomAccessReader(new StoredArchive(ctx.artifacts, oid), size, { lazyEntries: true, autoClose: false }, (error, zip) => {
      const failed = () => reject(refused('The archive cannot be read'))
      if (error) return failed()
      zip.on('error', failed)
      work(zip, resolve, failed)
    })
  })
}

/** One file of an archive as a stream, read from the store without the others; 404 if there is none (CI-133). */
export const entryOf = (ctx: Context, archive: Artifact, path: string): Promise<{ stream: Readable; size: number }> =>
  opened<{ stream: Readable; size: number } | null>(ctx, archive, (zip, done, failed) => {
    zip.on('entry', (entry: yauzl.Entry) => {
      if (entry.fileName !== path || path.endsWith('/') || !isSafe(path)) return zip.readEntry()
      zip.openReadStream(entry, (error, stream) => (error ? failed(error) : done({ stream, size: entry.uncompressedSize })))
    })
    zip.on('end', () => done(null))
    zip.readEntry()
  }).then((found) => {
    if (!found) throw notFound()
    return found
  })

/** The condition for the files of a job of a project, without its log. */
const filesOf = (project: number, job: number) => and(eq(artifacts.project_id, project), eq(artifacts.job_id, job), ne(artifacts.file_type, 'trace'))

/** Keeps the files of a job, however long they were to be kept. */
export async function keepArtifacts(ctx: Context, { project }: ProjectSubject, job: number): Promise<void> {
  const kept = await ctx.db.write.update(artifacts).set({ expires_at: null }).where(filesOf(project.id, job)).returning({ id: artifacts.id })
  if (kept.length === 0) throw notFound()
}

/** Deletes the files of a job; the store gives their space back within a day. */
export async function deleteArtifacts(ctx: Context, { project }: ProjectSubject, job: number): Promise<void> {
  const deleted = await ctx.db.write.delete(artifacts).where(filesOf(project.id, job)).returning({ id: artifacts.id })
  if (deleted.length === 0) throw notFound()
}

/** The archive of a job, for a job that runs and has this token; null if there is none, or it may not read it (CI-311). */
export async function archiveForBuild(ctx: Context, job: number, token: string): Promise<Artifact | null> {
  const asking = await runningByToken(ctx, token)
  const [found] = await ctx.db.write
    .select({ artifact: artifacts, name: commitStatuses.name })
    .from(artifacts)
    .innerJoin(commitStatuses, eq(commitStatuses.id, artifacts.job_id))
    .where(and(eq(artifacts.job_id, job), eq(artifacts.file_type, 'archive')))
  if (!found) return null
  const { artifact, name } = found
  if (artifact.project_id === asking.project) return artifact
  // of another project only what the job needs, as long as its user may read it there, and the project allows it (CI-244)
  const needs = asking.definition.external_needs.some((need) => need.artifacts && (need.job === name || need.job.includes('$')))
  const calling = needs ? await findCallingJob(ctx, token) : null
  const subject = calling && (await nullOnFailure(getProjectFor(ctx, { ...actingAs(calling.user), job: calling.job }, String(artifact.project_id))))
  return subject?.can('read_pipeline') ? artifact : null
}
