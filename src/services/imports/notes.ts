import { eq, type SQL, sql } from 'drizzle-orm'
import type { Transaction } from '../../db/client.js'
import { issues, mergeRequests, notes } from '../../db/schema/index.js'
import { mapConcurrently } from '../../lib/async/concurrency.js'
import { lengthOf } from '../../rules/path.js'
import { recountThreads } from '../notes/noteables.js'
import { importItem, ledgerKey, readList } from './items.js'
import { storeMentions } from './mentions.js'
import type { Run } from './run.js'
import type { Scope } from './source/dialect.js'
import type { NoteRecord } from './source/records.js'
import { maybePersonId, personId } from './users.js'

/** The kind of item that notes belong to, and its project. */
export interface NoteTarget {
  kind: 'issue' | 'merge request' | 'snippet'
  type: 'Issue' | 'MergeRequest' | 'Snippet'
  /** The project's scope. */
  scope: Scope
  projectId: number
  /** The ids of those users in `who` who can read the item. */
  readers(who: SQL, tx: Transaction, id: number): Promise<number[]>
}

/** Items whose notes are requested at the same time. */
const MAX_CONCURRENT_NOTEABLES = 4

interface NoteableRecord {
  key: string
  iid?: number
  updated_at: Date | null
}

/** Imports the notes on imported items, unless this was done since the item's last update. */
export async function importNotesOfPage(run: Run, where: NoteTarget, records: NoteableRecord[]): Promise<void> {
  const { kind, scope } = where
  if (run.source.dialect.lists[`${kind} note`] === undefined) return
  const here = await run.ledger.findImported(
    kind,
    records.map(({ key }) => ledgerKey(kind, scope, key)),
  )
  const mark = ({ key, updated_at }: NoteableRecord) => `${ledgerKey(kind, scope, key)} ${updated_at?.toISOString() ?? ''}`
  const done = await run.ledger.findImported(`-${kind} notes`, records.map(mark))
  const due = records.filter((record) => here.has(ledgerKey(kind, scope, record.key)) && !done.has(mark(record)))
  await mapConcurrently(MAX_CONCURRENT_NOTEABLES, due, async (record) => {
    const noteable = { id: here.get(ledgerKey(kind, scope, record.key)) ?? 0, mark: mark(record) }
    // snippets have no iid
    await importNotes(run, where, { ...scope, iid: record.iid ?? Number(record.key) }, noteable)
  })
}

/** Imports all notes on one item in one transaction. */
async function importNotes(run: Run, where: NoteTarget, scope: Scope, noteable: { id: number; mark: string }): Promise<void> {
  const kind = `${where.kind} note` as const
  const all: NoteRecord[] = []
  if (!(await readList(run, kind, scope, async (records) => void all.push(...records)))) return
  const keyOf = ({ key }: NoteRecord) => ledgerKey(kind, scope, key)
  const known = await run.ledger.findImported(kind, all.map(keyOf))
  const fresh = all.filter((note) => !known.has(keyOf(note)))
  if (run.ledger.dry) return fresh.forEach((note) => void run.ledger.countImported(kind, keyOf(note)))
  const rows: { key: string; row: typeof notes.$inferInsert }[] = []
  for (const note of fresh) {
    const fault = note.body.trim() === '' ? 'is empty' : lengthOf(note.body) > MAX_NOTE ? 'is too long' : null
    if (fault === null) rows.push({ key: keyOf(note), row: await rowOf(run, where, noteable.id, note) })
    else await run.ledger.reportLeftOut(kind, keyOf(note), `${scope.path} #${scope.iid}`, fault)
  }
  const item = { kind: `-${where.kind} notes`, key: noteable.mark, name: `notes on ${scope.path} #${scope.iid}` }
  await importItem(run, item, async () => async (tx) => {
    for (const { key, row } of rows) await insertNote(run, tx, where, { key, kind, row })
    await recount(tx, where.type, noteable.id)
    return null
  })
}

const MAX_NOTE = 1_000_000

async function rowOf(run: Run, { type: noteable_type, projectId }: NoteTarget, id: number, note: NoteRecord): Promise<typeof notes.$inferInsert> {
  const { discussion, type, body, system, position } = note
  const created_at = note.created_at ?? run.ctx.now()
  return {
    project_id: projectId,
    noteable_type,
    noteable_id: id,
    author_id: await personId(run, note.author),
    note: body,
    system,
    type,
    ...(discussion !== null && { discussion_id: discussion }),
    position: position && { ...position, position_type: 'text' },
    resolved_at: note.resolved ? (note.resolved_at ?? created_at) : null,
    resolved_by_id: note.resolved ? await maybePersonId(run, note.resolved_by) : null,
    created_at,
    updated_at: note.updated_at ?? created_at,
  }
}

async function insertNote(
  run: Run,
  tx: Transaction,
  { type, readers }: NoteTarget,
  { key, kind, row }: { key: string; kind: string; row: typeof notes.$inferInsert },
): Promise<void> {
  const [made] = await tx.insert(notes).values(row).returning({ id: notes.id })
  const { id } = made as { id: number }
  await run.ledger.recordImported(tx, kind, key, id)
  if (type === 'Snippet' || row.system) return
  const target = { type, id: row.noteable_id as number, project_id: row.project_id }
  await storeMentions(run.ctx, tx, { target, note_id: id, text: row.note }, (who) => readers(who, tx, target.id))
}

/** Updates the count of non-system notes, and that of unresolved threads. */
async function recount(tx: Transaction, type: NoteTarget['type'], id: number): Promise<void> {
  if (type === 'Snippet') return
  const table = type === 'Issue' ? issues : mergeRequests
  const count = sql`(select count(*) from ${notes} where ${notes.noteable_type} = ${type} and ${notes.noteable_id} = ${id}
    and ${notes.project_id} = ${table.project_id} and not ${notes.system})`
  await tx.update(table).set({ user_notes_count: count }).where(eq(table.id, id))
  if (type === 'MergeRequest') await tx.execute(recountThreads(sql`r.id = ${id}`))
}
