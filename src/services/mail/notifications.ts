import type { Context } from '../../context.js'
import type { RowImage } from '../../db/schema/index.js'
import type { Verdict } from '../../rules/reviews/states.js'
import { mentionedNames } from '../activity/mentions.js'
import { without } from '../issuables/writing.js'
import { type HookChange, idsIn } from '../outbox/changes.js'
import type { Notification } from './notification.js'

/** A notification, and the names that an edited text mentions for the first time. */
export interface NotificationWithMentions {
  notification: Notification
  newMentions: string[]
}

const KINDS = {
  issues: { target: 'Issue', noun: 'issue', labels: 'issue_labels', key: 'issue_id' },
  merge_requests: { target: 'MergeRequest', noun: 'merge_request', labels: 'merge_request_labels', key: 'merge_request_id' },
} as const
type Kind = keyof typeof KINDS

/** The notifications of the changes of one transaction (ML-7). */
export async function notificationsOf(ctx: Context, changes: readonly HookChange[]): Promise<NotificationWithMentions[]> {
  const all: NotificationWithMentions[] = []
  for (const kind of ['issues', 'merge_requests'] as const) all.push(...(await issuableNotifications(ctx, kind, changes)))
  const reviewed = new Set(changes.filter(({ source }) => source === 'merge_request_reviews').map(({ after }) => idOf(after, 'merge_request_id')))
  const made = new Set(changes.filter(isNew).map(({ source, after }) => `${source} ${after?.['id']}`))
  for (const change of changes) {
    // a review says itself that it approves
    if (change.source === 'merge_request_approvals' && reviewed.has(idOf(change.after ?? change.before, 'merge_request_id'))) continue
    const notification = notificationOfRow(change)
    // notes that are copied with a new issue, for example when it is moved, are not notified
    const onNew =
      notification && (made.has(`issues ${notification.id}`) ? 'Issue' : made.has(`merge_requests ${notification.id}`) ? 'MergeRequest' : null)
    if (notification && onNew !== notification.target) all.push({ notification, newMentions: [] })
  }
  return all
}

const isNew = ({ operation }: HookChange) => operation === 'INSERT'
const idOf = (row: RowImage | null, name = 'id') => (row?.[name] === null || row?.[name] === undefined ? null : Number(row[name]))
const textOf = (row: RowImage) => `${row['title']}\n\n${row['description']}`

const NONE = { sha: null, note: null, people: [], labels: [], verdict: 'commented' as const, notes: [] }

/** The notification of a note, review, approval, pipeline or release, which needs no other rows. */
function notificationOfRow({ source, operation, before, after, actor_id }: HookChange): Notification | null {
  if (source === 'merge_request_approvals') {
    const row = after ?? before
    const common = { ...NONE, project: Number(row?.['project_id']), target: 'MergeRequest' as const, id: idOf(row, 'merge_request_id') }
    return { ...common, event: operation === 'INSERT' ? 'approved' : 'unapproved', actor: actor_id }
  }
  if (!after) return null
  if (source === 'merge_request_reviews') {
    const common = { ...NONE, project: Number(after['project_id']), target: 'MergeRequest' as const, id: idOf(after, 'merge_request_id') }
    const said = { verdict: after['verdict'] as Verdict, notes: (after['note_ids'] as unknown[]).map(Number) }
    return { ...common, ...said, event: 'review', actor: actor_id ?? idOf(after, 'user_id') }
  }
  const common = { ...NONE, project: Number(after['project_id']), id: idOf(after) }
  // the mail of a review has its notes (ML-600)
  if (source === 'notes' && operation === 'INSERT' && after['in_review'] !== true) {
    const target = after['noteable_type'] as 'Issue' | 'MergeRequest' | 'Commit' | 'Snippet'
    const sha = target === 'Commit' ? String(after['commit_id']) : null
    const about = { target, id: idOf(after, 'noteable_id'), sha, note: idOf(after) }
    return { ...common, ...about, event: 'new_note', actor: actor_id ?? idOf(after, 'author_id') }
  }
  if (source === 'pipelines')
    return { ...common, event: after['status'] === 'failed' ? 'failed_pipeline' : 'success_pipeline', actor: null, target: 'Pipeline' }
  if (source === 'releases' && operation === 'INSERT')
    return { ...common, event: 'new_release', actor: actor_id ?? idOf(after, 'author_id'), target: 'Release' }
  return null
}

