import type { ProjectCreationLevel, SubgroupCreationLevel } from '../rules/creation-levels.js'
import { GROUP_ROLES, type GroupAbility } from './abilities/group.js'
import { type ConditionalAbility, PROJECT_PROHIBITIONS, PROJECT_ROLES, type ProjectAbility } from './abilities/project.js'
import type { ActorUser } from './actor.js'

/** Access levels (AC-1). */
export const LEVELS = { none: 0, guest: 10, reporter: 20, developer: 30, maintainer: 40, owner: 50 } as const

/** Visibility levels (G-65). */
export const PRIVATE = 0
export const INTERNAL = 10
export const PUBLIC = 20

const ROLES = ['anonymous', 'visitor', 'guest', 'reporter', 'developer', 'maintainer', 'owner'] as const
const ROLE_LEVELS = [-2, -1, 10, 20, 30, 40, 50]

function requiredLevels<Ability extends string>(roles: Record<(typeof ROLES)[number], readonly string[]>) {
  const rung = new Map<string, number>()
  ROLES.forEach((role, i) => {
    for (const ability of roles[role]) if (!rung.has(ability)) rung.set(ability, ROLE_LEVELS[i] as number)
  })
  return (ability: Ability) => rung.get(ability) ?? Number.POSITIVE_INFINITY
}

const requiredProjectLevel = requiredLevels<ProjectAbility | ConditionalAbility>(PROJECT_ROLES)
const requiredGroupLevel = requiredLevels<GroupAbility>(GROUP_ROLES)

/** The input of a policy decision about a project. */
export interface ProjectPolicyInput {
  user: Pick<ActorUser, 'admin' | 'external'> | null
  /** The user's level on the project, 0 without one (AC-2). */
  level: number
  project: {
    visibility: number
    archived: boolean
    marked_for_deletion_at: Date | null
    repository_access_level: number
    forking_access_level: number
    builds_access_level: number
    operations_access_level: number
    analytics_access_level: number
    issues_access_level: number
    merge_requests_access_level: number
    wiki_access_level: number
    snippets_access_level: number
    packages_enabled: boolean | null
    container_registry_enabled: boolean
    public_jobs: boolean
  }
}

/** Whether the caller may see the project; if not, it is 404 (G-65, AC-6), as a deleted one is for everybody (SEC-245). */
export function seesProject({ user, level, project }: ProjectPolicyInput): boolean {
  if (project.marked_for_deletion_at) return false
  return user?.admin === true || level > 0 || isOpenTo(project.visibility, user)
}

/** Whether a visibility level alone gives the user access, without membership (AC-6). */
export function isOpenTo(visibility: number, user: Pick<ActorUser, 'external'> | null) {
  return visibility >= PUBLIC || (visibility >= INTERNAL && user !== null && !user.external)
}

/** The access level; administrators count as owners (AC-4). */
export const effectiveLevel = ({ user, level }: Pick<ProjectPolicyInput, 'user' | 'level'>) => (user?.admin ? LEVELS.owner : level)

const prohibitions: Record<string, ReadonlySet<string>> = Object.fromEntries(
  Object.entries(PROJECT_PROHIBITIONS).map(([state, list]) => [state, new Set(list)]),
)

/**
 * Whether the caller may see, restore and remove what waits for its removal, where that is asked for (PR-30, SEC-245): as
 * an owner or administrator.
 */
export const restores = (input: Pick<ProjectPolicyInput, 'user' | 'level'>) => effectiveLevel(input) >= LEVELS.owner

/** What those may do with it; restoring and removing are the same ability. */
const KEPT_PROJECT_ABILITIES: ReadonlySet<string> = new Set<ProjectAbility>(['read_project', 'remove_project'])
const KEPT_GROUP_ABILITIES: ReadonlySet<string> = new Set<GroupAbility>(['read_group', 'remove_group'])

/** The prohibition that applies while each feature is off for the caller. */
const FEATURE_SWITCHES = [
  ['no_repository', 'repository_access_level'],
  ['no_forking', 'forking_access_level'],
  ['no_jobs', 'builds_access_level'],
  ['no_operations', 'operations_access_level'],
  ['no_analytics', 'analytics_access_level'],
  ['no_wiki', 'wiki_access_level'],
  ['no_snippets', 'snippets_access_level'],
  ['no_issues', 'issues_access_level'],
  ['no_merge_requests', 'merge_requests_access_level'],
] as const

/**
 * Whether the caller may read commits of merge requests: who reads these, and everybody without an account where they
 * are open to everybody, as pages and Git show them (GH-28).
 */
