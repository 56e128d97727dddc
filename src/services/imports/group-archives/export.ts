import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { and, asc, eq, gt, inArray, isNull, type SQL, sql } from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'
import { z } from 'zod'
import type { SignedIn } from '../../../access/actor.js'
import type { GroupSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { badges, boardLists, boards, labels, milestones, namespaceAncestry, namespaces } from '../../../db/schema/index.js'
import { enqueue } from '../../../jobs/enqueue.js'
import { defineJob } from '../../../jobs/kinds.js'
import { BATCH, batchesOf, inBatches } from '../../../lib/async/in-batches.js'
import { syncDirectory } from '../../../lib/files/durable.js'
import { groupedBy } from '../../../lib/grouped-by.js'
import { visibilityName } from '../../../rules/visibility.js'
import { audit } from '../../core/audit.js'
import { folderOf, openArchive } from '../../projects/archives/export.js'
import { entriesOf, writeTar } from '../../projects/archives/tar.js'
import { ARCHIVED_SETTINGS, FORMAT, type Line } from './lines.js'

const DEADLINE_MS = 3_600_000

const nameOf = (id: number) => `group-${id}`

/** Makes an archive of the group in the background; a call while one is made changes nothing (EX-68). */
export async function startGroupExport(ctx: Context, caller: SignedIn, { group }: GroupSubject): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    await audit(ctx, tx, { action: 'group_exported', target: { type: 'group', id: group.id, name: group.full_path } })
    await enqueue(tx, exportGroup, { group: group.id }, { key: String(group.id), lane: `exports of user ${caller.user.id}` })
  })
}

/** The archive of a group for a download; 404 without one (EX-68). */
export const openGroupExport = (ctx: Context, { group }: GroupSubject) => openArchive(ctx, nameOf(group.id), group.full_path)

export const exportGroup = defineJob({
  kind: 'export of a group',
  input: z.object({ group: z.int() }),
  run: (ctx: Context, { group }, { signal }) => makeExport(ctx, group, AbortSignal.any([ctx.process.stopping, signal])),
  concurrency: 1,
  deadline: DEADLINE_MS,
})

async function makeExport(ctx: Context, id: number, signal: AbortSignal): Promise<void> {
  const folder = folderOf(ctx)
  const work = join(folder, `.${nameOf(id)}`)
  // an attempt that was killed has left it
  await rm(work, { recursive: true, force: true })
  await mkdir(work, { recursive: true, mode: 0o700 })
  try {
    await ctx.db.transaction(async (tx) => {
      await tx.execute(sql`set transaction isolation level repeatable read, read only`)
      await writeFile(join(work, 'group.jsonl'), written(tx, id, signal), { mode: 0o600 })
    })
    await writeFile(join(work, 'version.json'), `${JSON.stringify({ format: FORMAT })}\n`, { mode: 0o600 })
    const packed = join(folder, `.${nameOf(id)}.tar.gz`)
    await rm(packed, { force: true })
    await writeTar(packed, entriesOf(work, ''), signal)
    await rename(packed, join(folder, `${nameOf(id)}.tar.gz`))
    await syncDirectory(folder)
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

async function* written(tx: Transaction, id: number, signal: AbortSignal): AsyncGenerator<string> {
  for await (const line of linesOf(tx, id)) {
    signal.throwIfAborted()
    yield `${JSON.stringify(line)}\n`
  }
}

async function* linesOf(tx: Transaction, rootId: number): AsyncGenerator<Line> {
  const descendants = tx.select({ id: namespaceAncestry.descendant_id }).from(namespaceAncestry).where(eq(namespaceAncestry.ancestor_id, rootId))
  const found = await tx
    .select()
    .from(namespaces)
    .where(and(inArray(namespaces.id, descendants), isNull(namespaces.marked_for_deletion_at)))
    .orderBy(sql`${namespaces.full_path} collate "C"`)
  const root = found[0]
  if (!root) return
  const paths = new Map(found.map(({ id, full_path }) => [id, full_path.slice(root.full_path.length + 1)]))
  const pathOf = (id: number | null) => paths.get(id ?? 0)
  const here = (column: PgColumn): SQL => inArray(column, [...paths.keys()])
  for (const each of found)
    yield {
      kind: 'group',
      group: pathOf(each.id) ?? '',
      name: each.name,
      description: each.description,
      visibility: visibilityName(each.visibility),
      settings: Object.fromEntries(ARCHIVED_SETTINGS.map((name) => [name, each[name]])),
    }
  type List = (Line & { kind: 'board' })['lists'][number]
  const listOf = ({ label, milestone }: { label: typeof labels.$inferSelect | null; milestone: typeof milestones.$inferSelect | null }): List[] => {
    const of = label ?? milestone
    const group = of && pathOf(of.namespace_id)
    if (!of || typeof group !== 'string') return []
    const named = { group, title: of.title }
    return [label ? { label: named } : { milestone: named }]
  }
  const idOf = ({ id }: { id: number }) => id
  const next = ({ id, namespace_id }: { id: PgColumn; namespace_id: PgColumn }, after: number) => and(here(namespace_id), gt(id, after))
  const labelsAfter = (after: number) => tx.select().from(labels).where(next(labels, after)).orderBy(asc(labels.id)).limit(BATCH)
  for await (const { namespace_id, title, color, description, priority } of inBatches(labelsAfter, idOf))
    yield { kind: 'label', group: pathOf(namespace_id) ?? '', title, color, description, priority }
  const milestonesAfter = (after: number) => tx.select().from(milestones).where(next(milestones, after)).orderBy(asc(milestones.id)).limit(BATCH)
  for await (const { namespace_id, iid, title, description, state, start_date, due_date } of inBatches(milestonesAfter, idOf))
    yield { kind: 'milestone', group: pathOf(namespace_id) ?? '', iid, title, description, closed: state === 'closed', start_date, due_date }
  const badgesAfter = (after: number) => tx.select().from(badges).where(next(badges, after)).orderBy(asc(badges.id)).limit(BATCH)
  for await (const { namespace_id, name, link_url, image_url } of inBatches(badgesAfter, idOf))
    yield { kind: 'badge', group: pathOf(namespace_id) ?? '', name, link_url, image_url }
  const boardsAfter = (after: number) => tx.select().from(boards).where(next(boards, after)).orderBy(asc(boards.id)).limit(BATCH)
  for await (const rows of batchesOf(boardsAfter, idOf)) {
    const lists = await tx
      .select({ board: boardLists.board_id, label: labels, milestone: milestones })
      .from(boardLists)
      .leftJoin(labels, eq(labels.id, boardLists.label_id))
      .leftJoin(milestones, eq(milestones.id, boardLists.milestone_id))
      .where(
        inArray(
          boardLists.board_id,
          rows.map(({ id }) => id),
        ),
      )
      .orderBy(asc(boardLists.position), asc(boardLists.id))
    const ofBoards = groupedBy(lists, ({ board }) => board)
    for (const { id, namespace_id, name } of rows)
      yield {
        kind: 'board',
        group: pathOf(namespace_id) ?? '',
        name,
        // without those of people, and of what belongs to groups above
        lists: (ofBoards.get(id) ?? []).flatMap(listOf),
      }
  }
}
