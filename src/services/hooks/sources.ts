import { desc, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import { projects } from '../../db/schema/index.js'

/** The newest project of a group and its descendants, for samples of group hooks (HK-24); 0: there is none. */
export async function newestProjectOf(ctx: Context, groupId: number): Promise<number> {
  const [found] = await ctx.db.write
    .select({ id: projects.id })
    .from(projects)
    .where(sql`${projects.namespace_id} in (select a.descendant_id from namespace_ancestry a where a.ancestor_id = ${groupId})`)
    .orderBy(desc(projects.id))
    .limit(1)
  return found?.id ?? 0
}
