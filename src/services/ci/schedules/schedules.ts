import { and, asc, eq, sql } from 'drizzle-orm'
import type { SignedIn } from '../../../access/actor.js'
import type { ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { totalCount } from '../../../db/decoded.js'
import { conditionsOf, type FilterNames, type Filters, usedFilters } from '../../../db/filters.js'
import { onlyRow } from '../../../db/only-row.js'
import { pipelineSchedules, users } from '../../../db/schema/index.js'
import { statement } from '../../../db/statement.js'
import { invalidRecord } from '../../../failures.js'
import { cronFault, cronLine, cronZoneFault, nextRun } from '../../../rules/ci/cron.js'
import { lengthOf, tooLong } from '../../../rules/path.js'
import { changesOf } from '../../core/audit.js'
import { createdNow } from '../../core/created-now.js'
import { lockName } from '../../core/lock-name.js'
import { type Page, type Paging, pageFrom } from '../../core/page.js'
import { type UserRefRecord, userRefColumns } from '../../identity/user-ref.js'
import { lastOfSchedules, type PipelineBasicRecord } from '../pipelines.js'
import { keysFault } from '../variables.js'
import { auditSchedule, mayAdmin, mayUpdate, missingSchedule, ofProject, type Schedule, scheduleFor } from './row.js'
import { insertVariables, type NewScheduleVariable, type ScheduleVariable, scheduleVariables } from './variables.js'

export interface ScheduleRecord {
  schedule: Schedule
  owner: UserRefRecord | null
}

export interface ScheduleDetails extends ScheduleRecord {
  last: PipelineBasicRecord | null
  /** Null for those who may not change the schedule. */
  variables: ScheduleVariable[] | null
}

/** The most schedules of a project. */
const MAX_SCHEDULES = 50
const MAX_TEXT = 255

const columns = { schedule: pipelineSchedules, owner: userRefColumns(users) }

export interface ScheduleFilter extends Paging {
  scope?: 'active' | 'inactive' | undefined
}

const FILTERS = {
  scope: { where: (active) => sql`${pipelineSchedules.active} = ${active}::boolean`, value: ({ scope }) => scope && String(scope === 'active') },
} satisfies Filters<ScheduleFilter, FilterNames<ScheduleFilter>>

const selectSchedules = statement('schedules', (db, filters: (keyof typeof FILTERS)[]) =>
  db
    .select({ ...columns, total: totalCount() })
    .from(pipelineSchedules)
    .leftJoin(users, eq(users.id, pipelineSchedules.owner_id))
    .where(and(eq(pipelineSchedules.project_id, sql.placeholder('project')), ...conditionsOf(FILTERS, filters, null)))
    .orderBy(asc(pipelineSchedules.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset')),
)

/** The schedules of a project, the oldest first (CI-223). */
export async function listSchedules(ctx: Context, { project }: ProjectSubject, filter: ScheduleFilter): Promise<Page<ScheduleRecord>> {
  const { names, values } = usedFilters(FILTERS, filter)
  return pageFrom(selectSchedules(ctx.db, names), { ...values, project: project.id }, filter)
}

export async function getSchedule(ctx: Context, caller: SignedIn, subject: ProjectSubject, id: number): Promise<ScheduleDetails> {
  const [found] = await ctx.db.write
    .select(columns)
    .from(pipelineSchedules)
    .leftJoin(users, eq(users.id, pipelineSchedules.owner_id))
    .where(ofProject(subject, id))
  if (!found) throw missingSchedule()
  const last = (await lastOfSchedules(ctx, subject, [id])).get(id) ?? null
  return { ...found, last, variables: mayAdmin(subject, caller, found.schedule) ? await scheduleVariables(ctx, id) : null }
}

export interface ScheduleAttributes {
  description: string
  ref: string
  cron: string
  cron_timezone: string
  active: boolean
}

function check({ description, ref, cron, cron_timezone }: ScheduleAttributes, now: Date): void {
  const blank = (text: string) => (text.trim() === '' ? ["can't be blank"] : lengthOf(text) > MAX_TEXT ? [tooLong(MAX_TEXT)] : [])
  const fault = (text: string | null) => (text === null ? [] : [text])
  const faults = {
    description: blank(description),
    ref: blank(ref),
    cron: fault(cronFault(cron, now)),
    cron_timezone: fault(cronZoneFault(cron_timezone)),
  }
  const found = Object.entries(faults).filter(([, texts]) => texts.length > 0)
  if (found.length > 0) throw invalidRecord(Object.fromEntries(found))
}

/** Makes a schedule of the caller (CI-224). */
export async function createSchedule(
  ctx: Context,
  caller: SignedIn,
  subject: ProjectSubject,
  given: ScheduleAttributes,
  variables: NewScheduleVariable[] = [],
): Promise<ScheduleDetails> {
  const now = ctx.now()
  const attributes = { ...given, cron: cronLine(given.cron) }
  check(attributes, now)
  const { malformed, twice } = keysFault(variables)
  const fault = malformed ?? twice
  if (fault) throw invalidRecord({ variables: [fault] })
  const project_id = subject.project.id
  const id = await ctx.db.transaction(async (tx) => {
    await lockName(tx, `schedules of project ${project_id}`)
    if ((await tx.$count(pipelineSchedules, eq(pipelineSchedules.project_id, project_id))) >= MAX_SCHEDULES)
      throw invalidRecord({ base: [`Maximum number of pipeline schedules (${MAX_SCHEDULES}) exceeded`] })
    const made = onlyRow(
      await tx
        .insert(pipelineSchedules)
        .values({ ...attributes, project_id, owner_id: caller.user.id, next_run_at: nextRun(attributes, now) as Date, ...createdNow(ctx) })
        .returning({ id: pipelineSchedules.id }),
    )
    await insertVariables(ctx, tx, made.id, variables)
    await auditSchedule(ctx, tx, subject.project, 'schedule_created', { schedule_id: made.id, description: given.description, ref: given.ref })
    return made.id
  })
  return getSchedule(ctx, caller, subject, id)
}

/** Changes a schedule, and with it when it runs next. */
export async function updateSchedule(
  ctx: Context,
  caller: SignedIn,
  subject: ProjectSubject,
  id: number,
  given: { [Name in keyof ScheduleAttributes]?: ScheduleAttributes[Name] | undefined },
): Promise<ScheduleDetails> {
  const before = await scheduleFor(ctx, caller, subject, id, mayUpdate)
  const now = ctx.now()
  const attributes = {
    description: given.description ?? before.description,
    ref: given.ref ?? before.ref,
    cron: given.cron === undefined ? before.cron : cronLine(given.cron),
    cron_timezone: given.cron_timezone ?? before.cron_timezone,
    active: given.active ?? before.active,
  }
  check(attributes, now)
  const changes = changesOf<ScheduleAttributes>(before, attributes)
  if (Object.keys(changes).length === 0) return getSchedule(ctx, caller, subject, id)
  const isTimed = 'cron' in changes || 'cron_timezone' in changes || 'active' in changes
  await ctx.db.transaction(async (tx) => {
    await tx
      .update(pipelineSchedules)
      .set({ ...attributes, updated_at: now, ...(isTimed && { next_run_at: nextRun(attributes, now) as Date, last_fault: null }) })
      .where(ofProject(subject, id))
    await auditSchedule(ctx, tx, subject.project, 'schedule_updated', { schedule_id: id, ...changes })
  })
  return getSchedule(ctx, caller, subject, id)
}

/** Makes the caller the owner of a schedule, as whom its pipelines are made from now on. */
export async function takeSchedule(ctx: Context, caller: SignedIn, subject: ProjectSubject, id: number): Promise<ScheduleDetails> {
  const schedule = await scheduleFor(ctx, caller, subject, id, mayAdmin)
  if (schedule.owner_id !== caller.user.id)
    await ctx.db.transaction(async (tx) => {
      await tx.update(pipelineSchedules).set({ owner_id: caller.user.id, updated_at: ctx.now() }).where(ofProject(subject, id))
      await auditSchedule(ctx, tx, subject.project, 'schedule_taken', { schedule_id: id, owner_id: [schedule.owner_id, caller.user.id] })
    })
  return getSchedule(ctx, caller, subject, id)
}

export async function deleteSchedule(ctx: Context, caller: SignedIn, subject: ProjectSubject, id: number): Promise<void> {
  const schedule = await scheduleFor(ctx, caller, subject, id, mayAdmin)
  await ctx.db.transaction(async (tx) => {
    await tx.delete(pipelineSchedules).where(ofProject(subject, id))
    await auditSchedule(ctx, tx, subject.project, 'schedule_deleted', { schedule_id: id, description: schedule.description })
  })
}
