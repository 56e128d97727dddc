import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { issues, mergeRequests, namespaces, notes, projects, snippets } from '../db/schema/index.js'
import type { ActorUser } from './actor.js'
import type { IssueReach, NoteReach } from './can.js'
import { ANY_LEVEL, groupLevel, groupMembers, membershipCounts, projectLevel, qualified, shareCounts, withLevel } from './roles.js'

/** The kind of viewer, which determines the shape of a query; the user id is a parameter of the query. */
export type ViewerKind = 'anonymous' | 'admin' | 'user' | 'external'

export const viewerKindOf = (user: Pick<ActorUser, 'admin' | 'external'> | null): ViewerKind =>
  user === null ? 'anonymous' : user.admin ? 'admin' : user.external ? 'external' : 'user'

/**
 * The lowest visibility level that needs no membership; a literal in the SQL text, so that Postgres can use partial
 * indexes.
 */
const openTo = (viewerKind: ViewerKind) => (viewerKind === 'user' ? sql`10` : sql`20`)

/** `projects`, or an alias of it. */
type Project = Record<'id' | 'namespace_id' | 'visibility' | 'marked_for_deletion_at', SQLWrapper>

/** No list has what waits for its removal, unless it is asked for (SEC-245). */
const kept = ({ marked_for_deletion_at }: Pick<Project, 'marked_for_deletion_at'>) => sql`${marked_for_deletion_at} is null`

/** `seesProject` for every row of `projects` that does not wait for its removal (SEC-33, SEC-245). */
export function visibleProjects(viewerKind: ViewerKind, userId: SQLWrapper, project: Project = projects): SQL {
  switch (viewerKind) {
    case 'admin':
      return kept(project)
    case 'anonymous':
      return sql`(${project.visibility} >= 20 and ${kept(project)})`
    default:
      return sql`((${project.visibility} >= ${openTo(viewerKind)} or ${withLevel(project, userId, ANY_LEVEL)}) and ${kept(project)})`
  }
}

/** The projects that wait for their removal and that the caller may restore, as an owner or administrator (PR-30). */
export function restorableProjects(viewerKind: ViewerKind, userId: SQLWrapper): SQL {
  const waiting = sql`${projects.marked_for_deletion_at} is not null`
  if (viewerKind === 'anonymous') return sql`false`
  return viewerKind === 'admin' ? waiting : sql`(${waiting} and ${withLevel(projects, userId, OWNER)})`
}

/**
 * Like `visibleProjects`, for a few rows with known ids: checks each row, instead of collecting all projects that the
 * user has a level on. `level` is that level, if the query has it already.
 */
export function visibleProject(
  viewerKind: ViewerKind,
  userId: SQLWrapper,
  project: Project = projects,
  level: SQLWrapper = projectLevel(project, userId),
): SQL {
  if (viewerKind === 'admin' || viewerKind === 'anonymous') return visibleProjects(viewerKind, userId, project)
  return sql`((${project.visibility} >= ${openTo(viewerKind)} or ${level} > 0) and ${kept(project)})`
}

/** `visibleProject`, or what waits for its removal, for its owners and administrators (PR-30, SEC-245). */
export function visibleOrRestorableProject(viewerKind: ViewerKind, userId: SQLWrapper, level: SQLWrapper = projectLevel(projects, userId)): SQL {
  if (viewerKind === 'admin') return sql`true`
  const visible = visibleProject(viewerKind, userId, projects, level)
  if (viewerKind === 'anonymous') return visible
  return sql`(${visible} or ${projects.marked_for_deletion_at} is not null and ${level} >= ${OWNER})`
}

const REPORTER = sql`20`
const OWNER = sql`50`

/** The ability `download_code` for every row of `projects` that is visible (AC-10, note 2 of section 5.1). */
export function readableCode(viewerKind: ViewerKind, userId: SQLWrapper): SQL {
  if (viewerKind === 'admin') return sql`${projects.repository_access_level} >= 10`
  if (viewerKind === 'anonymous') return sql`(${projects.repository_access_level} >= 20 and ${projects.visibility} >= 20)`
  return sql`((${projects.repository_access_level} >= 20 or ${projects.repository_access_level} >= 10 and ${withLevel(projects, userId, ANY_LEVEL)})
    and (${projects.visibility} >= ${openTo(viewerKind)} or ${withLevel(projects, userId, REPORTER)}))`
}

