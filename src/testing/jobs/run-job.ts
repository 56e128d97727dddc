import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { eq } from 'drizzle-orm'
import { ZipFile } from 'yazl'
import { z } from 'zod'
import type { Context } from '../../context.js'
import { runners } from '../../db/schema/index.js'
import { conflict } from '../../failures.js'
import { storeArtifact } from '../../services/ci/artifacts/store.js'
import { payloadOf, Unfit } from '../../services/ci/builds/payload.js'
import { takeJob } from '../../services/ci/builds/queue.js'
import { endBuild, reportEnd } from '../../services/ci/builds/report.js'
import { buildById, type RunningBuild } from '../../services/ci/builds/running.js'
import { appendTrace } from '../../services/ci/builds/trace.js'
import { createRunner, type Runner } from '../../services/ci/runners/runners.js'
import { Seeder } from '../seed/seeder.js'
import type { World } from '../world.js'

/** What the runner of a test server is called. */
const RUNNER = 'roost test'
/** How often a job that does not wait yet is looked up, in milliseconds. */
const POLL_INTERVAL_MS = 20

/** Whether a path stays in its folder, written in the one way. */
const isRelative = (path: string) => path.split('/').every((name) => name !== '' && name !== '.' && name !== '..' && !name.includes('\\'))

const text = z.string().max(8 * 1_048_576)

/** What a runner shall do with a job. */
export const JobRun = z
  .strictObject({
    project: z.union([z.string(), z.int()]),
    job: z.union([z.string(), z.int()]),
    state: z.enum(['running', 'success', 'failed']).default('success'),
    log: z.string().optional(),
    artifacts: z.record(z.string().refine(isRelative, 'is not a relative path'), text).optional(),
    reports: z.partialRecord(z.enum(['junit', 'dotenv', 'cobertura', 'codequality']), text).optional(),
    exit_code: z.int().optional(),
    failure_reason: z.string().optional(),
    wait: z.number().min(0).max(60).default(10),
  })
  .refine(({ state, exit_code, failure_reason }) => state === 'failed' || (exit_code === undefined && failure_reason === undefined), {
    message: 'exit_code and failure_reason are for a state of failed',
  })
export type JobRun = z.output<typeof JobRun>

/** A job after a call: its variables are those that a runner gets when it takes the job, and null afterwards. */
export interface JobResult {
  id: number
  status: string
  variables: Record<string, string> | null
}

/** Takes a job as a runner if it waits for one, adds to its log and its files, and ends it unless it goes on. */
export async function runJob(world: World, run: JobRun): Promise<JobResult> {
  const { ctx } = world
  const { id, variables } = await begin(world, run)
  const build = (await buildById(ctx, id)) as RunningBuild
  if (run.log) await appendTrace(ctx, build, build.trace_size, Buffer.from(run.log))
  if (run.artifacts)
    await storeArtifact(ctx, build, { ...kept(build), file_type: 'archive', file_format: 'zip', filename: 'artifacts.zip' }, zip(run.artifacts))
  for (const [type, text] of Object.entries(run.reports ?? {})) {
    const described = { ...kept(build), file_type: type, file_format: 'gzip', filename: `${type}.gz` }
    await storeArtifact(ctx, build, described, Readable.from([gzipSync(text)]))
  }
  if (run.state !== 'running')
    await reportEnd(ctx, build, { state: run.state, failure_reason: run.failure_reason ?? 'script_failure', exit_code: run.exit_code })
  return { id, status: run.state, variables }
}

const kept = ({ definition }: RunningBuild) => ({ expire_in: definition.artifacts?.expire_in ?? undefined })

/** Finds the job, and takes it if no call has taken it before. Waits for it to be there and to wait for a runner. */
async function begin(world: World, run: JobRun): Promise<{ id: number; variables: JobResult['variables'] }> {
  const { ctx } = world
  const until = performance.now() + run.wait * 1_000
  for (;;) {
    const found = await findJob(world, run)
    if (found?.status === 'running') return { id: found.id, variables: null }
    if (found?.status === 'pending') {
      const runner = await runnerOf(ctx)
      const taken = await takeJob(ctx, runner, found.id)
      if (taken) {
        try {
          const payload = (await payloadOf(ctx, runner, taken)) as { variables: { key: string; value: string }[] }
          return { id: found.id, variables: Object.fromEntries(payload.variables.map(({ key, value }) => [key, value])) }
        } catch (error) {
          if (!(error instanceof Unfit)) throw error
          await endBuild(ctx, taken.pipeline, taken.job, { state: 'failed', failure_reason: error.reason })
          throw conflict(`job: ${run.job} of ${run.project} has failed: ${error.reason}`)
        }
      }
    }
    if (performance.now() >= until)
      throw conflict(`job: ${found ? `${run.job} of ${run.project} is ${found.status}` : `${run.project} has no job ${run.job}`}`)
    await sleep(POLL_INTERVAL_MS)
  }
}

/** The newest job of a name, or the one with an id. */
async function findJob(world: World, { project, job }: JobRun): Promise<{ id: number; status: string } | undefined> {
  const path = `/projects/${encodeURIComponent(project)}/jobs?per_page=100`
  const jobs = await new Seeder(world).list({ at: 'project', path })
  const found = jobs.find(({ id, name }) => (typeof job === 'number' ? id === job : name === job))
  return found && { id: found.id, status: String(found['status']) }
}

/** The runner of the instance as which jobs are taken. */
async function runnerOf(ctx: Context): Promise<Runner> {
  const [known] = await ctx.db.write.select().from(runners).where(eq(runners.description, RUNNER)).limit(1)
  if (known) return known
  const scope = { kind: 'instance_type', group_id: null, project_id: null } as const
  return (await createRunner(ctx, scope, { description: RUNNER }, { creator: null, registered: true })).runner
}

function zip(files: Record<string, string>): Readable {
  const archive = new ZipFile()
  for (const [path, text] of Object.entries(files)) archive.addBuffer(Buffer.from(text), path, { mtime: new Date(0) })
  archive.end()
  return archive.outputStream as Readable
}
