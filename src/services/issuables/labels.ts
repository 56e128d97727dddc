import { and, asc, eq, inArray, or, type SQL, sql } from 'drizzle-orm'
import type { Caller, SignedIn } from '../../access/actor.js'
import type { IssueReach } from '../../access/can.js'
import { issueReach } from '../../access/can.js'
import { qualified } from '../../access/roles.js'
import type { GroupSubject, ProjectSubject } from '../../access/rules.js'
import { issuesInReach, mergeRequestsInReach, type ViewerKind, viewerKindOf, visibleIssues, visibleMergeRequests } from '../../access/visible.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { inIds } from '../../db/conditions.js'
import { decoded } from '../../db/decoded.js'
import { substring } from '../../db/fuzzy.js'
import { completeTexts, LONG_TEXTS, READ_COLUMNS } from '../../db/long-text.js'
import { issueLabels, issues, labels, mergeRequestLabels, mergeRequests, namespaceAncestry, projects, subscriptions } from '../../db/schema/index.js'
import { batchStatement, statement } from '../../db/statement.js'
import { unlessUniqueViolation } from '../../db/unique-violation.js'
import { conflict, invalidRecord, notFound } from '../../failures.js'
import { numericId } from '../../lib/numeric-id.js'
import { parseColor } from '../../lib/text/color.js'
import { MAX_DESCRIPTION } from '../../rules/descriptions.js'
import { isDots, lengthOf, tooLong } from '../../rules/path.js'
import { setSubscribed } from '../activity/subscriptions.js'
import { descriptionHtml } from '../core/description-html.js'
import { projectVersionOf, type Version } from '../core/list-cache.js'
import { type Page, type Paging, pageFrom } from '../core/page.js'

/** Where labels are looked up: a project (including its groups) or a group. */
export type LabelSource = { project: ProjectSubject } | { group: GroupSubject }

export type Label = typeof labels.$inferSelect

/** A label with its counts and subscription as one caller sees them in one project or group. */
export interface LabelRecord {
  label: Label
  open_issues_count: number
  closed_issues_count: number
  open_merge_requests_count: number
  subscribed: boolean
}

/** Only labels of the project or group itself, or also those of its ancestor groups. */
type LabelScope = 'own' | 'inherited'

interface Shape {
  from: 'project' | 'group'
  scope: LabelScope
  /**
   * Which issues the caller sees: by their access to the one project, or by kind of viewer in the projects of a group.
   */
  issues: IssueReach | ViewerKind | 'none'
  /** The same for merge requests. */
  requests: 'all' | 'own' | ViewerKind | 'none'
  by: 'all' | 'search' | 'id' | 'title' | 'ids'
}

const user = sql`${sql.placeholder('user')}::bigint`
const group = sql`${sql.placeholder('group')}::bigint`
const project = sql`${sql.placeholder('project')}::bigint`
const projectsBelow = sql`${projects.namespace_id} in (select a.descendant_id from ${namespaceAncestry} a where a.ancestor_id = ${group})`
const titles = sql`${sql.placeholder('titles')}::text[]`
const groupsAbove = sql`(select a.ancestor_id from ${namespaceAncestry} a where a.descendant_id = ${group})`

function belongsTo({ from, scope }: Pick<Shape, 'from' | 'scope'>): SQL {
  const inherited = sql`${labels.namespace_id} in ${groupsAbove}`
  if (from === 'project') return scope === 'own' ? sql`${labels.project_id} = ${project}` : sql`(${labels.project_id} = ${project} or ${inherited})`
  return scope === 'own' ? sql`${labels.namespace_id} = ${group}` : inherited
}

/** The version that cached counts of a project's labels depend on. Null for a group: its counts depend on too much. */
const versionOf = ({ from }: Pick<Shape, 'from'>) =>
  from === 'group'
    ? sql<null>`null::text`
    : sql<Version>`${projectVersionOf('issues', project)} || ' ' || ${projectVersionOf('merge_requests', project)}`

/** Counts open and closed issues with the label that the caller sees, in one pass. */
function issueCounts({ from, issues: reach }: Pick<Shape, 'from' | 'issues'>): SQL<{ open: number; closed: number } | null> {
  if (reach === 'none') return sql`null`
  const numbers = sql`select json_build_object('open', count(*) filter (where ${issues.state} = 'opened'), 'closed', count(*) filter (where ${issues.state} = 'closed'))
    from ${issueLabels} join ${issues} on ${issues.id} = ${issueLabels.issue_id}`
  if (from === 'project')
    return sql`(${numbers} where ${issueLabels.label_id} = ${labels.id} and ${issueLabels.project_id} = ${project} and ${issuesInReach(reach as IssueReach, user)})`
  return sql`(${numbers} join ${projects} on ${projects.id} = ${issues.project_id}
    where ${issueLabels.label_id} = ${labels.id} and ${visibleIssues(reach as ViewerKind, user)} and ${projectsBelow})`
}

