import { and, eq, sql } from 'drizzle-orm'
import type { Transaction } from '../../db/client.js'
import { onlyRow } from '../../db/only-row.js'
import { labels, milestones, namespaceAncestry, projects } from '../../db/schema/index.js'
import { nextGroupIid, nextIid, raiseIid } from '../core/iids.js'
import { labelColumns } from '../issuables/labels.js'
import { milestoneColumns } from '../issuables/milestones.js'
import { importList, type Write } from './items.js'
import type { Run } from './run.js'
import type { Scope } from './source/dialect.js'
import type { LabelRecord, MilestoneRecord } from './source/records.js'

type Owner = { project_id: number } | { namespace_id: number }

/** Imports the labels and milestones of a group. */
export async function importGroupPlanning(run: Run, scope: Scope, groupId: number): Promise<void> {
  const owner = { namespace_id: groupId }
  await importList(run, 'group label', scope, async (record) => prepareLabel(run, record, owner))
  await importList(run, 'group milestone', scope, async (record) => prepareMilestone(run, record, owner))
}

/** Imports the labels and milestones of a project. */
export async function importPlanning(run: Run, scope: Scope, projectId: number): Promise<void> {
  const owner = { project_id: projectId }
  await importList(run, 'label', scope, async (record) => prepareLabel(run, record, owner))
  await importList(run, 'milestone', scope, async (record) => prepareMilestone(run, record, owner))
}

async function prepareLabel({ ctx }: Run, { title, color, description, priority }: LabelRecord, owner: Owner): Promise<Write> {
  const values = await labelColumns(ctx, { title, color, description })
  return async (tx) => {
    const now = ctx.now()
    const row = { ...values, title: values.title as string, color: values.color as string, priority, ...owner, created_at: now, updated_at: now }
    return onlyRow(await tx.insert(labels).values(row).returning({ id: labels.id })).id
  }
}

function prepareMilestone({ ctx }: Run, record: MilestoneRecord, owner: Owner): Write {
  const { iid, title, description, start_date, due_date, closed } = record
  const values = milestoneColumns({ title, description, start_date: start_date && due_date && start_date > due_date ? null : start_date, due_date })
  return async (tx) => {
    const created_at = record.created_at ?? ctx.now()
    const row = { ...values, title: values.title as string, ...owner, state: closed ? ('closed' as const) : ('active' as const) }
    const number = iid ?? (await nextNumber(tx, owner))
    const { id } = onlyRow(
      await tx
        .insert(milestones)
        .values({ ...row, iid: number, created_at, updated_at: record.updated_at ?? created_at })
        .returning({ id: milestones.id }),
    )
    await raiseIid(tx, owner, 'milestone', number)
    return id
  }
}

const nextNumber = (tx: Transaction, owner: Owner) =>
  'project_id' in owner ? nextIid(tx, owner.project_id, 'milestone') : nextGroupIid(tx, owner.namespace_id, 'milestone')

/** The local id of a milestone, if it belongs to the project or to a group above it. */
export async function milestoneId(run: Run, key: string | null, projectId: number): Promise<number | null> {
  if (key === null || run.ledger.dry) return null
  const here = (await run.ledger.findImported('milestone', [key])).get(key) ?? (await run.ledger.findImported('group milestone', [key])).get(key)
  if (!here) return null
  const { write } = run.ctx.db
  const above = sql`select a.ancestor_id from ${namespaceAncestry} a join ${projects} p on p.namespace_id = a.descendant_id where p.id = ${projectId}`
  const usable = sql`(${milestones.project_id} = ${projectId} or ${milestones.namespace_id} in (${above}))`
  return (await write.$count(milestones, and(eq(milestones.id, here), usable))) > 0 ? here : null
}