/** The ability `read_package` or `read_image` for every row of `projects`, which need not be visible (PK-2, OCI-2). */
export function readablePackages(viewerKind: ViewerKind, userId: SQLWrapper, registry: 'packages' | 'images'): SQL {
  const isOn = registry === 'images' ? sql`${projects.container_registry_enabled}` : sql`${projects.packages_enabled} is not false`
  const on = sql`${isOn} and ${kept(projects)}`
  if (viewerKind === 'admin') return sql`(${on})`
  if (viewerKind === 'anonymous') return sql`(${on} and ${projects.visibility} >= 20)`
  return sql`(${on} and (${projects.visibility} >= ${openTo(viewerKind)} or ${withLevel(projects, userId, REPORTER)}))`
}

/** `readsRequestCode` for every row of `projects` whose code the caller may read (GH-28). */
export function readableRequestCode(viewerKind: ViewerKind, userId: SQLWrapper): SQL {
  if (viewerKind === 'admin') return sql`${mergeRequestAccess} >= 10`
  if (viewerKind === 'anonymous') return sql`${mergeRequestAccess} >= 20`
  return sql`((${mergeRequestAccess} >= 20 or ${mergeRequestAccess} >= 10 and ${withLevel(projects, userId, ANY_LEVEL)})
    and (${projects.visibility} >= ${openTo(viewerKind)} or ${withLevel(projects, userId, REPORTER)}))`
}

/** Condition on `issues` of a project where the caller may read issues: those within `reach` (AC-14). */
export function issuesInReach(reach: IssueReach, userId: SQLWrapper): SQL {
  if (reach === 'all') return sql`true`
  if (reach === 'open') return sql`not ${issues.confidential}`
  return sql`(not ${issues.confidential} or ${issues.author_id} = ${userId} or ${userId} = any(${issues.assignee_ids}))`
}

/** `seesIssue` for every row of `issues` joined with `projects` (SEC-33, SEC-35). */
export function visibleIssues(viewerKind: ViewerKind, userId: SQLWrapper): SQL {
  if (viewerKind === 'admin') return sql`(${projects.issues_access_level} >= 10 and ${kept(projects)})`
  if (viewerKind === 'anonymous')
    return sql`(${visibleProjects(viewerKind, userId)} and ${projects.issues_access_level} >= 20 and ${issuesInReach('open', userId)})`
  return sql`(${visibleProjects(viewerKind, userId)}
    and (${projects.issues_access_level} >= 20 or ${projects.issues_access_level} >= 10 and ${withLevel(projects, userId, ANY_LEVEL)})
    and (${issuesInReach('own', userId)} or ${withLevel(projects, userId, REPORTER)}))`
}

/**
 * Snippets of projects as `onSnippetSignedIn` finds them, for every row of `snippets` joined with `projects` (SN-12);
 * anonymous callers see none.
 */
export function visibleSnippets(viewerKind: ViewerKind, userId: SQLWrapper): SQL {
  if (viewerKind === 'anonymous') return sql`false`
  if (viewerKind === 'admin') return sql`(${projects.snippets_access_level} >= 10 and ${kept(projects)})`
  const member = withLevel(projects, userId, ANY_LEVEL)
  return sql`(${visibleProjects(viewerKind, userId)}
    and (${projects.snippets_access_level} >= 20 or ${projects.snippets_access_level} >= 10 and ${member})
    and (${snippets.visibility} >= ${openTo(viewerKind)} or ${snippets.author_id} = ${userId} or ${member}))`
}

/** Like `visibleSnippets`, for `snippets` left-joined with `projects`, including personal ones (SN-11, S-21). */
export function visibleSnippetsAnywhere(viewerKind: ViewerKind, userId: SQLWrapper): SQL {
  if (viewerKind === 'anonymous') return sql`false`
  if (viewerKind === 'admin') return sql`(${snippets.project_id} is null or ${visibleSnippets(viewerKind, userId)})`
  return sql`case when ${snippets.project_id} is null then ${snippets.visibility} >= ${openTo(viewerKind)} or ${snippets.author_id} = ${userId}
    else ${visibleSnippets(viewerKind, userId)} end`
}

