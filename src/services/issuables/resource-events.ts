import { and, asc, eq, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { inIds } from '../../db/conditions.js'
import { totalCount } from '../../db/decoded.js'
import { completeTexts, LONG_TEXTS, READ_COLUMNS } from '../../db/long-text.js'
import { labels, milestones, namespaces, projects, resourceEvents, users } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { notFound } from '../../failures.js'
import type { Target } from '../activity/subscriptions.js'
import { type Page, type Paging, pageFrom } from '../core/page.js'
import { type UserRefRecord, userRefColumns } from '../identity/user-ref.js'
import type { Label } from './labels.js'
import type { MilestoneRecord } from './milestones.js'

type Row = typeof resourceEvents.$inferSelect
export type ResourceEventKind = Row['kind']

export interface ResourceEvent {
  event: Row
  user: UserRefRecord
  /** Null: it is deleted, or the event is of another kind. */
  label: Label | null
  milestone: MilestoneRecord | null
}

type Recorded = Pick<typeof resourceEvents.$inferInsert, 'kind' | 'action' | 'label_id' | 'milestone_id' | 'state'>

/** Records what happened to the labels, the milestone or the state of an issue or merge request (EV-701). */
export async function recordResourceEvents(
  tx: Pick<Transaction, 'insert'>,
  { type, id, project_id }: Target,
  user_id: number,
  recorded: Recorded[],
  created_at: Date,
): Promise<void> {
  if (recorded.length === 0) return
  const of = type === 'Issue' ? { issue_id: id } : { merge_request_id: id }
  await tx.insert(resourceEvents).values(recorded.map((each) => ({ ...each, ...of, project_id, user_id, created_at })))
}

/** The events of labels that were added and removed. */
export const labelEvents = (added: number[], removed: number[] = []): Recorded[] => [
  ...added.map((label_id) => ({ kind: 'label' as const, action: 'add' as const, label_id })),
  ...removed.map((label_id) => ({ kind: 'label' as const, action: 'remove' as const, label_id })),
]

/** The event of another milestone; it names the one that was removed if there is none now. */
export function milestoneEvents(before: number | null, after: number | null): Recorded[] {
  if (before === after) return []
  return [after === null ? { kind: 'milestone', action: 'remove', milestone_id: before } : { kind: 'milestone', action: 'add', milestone_id: after }]
}

const columnOf = (type: Target['type']) => (type === 'Issue' ? resourceEvents.issue_id : resourceEvents.merge_request_id)

const selectEvents = statement('resource events', (db, { type, one }: { type: Target['type']; one: boolean }) =>
  db
    .select({ event: resourceEvents, user: userRefColumns(users), total: totalCount() })
    .from(resourceEvents)
    .innerJoin(users, eq(users.id, resourceEvents.user_id))
    .where(
      and(
        eq(columnOf(type), sql.placeholder('owner')),
        eq(resourceEvents.kind, sql.placeholder('kind')),
        one ? eq(resourceEvents.id, sql.placeholder('id')) : undefined,
      ),
    )
    .orderBy(asc(resourceEvents.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset')),
)

const selectLabels = statement('labels by id', (db) => db.select(READ_COLUMNS.labels).from(labels).where(inIds(labels.id)))

const selectMilestones = statement('milestones by id', (db) =>
  db
    .select({
      milestone: READ_COLUMNS.milestones,
      path: sql<string>`coalesce((select n.full_path from ${namespaces} n where n.id = ${milestones.namespace_id}),
        (select n.full_path || '/' || p.path from ${projects} p join ${namespaces} n on n.id = p.namespace_id where p.id = ${milestones.project_id}))`,
    })
    .from(milestones)
    .where(inIds(milestones.id)),
)

/** Loads what the events are about. */
async function withSubjects(ctx: Context, rows: Pick<ResourceEvent, 'event' | 'user'>[]): Promise<ResourceEvent[]> {
  const idsOf = (column: 'label_id' | 'milestone_id') => [...new Set(rows.flatMap(({ event }) => event[column] ?? []))]
  const [labelIds, milestoneIds] = [idsOf('label_id'), idsOf('milestone_id')]
  const [foundLabels, foundMilestones] = await Promise.all([
    labelIds.length > 0 ? selectLabels(ctx.db, null).execute({ ids: labelIds }) : [],
    milestoneIds.length > 0 ? selectMilestones(ctx.db, null).execute({ ids: milestoneIds }) : [],
  ])
  await completeTexts(ctx, LONG_TEXTS.labels, foundLabels, 'page')
  await completeTexts(ctx, LONG_TEXTS.labelPages, foundLabels, 'page')
  await completeTexts(
    ctx,
    LONG_TEXTS.milestones,
    foundMilestones.map(({ milestone }) => milestone),
    'page',
  )
  const labelById = new Map(foundLabels.map((label) => [label.id, label]))
  const milestoneById = new Map(foundMilestones.map((found) => [found.milestone.id, found]))
  return rows.map(({ event, user }) => ({
    event,
    user,
    label: labelById.get(event.label_id ?? 0) ?? null,
    milestone: milestoneById.get(event.milestone_id ?? 0) ?? null,
  }))
}

/** The events of one kind of an issue or merge request, oldest first (EV-702). */
export async function listResourceEvents(
  ctx: Context,
  { type, id }: Pick<Target, 'type' | 'id'>,
  kind: ResourceEventKind,
  paging: Paging,
): Promise<Page<ResourceEvent>> {
  const { items, total } = await pageFrom(selectEvents(ctx.db, { type, one: false }), { owner: id, kind }, paging)
  return { items: await withSubjects(ctx, items), total }
}

export async function getResourceEvent(
  ctx: Context,
  { type, id }: Pick<Target, 'type' | 'id'>,
  kind: ResourceEventKind,
  eventId: number,
): Promise<ResourceEvent> {
  const rows = await selectEvents(ctx.db, { type, one: true }).execute({ owner: id, kind, id: eventId, limit: 1, offset: 0 })
  const [found] = await withSubjects(ctx, rows)
  if (!found) throw notFound()
  return found
}
