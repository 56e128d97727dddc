import { and, desc, eq, or, sql } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import { fullPathOf, type GroupSubject, type ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { totalCount } from '../../db/decoded.js'
import { conditionsOf, type FilterNames, type Filters, usedFilters } from '../../db/filters.js'
import { type Fuzzy, fuzzy, fuzzyMatch } from '../../db/fuzzy.js'
import { completeTexts, LONG_TEXTS, READ_COLUMNS } from '../../db/long-text.js'
import { onlyRow } from '../../db/only-row.js'
import { milestones, namespaceAncestry, projects } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { unlessUniqueViolation } from '../../db/unique-violation.js'
import { invalidRecord, notFound } from '../../failures.js'
import { numericId } from '../../lib/numeric-id.js'
import { MAX_DESCRIPTION } from '../../rules/descriptions.js'
import { lengthOf, tooLong } from '../../rules/path.js'
import { recordEvent } from '../activity/events.js'
import { nextGroupIid, nextIid } from '../core/iids.js'
import { type Page, type Paging, pageFrom } from '../core/page.js'

/** The owner of milestones: a project or a group. */
export type MilestoneSource = { project: ProjectSubject } | { group: GroupSubject }

export type Milestone = typeof milestones.$inferSelect

export interface MilestoneRecord {
  milestone: Milestone
  /** Full path of its project or group. */
  path: string
}

interface Shape {
  of: 'project' | 'group'
  filters: (keyof typeof FILTERS)[]
  search: Fuzzy['shape']
}

const FILTERS = {
  id: { where: (id) => eq(milestones.id, id), value: ({ id }) => id },
  state: { where: (state) => eq(milestones.state, state), value: ({ state }) => (state === 'all' ? undefined : state) },
  iids: { where: (iids) => sql`${milestones.iid} = any(${iids}::integer[])`, value: ({ iids }) => iids },
  title: { where: (title) => eq(milestones.title, title), value: ({ title }) => title || undefined },
} satisfies Filters<Partial<MilestoneFilter> & { id?: number }, 'id' | FilterNames<MilestoneFilter, 'search'>>

const selectMilestones = statement('milestones', (db, { of, filters, search }: Shape) =>
  db
    .select({ milestone: READ_COLUMNS.milestones, total: totalCount() })
    .from(milestones)
    .where(
      and(
        eq(of === 'project' ? milestones.project_id : milestones.namespace_id, sql.placeholder('source')),
        ...conditionsOf(FILTERS, filters, null),
        fuzzyMatch([milestones.title, milestones.description], search),
      ),
    )
    .orderBy(desc(milestones.created_at), desc(milestones.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset')),
)

const ofSource = (source: MilestoneSource) =>
  'project' in source
    ? { of: 'project' as const, id: source.project.project.id, path: fullPathOf(source.project.project) }
    : { of: 'group' as const, id: source.group.group.id, path: source.group.group.full_path }

export interface MilestoneFilter extends Paging {
  state: 'active' | 'closed' | 'all'
  iids?: number[] | undefined
  title?: string | undefined
  search?: string | undefined
}

/** Milestones of a project or a group, newest first (MI-1). */
export async function listMilestones(ctx: Context, source: MilestoneSource, filter: MilestoneFilter): Promise<Page<MilestoneRecord>> {
  const { of, id, path } = ofSource(source)
  const words = fuzzy(filter.search, 'part')
  const used = usedFilters(FILTERS, filter)
  const query = selectMilestones(ctx.db, { of, filters: used.names, search: words.shape })
  const { items, total } = await pageFrom(query, { ...used.values, ...words.values, source: id }, filter)
  const found = items.map(({ milestone }) => milestone)
  await completeTexts(ctx, LONG_TEXTS.milestones, found, 'page')
  return { items: found.map((milestone) => ({ milestone, path })), total }
}

/** One milestone by its id (MI-2). */
export async function getMilestone(ctx: Context, source: MilestoneSource, milestoneId: number): Promise<MilestoneRecord> {
  const { of, id, path } = ofSource(source)
  const [row] = await selectMilestones(ctx.db, { of, filters: ['id'], search: 'all' }).execute({ source: id, id: milestoneId, limit: 1, offset: 0 })
  if (!row) throw notFound()
  await completeTexts(ctx, LONG_TEXTS.milestones, [row.milestone], 'whole')
  return { milestone: row.milestone, path }
}

/** One milestone by its number in the project or group. */
export async function getMilestoneNumbered(ctx: Context, source: MilestoneSource, iid: number): Promise<MilestoneRecord> {
  const { items } = await listMilestones(ctx, source, { state: 'all', iids: [iid], page: 1, per_page: 1 })
  const [found] = items
  if (!found) throw notFound()
  return getMilestone(ctx, source, found.milestone.id)
}

export interface MilestoneAttributes {
  title?: string | undefined
  description?: string | null | undefined
  /** Null clears. */
  start_date?: string | null | undefined
  due_date?: string | null | undefined
}

/** In characters (SEC-63). */
const MAX_TITLE = 255

/** Validates these values and returns the columns to store; `before` is the current milestone of an update. */
export function milestoneColumns(given: MilestoneAttributes, before?: Milestone) {
  const faults: Record<string, string[]> = {}
  const title = given.title?.trim()
  if (title === '') faults['title'] = ["can't be blank"]
  if (title && lengthOf(title) > MAX_TITLE) faults['title'] = [tooLong(MAX_TITLE)]
  if (given.description && lengthOf(given.description) > MAX_DESCRIPTION) faults['description'] = [tooLong(MAX_DESCRIPTION)]
  const start = given.start_date === undefined ? before?.start_date : given.start_date
  const due = given.due_date === undefined ? before?.due_date : given.due_date
  if (start && due && start > due) faults['due_date'] = ['must be greater than start date']
  if (Object.keys(faults).length > 0) throw invalidRecord(faults)
  return {
    ...(title !== undefined && { title }),
    ...(given.description !== undefined && { description: given.description ?? '' }),
    ...(given.start_date !== undefined && { start_date: given.start_date }),
    ...(given.due_date !== undefined && { due_date: given.due_date }),
  }
}

const titleTaken = () => invalidRecord({ title: ['has already been taken'] })

/**
 * A title must be unique wherever both milestones could be used: in the project and its ancestor groups, and for a
 * group also in all its descendants (MI-3).
 */
async function checkTitle(tx: Transaction, source: MilestoneSource, title: string, except = 0) {
  const groupId = 'project' in source ? source.project.project.namespace_id : source.group.group.id
  const above = sql`${milestones.namespace_id} in (select a.ancestor_id from ${namespaceAncestry} a where a.descendant_id = ${groupId})`
  const below = sql`select a.descendant_id from ${namespaceAncestry} a where a.ancestor_id = ${groupId}`
  const here =
    'project' in source
      ? eq(milestones.project_id, source.project.project.id)
      : sql`(${milestones.namespace_id} in (${below}) or ${milestones.project_id} in (select p.id from ${projects} p where p.namespace_id in (${below})))`
  const [duplicate] = await tx
    .select({ id: milestones.id })
    .from(milestones)
    .where(and(eq(milestones.title, title), or(here, above), sql`${milestones.id} <> ${except}`))
    .limit(1)
  if (duplicate) throw titleTaken()
}

/** Records an event; milestones of groups have none. */
async function recordMilestoneEvent(
  ctx: Pick<Context, 'now'>,
  tx: Transaction,
  caller: SignedIn,
  { id, project_id, title }: Milestone,
  action: 'created' | 'closed' | 'reopened' | 'destroyed',
) {
  if (project_id === null) return
  const event = {
    project_id,
    author_id: caller.user.id,
    action,
    target_type: 'Milestone',
    target_id: id,
    target_title: title,
    created_at: ctx.now(),
  } as const
  await recordEvent(tx, event)
}

/** Creates a milestone (MI-3). */
export async function createMilestone(
  ctx: Context,
  caller: SignedIn,
  source: MilestoneSource,
  given: MilestoneAttributes & { title: string },
): Promise<MilestoneRecord> {
  const values = milestoneColumns(given)
  const { id, path } = ofSource(source)
  const now = ctx.now()
  return unlessUniqueViolation(
    () =>
      ctx.db.transaction(async (tx) => {
        const title = values.title as string
        await checkTitle(tx, source, title)
        const owner = 'project' in source ? { project_id: id } : { namespace_id: id }
        const iid = 'project' in source ? await nextIid(tx, id, 'milestone') : await nextGroupIid(tx, id, 'milestone')
        const milestone = onlyRow(
          await tx
            .insert(milestones)
            .values({ ...values, title, ...owner, iid, created_at: now, updated_at: now })
            .returning(),
        )
        await recordMilestoneEvent(ctx, tx, caller, milestone, 'created')
        return { milestone, path }
      }),
    titleTaken,
  )
}

const EVENTS = { close: { to: 'closed', event: 'closed' }, activate: { to: 'active', event: 'reopened' } } as const

/** Changes, closes or activates a milestone (MI-4). */
export async function updateMilestone(
  ctx: Context,
  caller: SignedIn,
  source: MilestoneSource,
  milestoneId: number,
  { state_event, ...given }: MilestoneAttributes & { state_event?: keyof typeof EVENTS | undefined },
): Promise<MilestoneRecord> {
  const { path } = await getMilestone(ctx, source, milestoneId)
  return unlessUniqueViolation(
    () =>
      ctx.db.transaction(async (tx) => {
        const [before] = await tx.select().from(milestones).where(eq(milestones.id, milestoneId)).for('update')
        if (!before) throw notFound()
        const values = milestoneColumns(given, before)
        if (values.title !== undefined && values.title !== before.title) await checkTitle(tx, source, values.title, milestoneId)
        const transition = state_event && EVENTS[state_event].to !== before.state ? EVENTS[state_event] : undefined
        const milestone = onlyRow(
          await tx
            .update(milestones)
            .set({ ...values, ...(transition && { state: transition.to }), updated_at: ctx.now() })
            .where(eq(milestones.id, milestoneId))
            .returning(),
        )
        if (transition) await recordMilestoneEvent(ctx, tx, caller, milestone, transition.event)
        return { milestone, path }
      }),
    titleTaken,
  )
}

/** Deletes a milestone; issues and merge requests lose it (MI-5). */
export async function deleteMilestone(
  ctx: Context,
  caller: SignedIn,
  source: MilestoneSource,
  milestoneId: number,
  check: (changed: Date) => void,
): Promise<void> {
  const { milestone } = await getMilestone(ctx, source, milestoneId)
  check(milestone.updated_at)
  await ctx.db.transaction(async (tx) => {
    const gone = await tx.delete(milestones).where(eq(milestones.id, milestoneId)).returning()
    if (gone.length === 0) throw notFound()
    await recordMilestoneEvent(ctx, tx, caller, milestone, 'destroyed')
  })
}

/** The milestone with this id, if it belongs to the project or its group and may be set there (MR-26, MI-8). */
export async function usableMilestone(tx: Pick<Transaction, 'select'>, { project }: ProjectSubject, milestoneId: number): Promise<Milestone | null> {
  const [row] = await tx
    .select()
    .from(milestones)
    .where(and(eq(milestones.id, milestoneId), usableIn(project)))
  return row ?? null
}

const usableIn = (project: ProjectSubject['project']) => or(eq(milestones.project_id, project.id), eq(milestones.namespace_id, project.namespace_id))

/** The milestone of this title, or else of this number, that may be set in the project; its own one comes first. */
export async function findMilestoneNamed(
  tx: Pick<Transaction, 'select'>,
  { project }: ProjectSubject,
  name: string,
): Promise<Pick<Milestone, 'id' | 'title'> | null> {
  const { id, title, iid, project_id } = milestones
  const number = and(eq(iid, numericId(name) ?? 0), eq(project_id, project.id))
  const [row] = await tx
    .select({ id, title })
    .from(milestones)
    .where(and(or(eq(title, name), number), usableIn(project)))
    .orderBy(sql`${title} = ${name} desc, ${project_id} is null, ${id}`)
    .limit(1)
  return row ?? null
}

/** The usable milestone with this title; of the project first, then of its group. */
export async function findMilestoneTitled(ctx: Context, { project }: ProjectSubject, title: string): Promise<Milestone | null> {
  const [row] = await ctx.db.write
    .select()
    .from(milestones)
    .where(and(eq(milestones.title, title), or(eq(milestones.project_id, project.id), eq(milestones.namespace_id, project.namespace_id))))
    .orderBy(sql`${milestones.project_id} nulls last`)
    .limit(1)
  return row ?? null
}