/** Counts open merge requests with the label that the caller may read. */
function mergeRequestCount({ from, requests }: Pick<Shape, 'from' | 'requests'>): SQL<number> {
  if (requests === 'none') return sql`0`
  const number = sql`select count(*) from ${mergeRequestLabels} join ${mergeRequests} on ${mergeRequests.id} = ${mergeRequestLabels.merge_request_id}`
  const open = sql`${mergeRequestLabels.label_id} = ${labels.id} and ${mergeRequests.state} = 'opened'`
  if (from === 'project')
    return sql`(${number} where ${open} and ${mergeRequestLabels.project_id} = ${project} and ${mergeRequestsInReach(requests as 'all' | 'own', user)})`
  return sql`(${number} join ${projects} on ${projects.id} = ${mergeRequests.project_id}
    where ${open} and ${visibleMergeRequests(requests as ViewerKind, user)} and ${projectsBelow})`
}

const matching = (shape: Shape) => {
  const which = {
    all: undefined,
    search: sql`${labels.title} ilike ${sql.placeholder('search')}`,
    id: eq(labels.id, sql.placeholder('value')),
    title: eq(labels.title, sql.placeholder('value')),
    ids: inIds(labels.id, 'value'),
  }[shape.by]
  return and(belongsTo(shape), which)
}