export const readsRequestCode = (input: ProjectPolicyInput): boolean =>
  canProject(input, 'read_merge_request') || (input.user === null && input.project.merge_requests_access_level >= 20)

/** Whether issues or merge requests, and so labels and milestones, are on for the caller (AC-79). */
const hasIssuables = (input: ProjectPolicyInput) =>
  isFeatureOpen(input.project.issues_access_level, input) ||
  isFeatureOpen(Math.min(input.project.merge_requests_access_level, input.project.repository_access_level), input)

/** Whether the feature is on for this caller (AC-10, G-68). */
export const isFeatureOpen = (switchLevel: number, { user, level }: Pick<ProjectPolicyInput, 'user' | 'level'>) =>
  switchLevel >= 20 || (switchLevel >= 10 && (level > 0 || user?.admin === true))

/**
 * Whether the caller has an ability on a project. `visibleProjects` is the SQL counterpart for seeing a project.
 */
export function canProject(input: ProjectPolicyInput, ability: ProjectAbility): boolean {
  const { user, project } = input
  if (project.marked_for_deletion_at) return restores(input) && KEPT_PROJECT_ABILITIES.has(ability)
  if (!seesProject(input)) return false
  if (project.archived && prohibitions['archived']?.has(ability)) return false
  for (const [state, feature] of FEATURE_SWITCHES) if (!isFeatureOpen(project[feature], input) && prohibitions[state]?.has(ability)) return false
  if (project.packages_enabled === false && prohibitions['no_packages']?.has(ability)) return false
  if (!project.container_registry_enabled && prohibitions['no_registry']?.has(ability)) return false
  if (prohibitions['no_issuables']?.has(ability) && !hasIssuables(input)) return false
  const level = effectiveLevel(input)
  const rung = level > 0 ? level : user ? -1 : -2
  if (rung >= requiredProjectLevel(ability)) return true
  // code of a project that the caller may access by its visibility alone (section 5.1, note 2)
  const open = isOpenTo(project.visibility, user)
  if (ability === 'download_code' || ability === 'comment_on_commit' || ability === 'read_contributors')
    return open && rung >= requiredProjectLevel('download_code_if_public')
  if (ability === 'read_merge_request') return open && rung >= requiredProjectLevel('read_merge_request_if_public')
  if (ability === 'fork') return open && rung >= requiredProjectLevel('fork_if_public')
  if (ability === 'read_package') return open && rung >= requiredProjectLevel('read_package_if_public')
  if (ability === 'read_image') return open && rung >= requiredProjectLevel('read_image_if_public')
  // pipelines for guests of a private project (section 5.1, note 3)
  if (ability === 'read_pipeline' || ability === 'read_environment')
    return (
      (open && rung >= requiredProjectLevel('read_pipeline_if_public')) ||
      (project.public_jobs && rung >= requiredProjectLevel('read_pipeline_if_jobs_are_public'))
    )
  return false
}

/** What a decision about an issue depends on, in addition to its project. */
export interface IssueRelations {
  author_id: number
  assignee_ids: readonly number[]
  confidential: boolean
}

type UserPolicyInput = ProjectPolicyInput & { user: Pick<ActorUser, 'id'> | null }

const isAuthorOrAssignee = ({ user }: UserPolicyInput, { author_id, assignee_ids }: Omit<IssueRelations, 'confidential'>) =>
  user !== null && (user.id === author_id || assignee_ids.includes(user.id))

/**
 * Which issues of a project are visible to a caller who may read issues there: `all`; `own`: all except other users'
 * confidential ones; `open`: all except confidential ones (AC-14).
 */
export type IssueReach = 'all' | 'own' | 'open'

export const issueReach = (input: Pick<ProjectPolicyInput, 'user' | 'level'>): IssueReach =>
  effectiveLevel(input) >= LEVELS.reporter ? 'all' : input.user ? 'own' : 'open'

/**
 * Whether the caller may see the issue; if not, it is 404 (AC-14, SEC-35). `visibleIssues` is the SQL counterpart.
 */
export function seesIssue(input: UserPolicyInput, issue: IssueRelations): boolean {
  return canProject(input, 'read_issue') && (!issue.confidential || issueReach(input) === 'all' || isAuthorOrAssignee(input, issue))
}

/** If the discussion is locked, only members and administrators may comment (IS-20, SEC-121). */
const mayComment = (input: Pick<ProjectPolicyInput, 'user' | 'level'>, { discussion_locked }: { discussion_locked: boolean | null }) =>
  !discussion_locked || effectiveLevel(input) > 0

