import { inArray, type SQL, sql } from 'drizzle-orm'
import type { ProjectSubject } from '../../access/rules.js'
import type { Transaction } from '../../db/client.js'
import { issueLabels, labels, mergeRequestLabels } from '../../db/schema/index.js'
import type { Target } from '../activity/subscriptions.js'
import { labelIdsOf, splitTitles } from './labels.js'
import { labelEvents, recordResourceEvents } from './resource-events.js'

/** The join table of labels for each kind of issuable, and its column with the issuable's id. */
const LABEL_TABLES = {
  Issue: { table: issueLabels, ownerColumn: sql.identifier(issueLabels.issue_id.name) },
  MergeRequest: { table: mergeRequestLabels, ownerColumn: sql.identifier(mergeRequestLabels.merge_request_id.name) },
}

export interface LabelChanges {
  /** The complete new list of labels. */
  labels?: string[] | undefined
  add_labels?: string[] | undefined
  remove_labels?: string[] | undefined
}

const commaList = (ids: number[]): SQL =>
  sql.join(
    ids.map((id) => sql`${id}`),
    sql`, `,
  )

/** Assigns labels to a new issue or merge request. */
export async function assignLabels(tx: Pick<Transaction, 'execute'>, { type, id, project_id }: Target, labelIds: number[]): Promise<void> {
  if (labelIds.length === 0) return
  const { table, ownerColumn } = LABEL_TABLES[type]
  const rows = labelIds.map((label) => sql`(${project_id}::bigint, ${id}::bigint, ${label}::bigint)`)
  await tx.execute(sql`insert into ${table} (project_id, ${ownerColumn}, label_id) values ${sql.join(rows, sql`, `)}`)
}

/** Sets, adds and removes labels of an issue or merge request, with their events; returns the texts of system notes (IS-6, MR-45, X-4). */
export async function changeLabels(
  tx: Transaction,
  subject: ProjectSubject,
  target: Target,
  given: LabelChanges,
  { by, now }: { by: number; now: Date },
): Promise<string[]> {
  const { labels: all, add_labels: add = [], remove_labels: remove = [] } = given
  if (all === undefined && add.length === 0 && remove.length === 0) return []
  const { table, ownerColumn } = LABEL_TABLES[target.type]
  const create = subject.can('manage_label')
  const { rows } = await tx.execute<{ id: string; title: string }>(
    sql`select l.id, l.title from ${table} w join ${labels} l on l.id = w.label_id where w.${ownerColumn} = ${target.id}`,
  )
  const current = rows.map(({ id, title }) => ({ id: Number(id), title }))
  const wanted = new Set(all === undefined ? current.map(({ id }) => id) : await labelIdsOf(tx, subject, all, create, now))
  for (const id of await labelIdsOf(tx, subject, add, create, now)) wanted.add(id)
  const removedTitles = splitTitles(remove)
  for (const { id, title } of current) if (removedTitles.includes(title)) wanted.delete(id)
  const removed = current.filter(({ id }) => !wanted.has(id))
  const currentIds = new Set(current.map(({ id }) => id))
  const added = [...wanted].filter((id) => !currentIds.has(id))
  if (removed.length > 0)
    await tx.execute(sql`delete from ${table} where ${ownerColumn} = ${target.id} and label_id in (${commaList(removed.map(({ id }) => id))})`)
  await assignLabels(tx, target, added)
  const events = labelEvents(
    added,
    removed.map(({ id }) => id),
  )
  await recordResourceEvents(tx, target, by, events, now)
  const titles = added.length > 0 ? await tx.select({ title: labels.title }).from(labels).where(inArray(labels.id, added)).orderBy(sql`title`) : []
  const quoted = (list: { title: string }[]) => list.map(({ title }) => `~"${title}"`).join(' ')
  return [...(added.length > 0 ? [`added ${quoted(titles)}`] : []), ...(removed.length > 0 ? [`removed ${quoted(removed)}`] : [])]
}
