import { and, asc, eq } from 'drizzle-orm'
import type { SignedIn } from '../../../access/actor.js'
import type { ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { pipelineScheduleVariables } from '../../../db/schema/index.js'
import { unlessUniqueViolation } from '../../../db/unique-violation.js'
import { invalidRecord, notFound } from '../../../failures.js'
import { lengthOf, tooLong } from '../../../rules/path.js'
import { lockName } from '../../core/lock-name.js'
import { unsealed } from '../../core/unsealed.js'
import { VARIABLE_KEY } from '../variables.js'
import { auditSchedule, mayAdmin, mayUpdate, scheduleFor } from './row.js'

/** A variable of the pipelines of a schedule; the value is null where it cannot be decrypted any more. */
export interface ScheduleVariable {
  key: string
  value: string | null
  file: boolean
}

const MAX_VARIABLES = 100
const MAX_VALUE = 65_536

/** Binds the encrypted value of a variable of a schedule to it. */
export const scheduleVariablePurpose = (schedule: number, key: string) => `schedule ${schedule} variable ${key}`

const byKey = (schedule: number, key: string) => and(eq(pipelineScheduleVariables.schedule_id, schedule), eq(pipelineScheduleVariables.key, key))

export async function scheduleVariables(ctx: Context, schedule: number): Promise<ScheduleVariable[]> {
  const rows = await ctx.db.write
    .select()
    .from(pipelineScheduleVariables)
    .where(eq(pipelineScheduleVariables.schedule_id, schedule))
    .orderBy(asc(pipelineScheduleVariables.key))
  return rows.map(({ key, sealed, file }) => ({ key, file, value: unsealed(ctx, sealed, scheduleVariablePurpose(schedule, key)) }))
}

function check({ key, value }: { key: string; value: string }): void {
  const faults: Record<string, string[]> = {}
  if (!VARIABLE_KEY.test(key)) faults['key'] = [lengthOf(key) > 255 ? tooLong(255) : "can contain only letters, digits and '_'."]
  if (value.length > MAX_VALUE) faults['value'] = [tooLong(MAX_VALUE)]
  if (Object.keys(faults).length > 0) throw invalidRecord(faults)
}

export interface NewScheduleVariable {
  key: string
  value: string
  file: boolean
}

/** Inserts variables of a schedule that is locked by its project. */
export async function insertVariables(ctx: Context, tx: Transaction, schedule: number, given: NewScheduleVariable[]): Promise<void> {
  given.forEach(check)
  if ((await tx.$count(pipelineScheduleVariables, eq(pipelineScheduleVariables.schedule_id, schedule))) + given.length > MAX_VARIABLES)
    throw invalidRecord({ base: [`there can be ${MAX_VARIABLES} variables at most`] })
  if (given.length === 0) return
  const rows = given.map(({ key, value, file }) => ({
    schedule_id: schedule,
    key,
    file,
    sealed: ctx.encryption.seal(value, scheduleVariablePurpose(schedule, key)),
  }))
  await unlessUniqueViolation(
    () => tx.insert(pipelineScheduleVariables).values(rows),
    () => invalidRecord({ key: ['has already been taken'] }),
  )
}

export async function createScheduleVariable(
  ctx: Context,
  caller: SignedIn,
  subject: ProjectSubject,
  id: number,
  given: NewScheduleVariable,
): Promise<ScheduleVariable> {
  await scheduleFor(ctx, caller, subject, id, mayUpdate)
  await ctx.db.transaction(async (tx) => {
    await lockName(tx, `schedules of project ${subject.project.id}`)
    await insertVariables(ctx, tx, id, [given])
    await auditSchedule(ctx, tx, subject.project, 'schedule_updated', { schedule_id: id, variable_added: given.key })
  })
  return given
}

const missing = () => notFound('Pipeline Schedule Variable')

/** One variable, for those who may change the schedule. */
export async function getScheduleVariable(
  ctx: Context,
  caller: SignedIn,
  subject: ProjectSubject,
  id: number,
  key: string,
): Promise<ScheduleVariable> {
  await scheduleFor(ctx, caller, subject, id, mayAdmin)
  const found = (await scheduleVariables(ctx, id)).find((each) => each.key === key)
  if (!found) throw missing()
  return found
}

export async function updateScheduleVariable(
  ctx: Context,
  caller: SignedIn,
  subject: ProjectSubject,
  id: number,
  { key, value, file }: { key: string; value?: string | undefined; file?: boolean | undefined },
): Promise<ScheduleVariable> {
  await scheduleFor(ctx, caller, subject, id, mayUpdate)
  if (value !== undefined) check({ key: 'x', value })
  const columns = {
    ...(value !== undefined && { sealed: ctx.encryption.seal(value, scheduleVariablePurpose(id, key)) }),
    ...(file !== undefined && { file }),
  }
  if (Object.keys(columns).length > 0)
    await ctx.db.transaction(async (tx) => {
      const changed = await tx.update(pipelineScheduleVariables).set(columns).where(byKey(id, key)).returning({ key: pipelineScheduleVariables.key })
      if (changed.length === 0) throw missing()
      await auditSchedule(ctx, tx, subject.project, 'schedule_updated', { schedule_id: id, variable_changed: key })
    })
  return getScheduleVariable(ctx, caller, subject, id, key)
}

export async function deleteScheduleVariable(
  ctx: Context,
  caller: SignedIn,
  subject: ProjectSubject,
  id: number,
  key: string,
): Promise<ScheduleVariable> {
  await scheduleFor(ctx, caller, subject, id, mayAdmin)
  return ctx.db.transaction(async (tx) => {
    const [gone] = await tx.delete(pipelineScheduleVariables).where(byKey(id, key)).returning()
    if (!gone) throw missing()
    await auditSchedule(ctx, tx, subject.project, 'schedule_updated', { schedule_id: id, variable_removed: key })
    return { key, file: gone.file, value: unsealed(ctx, gone.sealed, scheduleVariablePurpose(id, key)) }
  })
}
