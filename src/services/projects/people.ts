import { and, asc, eq, ilike, or, type SQL, sql } from 'drizzle-orm'
import type { ActorUser } from '../../access/actor.js'
import { type ViewerKind, viewerKindOf, visibleGroups } from '../../access/visible.js'
import type { Context } from '../../context.js'
import { totalCount } from '../../db/decoded.js'
import { conditionsOf, type FilterNames, type Filters, usedFilters } from '../../db/filters.js'
import { substring } from '../../db/fuzzy.js'
import { namespaceAncestry, namespaces, projectStars, users } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import type { Keyset } from '../../lib/keyset.js'
import { type Page, type Paging, pageFrom, rowFilters } from '../core/page.js'
import { effectiveMemberships } from '../groups/members.js'
import { type UserRefRecord, userRefColumns } from '../identity/user-ref.js'

interface UserFilter extends Keyset {
  search?: string | undefined
  skip_users?: number[] | undefined
}

const USER_FILTERS = {
  search: {
    where: (text) => or(ilike(users.name, text), ilike(users.username, text)) as SQL,
    value: ({ search }) => (search ? substring(search) : undefined),
  },
  skip_users: { where: (ids) => sql`${users.id} <> all(${ids})`, value: ({ skip_users }) => (skip_users?.length ? skip_users : undefined) },
  ...rowFilters(users.id),
} satisfies Filters<UserFilter, FilterNames<UserFilter>>

const selectUsers = statement('people of a project', (db, filters: FilterNames<UserFilter>[]) =>
  db
    .select({ ...userRefColumns(users), total: totalCount() })
    .from(users)
    .where(and(sql`${users.id} in (select r.user_id from (${effectiveMemberships('project')}) r)`, ...conditionsOf(USER_FILTERS, filters, null)))
    .orderBy(asc(users.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset')),
)

/** Users with an access level on the project, direct, inherited or by a share, each once (PR-4). */
export async function listProjectUsers(ctx: Context, projectId: number, filter: UserFilter & Paging): Promise<Page<UserRefRecord>> {
  const used = usedFilters(USER_FILTERS, filter)
  return pageFrom(selectUsers(ctx.db, used.names), { ...used.values, source: projectId }, filter)
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

interface AncestorFilter extends Keyset {
  search?: string | undefined
  skip_groups?: number[] | undefined
}

const ANCESTOR_FILTERS = {
  search: {
    where: (text) => or(ilike(namespaces.name, text), ilike(namespaces.path, text)) as SQL,
    value: ({ search }) => (search ? substring(search) : undefined),
  },
  skip_groups: { where: (ids) => sql`${namespaces.id} <> all(${ids})`, value: ({ skip_groups }) => (skip_groups?.length ? skip_groups : undefined) },
  ...rowFilters(namespaces.id),
} satisfies Filters<AncestorFilter, FilterNames<AncestorFilter>>

interface AncestorShape {
  viewerKind: ViewerKind
  filters: FilterNames<AncestorFilter>[]
}

const selectAncestors = statement('groups above a project', (db, { viewerKind, filters }: AncestorShape) =>
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
        visibleGroups(viewerKind, namespaces, sql`${sql.placeholder('user')}::bigint`),
        ...conditionsOf(ANCESTOR_FILTERS, filters, null),
      ),
    )
    .orderBy(asc(namespaces.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset')),
)

/** The ancestor groups of a project that the caller may see (PR-6, SEC-38). */
export async function listProjectGroups(ctx: Context, viewer: ActorUser | null, namespaceId: number, filter: AncestorFilter & Paging) {
  const used = usedFilters(ANCESTOR_FILTERS, filter)
  const query = selectAncestors(ctx.db, { viewerKind: viewerKindOf(viewer), filters: used.names })
  return pageFrom(query, { ...used.values, namespace: namespaceId, user: viewer?.id ?? 0 }, filter)
}
