import { connection, PAGE } from './connections.js'

const COMMON = `
  id: ID!
  title: String!
  description: String
  createdAt: Time!
  updatedAt: Time!
  projectId: Int!
  upvotes: Int!
  downvotes: Int!
  discussionLocked: Boolean!
  timeEstimate: Int!
  totalTimeSpent: Int!
  humanTimeEstimate: String
  humanTotalTimeSpent: String
  taskCompletionStatus: TaskCompletionStatus!
  milestone: Milestone
  reference(full: Boolean = false): String!
  labels(${PAGE}): LabelConnection
  discussions(${PAGE}): DiscussionConnection!
  notes(${PAGE}): NoteConnection!`

export const issuables = `
type MergeRequest {${COMMON}
  iid: String!
  state: MergeRequestState!
  mergedAt: Time
  sourceBranch: String!
  targetBranch: String!
  draft: Boolean!
  sourceProjectId: Int
  targetProjectId: Int!
  userNotesCount: Int
  commitCount: Int
  diffHeadSha: String
  diffRefs: DiffRefs
  "Null for a diff that is too large, and after the first twenty of a query."
  diffStatsSummary: DiffStatsSummary
  mergeStatus: String
  mergeStatusEnum: MergeStatus
  mergeable: Boolean!
  conflicts: Boolean!
  mergeError: String
  mergeCommitSha: String
  mergeWhenPipelineSucceeds: Boolean
  autoMergeEnabled: Boolean!
  allowCollaboration: Boolean
  forceRemoveSourceBranch: Boolean
  shouldRemoveSourceBranch: Boolean
  shouldBeRebased: Boolean!
  rebaseInProgress: Boolean!
  squash: Boolean!
  squashOnMerge: Boolean!
  webUrl: String
  author: MergeRequestAuthor
  mergeUser: UserCore
  project: Project!
  targetProject: Project!
  "Null if it is gone or the caller does not see it."
  sourceProject: Project
  headPipeline: Pipeline
  approved: Boolean!
  approvedBy(${PAGE}): UserCoreConnection
  assignees(${PAGE}): MergeRequestAssigneeConnection
  reviewers(${PAGE}): MergeRequestReviewerConnection
  commits(${PAGE}): CommitConnection
  userPermissions: MergeRequestPermissions!
}

type Issue {${COMMON}
  iid: ID!
  state: IssueState!
  type: IssueType
  closedAt: Time
  confidential: Boolean!
  dueDate: Time
  userNotesCount: Int!
  mergeRequestsCount: Int!
  moved: Boolean
  webUrl: String!
  webPath: String!
  author: UserCore!
  assignees(${PAGE}): UserCoreConnection
  userPermissions: IssuePermissions!
}

type DiffRefs {
  baseSha: String
  headSha: String!
  startSha: String!
}

type DiffStatsSummary {
  additions: Int!
  changes: Int!
  deletions: Int!
  fileCount: Int!
}

type TaskCompletionStatus {
  completedCount: Int!
  count: Int!
}

type MergeRequestPermissions {
  adminMergeRequest: Boolean!
  createNote: Boolean!
  readMergeRequest: Boolean!
  updateMergeRequest: Boolean!
}

type IssuePermissions {
  adminIssue: Boolean!
  createNote: Boolean!
  readIssue: Boolean!
  updateIssue: Boolean!
}

type Discussion {
  id: DiscussionID!
  replyId: DiscussionID!
  createdAt: Time!
  resolvable: Boolean!
  resolved: Boolean!
  resolvedAt: Time
  resolvedBy: UserCore
  notes(${PAGE}): NoteConnection!
}

type Note {
  id: NoteID!
  body: String!
  bodyHtml: String
  system: Boolean!
  confidential: Boolean
  internal: Boolean
  author: UserCore!
  createdAt: Time!
  updatedAt: Time!
  resolvable: Boolean!
  resolved: Boolean!
  resolvedAt: Time
  resolvedBy: UserCore
  url: String
  position: DiffPosition
  userPermissions: NotePermissions!
}

type NotePermissions {
  adminNote: Boolean!
  awardEmoji: Boolean!
  createNote: Boolean!
  readNote: Boolean!
  resolveNote: Boolean!
}

type DiffPosition {
  diffRefs: DiffRefs!
  filePath: String!
  positionType: DiffPositionType!
  oldPath: String
  newPath: String
  oldLine: Int
  newLine: Int
  width: Int
  height: Int
  x: Int
  y: Int
}

enum DiffPositionType {
  text
  image
  file
}

enum MergeRequestState {
  opened
  closed
  locked
  merged
  all
}

enum IssuableState {
  opened
  closed
  all
}

enum IssueState {
  opened
  closed
}

enum IssueType {
  ISSUE
}

enum MergeStatus {
  UNCHECKED
  CAN_BE_MERGED
  CANNOT_BE_MERGED
}

enum IssueSort {
  CREATED_ASC
  CREATED_DESC
  UPDATED_ASC
  UPDATED_DESC
  created_asc
  created_desc
  updated_asc
  updated_desc
}

enum MergeRequestSort {
  CREATED_ASC
  CREATED_DESC
  UPDATED_ASC
  UPDATED_DESC
  TITLE_ASC
  TITLE_DESC
  MERGED_AT_ASC
  MERGED_AT_DESC
  created_asc
  created_desc
  updated_asc
  updated_desc
}
${connection('MergeRequest')}${connection('Issue')}${connection('Discussion', { count: false })}${connection('Note', { count: false })}`
