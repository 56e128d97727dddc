import { inArray, type SQL, sql } from 'drizzle-orm'
import type { ProjectSubject } from '../../access/rules.js'
import type { Transaction } from '../../db/client.js'
import { issueLabels, labels, mergeRequestLabels } from '../../db/schema/index.js'
import type { Target } from '../activity/subscriptions.js'
import { labelIdsOf, namesOf } from './labels.js'

/** The table that holds the labels of each kind of thing. */
const WORN = {
  Issue: { table: issueLabels, thing: sql.identifier(issueLabels.issue_id.name) },
  MergeRequest: { table: mergeRequestLabels, thing: sql.identifier(mergeRequestLabels.merge_request_id.name) },
}

export interface LabelChanges {
  /** All labels it is to have. */
  labels?: string[] | undefined
  add_labels?: string[] | undefined
  remove_labels?: string[] | undefined
}

const listOf = (ids: number[]): SQL =>
  sql.join(
    ids.map((id) => sql`${id}`),
    sql`, `,
  )

/** Assigns labels to a new thing. */
export async function assignLabels(tx: Pick<Transaction, 'execute'>, { type, id, project_id }: Target, labelIds: number[]): Promise<void> {
  if (labelIds.length === 0) return
  const { table, thing } = WORN[type]
  const rows = labelIds.map((label) => sql`(${project_id}::bigint, ${id}::bigint, ${label}::bigint)`)
  await tx.execute(sql`insert into ${table} (project_id, ${thing}, label_id) values ${sql.join(rows, sql`, `)}`)
}

/** Sets, adds and removes labels of a thing; returns what changed (IS-6, MR-45, X-4). */
export async function changeLabels(tx: Transaction, subject: ProjectSubject, target: Target, given: LabelChanges, now: Date): Promise<string[]> {
  const { labels: all, add_labels: add = [], remove_labels: remove = [] } = given
  if (all === undefined && add.length === 0 && remove.length === 0) return []
  const { table, thing } = WORN[target.type]
  const create = subject.can('manage_label')
  const { rows } = await tx.execute<{ id: string; title: string }>(
    sql`select l.id, l.title from ${table} w join ${labels} l on l.id = w.label_id where w.${thing} = ${target.id}`,
  )
  const current = rows.map(({ id, title }) => ({ id: Number(id), title }))
  const wanted = new Set(all === undefined ? current.map(({ id }) => id) : await labelIdsOf(tx, subject, all, create, now))
  for (const id of await labelIdsOf(tx, subject, add, create, now)) wanted.add(id)
  const dropped = namesOf(remove)
  for (const { id, title } of current) if (dropped.includes(title)) wanted.delete(id)
  const gone = current.filter(({ id }) => !wanted.has(id))
  const known = new Set(current.map(({ id }) => id))
  const come = [...wanted].filter((id) => !known.has(id))
  if (gone.length > 0) await tx.execute(sql`delete from ${table} where ${thing} = ${target.id} and label_id in (${listOf(gone.map(({ id }) => id))})`)
  await assignLabels(tx, target, come)
  const titles = come.length > 0 ? await tx.select({ title: labels.title }).from(labels).where(inArray(labels.id, come)).orderBy(sql`title`) : []
  const quoted = (list: { title: string }[]) => list.map(({ title }) => `~"${title}"`).join(' ')
  return [...(come.length > 0 ? [`added ${quoted(titles)}`] : []), ...(gone.length > 0 ? [`removed ${quoted(gone)}`] : [])]
}
