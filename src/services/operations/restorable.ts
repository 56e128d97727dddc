import { and, asc, eq, sql } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import { restorableGroups, restorableProjects, viewerKindOf } from '../../access/visible.js'
import type { Context } from '../../context.js'
import { namespaces, projects } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { formerPath } from '../../rules/path.js'

/** A project or group that waits for its removal. */
export interface Restorable {
  kind: 'project' | 'group'
  id: number
  /** The path that it has while it waits, and that it had before. */
  full_path: string
  former_path: string
  due: Date
}

const MAX_LISTED = 100
const user = sql`${sql.placeholder('user')}::bigint`

const selectProjects = statement('projects to restore', (db, viewerKind: ReturnType<typeof viewerKindOf>) =>
  db
    .select({ id: projects.id, full_path: sql<string>`${namespaces.full_path} || '/' || ${projects.path}`, due: projects.deletion_due_at })
    .from(projects)
    .innerJoin(namespaces, eq(namespaces.id, projects.namespace_id))
    .where(and(restorableProjects(viewerKind, user), sql`${projects.deletion_due_at} is not null`))
    .orderBy(asc(projects.deletion_due_at))
    .limit(MAX_LISTED),
)

const selectGroups = statement('groups to restore', (db, viewerKind: ReturnType<typeof viewerKindOf>) =>
  db
    .select({ id: namespaces.id, full_path: namespaces.full_path, due: namespaces.deletion_due_at })
    .from(namespaces)
    .where(and(restorableGroups(viewerKind, user), sql`${namespaces.kind} = 'group' and ${namespaces.deletion_due_at} is not null`))
    .orderBy(asc(namespaces.deletion_due_at))
    .limit(MAX_LISTED),
)

/** What the caller may give back before it is removed, the first that is due first (PR-30, GR-45). */
export async function listRestorable(ctx: Context, caller: SignedIn): Promise<Restorable[]> {
  const viewerKind = viewerKindOf(caller.user)
  const values = { user: caller.user.id }
  const [foundProjects, foundGroups] = await Promise.all([
    selectProjects(ctx.db, viewerKind).execute(values),
    selectGroups(ctx.db, viewerKind).execute(values),
  ])
  const shown = (kind: Restorable['kind']) => (row: (typeof foundGroups)[number]) => ({
    ...row,
    kind,
    former_path: formerPath(row.full_path),
    due: row.due as Date,
  })
  return [...foundProjects.map(shown('project')), ...foundGroups.map(shown('group'))].sort((a, b) => a.due.getTime() - b.due.getTime())
}
