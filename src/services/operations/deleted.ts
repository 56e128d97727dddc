import { sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import { namespaces, projects } from '../../db/schema/index.js'

/** A deleted project or group that can be restored. */
export interface Deleted {
  id: number
  /** The full path before the deletion. */
  path: string
  deleted_at: Date
  due_at: Date
}

const BATCH_SIZE = 1_000

const fullPathIn = {
  project: sql`(select n.full_path || '/' || t.path from ${namespaces} n where n.id = t.namespace_id)`,
  group: sql`t.full_path`,
}

/**
 * The projects or groups that were deleted and can be restored, in the order of their ids; with `named` those that have
 * or had this full path, or have this id.
 */
export async function* listDeleted(ctx: Context, kind: 'project' | 'group', named?: string): AsyncGenerator<Deleted> {
  const table = kind === 'project' ? projects : namespaces
  const former = sql`regexp_replace(${fullPathIn[kind]}, '-deletion_scheduled-[0-9]+(?=/|$)', '', 'g')`
  const isNamed =
    named === undefined
      ? sql`true`
      : sql`(t.id::text = ${named} or lower(${former}) = lower(${named}) or lower(${fullPathIn[kind]}) = lower(${named}))`
  for (let last = 0; ; ) {
    const { rows } = await ctx.db.write.execute<{ id: string; path: string; marked_for_deletion_at: string; deletion_due_at: string }>(
      sql`select t.id, ${former} as path, t.marked_for_deletion_at, t.deletion_due_at from ${table} t
        where t.deletion_due_at is not null and t.id > ${last} and ${isNamed} order by t.id limit ${BATCH_SIZE}`,
    )
    for (const { id, path, ...times } of rows)
      yield { id: Number(id), path, deleted_at: new Date(times.marked_for_deletion_at), due_at: new Date(times.deletion_due_at) }
    if (rows.length < BATCH_SIZE) return
    last = Number(rows.at(-1)?.id)
  }
}

const MAX_SHOWN = 100

/** The first of these, and whether there are more. */
export async function listDeletedFirst(ctx: Context, kind: 'project' | 'group'): Promise<{ items: Deleted[]; more: boolean }> {
  const items: Deleted[] = []
  for await (const one of listDeleted(ctx, kind)) {
    if (items.length === MAX_SHOWN) return { items, more: true }
    items.push(one)
  }
  return { items, more: false }
}