/** Snippets of a project that a caller who is not a member may see. */
export const snippetsOpenTo = (viewerKind: ViewerKind, userId: SQLWrapper): SQL =>
  sql`(${snippets.visibility} >= ${openTo(viewerKind)} or ${snippets.author_id} = ${userId})`

/**
 * For rows of `notes` of a project left-joined with `issues`, `merge_requests` and `snippets` by what they are about:
 * those within `noteReach`.
 */
export function notesInReach(reach: NoteReach, viewerKind: ViewerKind, userId: SQLWrapper): SQL {
  const about = (type: (typeof notes.$inferSelect)['noteable_type'], where: SQL) => sql`(${notes.noteable_type} = ${type} and ${where})`
  const kinds = [
    reach.issues && about('Issue', sql`${issues.id} is not null and ${issuesInReach(reach.issues, userId)}`),
    reach.merge_requests && about('MergeRequest', sql`${mergeRequests.id} is not null and ${mergeRequestsInReach(reach.merge_requests, userId)}`),
    reach.commits && about('Commit', sql`true`),
    reach.snippets &&
      about('Snippet', sql`${snippets.id} is not null and ${reach.snippets === 'all' ? sql`true` : snippetsOpenTo(viewerKind, userId)}`),
  ].filter((kind) => kind !== null && kind !== false)
  return kinds.length === 0 ? sql`false` : sql`(${sql.join(kinds, sql` or `)})`
}

/**
 * Condition on `merge_requests` of a project: all of them, or only those that the caller opened or is assigned to
 * (section 5.1, note 1).
 */
export function mergeRequestsInReach(reach: 'all' | 'own', userId: SQLWrapper): SQL {
  const kept = sql`${mergeRequests.deleted_at} is null`
  return reach === 'all' ? kept : sql`(${kept} and (${mergeRequests.author_id} = ${userId} or ${userId} = any(${mergeRequests.assignee_ids})))`
}

/** The access level of the merge requests feature of a project; it is off if the repository is off (AC-10). */
export const mergeRequestAccess = sql`least(${projects.merge_requests_access_level}, ${projects.repository_access_level})`

/** The abilities `read_label` and `read_milestone` for every row of `projects` that is visible (AC-79). */
export function hasIssuables(viewerKind: ViewerKind, userId: SQLWrapper): SQL {
  const access = sql`greatest(${projects.issues_access_level}, ${mergeRequestAccess})`
  if (viewerKind === 'admin') return sql`${access} >= 10`
  if (viewerKind === 'anonymous') return sql`${access} >= 20`
  return sql`(${access} >= 20 or ${access} >= 10 and ${withLevel(projects, userId, ANY_LEVEL)})`
}

/**
 * `seesMergeRequest` for every row of `merge_requests` joined with `projects` (MR-13, SEC-33); nobody sees deleted ones
 * (MR-58).
 */
export function visibleMergeRequests(viewerKind: ViewerKind, userId: SQLWrapper): SQL {
  const existing = mergeRequestsInReach('all', userId)
  if (viewerKind === 'anonymous') return sql`false`
  if (viewerKind === 'admin') return sql`(${existing} and ${mergeRequestAccess} >= 10 and ${kept(projects)})`
  return sql`(${existing} and ${visibleProjects(viewerKind, userId)}
    and (${mergeRequestAccess} >= 20 or ${mergeRequestAccess} >= 10 and ${withLevel(projects, userId, ANY_LEVEL)})
    and (${projects.visibility} >= ${openTo(viewerKind)} or ${mergeRequests.author_id} = ${userId} or ${userId} = any(${mergeRequests.assignee_ids})
      or ${withLevel(projects, userId, REPORTER)}))`
}

/**
 * Whether a group on which the caller has no level holds a project that they see, directly or by a share that counts
 * today (AC-16). Each branch starts from the smallest set: what is open in the group, what is shared with it, what the
 * user is a member of.
 */
