import { type SQL, sql } from 'drizzle-orm'
import type { Transaction } from '../../db/client.js'
import {
  boardLists,
  boards,
  issueLabels,
  issues,
  labels,
  mergeRequestLabels,
  mergeRequests,
  milestones,
  namespaceAncestry,
  releaseMilestones,
  releases,
  resourceEvents,
} from '../../db/schema/index.js'
import { nextIid } from '../core/iids.js'

/** Ids of a label or milestone of the old group and of its replacement in the new namespace. */
interface Replacement {
  old: string
  replacement: string
}

/**
 * Replaces labels and milestones of the old group on the project's issues, merge requests, releases and boards by those
 * with the same title in the new namespace; missing ones are created in the project (GR-43). No reference to a group that
 * the project has left remains (SEC-31).
 */
export async function transferLabels(tx: Transaction, projectId: number, namespaceId: number, now: Date): Promise<void> {
  await replaceLabels(tx, projectId, namespaceId, now)
  await replaceMilestones(tx, projectId, namespaceId, now)
  await replaceInEvents(tx, projectId, namespaceId)
}

/** Events are about the label or milestone of the same title from now on; without one, the label is null as if it were deleted. */
async function replaceInEvents(tx: Transaction, projectId: number, namespaceId: number) {
  const ancestors = sql`(select a.ancestor_id from ${namespaceAncestry} a where a.descendant_id = ${namespaceId})`
  const own = (at: SQL) => sql`(select t.id from ${at} t where t.title = o.title and (t.project_id = ${projectId} or t.namespace_id`
  await tx.execute(sql`update ${resourceEvents} e set label_id = ${own(sql`${labels}`)} in ${ancestors}) order by t.project_id nulls last limit 1)
    from ${labels} o where e.project_id = ${projectId} and o.id = e.label_id and o.namespace_id is not null and o.namespace_id not in ${ancestors}`)
  await tx.execute(sql`update ${resourceEvents} e set milestone_id = ${own(sql`${milestones}`)} = ${namespaceId}) order by t.project_id nulls last limit 1)
    from ${milestones} o where e.project_id = ${projectId} and o.id = e.milestone_id and o.namespace_id is not null and o.namespace_id <> ${namespaceId}`)
}

const listsOf = (projectId: number) => sql`select b.id from ${boards} b where b.project_id = ${projectId}`

/** Gives lists of boards the replacement, unless their board has a list of it already. */
async function replaceLists(tx: Transaction, projectId: number, column: 'label_id' | 'milestone_id', replacements: Replacement[]) {
  const of = sql.identifier(column)
  await tx.execute(sql`update ${boardLists} h set ${of} = p.replacement from ${replacementList(replacements)}
    where h.${of} = p.old and h.board_id in (${listsOf(projectId)})
      and not exists (select from ${boardLists} o where o.board_id = h.board_id and o.${of} = p.replacement)`)
  await tx.execute(
    sql`delete from ${boardLists} h using ${replacementList(replacements)} where h.${of} = p.old and h.board_id in (${listsOf(projectId)})`,
  )
}

const LABEL_TABLES = [
  { table: issueLabels, owner: 'issue_id' },
  { table: mergeRequestLabels, owner: 'merge_request_id' },
] as const

