import { connection, PAGE, REQUEST_FILTERS } from './connections.js'

const PROJECT = 'projectId: ProjectID, projectPath: String'

const FIELDS = `
  id: ID!
  username: String!
  name: String!
  state: UserState!
  active: Boolean
  bot: Boolean!
  avatarUrl: String
  webUrl: String!
  webPath: String!
  "Null unless the user shows it to everybody."
  publicEmail: String
  location: String
  userPermissions: UserPermissions!
  authoredMergeRequests(${PAGE}, ${PROJECT}, assigneeUsername: String, reviewerUsername: String, ${REQUEST_FILTERS}): MergeRequestConnection
  assignedMergeRequests(${PAGE}, ${PROJECT}, authorUsername: String, reviewerUsername: String, ${REQUEST_FILTERS}): MergeRequestConnection
  reviewRequestedMergeRequests(${PAGE}, ${PROJECT}, assigneeUsername: String, authorUsername: String, ${REQUEST_FILTERS}): MergeRequestConnection
  starredProjects(${PAGE}, search: String): ProjectConnection`

const WITH_REQUEST = `${FIELDS}
  "What they have to do with the merge request that shows them."
  mergeRequestInteraction: UserMergeRequestInteraction`

export const users = `
interface User {${FIELDS}
}

type UserCore implements User {${FIELDS}
}

type MergeRequestAuthor implements User {${WITH_REQUEST}
}

type MergeRequestAssignee implements User {${WITH_REQUEST}
}

type MergeRequestReviewer implements User {${WITH_REQUEST}
}

type UserPermissions {
  createSnippet: Boolean!
}

type UserMergeRequestInteraction {
  approved: Boolean!
  reviewed: Boolean!
  reviewState: MergeRequestReviewState
}

enum UserState {
  active
  banned
  blocked
  deactivated
  ldap_blocked
  blocked_pending_approval
}

enum MergeRequestReviewState {
  UNREVIEWED
  REVIEWED
  REQUESTED_CHANGES
  APPROVED
}

interface MemberInterface {
  id: ID!
  accessLevel: AccessLevel
  createdAt: Time
  expiresAt: Time
  user: UserCore
}

type ProjectMember implements MemberInterface {
  id: ID!
  accessLevel: AccessLevel
  createdAt: Time
  expiresAt: Time
  user: UserCore
  project: Project
}

type GroupMember implements MemberInterface {
  id: ID!
  accessLevel: AccessLevel
  createdAt: Time
  expiresAt: Time
  user: UserCore
  group: Group
}

type AccessLevel {
  integerValue: Int
  stringValue: AccessLevelEnum
}

enum AccessLevelEnum {
  GUEST
  REPORTER
  DEVELOPER
  MAINTAINER
  OWNER
}

enum GroupMemberRelation {
  DIRECT
  INHERITED
  DESCENDANTS
  SHARED_FROM_GROUPS
}

enum ProjectMemberRelation {
  DIRECT
  INHERITED
  DESCENDANTS
  INVITED_GROUPS
}
${connection('MergeRequestAssignee', { count: false })}${connection('MergeRequestReviewer', { count: false })}${connection('GroupMember', { count: false })}
type MemberInterfaceConnection {
  nodes: [MemberInterface]
  edges: [MemberInterfaceEdge]
  pageInfo: PageInfo!
}

type MemberInterfaceEdge {
  cursor: String!
  node: MemberInterface
}
`
