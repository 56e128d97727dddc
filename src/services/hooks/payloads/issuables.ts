import { inArray, sql } from 'drizzle-orm'
import { issueLabels, labels, mergeRequestLabels, type RowImage } from '../../../db/schema/index.js'
import { isDraft } from '../../../rules/draft.js'
import { humanDuration } from '../../../rules/duration.js'
import { type HookChange, idsIn } from '../../outbox/changes.js'
import type { WebhookEvent } from '../event.js'
import { labelObject, type PayloadData, type ProjectData, projectObject, repositoryObject, stamp, userById, usersById } from '../payload-data.js'
import { commitObject, repositoryIn } from './commits.js'

/** The outbox source and table of the labels of each kind of issuable. */
export const TABLES = {
  issues: { labels: 'issue_labels', key: 'issue_id', table: issueLabels },
  merge_requests: { labels: 'merge_request_labels', key: 'merge_request_id', table: mergeRequestLabels },
} as const

export type IssuableKind = keyof typeof TABLES

/** Columns whose changes cause events; the same as in the triggers. */
const WATCHED_COLUMNS: Record<IssuableKind, readonly string[]> = {
  issues: [
    'title',
    'description',
    'state',
    'milestone_id',
    'confidential',
    'due_date',
    'discussion_locked',
    'time_estimate',
    'total_time_spent',
    'moved_to_id',
  ],
  merge_requests: ['title', 'description', 'state', 'milestone_id', 'target_branch', 'discussion_locked', 'time_estimate', 'total_time_spent'],
}

/** The change of one issuable in one transaction. */
interface IssuableChange {
  id: number
  actor: number | null
  /** Null for a new issuable. */
  before: RowImage | null
  after: RowImage
  added: number[]
  removed: number[]
  /** An approval that was given or taken back (MR-110). */
  approval?: 'approved' | 'unapproved'
}

const idsOf = (changes: HookChange[], operation: HookChange['operation']) =>
  changes.filter((change) => change.operation === operation).map((change) => Number((change.after ?? change.before)?.['label_id']))

/** Groups the changes of one transaction by issuable. */
async function groupByIssuable(data: PayloadData, kind: IssuableKind, changes: readonly HookChange[]): Promise<IssuableChange[]> {
  const { labels: ofLabels, key } = TABLES[kind]
  const rows = changes.filter(({ source }) => source === kind)
  const labelChanges = changes.filter(({ source }) => source === ofLabels)
  const ids = new Set([...rows.map(({ after }) => after?.['id']), ...labelChanges.map(({ after, before }) => (after ?? before)?.[key])].map(Number))
  const issuables: IssuableChange[] = []
  for (const id of ids) {
    const own = rows.filter(({ after }) => after?.['id'] === id)
    const about = labelChanges.filter(({ after, before }) => (after ?? before)?.[key] === id)
    const after = own.at(-1)?.after ?? (await rowOf(data, kind, id))
    if (!after) continue
    const made = own.some(({ operation }) => operation === 'INSERT')
    const before = made ? null : (own[0]?.before ?? after)
    const actor = [...own, ...about].find(({ actor_id }) => actor_id !== null)?.actor_id ?? Number(after['author_id'])
    issuables.push({ id, actor, before, after, added: idsOf(about, 'INSERT'), removed: idsOf(about, 'DELETE') })
  }
  return issuables
}

/** The current row. */
export async function rowOf({ ctx }: PayloadData, kind: IssuableKind | 'snippets' | 'pipelines', id: unknown): Promise<RowImage | null> {
  const { rows } = await ctx.db.write.execute<{ image: RowImage }>(
    sql`select to_jsonb(t) as image from ${sql.identifier(kind)} t where t.id = ${Number(id)}`,
  )
  return rows[0]?.image ?? null
}

/** The current labels of an issuable. */
async function labelsOf(data: PayloadData, kind: IssuableKind, id: number): Promise<RowImage[]> {
  const { table, key } = TABLES[kind]
  const { rows } = await data.ctx.db.write.execute<{ image: RowImage }>(
    sql`select to_jsonb(l) as image from ${table} w join ${labels} l on l.id = w.label_id where w.${sql.identifier(key)} = ${id} order by l.title, l.id`,
  )
  return rows.map(({ image }) => image)
}

async function labelsBefore({ ctx }: PayloadData, now: RowImage[], { added, removed }: IssuableChange): Promise<RowImage[]> {
  const removedLabels =
    removed.length === 0
      ? []
      : await ctx.db.write
          .select({ image: sql<RowImage>`to_jsonb(${labels})` })
          .from(labels)
          .where(inArray(labels.id, removed))
  return [...now.filter(({ id }) => !added.includes(Number(id))), ...removedLabels.map(({ image }) => image)]
}

