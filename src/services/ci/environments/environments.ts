import { and, asc, eq, inArray, lt, sql } from 'drizzle-orm'
import type { SignedIn } from '../../../access/actor.js'
import { fullPathOf, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { totalCount } from '../../../db/decoded.js'
import { conditionsOf, type FilterNames, type Filters, usedFilters } from '../../../db/filters.js'
import { onlyRow } from '../../../db/only-row.js'
import { deployments, environments } from '../../../db/schema/index.js'
import { statement } from '../../../db/statement.js'
import { unlessUniqueViolation } from '../../../db/unique-violation.js'
import { forbidden, invalidRecord, notFound } from '../../../failures.js'
import type { Keyset } from '../../../lib/keyset.js'
import { isUrl } from '../../../lib/url.js'
import { environmentNameFault, environmentSlug, type Tier, tierOf } from '../../../rules/ci/environments.js'
import { type AuditAction, type Audited, audit, changesOf } from '../../core/audit.js'
import { createdNow } from '../../core/created-now.js'
import { type Page, type Paging, pageFrom, rowFilters } from '../../core/page.js'
import { closedEnvironments, requireDeploys } from './protected.js'

export type Environment = typeof environments.$inferSelect

export const LISTED_STATES = ['available', 'stopping', 'stopped'] as const

export interface EnvironmentFilter extends Paging, Keyset {
  name?: string | undefined
  /** A part of the name. */
  search?: string | undefined
  states?: (typeof LISTED_STATES)[number] | undefined
}

const FILTERS = {
  name: { where: (name) => eq(environments.name, name), value: ({ name }) => name || undefined },
  search: { where: (text) => sql`strpos(lower(${environments.name}), lower(${text})) > 0`, value: ({ search }) => search || undefined },
  states: { where: (state) => eq(environments.state, state), value: ({ states }) => states },
  ...rowFilters(environments.id),
} satisfies Filters<EnvironmentFilter, FilterNames<EnvironmentFilter>>

const selectEnvironments = statement('environments', (db, filters: (keyof typeof FILTERS)[]) =>
  db
    .select({ environment: environments, total: totalCount() })
    .from(environments)
    .where(and(eq(environments.project_id, sql.placeholder('project')), ...conditionsOf(FILTERS, filters, null)))
    .orderBy(asc(environments.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset')),
)

/** The environments of a project, the oldest first (CI-284). */
export async function listEnvironments(ctx: Context, { project }: ProjectSubject, filter: EnvironmentFilter): Promise<Page<Environment>> {
  const used = usedFilters(FILTERS, filter)
  const { items, total } = await pageFrom(selectEnvironments(ctx.db, used.names), { ...used.values, project: project.id }, filter)
  return { items: items.map(({ environment }) => environment), total }
}

export async function getEnvironment(ctx: Pick<Context, 'db'>, { project }: ProjectSubject, id: number): Promise<Environment> {
  const [found] = await ctx.db.write.select().from(environments).where(ofProject(project.id, id))
  if (!found) throw notFound('Environment')
  return found
}

const ofProject = (project: number, id: number) => and(eq(environments.project_id, project), eq(environments.id, id))

export interface EnvironmentAttributes {
  name?: string | undefined
  external_url?: string | null | undefined
  tier?: Tier | undefined
}

const MAX_URL = 255
const TAKEN = () => invalidRecord({ name: ['has already been taken'] })

function check({ name, external_url: url }: EnvironmentAttributes): void {
  const faults: Record<string, string[]> = {}
  const fault = name === undefined ? null : environmentNameFault(name)
  if (fault) faults['name'] = [fault]
  if (url && url.length > MAX_URL) faults['external_url'] = [`is too long (maximum is ${MAX_URL} characters)`]
  else if (url && !isUrl(url, ['http', 'https'])) faults['external_url'] = ['is blocked: Only allowed schemes are http, https']
  if (Object.keys(faults).length > 0) throw invalidRecord(faults)
}

/** What was done with an environment, for the audit log: it belongs to its project. */
export const auditedEnvironment = (
  { project }: Pick<ProjectSubject, 'project'>,
  action: Extract<AuditAction, `environment_${string}`>,
  changes: Record<string, unknown>,
): Audited => ({ action, target: { type: 'project', id: project.id, name: fullPathOf(project) }, changes })

/** Makes an environment by hand (CI-284). */
export async function createEnvironment(
  ctx: Context,
  subject: ProjectSubject,
  given: EnvironmentAttributes & { name: string },
): Promise<Environment> {
  check(given)
  return unlessUniqueViolation(
    () =>
      ctx.db.transaction(async (tx) => {
        const made = await insertEnvironment(ctx, tx, subject.project.id, given)
        await audit(ctx, tx, auditedEnvironment(subject, 'environment_created', { name: made.name }))
        return made
      }),
    TAKEN,
  )
}

const insertEnvironment = async (
  ctx: Context,
  tx: Transaction,
  project_id: number,
  { name, external_url, tier }: EnvironmentAttributes & { name: string },
): Promise<Environment> =>
  onlyRow(
    await tx
      .insert(environments)
      .values({
        project_id,
        name,
        slug: environmentSlug(name),
        external_url: external_url || null,
        tier: tier ?? tierOf(name),
        ...createdNow(ctx),
      })
      .returning(),
  )

/** The environment with this name, which is made if there is none. */
export async function environmentNamed(ctx: Context, tx: Transaction, projectId: number, name: string): Promise<Environment> {
  check({ name })
  const values = { project_id: projectId, name, slug: environmentSlug(name), tier: tierOf(name), ...createdNow(ctx) }
  await tx.insert(environments).values(values).onConflictDoNothing()
  const [found] = await tx
    .select()
    .from(environments)
    .where(and(eq(environments.project_id, projectId), eq(environments.name, name)))
  // another one has the same slug
  if (!found) throw TAKEN()
  return found
}

/** Changes an environment; its slug stays. */
export async function updateEnvironment(
  ctx: Context,
  subject: ProjectSubject,
  caller: SignedIn,
  id: number,
  given: EnvironmentAttributes,
): Promise<Environment> {
  const before = await getEnvironment(ctx, subject, id)
  await requireDeploys(ctx, subject, caller, before.name)
  check(given)
  const { name, external_url, tier } = given
  const columns = {
    ...(name !== undefined && { name }),
    ...(external_url !== undefined && { external_url: external_url || null }),
    ...(tier && { tier }),
  }
  return unlessUniqueViolation(
    () =>
      ctx.db.transaction(async (tx) => {
        const [after] = await tx
          .update(environments)
          .set({ ...columns, updated_at: ctx.now() })
          .where(eq(environments.id, id))
          .returning()
        if (!after) throw notFound('Environment')
        const changes = changesOf(before, columns)
        if (Object.keys(changes).length > 0)
          await audit(ctx, tx, auditedEnvironment(subject, 'environment_updated', { environment: before.name, ...changes }))
        return after
      }),
    TAKEN,
  )
}

/** Deletes an environment that is stopped, with what tells of its deployments. */
export async function deleteEnvironment(ctx: Context, subject: ProjectSubject, caller: SignedIn, id: number): Promise<void> {
  const { state, name } = await getEnvironment(ctx, subject, id)
  await requireDeploys(ctx, subject, caller, name)
  if (state !== 'stopped') throw forbidden()
  await ctx.db.transaction(async (tx) => {
    await tx.delete(environments).where(eq(environments.id, id))
    await audit(ctx, tx, auditedEnvironment(subject, 'environment_deleted', { name }))
  })
}

/** How old the review environments are that are deleted, unless it is said. */
const REVIEW_AGE_MS = 30 * 86_400_000

/** The stopped environments `review/…` that were made before a time, the oldest first; deletes them unless it is a dry run (CI-266). */
export async function deleteReviewEnvironments(
  ctx: Context,
  subject: ProjectSubject,
  caller: SignedIn,
  { before = new Date(ctx.now().getTime() - REVIEW_AGE_MS), limit, dry_run }: { before?: Date | undefined; limit: number; dry_run: boolean },
): Promise<Environment[]> {
  const isOld = and(
    eq(environments.project_id, subject.project.id),
    eq(environments.state, 'stopped'),
    sql`starts_with(${environments.name}, 'review/')`,
    lt(environments.created_at, before),
    sql`${environments.name} <> all(${sql.param([...(await closedEnvironments(ctx, subject, caller))])}::text[])`,
  )
  const found = await ctx.db.write.select().from(environments).where(isOld).orderBy(asc(environments.created_at), asc(environments.id)).limit(limit)
  if (dry_run || found.length === 0) return found
  return ctx.db.transaction(async (tx) => {
    const ids = found.map(({ id }) => id)
    // one that was deployed to meanwhile stays
    const deleted = await tx
      .delete(environments)
      .where(and(inArray(environments.id, ids), isOld))
      .returning()
    for (const { name } of deleted) await audit(ctx, tx, auditedEnvironment(subject, 'environment_deleted', { name }))
    return deleted.sort((a, b) => a.created_at.getTime() - b.created_at.getTime() || a.id - b.id)
  })
}

/** Environments that the page of a merge request links to. */
const MAX_LINKED = 5

/** The available environments with an address to which a branch was deployed last, by name. */
export async function environmentsOfBranch(ctx: Context, { project }: ProjectSubject, branch: string): Promise<Environment[]> {
  const { rows } = await ctx.db.write.execute<{ id: string }>(sql`select e.id from ${environments} e
    join lateral (select d.ref, d.tag from ${deployments} d where d.environment_id = e.id and d.status = 'success'
      order by d.finished_at desc, d.id desc limit 1) d on d.ref = ${branch} and not d.tag
    where e.project_id = ${project.id} and e.state <> 'stopped' and e.external_url is not null order by e.name limit ${MAX_LINKED}`)
  if (rows.length === 0) return []
  return ctx.db.write
    .select()
    .from(environments)
    .where(
      inArray(
        environments.id,
        rows.map(({ id }) => Number(id)),
      ),
    )
    .orderBy(asc(environments.name))
}
