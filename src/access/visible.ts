import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { issues, projects } from '../db/schema/index.js'
import type { ActorUser } from './actor.js'
import type { IssueReach } from './can.js'
import { ANY_LEVEL, groupsWithLevel, projectsWithLevel, qualified, shareCounts } from './roles.js'

/** Who looks, as far as the shape of a query depends on it; the user's id itself is a parameter. */
export type Eyes = 'anonymous' | 'admin' | 'user' | 'external'

export const eyesOf = (user: Pick<ActorUser, 'admin' | 'external'> | null): Eyes =>
  user === null ? 'anonymous' : user.admin ? 'admin' : user.external ? 'external' : 'user'

/** The visibility from which on a thing is open without membership; a constant of the query's text, so that partial indexes can serve it. */
const openTo = (eyes: Eyes) => (eyes === 'user' ? sql`10` : sql`20`)

/** `seesProject` for every row of `projects` (SEC-33). */
export function visibleProjects(eyes: Eyes, userId: SQLWrapper): SQL {
  switch (eyes) {
    case 'admin':
      return sql`true`
    case 'anonymous':
      return sql`${projects.visibility} >= 20`
    default:
      return sql`(${projects.visibility} >= ${openTo(eyes)} or ${projects.id} in ${projectsWithLevel(userId, ANY_LEVEL)})`
  }
}

const REPORTER = sql`20`

/** The ability `download_code` for every row of `projects` that is visible (AC-10, note 2 of section 5.1). */
export function readableCode(eyes: Eyes, userId: SQLWrapper): SQL {
  if (eyes === 'admin') return sql`${projects.repository_access_level} >= 10`
  if (eyes === 'anonymous') return sql`(${projects.repository_access_level} >= 20 and ${projects.visibility} >= 20)`
  return sql`((${projects.repository_access_level} >= 20 or ${projects.repository_access_level} >= 10 and ${projects.id} in ${projectsWithLevel(userId, ANY_LEVEL)})
    and (${projects.visibility} >= ${openTo(eyes)} or ${projects.id} in ${projectsWithLevel(userId, REPORTER)}))`
}

/** For rows of `issues` of a project where the caller may read issues: those in his reach (AC-14). */
export function issuesInReach(reach: IssueReach, userId: SQLWrapper): SQL {
  if (reach === 'all') return sql`true`
  if (reach === 'open') return sql`not ${issues.confidential}`
  return sql`(not ${issues.confidential} or ${issues.author_id} = ${userId} or ${issues.assignee_id} = ${userId})`
}

/** `seesIssue` for every row of `issues` joined with `projects` (SEC-33, SEC-35). */
export function visibleIssues(eyes: Eyes, userId: SQLWrapper): SQL {
  if (eyes === 'admin') return sql`${projects.issues_access_level} >= 10`
  if (eyes === 'anonymous')
    return sql`(${visibleProjects(eyes, userId)} and ${projects.issues_access_level} >= 20 and ${issuesInReach('open', userId)})`
  return sql`(${visibleProjects(eyes, userId)}
    and (${projects.issues_access_level} >= 20 or ${projects.issues_access_level} >= 10 and ${projects.id} in ${projectsWithLevel(userId, ANY_LEVEL)})
    and (${issuesInReach('own', userId)} or ${projects.id} in ${projectsWithLevel(userId, REPORTER)}))`
}

/** Whether the group holds a project the caller sees, directly or by a share that counts today (AC-16). */
export const holdsVisibleProject = (eyes: Eyes, groupId: SQLWrapper, userId: SQLWrapper): SQL<boolean> =>
  qualified(
    sql<boolean>`exists (select 1 from ${projects} where (${projects.namespace_id} = ${groupId}
    or ${projects.id} in (select s.project_id from project_shares s where s.group_id = ${groupId} and ${shareCounts})) and ${visibleProjects(eyes, userId)})`,
  )

/** `seesGroup` for rows of `namespaces` that are groups (G-67, AC-16). */
export function visibleGroups(eyes: Eyes, group: { id: SQLWrapper; visibility: SQLWrapper }, userId: SQLWrapper): SQL {
  if (eyes === 'admin') return sql`true`
  const open = openTo(eyes)
  const holdsVisible = holdsVisibleProject(eyes, group.id, userId)
  if (eyes === 'anonymous') return sql`(${group.visibility} >= ${open} or ${holdsVisible})`
  return sql`(${group.visibility} >= ${open} or ${group.id} in ${groupsWithLevel(userId, ANY_LEVEL)} or ${holdsVisible})`
}