export function holdsVisibleProject(viewerKind: ViewerKind, groupId: SQLWrapper, userId: SQLWrapper): SQL<boolean> {
  if (viewerKind === 'admin') return sql<boolean>`true`
  const open = openTo(viewerKind)
  const held = sql`hp.namespace_id = ${groupId} and hp.marked_for_deletion_at is null`
  const openIn = sql`exists (select 1 from projects hp where ${held} and hp.visibility >= ${open})`
  const sharedWith = (seen: SQL) =>
    sql`exists (select 1 from project_shares s join projects hp on hp.id = s.project_id
      where s.group_id = ${groupId} and hp.marked_for_deletion_at is null and ${shareCounts} and ${seen})`
  if (viewerKind === 'anonymous') return qualified(sql<boolean>`(${openIn} or ${sharedWith(sql`hp.visibility >= ${open}`)})`)
  const level = projectLevel({ id: sql`hp.id`, namespace_id: sql`hp.namespace_id` }, userId)
  return qualified(sql<boolean>`(${openIn} or ${sharedWith(sql`(hp.visibility >= ${open} or ${level} > 0)`)}
    or exists (select 1 from members m join projects hp on hp.id = m.project_id where m.user_id = ${userId} and ${held} and ${membershipCounts})
    or exists (select 1 from projects hp join project_shares s on s.project_id = hp.id join namespace_ancestry a on a.descendant_id = s.group_id
      join members m on m.namespace_id = a.ancestor_id
      where ${held} and m.user_id = ${userId} and ${membershipCounts} and ${shareCounts}))`)
}

type Group = Record<'id' | 'visibility' | 'marked_for_deletion_at', SQLWrapper>

/** `seesGroup` for rows of `namespaces` that are groups and do not wait for their removal (G-67, AC-16, SEC-245). */
export function visibleGroups(viewerKind: ViewerKind, group: Group, userId: SQLWrapper): SQL {
  if (viewerKind === 'admin') return kept(group)
  const open = openTo(viewerKind)
  const holdsVisible = holdsVisibleProject(viewerKind, group.id, userId)
  if (viewerKind === 'anonymous') return sql`(${kept(group)} and (${group.visibility} >= ${open} or ${holdsVisible}))`
  return sql`(${kept(group)} and (${group.visibility} >= ${open} or ${groupLevel(group.id, userId)} > 0 or ${holdsVisible}))`
}

/**
 * The groups that lists contain (GR-5 to GR-8): the caller's groups with their descendants and ancestors, and the
 * ancestors of groups that hold a project of theirs; with `all` also the groups open to them. This is not
 * `visibleGroups`: a group that is listed for what is below it may still not be readable itself (GR-6).
 */
export function listedGroups(viewerKind: ViewerKind, all: boolean, userId: SQLWrapper): SQL {
  if (viewerKind === 'admin') return kept(namespaces)
  if (viewerKind === 'anonymous') return sql`(${namespaces.visibility} >= 20 and ${kept(namespaces)})`
  const member = sql`select m.namespace_id from ${groupMembers} m where m.user_id = ${userId} and ${membershipCounts}`
  // access inherited from a group stays below that group, so only direct memberships and shares lead to other groups
  const holding = sql`select p.namespace_id from members m join projects p on p.id = m.project_id
      where m.user_id = ${userId} and p.marked_for_deletion_at is null and ${membershipCounts}
    union select p.namespace_id from project_shares s join projects p on p.id = s.project_id
      where ${shareCounts} and p.marked_for_deletion_at is null and s.group_id in (select a.descendant_id from members m join namespace_ancestry a on a.ancestor_id = m.namespace_id
        where m.user_id = ${userId} and ${membershipCounts})`
  const authorised = sql`${namespaces.id} in (
    select a.descendant_id from namespace_ancestry a where a.ancestor_id in (${member})
    union select a.ancestor_id from namespace_ancestry a where a.descendant_id in (${member} union ${holding}))`
  return sql`(${kept(namespaces)} and ${all ? sql`(${authorised} or ${namespaces.visibility} >= ${openTo(viewerKind)})` : authorised})`
}

/** The groups that wait for their removal and that the caller may restore, as an owner or administrator (GR-45). */
export function restorableGroups(viewerKind: ViewerKind, userId: SQLWrapper): SQL {
  const waiting = sql`${namespaces.marked_for_deletion_at} is not null`
  if (viewerKind === 'anonymous') return sql`false`
  return viewerKind === 'admin' ? waiting : sql`(${waiting} and ${groupLevel(namespaces.id, userId)} >= 50)`
}
