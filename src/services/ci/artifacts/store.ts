import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { and, asc, eq, inArray, lt, sql } from 'drizzle-orm'
import { z } from 'zod'
import type { Context } from '../../../context.js'
import { artifacts, commitStatuses, pipelines, projects } from '../../../db/schema/index.js'
import { type Failure, refused, tooLarge } from '../../../failures.js'
import { defineJob } from '../../../jobs/kinds.js'
import { WrongObject } from '../../../lib/files/object-store.js'
import { unnamedObjects } from '../../../lib/files/unnamed-objects.js'
import { parsePeriod } from '../../../rules/ci/periods.js'
import { MAX_DOTENV } from '../../../rules/ci/reports/dotenv.js'
import type { Variable } from '../../../rules/ci/types.js'
import { lockName } from '../../core/lock-name.js'
import { readSettings } from '../../core/settings.js'
import type { RunningBuild } from '../builds/running.js'
import { DOTENV_TOO_BIG, keepDotenv, parseDotenv } from '../reports/dotenv.js'

export interface NewArtifact {
  file_type: string
  file_format: string
  filename: string
  /** As in the configuration (`1 week`, `never`); undefined: the default of the instance. */
  expire_in: string | undefined
}

const MEBIBYTE = 1_048_576

/** Stores what a runner sends of a job, in place of what it sent before of this type (CI-130). Throws 413. */
export async function storeArtifact(ctx: Context, build: RunningBuild, given: NewArtifact, body: Readable): Promise<void> {
  const settings = await readSettings(ctx)
  const limit = settings.max_artifacts_size * MEBIBYTE
  const report = given.file_type === 'dotenv' ? await buffer(bounded(body, 2 * MAX_DOTENV, () => refused(DOTENV_TOO_BIG))) : null
  const dotenv = report && (await parseDotenv(report, given.file_format))
  const received = await ctx.artifacts.receive(report ? Readable.from([report]) : body, limit, []).catch((fault: unknown) => {
    throw fault instanceof WrongObject ? tooLarge() : fault
  })
  try {
    const expires_at = expiry(ctx, given.expire_in, settings.default_artifacts_expire_in)
    await keep(ctx, build, { ...given, oid: received.oid, size: received.size, expires_at, dotenv }, received.commit)
  } finally {
    await received.discard()
  }
}

/** The chunks of a body, at most so many bytes of them. */
async function* bounded(body: Readable, limit: number, refusal: () => Failure): AsyncGenerator<Buffer> {
  let size = 0
  for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > limit) throw refusal()
    yield chunk
  }
}

/** When files end that are to be kept for a period; null: they are kept. */
export function expiry(ctx: Pick<Context, 'now'>, period: string | undefined, byDefault: string): Date | null {
  const seconds = (period === undefined ? null : parsePeriod(period)) ?? parsePeriod(byDefault) ?? 0
  return period === 'never' || seconds === 0 ? null : new Date(ctx.now().getTime() + seconds * 1_000)
}

async function keep(
  ctx: Context,
  build: RunningBuild,
  {
    file_type,
    file_format,
    filename,
    oid,
    size,
    expires_at,
    dotenv,
  }: NewArtifact & { oid: string; size: number; expires_at: Date | null; dotenv: Variable[] | null },
  commit: () => Promise<void>,
): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    await lockName(tx, `artifact ${oid}`)
    await commit()
    const values = { file_format, filename, size, oid, expires_at, created_at: ctx.now() }
    await tx
      .insert(artifacts)
      .values({ job_id: build.job, project_id: build.project, file_type, ...values })
      .onConflictDoUpdate({ target: [artifacts.job_id, artifacts.file_type], set: values })
    if (dotenv) await keepDotenv(ctx, tx, build.job, dotenv)
  })
}

/** Files that are removed in one run. */
const BATCH = 1_000

/** Removes files whose time is over; those of the newest pipeline of a ref that succeeded are kept, unless the project says otherwise (CI-131, FD-15). */
async function removeExpired(ctx: Context): Promise<void> {
  const newer = sql`exists (select 1 from ${pipelines} q where q.project_id = ${pipelines.project_id} and q.ref = ${pipelines.ref}
    and q.tag = ${pipelines.tag} and q.status = 'success' and q.source <> 'parent_pipeline'
    and (q.source = 'merge_request_event') = (${pipelines.source} = 'merge_request_event') and q.id > ${pipelines.id})`
  const due = await ctx.db.write
    .select({ id: artifacts.id })
    .from(artifacts)
    .innerJoin(commitStatuses, eq(commitStatuses.id, artifacts.job_id))
    .innerJoin(pipelines, eq(pipelines.id, commitStatuses.pipeline_id))
    .innerJoin(projects, eq(projects.id, artifacts.project_id))
    .where(and(lt(artifacts.expires_at, ctx.now()), sql`(not ${projects.keep_latest_artifact} or ${pipelines.status} <> 'success' or ${newer})`))
    .orderBy(asc(artifacts.expires_at))
    .limit(BATCH)
  if (due.length > 0)
    await ctx.db.write.delete(artifacts).where(
      inArray(
        artifacts.id,
        due.map(({ id }) => id),
      ),
    )
}

/** Files of the store that no row names: their rows were deleted, or never made. */
export const unnamedArtifacts = (ctx: Context): AsyncGenerator<string> =>
  unnamedObjects(ctx.artifacts, (oids) => ctx.db.write.select({ oid: artifacts.oid }).from(artifacts).where(inArray(artifacts.oid, oids)))

/** Removes a file unless a row names it: an upload of the same bytes waits, or comes first and keeps them. */
export const removeIfUnused = (ctx: Context, oid: string): Promise<boolean> =>
  ctx.db.transaction(async (tx) => {
    await lockName(tx, `artifact ${oid}`)
    const used = await tx.select({ id: artifacts.id }).from(artifacts).where(eq(artifacts.oid, oid)).limit(1)
    if (used.length === 0) await ctx.artifacts.delete(oid)
    return used.length === 0
  })

/** Every hour: files of jobs whose time is over go. */
export const removeArtifacts = defineJob({
  kind: 'remove artifacts',
  input: z.object({}),
  priority: 'low',
  slots: 'upkeep',
  every: 3_600_000,
  async run(ctx: Context) {
    await removeExpired(ctx)
    for await (const oid of unnamedArtifacts(ctx)) await removeIfUnused(ctx, oid)
  },
})
