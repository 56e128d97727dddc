import { eq, sql } from 'drizzle-orm'
import type { Context } from '../context.js'
import { namespaces, projects, routes } from '../db/schema/index.js'
import { statement } from '../db/statement.js'
import type { Caller } from './actor.js'
import { restorableGroups, type ViewerKind, viewerKindOf, visibleGroups, visibleOrRestorableProject } from './visible.js'

/** What a path names: a project, a group, or a user with their personal namespace. */
export interface PathOwner {
  kind: 'project' | 'group' | 'user'
  /** As it is written now. */
  fullPath: string
}

// a hidden project or group gives no row, like a missing one: what follows is the same for both (SEC-30)
const selectOwner = statement('owner of a path for caller', (db, viewer: ViewerKind) => {
  const user = sql`${sql.placeholder('user')}::bigint`
  const group = sql`(${visibleGroups(viewer, namespaces, user)} or ${restorableGroups(viewer, user)})`
  return db
    .select({ kind: namespaces.kind, namespace: namespaces.full_path, project: projects.path })
    .from(routes)
    .leftJoin(projects, eq(projects.id, routes.project_id))
    .innerJoin(namespaces, eq(namespaces.id, sql`coalesce(${routes.namespace_id}, ${projects.namespace_id})`))
    .where(
      sql`${routes.key} = any(${sql.placeholder('keys')}::text[]) and case when ${projects.id} is not null then ${visibleOrRestorableProject(viewer, user)}
        else ${namespaces.kind} = 'user' or ${group} end`,
    )
    .orderBy(sql`length(${routes.key}) desc`)
    .limit(1)
})

/** Finds the longest of these paths, in lower case, that exists and that the caller may see, in one statement. */
export async function findPathOwner(ctx: Context, { user }: Pick<Caller, 'user'>, keys: string[]): Promise<PathOwner | null> {
  const [row] = await selectOwner(ctx.db, viewerKindOf(user)).execute({ keys, user: user?.id ?? 0 })
  if (!row) return null
  return row.project === null ? { kind: row.kind, fullPath: row.namespace } : { kind: 'project', fullPath: `${row.namespace}/${row.project}` }
}