/** The fields with people, and the columns with their ids. */
const PEOPLE = [
  ['assignees', 'assignee_ids'],
  ['reviewers', 'reviewer_ids'],
] as const

const firstAssignee = (row: RowImage): number | null => idsIn(row['assignee_ids'])[0] ?? null

type Change = { previous: unknown; current: unknown }

/** The attributes that changed, with their values before and after. */
async function changesOf(data: PayloadData, kind: IssuableKind, changed: IssuableChange, labelRows: RowImage[]): Promise<Record<string, Change>> {
  const { before, after, added, removed } = changed
  if (!before) return {}
  const changes: Record<string, Change> = {}
  for (const name of WATCHED_COLUMNS[kind]) if (before[name] !== after[name]) changes[name] = { previous: before[name], current: after[name] }
  if (before['updated_at'] !== after['updated_at'])
    changes['updated_at'] = { previous: stamp(before['updated_at']), current: stamp(after['updated_at']) }
  const [formerly, now] = [firstAssignee(before), firstAssignee(after)]
  if (formerly !== now) changes['assignee_id'] = { previous: formerly, current: now }
  for (const [name, column] of PEOPLE) {
    const [previous, current] = [idsIn(before[column]), idsIn(after[column])]
    if (String(previous) !== String(current)) changes[name] = { previous: await usersById(data, previous), current: await usersById(data, current) }
  }
  if (added.length + removed.length > 0)
    changes['labels'] = { previous: (await labelsBefore(data, labelRows, changed)).map(labelObject), current: labelRows.map(labelObject) }
  return changes
}

function actionOf({ before, after, approval }: IssuableChange): string {
  if (approval) return approval
  if (!before) return 'open'
  if (before['state'] === after['state']) return 'update'
  return { opened: 'reopen', closed: 'close', merged: 'merge' }[String(after['state'])] ?? 'update'
}

const timesOf = (row: RowImage) => ({
  time_estimate: row['time_estimate'],
  total_time_spent: row['total_time_spent'],
  human_time_estimate: humanDuration(Number(row['time_estimate'])),
  human_total_time_spent: humanDuration(Number(row['total_time_spent'])),
})

/** Attributes about the last edit, as far as this change shows them: earlier edits are not stored. */
const editColumns = (changes: Record<string, Change>, after: RowImage, actor: number | null) => {
  const texts = changes['title'] || changes['description']
  return {
    updated_by_id: Object.keys(changes).length > 0 ? actor : null,
    last_edited_at: texts ? stamp(after['updated_at']) : null,
    last_edited_by_id: texts ? actor : null,
  }
}

/** The attributes of an issue (HK-17). */
export const issueAttributes = ({ ctx: { links } }: PayloadData, { fullPath }: ProjectData, issue: RowImage, labelRows: RowImage[]) => ({
  id: issue['id'],
  iid: issue['iid'],
  title: issue['title'],
  description: issue['description'],
  state: issue['state'],
  author_id: issue['author_id'],
  assignee_ids: idsIn(issue['assignee_ids']),
  assignee_id: firstAssignee(issue),
  milestone_id: issue['milestone_id'],
  project_id: issue['project_id'],
  confidential: issue['confidential'],
  due_date: issue['due_date'],
  created_at: stamp(issue['created_at']),
  updated_at: stamp(issue['updated_at']),
  closed_at: stamp(issue['closed_at']),
  updated_by_id: null,
  last_edited_at: null,
  last_edited_by_id: null,
  moved_to_id: issue['moved_to_id'],
  ...timesOf(issue),
  url: `${links.project(fullPath)}/issues/${issue['iid']}`,
  labels: labelRows.map(labelObject),
})

/** The attributes of a merge request (HK-18). */
export async function requestAttributes(data: PayloadData, target: ProjectData, request: RowImage) {
  const source = request['source_project_id'] === request['project_id'] ? target : await data.project(request['source_project_id'])
  const head = request['sha'] ? await repositoryIn(data, target).commit(String(request['sha'])) : null
  return {
    id: request['id'],
    iid: request['iid'],
    title: request['title'],
    description: request['description'],
    state: request['state'],
    source_branch: request['source_branch'],
    target_branch: request['target_branch'],
    source_project_id: request['original_source_project_id'],
    target_project_id: request['project_id'],
    author_id: request['author_id'],
    assignee_id: firstAssignee(request),
    assignee_ids: idsIn(request['assignee_ids']),
    reviewer_ids: idsIn(request['reviewer_ids']),
    milestone_id: request['milestone_id'],
    merge_status: request['merge_status'],
    merge_commit_sha: request['merge_commit_sha'],
    merge_error: request['merge_error'],
    merge_params: {
      force_remove_source_branch: request['force_remove_source_branch'],
      should_remove_source_branch: request['should_remove_source_branch'],
    },
    merge_user_id: request['merged_by_id'] ?? request['merge_user_id'],
    merge_when_pipeline_succeeds: request['merge_when_pipeline_succeeds'],
    head_pipeline_id: request['head_pipeline_id'],
    work_in_progress: isDraft(String(request['title'])),
    created_at: stamp(request['created_at']),
    updated_at: stamp(request['updated_at']),
    updated_by_id: null,
    last_edited_at: null,
    last_edited_by_id: null,
    ...timesOf(request),
    url: `${data.ctx.links.project(target.fullPath)}/merge_requests/${request['iid']}`,
    source: source && projectObject(data, source),
    target: projectObject(data, target),
    last_commit: head && commitObject(data, target, head),
    assignee: await userById(data, firstAssignee(request)),
  }
}

