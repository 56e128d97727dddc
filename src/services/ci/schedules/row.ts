import { and, eq } from 'drizzle-orm'
import type { SignedIn } from '../../../access/actor.js'
import { fullPathOf, type Project, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { pipelineSchedules } from '../../../db/schema/index.js'
import { forbidden, notFound } from '../../../failures.js'
import { type AuditAction, audit } from '../../core/audit.js'

export type Schedule = typeof pipelineSchedules.$inferSelect

/** Whether the caller may change a schedule: it runs with the rights of its owner. */
export const mayUpdate = (subject: ProjectSubject, { user }: SignedIn, { owner_id }: Pick<Schedule, 'owner_id'>) =>
  user.admin || (owner_id === user.id && subject.can('update_build'))

/** Whether the caller may take over or delete a schedule, and read its variables. */
export const mayAdmin = (subject: ProjectSubject, { user }: SignedIn, { owner_id }: Pick<Schedule, 'owner_id'>) =>
  subject.can('admin_pipeline') || (owner_id === user.id && subject.can('update_build'))

/** The condition for a schedule of a project. */
export const ofProject = ({ project }: ProjectSubject, id: number) => and(eq(pipelineSchedules.project_id, project.id), eq(pipelineSchedules.id, id))

export const missingSchedule = () => notFound('Pipeline Schedule')

/** The row of a schedule; 404 if it is none of the project. */
export async function scheduleOf(ctx: Context, subject: ProjectSubject, id: number): Promise<Schedule> {
  const [found] = await ctx.db.write.select().from(pipelineSchedules).where(ofProject(subject, id))
  if (!found) throw missingSchedule()
  return found
}

/** The same; 403 if the caller may not do with it what `may` says. */
export async function scheduleFor(
  ctx: Context,
  caller: SignedIn,
  subject: ProjectSubject,
  id: number,
  may: typeof mayUpdate | typeof mayAdmin,
): Promise<Schedule> {
  const schedule = await scheduleOf(ctx, subject, id)
  if (!may(subject, caller, schedule)) throw forbidden()
  return schedule
}

/** Records what was done with a schedule of a project. */
export const auditSchedule = (
  ctx: Context,
  tx: Pick<Transaction, 'insert'>,
  project: Pick<Project, 'id' | 'path' | 'namespace'>,
  action: Extract<AuditAction, `schedule_${string}`>,
  changes: Record<string, unknown>,
) => audit(ctx, tx, { action, target: { type: 'project', id: project.id, name: fullPathOf(project) }, changes })