/** Groups changes by the id in a column. */
function groupById(changes: HookChange[], column: string): Map<number | null, HookChange[]> {
  const things = new Map<number | null, HookChange[]>()
  for (const change of changes) {
    const id = idOf(change.after, column)
    things.set(id, [...(things.get(id) ?? []), change])
  }
  return things
}

/** The notifications of issues or merge requests. */
async function issuableNotifications(ctx: Context, kind: Kind, changes: readonly HookChange[]): Promise<NotificationWithMentions[]> {
  const { labels, key } = KINDS[kind]
  const all: NotificationWithMentions[] = []
  const rows = groupById(
    changes.filter(({ source }) => source === kind),
    'id',
  )
  for (const own of rows.values()) all.push(...(await notificationsOfIssuable(ctx, kind, own)))
  const put = changes.filter(({ source, operation }) => source === labels && operation === 'INSERT')
  for (const [id, added] of groupById(put, key)) {
    const [first] = added
    if (!first || rows.get(id)?.some(isNew)) continue
    const notification = {
      ...NONE,
      event: 'relabel' as const,
      project: Number(first.project_id),
      actor: first.actor_id,
      target: KINDS[kind].target,
      id,
    }
    all.push({ notification: { ...notification, labels: added.map(({ after }) => Number(after?.['label_id'])) }, newMentions: [] })
  }
  return all
}

/** The notifications of one issue or merge request, from its changes in order. */
async function notificationsOfIssuable(ctx: Context, kind: Kind, own: HookChange[]): Promise<NotificationWithMentions[]> {
  const { target, noun } = KINDS[kind]
  const after = own.at(-1)?.after
  if (!after) return []
  const actor = own.find(({ actor_id }) => actor_id !== null)?.actor_id ?? idOf(after, 'author_id')
  const common = { ...NONE, project: Number(after['project_id']), actor, target, id: idOf(after) }
  const notification = (event: Notification['event'], more: Partial<Notification> = {}, newMentions: string[] = []): NotificationWithMentions => ({
    notification: { ...common, event, ...more },
    newMentions,
  })
  const before = own[0]?.before
  if (own.some(isNew) || !before) return [notification(`new_${noun}`)]
  const all: NotificationWithMentions[] = []
  const state = `${before['state']} ${after['state']}`
  if (state === 'opened closed') all.push(notification(`close_${noun}`))
  if (state === 'closed opened') all.push(notification(`reopen_${noun}`))
  if (state !== 'merged merged' && state.endsWith(' merged')) all.push(notification('merge_merge_request'))
  const assigned = changedPeople(before, after, 'assignee_ids')
  if (assigned.length > 0) all.push(notification(`reassign_${noun}`, { people: assigned }))
  const asked = kind === 'merge_requests' ? changedPeople(before, after, 'reviewer_ids') : []
  if (asked.length > 0) all.push(notification('change_reviewer_merge_request', { people: asked }))
  const newMentions = textOf(before) === textOf(after) ? [] : await newlyMentioned(ctx, textOf(before), textOf(after))
  if (newMentions.length > 0) all.push(notification('mention', {}, newMentions))
  return all
}

/** Who is among the people of a column before or after a change, and not both. */
function changedPeople(before: RowImage, after: RowImage, column: 'assignee_ids' | 'reviewer_ids'): number[] {
  const [former, current] = [idsIn(before[column]), idsIn(after[column])]
  return [...without(current, former), ...without(former, current)]
}

/** The names that an edited text mentions and the former text did not. */
async function newlyMentioned(ctx: Pick<Context, 'cpu'>, before: string, after: string): Promise<string[]> {
  const former = new Set((await mentionedNames(ctx.cpu.slices, before)).all)
  return (await mentionedNames(ctx.cpu.slices, after)).all.filter((name) => !former.has(name))
}