/** The attributes of an issue or merge request, and its current labels. */
export async function attributesOf(data: PayloadData, project: ProjectData, kind: IssuableKind, row: RowImage) {
  const labelRows = await labelsOf(data, kind, Number(row['id']))
  return { labelRows, attributes: kind === 'issues' ? issueAttributes(data, project, row, labelRows) : await requestAttributes(data, project, row) }
}

/** The events of the issues or merge requests that one transaction changed (HK-17, HK-18). */
export async function issuablesOf(data: PayloadData, kind: IssuableKind, changes: readonly HookChange[]): Promise<WebhookEvent[]> {
  const events: WebhookEvent[] = []
  for (const changed of await groupByIssuable(data, kind, changes)) {
    const project = await data.project(changed.after['project_id'])
    if (project) events.push(...(await issuableOf(data, kind, project, changed)))
  }
  return kind === 'issues' ? events : [...events, ...(await approvalsOf(data, changes))]
}

/** The events of approvals, each its own (MR-110). */
async function approvalsOf(data: PayloadData, changes: readonly HookChange[]): Promise<WebhookEvent[]> {
  const events: WebhookEvent[] = []
  for (const { source, operation, before, after, actor_id: actor } of changes) {
    if (source !== 'merge_request_approvals') continue
    const request = await rowOf(data, 'merge_requests', (after ?? before)?.['merge_request_id'])
    const project = request && (await data.project(request['project_id']))
    if (!project) continue
    const approval = operation === 'INSERT' ? 'approved' : 'unapproved'
    const changed: IssuableChange = { id: Number(request['id']), actor, before: request, after: request, added: [], removed: [], approval }
    events.push(...(await issuableOf(data, 'merge_requests', project, changed)))
  }
  return events
}

async function issuableOf(data: PayloadData, kind: IssuableKind, project: ProjectData, changed: IssuableChange): Promise<WebhookEvent[]> {
  const { before, after, actor } = changed
  const { labelRows, attributes } = await attributesOf(data, project, kind, after)
  const changes = await changesOf(data, kind, changed, labelRows)
  const moved = kind === 'merge_requests' && before !== null && before['sha'] !== null && before['sha'] !== after['sha']
  if (before && !moved && !changed.approval && Object.keys(changes).every((name) => name === 'updated_at')) return []
  const confidential = kind === 'issues' && after['confidential'] === true
  const assignees = await usersById(data, idsIn(after['assignee_ids']))
  const reviewers = await usersById(data, idsIn(after['reviewer_ids']))
  const type = kind === 'issues' ? 'issue' : 'merge_request'
  const body = {
    object_kind: type,
    event_type: confidential ? 'confidential_issue' : type,
    user: await userById(data, actor),
    project: projectObject(data, project),
    object_attributes: { ...attributes, ...editColumns(changes, after, actor), action: actionOf(changed), ...(moved && { oldrev: before['sha'] }) },
    labels: labelRows.map(labelObject),
    ...(assignees.length > 0 && { assignees }),
    ...(reviewers.length > 0 && { reviewers }),
    changes,
    repository: repositoryObject(data, project),
  }
  if (kind === 'merge_requests') return [{ listens: 'merge_requests', event: 'Merge Request Hook', project: project.id, body }]
  return [
    {
      listens: confidential ? 'confidential_issues' : 'issues',
      event: confidential ? 'Confidential Issue Hook' : 'Issue Hook',
      project: project.id,
      body,
    },
  ]
}

/** The event of an existing row as if it were new, for tests of hooks (HK-5). */
export const sampleOf = (data: PayloadData, kind: IssuableKind, project: ProjectData, row: RowImage, actor: number): Promise<WebhookEvent[]> =>
  issuableOf(data, kind, project, { id: Number(row['id']), actor, before: null, after: row, added: [], removed: [] })
