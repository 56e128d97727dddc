import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { groupShares, members, namespaceAncestry, namespaces, projectShares } from '../db/schema/index.js'

/** SQL condition on alias `m`: the membership is in effect, neither an access request nor expired (AC-2, ME-10). */
export const membershipCounts = sql`m.requested_at is null and (m.expires_at is null or m.expires_at > (now() at time zone 'utc')::date)`

/**
 * The memberships of groups, of their own and by shares with another group, whose direct members have at most the level
 * of the share until it ends (WB-351). It takes the place of `members`, as `m`, wherever those of a group give access to
 * what is in it; a share of a project with the group is not passed on. `membershipCounts` says which of them are in
 * effect; `origin_id` is the group in which the user is a member.
 */
export const groupMembers = sql`(select gm.user_id, gm.namespace_id, gm.namespace_id as origin_id, gm.access_level, gm.requested_at, gm.expires_at, gm.created_at
    from ${members} gm where gm.namespace_id is not null
  union all select gm.user_id, gs.group_id, gm.namespace_id, least(gm.access_level, gs.group_access), gm.requested_at, least(gm.expires_at, gs.expires_at), gm.created_at
    from ${groupShares} gs join ${members} gm on gm.namespace_id = gs.shared_with_group_id where not gs.suspended)`

/** SQL condition on alias `s`: the share has not expired, and its group does not wait for its removal. */
export const shareCounts = sql`(not s.suspended and (s.expires_at is null or s.expires_at > (now() at time zone 'utc')::date))`

/** The lowest level as SQL, for any membership. */
export const ANY_LEVEL = sql`1`

/**
 * Keeps column names qualified: in a query over one table the builder strips the table's name from columns that stand
 * directly in a selected expression, and inside a subquery the bare name then means another table's column.
 */
export const qualified = <T>(expression: SQL<T>): SQL<T> => sql<T>`${expression}`

/** The user's level by shares of a project with their groups; 0 without one. */
export function sharedLevel(projectId: SQLWrapper, userId: SQLWrapper): SQL<number> {
  return qualified(sql<number>`coalesce((select max(least(s.group_access, m.access_level)) from ${projectShares} s join ${namespaceAncestry} a on a.descendant_id = s.group_id
    join ${members} m on m.namespace_id = a.ancestor_id
    where s.project_id = ${projectId} and m.user_id = ${userId} and ${membershipCounts} and ${shareCounts}), 0)`)
}

/** The level of the user's own membership on a project; 0 without one. */
export function directLevel(projectId: SQLWrapper, userId: SQLWrapper): SQL<number> {
  return qualified(
    sql<number>`coalesce((select m.access_level from ${members} m where m.user_id = ${userId} and m.project_id = ${projectId} and ${membershipCounts}), 0)`,
  )
}

/** The user's level on a project, 0 without one (AC-2, G-63). Arguments are columns, or placeholders for the user. */
export function projectLevel(project: { id: SQLWrapper; namespace_id: SQLWrapper }, userId: SQLWrapper): SQL<number> {
  return qualified(sql<number>`greatest(${directLevel(project.id, userId)}, ${groupLevel(project.namespace_id, userId)}, ${sharedLevel(project.id, userId)},
    coalesce((select 50 from ${namespaces} n where n.id = ${project.namespace_id} and n.owner_id = ${userId}), 0))`)
}

/**
 * The user's level on a group: the highest on it or an ancestor (AC-3). The ancestors are passed as an array, so that
 * each is looked up by its key, however many groups the user is in.
 */
export function groupLevel(groupId: SQLWrapper, userId: SQLWrapper): SQL<number> {
  return qualified(sql<number>`coalesce((select max(m.access_level) from ${groupMembers} m where m.user_id = ${userId}
    and m.namespace_id = any(array(select a.ancestor_id from ${namespaceAncestry} a where a.descendant_id = ${groupId})) and ${membershipCounts}), 0)`)
}

/**
 * Whether the user has a level on a project, in any way, for all rows of a list: their memberships are collected once,
 * by groups rather than for each project.
 */
export function withLevel(project: { id: SQLWrapper; namespace_id: SQLWrapper }, userId: SQLWrapper, atLeast: SQLWrapper): SQL {
  return sql`(${project.namespace_id} in (${levelNamespaces(userId, atLeast)}) or ${project.id} in (${levelProjects(userId, atLeast)}))`
}

/** Ids of the namespaces by which the user has a level on the projects in them. */
export const levelNamespaces = (userId: SQLWrapper, atLeast: SQLWrapper): SQL =>
  sql`select n.id from ${namespaces} n where n.owner_id = ${userId}
    union all select a.descendant_id from ${groupMembers} m join ${namespaceAncestry} a on a.ancestor_id = m.namespace_id
      where m.user_id = ${userId} and m.access_level >= ${atLeast} and ${membershipCounts}`

/** Ids of the projects on which the user has a level by themselves: as a member, or of a group that they are shared with. */
export const levelProjects = (userId: SQLWrapper, atLeast: SQLWrapper): SQL =>
  sql`select m.project_id from ${members} m where m.user_id = ${userId} and m.project_id is not null and m.access_level >= ${atLeast} and ${membershipCounts}
    union all select s.project_id from ${members} m join ${namespaceAncestry} a on a.ancestor_id = m.namespace_id join ${projectShares} s on s.group_id = a.descendant_id
      where m.user_id = ${userId} and least(s.group_access, m.access_level) >= ${atLeast} and ${membershipCounts} and ${shareCounts}`

/** Ids of all projects on which the user has a level, in any way, as a subquery. */
export function projectsWithLevel(userId: SQLWrapper, atLeast: SQLWrapper): SQL {
  return sql`(
    select m.project_id from ${members} m where m.user_id = ${userId} and m.project_id is not null and m.access_level >= ${atLeast} and ${membershipCounts}
    union select p2.id from ${groupMembers} m join ${namespaceAncestry} a on a.ancestor_id = m.namespace_id join projects p2 on p2.namespace_id = a.descendant_id
      where m.user_id = ${userId} and m.access_level >= ${atLeast} and ${membershipCounts}
    union select s.project_id from ${members} m join ${namespaceAncestry} a on a.ancestor_id = m.namespace_id join ${projectShares} s on s.group_id = a.descendant_id
      where m.user_id = ${userId} and least(s.group_access, m.access_level) >= ${atLeast} and ${membershipCounts} and ${shareCounts}
    union select p3.id from ${namespaces} n join projects p3 on p3.namespace_id = n.id where n.owner_id = ${userId})`
}

/** Ids of all groups on which the user has a level, by membership in them or in an ancestor, as a subquery. */
export function groupsWithLevel(userId: SQLWrapper, atLeast: SQLWrapper): SQL {
  return sql`(select a.descendant_id from ${groupMembers} m join ${namespaceAncestry} a on a.ancestor_id = m.namespace_id
    where m.user_id = ${userId} and m.access_level >= ${atLeast} and ${membershipCounts})`
}