/** Whether the caller has an ability on an issue; authors and assignees may change theirs (section 5.1, note 1). */
export function canIssue(input: UserPolicyInput, ability: ProjectAbility, issue: IssueRelations & { discussion_locked: boolean | null }): boolean {
  if (!seesIssue(input, issue)) return false
  if (ability === 'create_note' && !mayComment(input, issue)) return false
  return canProject(input, ability) || (ability === 'update_issue' && isAuthorOrAssignee(input, issue) && canProject(input, 'create_issue'))
}

/** What a decision about a merge request depends on, in addition to its project. */
export interface MergeRequestRelations {
  author_id: number
  assignee_ids: readonly number[]
}

/**
 * Whether the caller may read the merge request: a guest of a private project reads those they opened or are
 * assigned to (notes 1 and 2 of section 5.1). `visibleMergeRequests` is the SQL counterpart.
 */
export function seesMergeRequest(input: UserPolicyInput, request: MergeRequestRelations): boolean {
  return canProject(input, 'read_merge_request') || (isAuthorOrAssignee(input, request) && canProject(input, 'read_own_merge_request'))
}

/**
 * Whether the caller has an ability on a merge request; authors and assignees may change theirs (MR-41), and approve it
 * if they are members (MR-106).
 */
export function canMergeRequest(
  input: UserPolicyInput,
  ability: ProjectAbility,
  request: MergeRequestRelations & { discussion_locked: boolean | null },
): boolean {
  if (!seesMergeRequest(input, request)) return false
  if (ability === 'create_note' && !mayComment(input, request)) return false
  if (ability === 'read_merge_request' || canProject(input, ability)) return true
  const change = ability === 'update_merge_request' || (ability === 'approve_merge_request' && effectiveLevel(input) > 0)
  return change && isAuthorOrAssignee(input, request) && canProject(input, 'propose_merge_request')
}

/** Which notes of a project the caller may read, by kind of noteable; null or false: none (S-20). */
export interface NoteReach {
  issues: IssueReach | null
  merge_requests: 'all' | 'own' | null
  commits: boolean
  /** `open`: only those whose own visibility level gives the caller access. */
  snippets: 'all' | 'open' | null
}

export function noteReach(input: ProjectPolicyInput): NoteReach {
  const may = (ability: ProjectAbility) => canProject(input, ability)
  return {
    issues: may('read_issue') ? issueReach(input) : null,
    merge_requests: may('read_merge_request') ? 'all' : may('read_own_merge_request') ? 'own' : null,
    commits: may('download_code'),
    snippets: may('read_snippet') ? (effectiveLevel(input) > 0 ? 'all' : 'open') : null,
  }
}

export interface GroupPolicyInput {
  user: Pick<ActorUser, 'admin' | 'external'> | null
  level: number
  group: { visibility: number; marked_for_deletion_at: Date | null }
  /** Whether the caller can see a project directly in the group or shared with it (AC-16). */
  seesProjectIn: boolean
}

/**
 * Whether the caller may see the group: it is public, or internal for users who are not external, or the caller is a
 * member, sees one of its projects, or is an administrator (G-67). Nobody sees one that waits for its removal (SEC-245).
 */
export function seesGroup({ user, level, group, seesProjectIn }: GroupPolicyInput): boolean {
  if (group.marked_for_deletion_at) return false
  return user?.admin === true || level > 0 || isOpenTo(group.visibility, user) || seesProjectIn
}

interface CreationLevels {
  project_creation_level: ProjectCreationLevel
  subgroup_creation_level: SubgroupCreationLevel
}

/** The level that the group itself demands for creating something in it (GR-50, GR-51). */
function chosenLevel({ project_creation_level, subgroup_creation_level }: CreationLevels, ability: GroupAbility): number | null {
  if (ability === 'create_project') return CREATION_LEVELS[project_creation_level]
  return ability === 'create_subgroup' ? CREATION_LEVELS[subgroup_creation_level] : null
}

const CREATION_LEVELS = { noone: Number.POSITIVE_INFINITY, ...LEVELS }

export function canGroup(input: GroupPolicyInput & { group: CreationLevels }, ability: GroupAbility): boolean {
  if (input.group.marked_for_deletion_at) return restores(input) && KEPT_GROUP_ABILITIES.has(ability)
  if (!seesGroup(input)) return false
  const level = effectiveLevel(input)
  return (level > 0 ? level : input.user ? -1 : -2) >= (chosenLevel(input.group, ability) ?? requiredGroupLevel(ability))
}
