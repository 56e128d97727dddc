import { and, asc, desc, eq, sql } from 'drizzle-orm'
import type { SignedIn } from '../../../access/actor.js'
import type { ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { inIds } from '../../../db/conditions.js'
import { totalCount } from '../../../db/decoded.js'
import { conditionsOf, type FilterNames, type Filters, usedFilters } from '../../../db/filters.js'
import { onlyRow } from '../../../db/only-row.js'
import { deployments, environments, users } from '../../../db/schema/index.js'
import { statement } from '../../../db/statement.js'
import { forbidden, notFound, refused } from '../../../failures.js'
import type { Keyset } from '../../../lib/keyset.js'
import { checkRefName } from '../../../lib/ref-name.js'
import type { DeploymentState } from '../../../rules/ci/environments.js'
import { nextIid } from '../../core/iids.js'
import { type Page, type Paging, pageFrom, rowFilters } from '../../core/page.js'
import { type UserRefRecord, userRefColumns } from '../../identity/user-ref.js'
import { repositoryOf } from '../../repository/repositories.js'
import { type JobRecord, jobsByIds } from '../jobs.js'
import { environmentNamed } from './environments.js'
import { requireDeploys } from './protected.js'

export interface DeploymentRecord {
  deployment: typeof deployments.$inferSelect
  environment: typeof environments.$inferSelect
  user: UserRefRecord | null
  /** The job that makes it; null: it was reported, or its job is gone. */
  job: JobRecord | null
}

/** States that another program may report. */
export const REPORTED_STATES = ['running', 'success', 'failed', 'canceled'] as const
export const DEPLOYMENT_ORDERS = ['id', 'iid', 'created_at', 'updated_at', 'finished_at', 'ref'] as const

export interface DeploymentFilter extends Paging, Keyset {
  environment?: string | undefined
  status?: DeploymentState | undefined
  updated_after?: Date | undefined
  updated_before?: Date | undefined
  finished_after?: Date | undefined
  finished_before?: Date | undefined
  order_by: (typeof DEPLOYMENT_ORDERS)[number]
  sort: 'asc' | 'desc'
}

const FILTERS = {
  environment: { where: (name) => eq(environments.name, name), value: ({ environment }) => environment || undefined },
  status: { where: (status) => eq(deployments.status, status), value: ({ status }) => status },
  updated_after: {
    where: (time) => sql`${deployments.updated_at} >= ${time}::timestamptz`,
    value: ({ updated_after }) => updated_after?.toISOString(),
  },
  updated_before: {
    where: (time) => sql`${deployments.updated_at} <= ${time}::timestamptz`,
    value: ({ updated_before }) => updated_before?.toISOString(),
  },
  finished_after: {
    where: (time) => sql`${deployments.finished_at} >= ${time}::timestamptz`,
    value: ({ finished_after }) => finished_after?.toISOString(),
  },
  finished_before: {
    where: (time) => sql`${deployments.finished_at} <= ${time}::timestamptz`,
    value: ({ finished_before }) => finished_before?.toISOString(),
  },
  ...rowFilters(deployments.id),
} satisfies Filters<DeploymentFilter, FilterNames<DeploymentFilter>>

/** One deployment, the last of environments, or those that match the filters. */
type Shape = 'one' | 'last' | { filters: (keyof typeof FILTERS)[]; order: DeploymentFilter['order_by']; descending: boolean }

const selectDeployments = statement('deployments', (db, shape: Shape) => {
  const listed = shape !== 'one' && shape !== 'last' ? shape : null
  const direction = listed?.descending ? desc : asc
  const order = listed?.order ?? 'id'
  return db
    .select({ deployment: deployments, environment: environments, user: userRefColumns(users), total: totalCount() })
    .from(deployments)
    .innerJoin(environments, eq(environments.id, deployments.environment_id))
    .leftJoin(users, eq(users.id, deployments.user_id))
    .where(
      and(
        eq(deployments.project_id, sql.placeholder('project')),
        shape === 'one' ? eq(deployments.id, sql.placeholder('id')) : undefined,
        shape === 'last'
          ? and(
              inIds(deployments.environment_id),
              sql`${deployments.id} = (select d.id from ${deployments} d where d.environment_id = ${environments.id} and d.status = 'success'
                order by d.finished_at desc, d.id desc limit 1)`,
            )
          : undefined,
        ...(listed ? conditionsOf(FILTERS, listed.filters, null) : []),
      ),
    )
    .orderBy(direction(deployments[order]), direction(deployments.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset'))
})

type Row = Awaited<ReturnType<ReturnType<typeof selectDeployments>['execute']>>[number]

async function withJobs(ctx: Context, subject: ProjectSubject, rows: Row[]): Promise<DeploymentRecord[]> {
  const jobs = await jobsByIds(
    ctx,
    subject,
    rows.flatMap(({ deployment }) => deployment.job_id ?? []),
  )
  return rows.map(({ deployment, environment, user }) => ({ deployment, environment, user, job: jobs.get(deployment.job_id ?? 0) ?? null }))
}

/** The deployments of a project (CI-285). */
export async function listDeployments(ctx: Context, subject: ProjectSubject, filter: DeploymentFilter): Promise<Page<DeploymentRecord>> {
  const used = usedFilters(FILTERS, filter)
  const shape = { filters: used.names, order: filter.order_by, descending: filter.sort === 'desc' }
  const { items, total } = await pageFrom(selectDeployments(ctx.db, shape), { ...used.values, project: subject.project.id }, filter)
  return { items: await withJobs(ctx, subject, items), total }
}

export async function getDeployment(ctx: Context, subject: ProjectSubject, id: number): Promise<DeploymentRecord> {
  const rows = await selectDeployments(ctx.db, 'one').execute({ project: subject.project.id, id, limit: 1, offset: 0 })
  const [found] = await withJobs(ctx, subject, rows)
  if (!found) throw notFound('Deployment')
  return found
}

/** The last deployment of each of these environments that succeeded, by the id of the environment. */
export async function lastDeployments(ctx: Context, subject: ProjectSubject, ids: number[]): Promise<Map<number, DeploymentRecord>> {
  if (ids.length === 0) return new Map()
  const rows = await selectDeployments(ctx.db, 'last').execute({ project: subject.project.id, ids, limit: ids.length, offset: 0 })
  const records = await withJobs(ctx, subject, rows)
  return new Map(records.map((each) => [each.environment.id, each]))
}

export interface ReportedDeployment {
  environment: string
  sha: string
  ref: string
  tag: boolean
  status: (typeof REPORTED_STATES)[number]
}

const MAX_REF = 1_024

/** Takes note of what another program deploys (CI-285). */
export async function createDeployment(
  ctx: Context,
  subject: ProjectSubject,
  caller: SignedIn,
  given: ReportedDeployment,
): Promise<DeploymentRecord> {
  await requireDeploys(ctx, subject, caller, given.environment)
  const { project } = subject
  const commit = /^[0-9a-f]{40}$/.test(given.sha) ? await repositoryOf(ctx, project).commit(given.sha) : null
  if (!commit) throw refused('The sha is not a commit of the project')
  if (given.ref.length > MAX_REF || !checkRefName(`refs/heads/${given.ref}`)) throw refused('The ref is not valid')
  const id = await ctx.db.transaction(async (tx) => {
    const environment = await environmentNamed(ctx, tx, project.id, given.environment)
    const now = ctx.now()
    const made = onlyRow(
      await tx
        .insert(deployments)
        .values({
          project_id: project.id,
          iid: await nextIid(tx, project.id, 'deployment'),
          environment_id: environment.id,
          user_id: caller.user.id,
          sha: commit.oid,
          ref: given.ref,
          tag: given.tag,
          status: given.status,
          created_at: now,
          updated_at: now,
          finished_at: given.status === 'running' ? null : now,
        })
        .returning({ id: deployments.id }),
    )
    if (given.status === 'success')
      await tx.update(environments).set({ state: 'available', updated_at: now }).where(eq(environments.id, environment.id))
    return made.id
  })
  return getDeployment(ctx, subject, id)
}

/** Changes the state of a deployment that was reported; that of a job is the job's. */
export async function updateDeployment(
  ctx: Context,
  subject: ProjectSubject,
  caller: SignedIn,
  id: number,
  status: ReportedDeployment['status'],
): Promise<DeploymentRecord> {
  const { deployment, environment } = await getDeployment(ctx, subject, id)
  if (deployment.job_id !== null) throw forbidden()
  await requireDeploys(ctx, subject, caller, environment.name)
  await ctx.db.transaction(async (tx) => {
    const now = ctx.now()
    const changed = await tx
      .update(deployments)
      .set({ status, updated_at: now, finished_at: status === 'running' ? null : now })
      .where(and(eq(deployments.id, id), sql`${deployments.status} <> ${status}`))
      .returning({ id: deployments.id })
    if (changed.length > 0 && status === 'success')
      await tx.update(environments).set({ state: 'available', updated_at: now }).where(eq(environments.id, environment.id))
  })
  return getDeployment(ctx, subject, id)
}

/** Deletes what tells of a deployment, which is neither under way nor the last of its environment. */
export async function deleteDeployment(ctx: Context, subject: ProjectSubject, id: number): Promise<void> {
  const { deployment, environment } = await getDeployment(ctx, subject, id)
  if (deployment.status === 'running') throw refused('Cannot destroy running deployment')
  const last = (await lastDeployments(ctx, subject, [environment.id])).get(environment.id)
  if (last?.deployment.id === id) throw refused('Deployment currently deployed to environment')
  await ctx.db.write.delete(deployments).where(eq(deployments.id, id))
}