async function replaceLabels(tx: Transaction, projectId: number, namespaceId: number, now: Date) {
  const ancestors = sql`(select a.ancestor_id from ${namespaceAncestry} a where a.descendant_id = ${namespaceId})`
  const orphaned = sql`(select l.* from ${labels} l where l.namespace_id is not null and l.namespace_id not in ${ancestors} and l.id in (
    ${sql.join(
      LABEL_TABLES.map(({ table }) => sql`select w.label_id from ${table} w where w.project_id = ${projectId}`),
      sql` union `,
    )} union select h.label_id from ${boardLists} h where h.board_id in (${listsOf(projectId)})))`
  await tx.execute(sql`insert into ${labels} (project_id, title, color, description, description_html, created_at, updated_at)
    select distinct on (o.title) ${projectId}::bigint, o.title, o.color, o.description, o.description_html, ${now.toISOString()}::timestamptz, ${now.toISOString()}::timestamptz
    from ${orphaned} o where not exists (
      select 1 from ${labels} t where t.title = o.title and (t.project_id = ${projectId} or t.namespace_id in ${ancestors})) order by o.title, o.id`)
  const replacements = await findReplacements(
    tx,
    sql`select o.id as old, (select t.id from ${labels} t where t.title = o.title and (t.project_id = ${projectId} or t.namespace_id in ${ancestors})
      order by t.project_id nulls last limit 1) as replacement from ${orphaned} o`,
  )
  if (replacements.length === 0) return
  await replaceLists(tx, projectId, 'label_id', replacements)
  for (const { table, owner } of LABEL_TABLES) {
    const name = sql.identifier(owner)
    await tx.execute(sql`insert into ${table} (project_id, ${name}, label_id)
      select w.project_id, w.${name}, p.replacement from ${table} w join ${replacementList(replacements)} on p.old = w.label_id where w.project_id = ${projectId} on conflict do nothing`)
    await tx.execute(sql`delete from ${table} w using ${replacementList(replacements)} where w.label_id = p.old and w.project_id = ${projectId}`)
  }
}

async function replaceMilestones(tx: Transaction, projectId: number, namespaceId: number, now: Date) {
  const MILESTONE_TABLES = [issues, mergeRequests] as const
  const orphaned = sql`(select m.* from ${milestones} m where m.namespace_id is not null and m.namespace_id <> ${namespaceId} and m.id in (
    ${sql.join(
      MILESTONE_TABLES.map((table) => sql`select h.milestone_id from ${table} h where h.project_id = ${projectId}`),
      sql` union `,
    )} union select h.milestone_id from ${releaseMilestones} h join ${releases} r on r.id = h.release_id where r.project_id = ${projectId}
    union select h.milestone_id from ${boardLists} h where h.board_id in (${listsOf(projectId)})))`
  // a group milestone applies to projects directly in the group (MI-8)
  const inScope = sql`(t.project_id = ${projectId} or t.namespace_id = ${namespaceId})`
  const { rows: missing } = await tx.execute<{ id: string }>(
    sql`select o.id from ${orphaned} o where not exists (select 1 from ${milestones} t where t.title = o.title and ${inScope}) order by o.id`,
  )
  for (const { id } of missing) {
    const iid = await nextIid(tx, projectId, 'milestone')
    await tx.execute(sql`insert into ${milestones} (project_id, iid, title, description, state, start_date, due_date, created_at, updated_at)
      select ${projectId}::bigint, ${iid}, title, description, state, start_date, due_date, created_at, ${now.toISOString()}::timestamptz from ${milestones} where id = ${id}`)
  }
  const replacements = await findReplacements(
    tx,
    sql`select o.id as old, (select t.id from ${milestones} t where t.title = o.title and ${inScope} order by t.project_id nulls last limit 1) as replacement from ${orphaned} o`,
  )
  if (replacements.length === 0) return
  await replaceLists(tx, projectId, 'milestone_id', replacements)
  await tx.execute(sql`insert into ${releaseMilestones} (release_id, milestone_id) select h.release_id, p.replacement from ${releaseMilestones} h
    join ${replacementList(replacements)} on p.old = h.milestone_id join ${releases} r on r.id = h.release_id where r.project_id = ${projectId} on conflict do nothing`)
  await tx.execute(sql`delete from ${releaseMilestones} h using ${replacementList(replacements)}, ${releases} r
    where h.milestone_id = p.old and r.id = h.release_id and r.project_id = ${projectId}`)
  for (const table of MILESTONE_TABLES)
    await tx.execute(
      sql`update ${table} h set milestone_id = p.replacement from ${replacementList(replacements)} where h.milestone_id = p.old and h.project_id = ${projectId}`,
    )
}

const findReplacements = async (tx: Transaction, query: SQL): Promise<Replacement[]> =>
  (await tx.execute<{ old: string; replacement: string }>(query)).rows

const replacementList = (replacements: Replacement[]) =>
  sql`unnest(${sql.param(replacements.map(({ old }) => old))}::bigint[], ${sql.param(replacements.map(({ replacement }) => replacement))}::bigint[]) as p(old, replacement)`
