import { eq, type SQL, sql } from 'drizzle-orm'
import type { Transaction } from '../../db/client.js'
import { issues, mergeRequests, notes } from '../../db/schema/index.js'
import { mapConcurrently } from '../../lib/async/concurrency.js'
import { lengthOf } from '../../lib/path.js'
import { recountThreads } from '../notes/noteables.js'
import { bring, keyIn, readAll } from './bring.js'
import { keepMentions } from './mentions.js'
import { maybePersonId, personId } from './people.js'
import type { Run } from './run.js'
import type { Scope } from './source/dialect.js'
import type { NoteRecord } from './source/records.js'

/** Where notes are brought to. */
export interface Notes {
  kind: 'issue' | 'merge request' | 'snippet'
  type: 'Issue' | 'MergeRequest' | 'Snippet'
  /** Of the project. */
  scope: Scope
  projectId: number
  /** Of some users, those who see the thing. */
  readers(who: SQL, tx: Transaction, id: number): Promise<number[]>
}

/** Things whose notes are asked for at a time. */
const AT_ONCE = 4

interface Noted {
  key: string
  iid?: number
  updated_at: Date | null
}

/** Brings the notes on things that have come, unless that has been done since they changed. */
export async function bringNotesOfPage(run: Run, where: Notes, records: Noted[]): Promise<void> {
  const { kind, scope } = where
  if (run.source.dialect.lists[`${kind} note`] === undefined) return
  const here = await run.ledger.known(
    kind,
    records.map(({ key }) => keyIn(kind, scope, key)),
  )
  const mark = ({ key, updated_at }: Noted) => `${keyIn(kind, scope, key)} ${updated_at?.toISOString() ?? ''}`
  const done = await run.ledger.known(`-${kind} notes`, records.map(mark))
  const due = records.filter((record) => here.has(keyIn(kind, scope, record.key)) && !done.has(mark(record)))
  await mapConcurrently(AT_ONCE, due, async (record) => {
    const thing = { id: here.get(keyIn(kind, scope, record.key)) ?? 0, mark: mark(record) }
    // snippets have no number of their own
    await bringNotes(run, where, { ...scope, iid: record.iid ?? Number(record.key) }, thing)
  })
}

/** All notes on one thing come in one transaction. */
async function bringNotes(run: Run, where: Notes, scope: Scope, thing: { id: number; mark: string }): Promise<void> {
  const kind = `${where.kind} note` as const
  const all: NoteRecord[] = []
  if (!(await readAll(run, kind, scope, async (records) => void all.push(...records)))) return
  const keyOf = ({ key }: NoteRecord) => keyIn(kind, scope, key)
  const known = await run.ledger.known(kind, all.map(keyOf))
  const fresh = all.filter((note) => !known.has(keyOf(note)))
  if (run.ledger.dry) return fresh.forEach((note) => void run.ledger.counted(kind, keyOf(note)))
  const rows: { key: string; row: typeof notes.$inferInsert }[] = []
  for (const note of fresh) {
    const fault = note.body.trim() === '' ? 'is empty' : lengthOf(note.body) > MAX_NOTE ? 'is too long' : null
    if (fault === null) rows.push({ key: keyOf(note), row: await rowOf(run, where, thing.id, note) })
    else await run.ledger.leftOut(kind, keyOf(note), `${scope.path} #${scope.iid}`, fault)
  }
  const item = { kind: `-${where.kind} notes`, key: thing.mark, name: `notes on ${scope.path} #${scope.iid}` }
  await bring(run, item, async () => async (tx) => {
    for (const { key, row } of rows) await insertNote(run, tx, where, { key, kind, row })
    await recount(tx, where.type, thing.id)
    return null
  })
}

const MAX_NOTE = 1_000_000

async function rowOf(run: Run, { type: noteable_type, projectId }: Notes, id: number, note: NoteRecord): Promise<typeof notes.$inferInsert> {
  const { discussion, type, body, system, position } = note
  const created_at = note.created_at ?? run.ctx.now()
  return {
    ...{ project_id: projectId, noteable_type, noteable_id: id, author_id: await personId(run, note.author), note: body, system, type },
    ...(discussion !== null && { discussion_id: discussion }),
    position: position && { ...position, position_type: 'text' },
    resolved_at: note.resolved ? (note.resolved_at ?? created_at) : null,
    resolved_by_id: note.resolved ? await maybePersonId(run, note.resolved_by) : null,
    ...{ created_at, updated_at: note.updated_at ?? created_at },
  }
}

async function insertNote(
  run: Run,
  tx: Transaction,
  { type, readers }: Notes,
  { key, kind, row }: { key: string; kind: string; row: typeof notes.$inferInsert },
): Promise<void> {
  const [made] = await tx.insert(notes).values(row).returning({ id: notes.id })
  const { id } = made as { id: number }
  await run.ledger.came(tx, kind, key, id)
  if (type === 'Snippet' || row.system) return
  const target = { type, id: row.noteable_id as number, project_id: row.project_id }
  await keepMentions(run.ctx, tx, { target, note_id: id, text: row.note }, (who) => readers(who, tx, target.id))
}

/** Counts the notes of people, and threads that are not resolved. */
async function recount(tx: Transaction, type: Notes['type'], id: number): Promise<void> {
  if (type === 'Snippet') return
  const table = type === 'Issue' ? issues : mergeRequests
  const count = sql`(select count(*) from ${notes} where ${notes.noteable_type} = ${type} and ${notes.noteable_id} = ${id}
    and ${notes.project_id} = ${table.project_id} and not ${notes.system})`
  await tx.update(table).set({ user_notes_count: count }).where(eq(table.id, id))
  if (type === 'MergeRequest') await tx.execute(recountThreads(sql`r.id = ${id}`))
}