const selectLabels = statement('labels', (db, shape: Shape) => {
  const page = db
    .select({ id: labels.id, total: sql<number>`count(*) over ()`.as('total') })
    .from(labels)
    .where(matching(shape))
    .orderBy(asc(labels.title), asc(labels.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset'))
    .as('page')
  return (
    db
      .select({
        label: READ_COLUMNS.labels,
        subscribed: sql<boolean>`coalesce((select s.subscribed from ${subscriptions} s where s.target_type = 'Label' and s.target_id = ${labels.id} and s.user_id = ${user}), false)`,
        total: decoded(sql<number>`${page.total}`, Number),
        version: versionOf(shape),
      })
      .from(labels)
      .innerJoin(page, eq(page.id, labels.id))
      // a project's own label comes before a group's label of the same name
      .orderBy(asc(labels.title), asc(labels.namespace_id), asc(labels.id))
  )
})

const selectTotals = statement('totals of labels', (db, shape: Pick<Shape, 'from' | 'issues' | 'requests'>) =>
  db
    .select({
      id: labels.id,
      issues: qualified(issueCounts(shape)),
      requests: decoded(qualified(mergeRequestCount(shape)), Number),
      version: versionOf(shape),
    })
    .from(labels)
    .where(inIds(labels.id)),
)

const groupOf = (source: LabelSource) => ('project' in source ? source.project.project.namespace_id : source.group.group.id)

function shapeOf(source: LabelSource, viewer: Caller['user'], by: Shape['by'], scope: LabelScope): Shape {
  if ('group' in source) return { from: 'group', scope, issues: viewerKindOf(viewer), requests: viewerKindOf(viewer), by }
  const { project } = source
  const requests = project.can('read_merge_request') ? 'all' : project.can('read_own_merge_request') ? 'own' : 'none'
  return { from: 'project', scope, issues: project.can('read_issue') ? issueReach(project) : 'none', requests, by }
}

async function run(
  ctx: Context,
  { user: viewer }: Pick<Caller, 'user'>,
  source: LabelSource,
  { shape, value }: { shape: Shape; value: unknown },
  at: { limit: number; offset: number },
) {
  const values = { user: viewer?.id ?? 0, group: groupOf(source), project: 'project' in source ? source.project.project.id : 0 }
  const rows = await selectLabels(ctx.db, shape).execute({ ...values, value, search: value, ...at })
  const size = shape.by === 'all' || shape.by === 'search' ? 'page' : 'whole'
  const shown = rows.map(({ label }) => label)
  const { from, issues, requests } = shape
  const key = `labels ${values.project} ${issues} ${requests} ${[issues, requests].includes('own') ? values.user : ''}`
  const ids = shown.map(({ id }) => id)
  const [totals] = await Promise.all([
    ctx.caches.lists.totalsOf(key, rows[0]?.version ?? null, ids, (ids) => totalsOf(ctx, { from, issues, requests }, { ...values, ids })),
    completeTexts(ctx, LONG_TEXTS.labels, shown, size),
    completeTexts(ctx, LONG_TEXTS.labelPages, shown, size),
  ])
  return rows.map(({ version: _, ...row }) => {
    const [open_issues_count = 0, closed_issues_count = 0, open_merge_requests_count = 0] = totals.get(row.label.id) ?? []
    return { ...row, open_issues_count, closed_issues_count, open_merge_requests_count }
  })
}

async function totalsOf(ctx: Context, shape: Pick<Shape, 'from' | 'issues' | 'requests'>, values: Record<string, unknown>) {
  const rows = await selectTotals(ctx.db, shape).execute(values)
  return rows.map(({ id, issues, requests, version }) => ({ id, version, totals: [issues?.open ?? 0, issues?.closed ?? 0, requests] }))
}

/** The labels of a project with those of its groups, or of a group, by name (LB-1). */
export async function listLabels(
  ctx: Context,
  caller: SignedIn,
  source: LabelSource,
  { search, include_ancestor_groups, ...paging }: { search?: string | undefined; include_ancestor_groups: boolean } & Paging,
): Promise<Page<LabelRecord>> {
  const text = search?.trim()
  const shape = shapeOf(source, caller.user, text ? 'search' : 'all', include_ancestor_groups ? 'inherited' : 'own')
  const value = text ? substring(text) : undefined
  return pageFrom({ execute: (at) => run(ctx, caller, source, { shape, value }, at) }, {}, paging)
}

const FIRST_MATCH = { limit: 2, offset: 0 }
const noLabel = () => notFound('Label')

/** A label by its id or its name (LB-2); digits are taken as an id first. */
export async function getLabel(
  ctx: Context,
  caller: SignedIn,
  source: LabelSource,
  named: string,
  scope: LabelScope = 'inherited',
): Promise<LabelRecord> {
  const id = numericId(named)
  if (id !== null) {
    const [label] = await run(ctx, caller, source, { shape: shapeOf(source, caller.user, 'id', scope), value: id }, FIRST_MATCH)
    if (label) return label
  }
  const [label] = await run(ctx, caller, source, { shape: shapeOf(source, caller.user, 'title', scope), value: named }, FIRST_MATCH)
  if (!label) throw noLabel()
  return label
}

/** In characters (SEC-63). */
export const MAX_LABEL_TITLE = 255

function titleFaults(title: string) {
  return [
    ...(title === '' || isDots(title) || title.includes(',') ? ['is invalid'] : []),
    ...(lengthOf(title) > MAX_LABEL_TITLE ? [tooLong(MAX_LABEL_TITLE)] : []),
  ]
}

/** Validates these values and returns the columns to store. */
export async function labelColumns(
  ctx: Pick<Context, 'cpu'>,
  given: { title?: string | undefined; color?: string | undefined; description?: string | null | undefined },
) {
  const faults: Record<string, string[]> = {}
  const title = given.title?.trim()
  const inTitle = title === undefined ? [] : titleFaults(title)
  if (inTitle.length > 0) faults['title'] = inTitle
  const color = given.color === undefined ? undefined : parseColor(given.color.trim())
  if (color === null) faults['color'] = ['must be a valid color code']
  if (given.description && lengthOf(given.description) > MAX_DESCRIPTION) faults['description'] = [tooLong(MAX_DESCRIPTION)]
  if (Object.keys(faults).length > 0) throw invalidRecord(faults)
  return {
    ...(title !== undefined && { title }),
    ...(color && { color }),
    ...(given.description !== undefined && {
      description: given.description || null,
      description_html: await descriptionHtml(ctx, given.description ?? ''),
    }),
  }
}

/** Whether an own or inherited label has this title already. */
async function isTitleTaken(tx: Pick<Transaction, 'select'>, source: LabelSource, title: string, except = 0): Promise<boolean> {
  const inherited = sql`${labels.namespace_id} in (select a.ancestor_id from ${namespaceAncestry} a where a.descendant_id = ${groupOf(source)})`
  const here = 'project' in source ? or(eq(labels.project_id, source.project.project.id), inherited) : inherited
  const [duplicate] = await tx
    .select({ id: labels.id })
    .from(labels)
    .where(and(eq(labels.title, title), here, sql`${labels.id} <> ${except}`))
    .limit(1)
  return duplicate !== undefined
}

const labelExists = () => conflict('Label already exists')

export interface NewLabel {
  name: string
  color: string
  description?: string | null | undefined
  priority?: number | null | undefined
}

const value = (name: string) => sql`${sql.placeholder(name)}`

/** Inserts a label and returns its id; no row if an own or inherited label has the title. */
const insertLabel = batchStatement('create a label', (db, from: Shape['from']) => {
  const taken = sql`exists (select from ${labels} where ${labels.title} = ${value('title')} and ${belongsTo({ from, scope: 'inherited' })})`
  const label = db
    .$with('label', {})
    .as(sql`insert into ${labels} (project_id, namespace_id, title, color, description, description_html, priority, created_at, updated_at)
    select ${from === 'project' ? sql`${project}, null::bigint` : sql`null::bigint, ${group}`}, ${value('title')}, ${value('color')}, ${value('description')}, ${value('description_html')},
      ${value('priority')}::integer, ${value('now')}::timestamptz, ${value('now')}::timestamptz where not ${taken} returning id`)
  return db
    .with(label)
    .select({ id: decoded(sql<number>`id`, Number) })
    .from(sql`label`)
})

/** Creates a label; 409 if an own or inherited label has the name (LB-3). */
export async function createLabel(ctx: Context, source: LabelSource, { name, color, description, priority }: NewLabel): Promise<LabelRecord> {
  const columns = await labelColumns(ctx, { title: name, color, description: description ?? '' })
  const now = ctx.now()
  const label = {
    title: columns.title as string,
    color: columns.color as string,
    description: columns.description ?? null,
    description_html: columns.description_html ?? '',
    priority: priority ?? null,
    created_at: now,
    updated_at: now,
  }
  const from = 'project' in source ? 'project' : 'group'
  const project_id = 'project' in source ? source.project.project.id : null
  const values = { ...label, project: project_id, group: groupOf(source), now: now.toISOString() }
  const [row] = await unlessUniqueViolation(() => ctx.db.single((on) => insertLabel(on, from).execute(values)), labelExists)
  if (!row) throw labelExists()
  return {
    label: { id: row.id, project_id, namespace_id: from === 'group' ? groupOf(source) : null, ...label },
    // a new label is used nowhere
    open_issues_count: 0,
    closed_issues_count: 0,
    open_merge_requests_count: 0,
    subscribed: false,
  }
}

export interface LabelChanges {
  new_name?: string | undefined
  color?: string | undefined
  description?: string | null | undefined
  /** Null clears. */
  priority?: number | null | undefined
}

/** Changes a label of this project, or of this group; an inherited one can be changed in its group only (LB-4). */
export async function updateLabel(
  ctx: Context,
  caller: SignedIn,
  source: LabelSource,
  named: string,
  { new_name, priority, ...given }: LabelChanges,
): Promise<LabelRecord> {
  const { label } = await getLabel(ctx, caller, source, named, 'own')
  const values = { ...(await labelColumns(ctx, { ...given, title: new_name })), ...(priority !== undefined && { priority }) }
  const taken = () => invalidRecord({ title: ['has already been taken'] })
  await unlessUniqueViolation(
    () =>
      ctx.db.transaction(async (tx) => {
        if (values.title !== undefined && (await isTitleTaken(tx, source, values.title, label.id))) throw taken()
        const changed = await tx
          .update(labels)
          .set({ ...values, updated_at: ctx.now() })
          .where(eq(labels.id, label.id))
          .returning({ id: labels.id })
        if (changed.length === 0) throw noLabel()
      }),
    taken,
  )
  return getLabel(ctx, caller, source, String(label.id), 'own')
}

/** Deletes a label; issues and merge requests lose it (LB-5, LB-9). */
export async function deleteLabel(ctx: Context, caller: SignedIn, source: LabelSource, named: string, check: (changed: Date) => void): Promise<void> {
  const { label } = await getLabel(ctx, caller, source, named, 'own')
  check(label.updated_at)
  await ctx.db.transaction(async (tx) => {
    await tx.delete(subscriptions).where(and(eq(subscriptions.target_type, 'Label'), eq(subscriptions.target_id, label.id)))
    const deleted = await tx.delete(labels).where(eq(labels.id, label.id)).returning({ id: labels.id })
    if (deleted.length === 0) throw noLabel()
  })
}

/** Subscribes the caller to a label, or unsubscribes them (LB-6); null when nothing changes. */
export async function subscribeToLabel(
  ctx: Context,
  caller: SignedIn,
  source: LabelSource,
  named: string,
  subscribed: boolean,
): Promise<LabelRecord | null> {
  const record = await getLabel(ctx, caller, source, named)
  if (record.subscribed === subscribed) return null
  const { label } = record
  const target = { type: 'Label', id: label.id, project_id: label.project_id } as const
  return (await setSubscribed(ctx.db.write, target, caller.user.id, subscribed)) ? { ...record, subscribed } : null
}

/** The colour of labels created by name alone (MR-27). */
const DEFAULT_COLOR = '#428BCA'
const MAX_LABELS = 100

/** The labels with these titles in a project or its groups: title → id. A project's own label wins. */
export async function findLabelIds(
  tx: Pick<Transaction, 'select'>,
  project: Pick<ProjectSubject['project'], 'id' | 'namespace_id'>,
  titles: string[],
): Promise<Map<string, number>> {
  if (titles.length === 0) return new Map()
  const known = await tx
    .select({ id: labels.id, title: labels.title })
    .from(labels)
    .where(
      and(
        inArray(labels.title, titles),
        or(
          eq(labels.project_id, project.id),
          sql`${labels.namespace_id} in (select a.ancestor_id from ${namespaceAncestry} a where a.descendant_id = ${project.namespace_id})`,
        ),
      ),
    )
    .orderBy(sql`${labels.project_id} nulls first`)
  return new Map(known.map(({ id, title }) => [title, id]))
}

/**
 * Ids of the labels with these titles in a project or its groups; unknown ones are created if `create` is set,
 * otherwise dropped (IS-18, MR-27).
 */
export async function labelIdsOf(tx: Transaction, { project }: ProjectSubject, titles: string[], create: boolean, now: Date): Promise<number[]> {
  const wanted = splitTitles(titles)
  const ids = await findLabelIds(tx, project, wanted)
  const missing = create ? wanted.filter((title) => !ids.has(title)) : []
  if (missing.length > 0) {
    const rows = missing.map((title) => ({ project_id: project.id, title, color: DEFAULT_COLOR, created_at: now, updated_at: now }))
    await tx.insert(labels).values(rows).onConflictDoNothing()
    const made = await tx
      .select({ id: labels.id, title: labels.title })
      .from(labels)
      .where(and(eq(labels.project_id, project.id), inArray(labels.title, missing)))
    for (const { id, title } of made) ids.set(title, id)
  }
  return wanted.map((title) => ids.get(title)).filter((id) => id !== undefined)
}

/** SQL: the labels with these titles in a project or its groups; a project label wins over a group label. */
export const selectLabelsByTitle = sql`select distinct on (l.title) l.id, l.title from ${labels} l
  where l.title = any(${titles}) and (l.project_id = ${project} or l.namespace_id in ${groupsAbove}) order by l.title, l.project_id`

/**
 * SQL for a statement with `selectLabelsByTitle` as CTE `found`: creates the missing labels. A label that a concurrent
 * statement creates is returned unchanged.
 */
export const insertMissingLabels = sql`insert into ${labels} as l (project_id, title, color, created_at, updated_at)
  select ${project}, title, ${DEFAULT_COLOR}, ${sql.placeholder('now')}::timestamptz, ${sql.placeholder('now')}::timestamptz from unnest(${titles}) title
  where title not in (select found.title from found) order by title
  on conflict (project_id, title) where project_id is not null do update set title = l.title returning id, title`

/** Titles of all lists together, each as often as it is written. */
const MAX_WRITTEN = 1_000

/** Splits lists of titles at commas, trims the titles and removes duplicates. */
export function splitTitles(titles: string[]): string[] {
  const written: string[] = []
  for (const title of titles) {
    written.push(...title.split(',', MAX_WRITTEN + 1))
    if (written.length > MAX_WRITTEN) throw invalidRecord({ labels: [TOO_MANY] })
  }
  return [...new Set(written.map((title) => title.trim()))].filter((title) => title !== '')
}

const TOO_MANY = `are too many (maximum is ${MAX_LABELS})`

/** Validation errors of a list of label titles (SEC-63). */
export function labelListFaults(titles: string[]): string[] {
  const names = splitTitles(titles)
  if (names.length > MAX_LABELS) return [TOO_MANY]
  if (names.some(isDots)) return ['is invalid']
  return names.some((title) => lengthOf(title) > MAX_LABEL_TITLE) ? [tooLong(MAX_LABEL_TITLE)] : []
}
