import { and, asc, eq, sql } from 'drizzle-orm'
import { fullPathOf, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { totalCount } from '../../../db/decoded.js'
import { onlyRow } from '../../../db/only-row.js'
import { freezePeriods } from '../../../db/schema/index.js'
import { statement } from '../../../db/statement.js'
import { invalidRecord, notFound } from '../../../failures.js'
import { cronFault, cronLine, cronZoneFault, isBetween } from '../../../rules/ci/cron.js'
import { type AuditAction, audit, changesOf } from '../../core/audit.js'
import { createdNow } from '../../core/created-now.js'
import { lockName } from '../../core/lock-name.js'
import { type Page, type Paging, pageFrom } from '../../core/page.js'

export type FreezePeriod = typeof freezePeriods.$inferSelect

type Attributes = Pick<FreezePeriod, 'freeze_start' | 'freeze_end' | 'cron_timezone'>
type Given = { [Name in keyof Attributes]?: Attributes[Name] | undefined }

/** The most periods of a project. */
const MAX_PERIODS = 50

const selectPeriods = statement('freeze periods', (db) =>
  db
    .select({ period: freezePeriods, total: totalCount() })
    .from(freezePeriods)
    .where(eq(freezePeriods.project_id, sql.placeholder('project')))
    .orderBy(asc(freezePeriods.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset')),
)

/** The freeze periods of a project, the oldest first (FZ-2). */
export async function listFreezePeriods(ctx: Context, { project }: Pick<ProjectSubject, 'project'>, paging: Paging): Promise<Page<FreezePeriod>> {
  const { items, total } = await pageFrom(selectPeriods(ctx.db, null), { project: project.id }, paging)
  return { items: items.map(({ period }) => period), total }
}

/** Whether one of the freeze periods of a project goes on now (FZ-1). */
export async function isFrozen(ctx: Context, project: { id: number }): Promise<boolean> {
  const { items } = await listFreezePeriods(ctx, { project } as Pick<ProjectSubject, 'project'>, { page: 1, per_page: MAX_PERIODS })
  return items.some(({ freeze_start, freeze_end, cron_timezone }) => isBetween(freeze_start, freeze_end, cron_timezone, ctx.now()))
}

const ofProject = ({ project }: ProjectSubject, id: number) => and(eq(freezePeriods.project_id, project.id), eq(freezePeriods.id, id))

export async function getFreezePeriod(ctx: Context, subject: ProjectSubject, id: number): Promise<FreezePeriod> {
  const [found] = await ctx.db.write.select().from(freezePeriods).where(ofProject(subject, id))
  if (!found) throw notFound()
  return found
}

/** The attributes as they are stored; throws what is wrong with them. */
function checked(given: Attributes, now: Date): Attributes {
  const attributes = { ...given, freeze_start: cronLine(given.freeze_start), freeze_end: cronLine(given.freeze_end) }
  const found = {
    freeze_start: cronFault(attributes.freeze_start, now),
    freeze_end: cronFault(attributes.freeze_end, now),
    cron_timezone: cronZoneFault(attributes.cron_timezone),
  }
  const faults = Object.fromEntries(Object.entries(found).flatMap(([name, fault]) => (fault ? [[name, [fault]]] : [])))
  if (Object.keys(faults).length > 0) throw invalidRecord(faults)
  return attributes
}

const auditPeriod = (
  ctx: Context,
  tx: Transaction,
  { project }: ProjectSubject,
  action: Extract<AuditAction, `freeze_period_${string}`>,
  changes: Record<string, unknown>,
) => audit(ctx, tx, { action, target: { type: 'project', id: project.id, name: fullPathOf(project) }, changes })

export async function createFreezePeriod(ctx: Context, subject: ProjectSubject, given: Attributes): Promise<FreezePeriod> {
  const attributes = checked(given, ctx.now())
  const project_id = subject.project.id
  return ctx.db.transaction(async (tx) => {
    await lockName(tx, `freeze periods of project ${project_id}`)
    if ((await tx.$count(freezePeriods, eq(freezePeriods.project_id, project_id))) >= MAX_PERIODS)
      throw invalidRecord({ base: [`there are already ${MAX_PERIODS} freeze periods`] })
    const values = { project_id, ...attributes, ...createdNow(ctx) }
    const made = onlyRow(await tx.insert(freezePeriods).values(values).returning())
    await auditPeriod(ctx, tx, subject, 'freeze_period_created', { freeze_period_id: made.id, ...attributes })
    return made
  })
}

export async function updateFreezePeriod(ctx: Context, subject: ProjectSubject, id: number, given: Given): Promise<FreezePeriod> {
  return ctx.db.transaction(async (tx) => {
    const [before] = await tx.select().from(freezePeriods).where(ofProject(subject, id)).for('update')
    if (!before) throw notFound()
    const { freeze_start = before.freeze_start, freeze_end = before.freeze_end, cron_timezone = before.cron_timezone } = given
    const attributes = checked({ freeze_start, freeze_end, cron_timezone }, ctx.now())
    const changes = changesOf(before, attributes)
    if (Object.keys(changes).length === 0) return before
    const values = { ...attributes, updated_at: ctx.now() }
    const after = onlyRow(await tx.update(freezePeriods).set(values).where(ofProject(subject, id)).returning())
    await auditPeriod(ctx, tx, subject, 'freeze_period_updated', { freeze_period_id: id, ...changes })
    return after
  })
}

export async function deleteFreezePeriod(ctx: Context, subject: ProjectSubject, id: number): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const [gone] = await tx.delete(freezePeriods).where(ofProject(subject, id)).returning()
    if (!gone) throw notFound()
    const { freeze_start, freeze_end } = gone
    await auditPeriod(ctx, tx, subject, 'freeze_period_deleted', { freeze_period_id: id, freeze_start, freeze_end })
  })
}
