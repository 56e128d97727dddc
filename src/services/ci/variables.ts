import { asc, sql } from 'drizzle-orm'
import type { Project } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { namespaceAncestry, variables } from '../../db/schema/index.js'
import type { ScopedVariable } from '../../rules/ci/types.js'
import { unsealed } from '../core/unsealed.js'
import { variablePurpose } from '../projects/variables.js'

/**
 * The variables of a project and the groups above it, the outermost group first, so that later ones count. Protected
 * ones are only for protected branches and tags.
 */
export async function storedVariables(ctx: Context, project: Project, isProtected: boolean): Promise<ScopedVariable[]> {
  const ancestors = sql`(select a.ancestor_id, (select count(*) from ${namespaceAncestry} above where above.descendant_id = a.ancestor_id) as depth
    from ${namespaceAncestry} a where a.descendant_id = ${project.namespace.id}) ancestors`
  const rows = await ctx.db.write
    .select({ variable: variables })
    .from(variables)
    .leftJoin(ancestors, sql`ancestors.ancestor_id = ${variables.group_id}`)
    .where(sql`${variables.project_id} = ${project.id} or ancestors.depth is not null`)
    .orderBy(sql`ancestors.depth nulls last`, asc(variables.id))
  return rows.flatMap(({ variable }) => {
    if (variable.protected && !isProtected) return []
    const source =
      variable.project_id === null
        ? { kind: 'group' as const, id: variable.group_id as number }
        : { kind: 'project' as const, id: variable.project_id }
    const value = unsealed(ctx, variable.sealed, variablePurpose(source, variable.key))
    return value === null ? [] : [{ key: variable.key, value }]
  })
}
