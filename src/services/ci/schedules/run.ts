import { and, asc, eq, lte } from 'drizzle-orm'
import { z } from 'zod'
import { actingAs, actorOf, type SignedIn } from '../../../access/actor.js'
import { getProjectFor, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { namespaces, pipelineSchedules, projects } from '../../../db/schema/index.js'
import { Failure, failureText, forbidden, nullOnFailure } from '../../../failures.js'
import { enqueue, enqueueAll } from '../../../jobs/enqueue.js'
import { defineJob } from '../../../jobs/kinds.js'
import { nextRun } from '../../../rules/ci/cron.js'
import { getUser } from '../../identity/users.js'
import { repositoryOf } from '../../repository/repositories.js'
import { runPipelineOnce, runsJobs } from '../create.js'
import { findRef, mayRunOnAny, targetOf } from '../target.js'
import { auditSchedule, type Schedule, scheduleOf } from './row.js'
import { scheduleVariables } from './variables.js'

/** Schedules that one run looks at. */
const BATCH = 100

/** Makes the pipeline of a schedule, once: as its owner when its time has come, or as who has started it. */
export const runSchedule = defineJob({
  kind: 'run a schedule',
  input: z.object({ schedule: z.int(), user: z.int().nullable() }),
  async run(ctx: Context, { schedule: id, user: startedBy }, { id: job }) {
    const [schedule] = await ctx.db.write.select().from(pipelineSchedules).where(eq(pipelineSchedules.id, id))
    if (!schedule) return
    const as = await actorFor(ctx, schedule, startedBy ?? schedule.owner_id)
    if (typeof as === 'string') return fail(ctx, schedule, as, { deactivate: startedBy === null })
    const { caller, subject } = as
    const given = await scheduleVariables(ctx, id)
    const variables = given.flatMap(({ key, value, file }) => (value === null ? [] : [{ key, value, file }]))
    try {
      await runPipelineOnce(ctx, caller, subject, { ref: schedule.ref, variables, source: 'schedule', schedule_id: id, made_by: job })
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      return fail(ctx, schedule, failureText(error.body).replace(/^base /, ''), { deactivate: false })
    }
    await ctx.db.write.update(pipelineSchedules).set({ last_fault: null }).where(eq(pipelineSchedules.id, id))
  },
})

/** With whose rights a schedule runs now, or why it cannot (CI-226). */
async function actorFor(ctx: Context, schedule: Schedule, userId: number | null): Promise<{ caller: SignedIn; subject: ProjectSubject } | string> {
  const user = userId === null ? null : await nullOnFailure(getUser(ctx, userId))
  if (user?.state !== 'active') return user ? `${user.username} is ${user.state}.` : 'The schedule has no owner.'
  const caller = actingAs(actorOf(user))
  const subject = await nullOnFailure(getProjectFor(ctx, caller, String(schedule.project_id)))
  if (!subject) return `${user.username} does not see the project any more.`
  // jobs are switched off, or the project is archived: that ends
  const mayRun = !runsJobs(subject.project) || subject.can('create_pipeline')
  if (!mayRun) return `${user.username} may not run pipelines here any more.`
  const target = await targetOf(ctx, subject, schedule.ref)
  return target?.refusal ?? { caller, subject }
}

/** Keeps the reason; a schedule whose owner has not the rights any more runs again when somebody takes it and switches it on. */
async function fail(ctx: Context, { id, project_id }: Schedule, reason: string, { deactivate }: { deactivate: boolean }): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const last_fault = reason.slice(0, 1_000)
    await tx
      .update(pipelineSchedules)
      .set({ last_fault, ...(deactivate && { active: false, updated_at: ctx.now() }) })
      .where(eq(pipelineSchedules.id, id))
    if (!deactivate) return
    const [found] = await tx
      .select({ path: projects.path, namespace: namespaces })
      .from(projects)
      .innerJoin(namespaces, eq(namespaces.id, projects.namespace_id))
      .where(eq(projects.id, project_id))
    if (found) await auditSchedule(ctx, tx, { id: project_id, ...found }, 'schedule_deactivated', { schedule_id: id, reason: last_fault })
  })
}

/** Every few seconds: the schedules whose time has come, each once, however often it came (CI-225). */
export const runDueSchedules = defineJob({
  kind: 'run due schedules',
  input: z.object({}),
  every: 10_000,
  async run(ctx: Context) {
    const now = ctx.now()
    const more = await ctx.db.transaction(async (tx) => {
      const due = await tx
        .select()
        .from(pipelineSchedules)
        .where(and(pipelineSchedules.active, lte(pipelineSchedules.next_run_at, now)))
        .orderBy(asc(pipelineSchedules.next_run_at))
        .limit(BATCH)
        .for('update', { skipLocked: true })
      for (const schedule of due) {
        const next = nextRun(schedule, now, schedule.next_run_at)
        // a zone that this machine does not know any more, for one
        const columns = next ? { next_run_at: next } : { active: false, last_fault: 'Its time does not come again.' }
        await tx.update(pipelineSchedules).set(columns).where(eq(pipelineSchedules.id, schedule.id))
      }
      await enqueueAll(
        tx,
        runSchedule,
        due.map(({ id }) => ({ input: { schedule: id, user: null }, lane: `schedule ${id}` })),
      )
      return due.length === BATCH
    })
    return more ? now : undefined
  },
})

/** Those of the schedules that the caller may run now: none of a branch or tag on which they may run no pipeline (CI-223). */
export async function playableSchedules(ctx: Context, subject: ProjectSubject, schedules: Pick<Schedule, 'id' | 'ref'>[]): Promise<Set<number>> {
  const [may, repository] = [await mayRunOnAny(ctx, subject), repositoryOf(ctx, subject.project)]
  const refs = new Map<string, boolean>()
  for (const ref of new Set(schedules.map((schedule) => schedule.ref))) {
    const found = await findRef(repository, ref)
    refs.set(ref, !found || may(found))
  }
  return new Set(schedules.filter(({ ref }) => refs.get(ref)).map(({ id }) => id))
}

/** Runs a schedule now, as the caller; when it runs next is not changed. */
export async function playSchedule(ctx: Context, caller: SignedIn, subject: ProjectSubject, id: number): Promise<void> {
  const schedule = await scheduleOf(ctx, subject, id)
  if (!(await playableSchedules(ctx, subject, [schedule])).has(id)) throw forbidden()
  await enqueue(ctx.db, runSchedule, { schedule: id, user: caller.user.id }, { lane: `schedule ${id}` })
}
