import { and, asc, eq, sql } from 'drizzle-orm'
import type { ActorUser } from '../../access/actor.js'
import { type ViewerKind, viewerKindOf, visibleGroups } from '../../access/visible.js'
import type { Context } from '../../context.js'
import { totalCount } from '../../db/decoded.js'
import { substring } from '../../db/fuzzy.js'
import { namespaceAncestry, namespaces, projectStars, users } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import type { Keyset } from '../../lib/keyset.js'
import { afterRow, type Page, type Paging, pageFrom } from '../core/page.js'
import { effectiveMemberships } from '../groups/members.js'
import { type UserRefRecord, userRefColumns } from '../identity/user-ref.js'

const selectUsers = statement('people of a project', (db, { search, skip }: { search: boolean; skip: boolean }) =>
  db
    .select({ ...userRefColumns(users), total: totalCount() })
    .from(users)
    .where(
      and(
        sql`${users.id} in (select r.user_id from (${effectiveMemberships('project')}) r)`,
        afterRow(users.id),
        search ? sql`(${users.name} ilike ${sql.placeholder('search')} or ${users.username} ilike ${sql.placeholder('search')})` : undefined,
        skip ? sql`${users.id} <> all(${sql.placeholder('skip')})` : undefined,
      ),
    )
    .orderBy(asc(users.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset')),
)

/** Users with an access level on the project, direct, inherited or by a share, each once (PR-4). */
export async function listProjectUsers(
  ctx: Context,
  projectId: number,
  { search, skip_users, ...paging }: { search?: string | undefined; skip_users?: number[] | undefined } & Paging & Keyset,
): Promise<Page<UserRefRecord>> {
  const query = selectUsers(ctx.db, { search: Boolean(search), skip: Boolean(skip_users && skip_users.length > 0) })
  const values = { source: projectId, search: substring(search ?? ''), skip: skip_users ?? [] }
  return pageFrom(query, values, paging)
}

const selectStarrers = statement('people who have starred a project', (db, { all }: { all: boolean }) =>
  db
    .select({ ...userRefColumns(users), total: totalCount() })
    .from(projectStars)
    .innerJoin(users, eq(users.id, projectStars.user_id))
    .where(
      and(
        eq(projectStars.project_id, sql.placeholder('project')),
        eq(users.state, 'active'),
        all ? undefined : sql`(not ${users.private_profile} or ${users.id} = ${sql.placeholder('user')}::bigint)`,
      ),
    )
    .orderBy(asc(users.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset')),
)

/** Active users who have starred a project; one with a private profile is shown to themselves and administrators (WB-376). */
export const listStarrers = (ctx: Context, user: ActorUser, projectId: number, paging: Paging): Promise<Page<UserRefRecord>> =>
  pageFrom(selectStarrers(ctx.db, { all: user.admin }), { project: projectId, user: user.id }, paging)

interface AncestorShape {
  viewerKind: ViewerKind
  search: boolean
  skip: boolean
}

const selectAncestors = statement('groups above a project', (db, { viewerKind, search, skip }: AncestorShape) =>
  db
    .select({
      id: namespaces.id,
      name: namespaces.name,
      full_name: namespaces.full_name,
      full_path: namespaces.full_path,
      avatar: namespaces.avatar,
      total: totalCount(),
    })
    .from(namespaceAncestry)
    .innerJoin(namespaces, and(eq(namespaces.id, namespaceAncestry.ancestor_id), eq(namespaces.kind, 'group')))
    .where(
      and(
        eq(namespaceAncestry.descendant_id, sql.placeholder('namespace')),
        afterRow(namespaces.id),
        visibleGroups(viewerKind, namespaces, sql`${sql.placeholder('user')}::bigint`),
        search ? sql`(${namespaces.name} ilike ${sql.placeholder('search')} or ${namespaces.path} ilike ${sql.placeholder('search')})` : undefined,
        skip ? sql`${namespaces.id} <> all(${sql.placeholder('skip')})` : undefined,
      ),
    )
    .orderBy(asc(namespaces.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset')),
)

/** The ancestor groups of a project that the caller may see (PR-6, SEC-38). */
export async function listProjectGroups(
  ctx: Context,
  viewer: ActorUser | null,
  namespaceId: number,
  { search, skip_groups: skip = [], ...paging }: { search?: string | undefined; skip_groups?: number[] | undefined } & Paging & Keyset,
) {
  const query = selectAncestors(ctx.db, { viewerKind: viewerKindOf(viewer), search: Boolean(search), skip: skip.length > 0 })
  return pageFrom(query, { namespace: namespaceId, user: viewer?.id ?? 0, search: substring(search ?? ''), skip }, paging)
}
