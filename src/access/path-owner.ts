import { eq, inArray, sql } from 'drizzle-orm'
import type { Context } from '../context.js'
import { namespaces, projects, routes } from '../db/schema/index.js'

/** What a path names: a project, a group, or a user with their personal namespace. */
export interface PathOwner {
  kind: 'project' | 'group' | 'user'
  /** As it is written now. */
  fullPath: string
}

/**
 * Finds the longest of these paths, in lower case, that exists, in one statement. Whether the caller may see it is for
 * an access rule to say.
 */
export async function findPathOwner(ctx: Context, paths: string[]): Promise<PathOwner | null> {
  const [row] = await ctx.db.read
    .select({ kind: namespaces.kind, namespace: namespaces.full_path, project: projects.path })
    .from(routes)
    .leftJoin(projects, eq(projects.id, routes.project_id))
    .innerJoin(namespaces, eq(namespaces.id, sql`coalesce(${routes.namespace_id}, ${projects.namespace_id})`))
    .where(inArray(routes.key, paths))
    .orderBy(sql`length(${routes.key}) desc`)
    .limit(1)
  if (!row) return null
  return row.project === null ? { kind: row.kind, fullPath: row.namespace } : { kind: 'project', fullPath: `${row.namespace}/${row.project}` }
}
