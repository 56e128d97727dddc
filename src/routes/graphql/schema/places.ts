import { connection, ISSUE_FILTERS, PAGE, REQUEST_FILTERS } from './connections.js'

const PEOPLE = 'assigneeUsername: String, assigneeUsernames: [String!], authorUsername: String, reviewerUsername: String'

export const places = `
type Namespace {
  id: ID!
  name: String!
  path: String!
  fullName: String!
  fullPath: ID!
  visibility: String
}

type Group {
  id: ID!
  name: String!
  path: String!
  fullName: String!
  fullPath: ID!
  description: String
  visibility: String
  webUrl: String!
  avatarUrl: String
  lfsEnabled: Boolean
  requestAccessEnabled: Boolean
  emailsDisabled: Boolean
  mentionsDisabled: Boolean
  autoDevopsEnabled: Boolean
  projectCreationLevel: String
  subgroupCreationLevel: String
  requireTwoFactorAuthentication: Boolean
  twoFactorGracePeriod: Int
  shareWithGroupLock: Boolean
  "The group that it is in; null for none, and for one that the caller does not see."
  parent: Group
  userPermissions: GroupPermissions!
  "The groups below it, or directly in it."
  descendantGroups(${PAGE}, search: String, owned: Boolean, includeParentDescendants: Boolean = true): GroupConnection
  projects(${PAGE}, search: String, includeSubgroups: Boolean = false): ProjectConnection!
  groupMembers(${PAGE}, search: String, relations: [GroupMemberRelation!] = [DIRECT, INHERITED]): GroupMemberConnection
  issues(${PAGE}, includeSubgroups: Boolean = false, ${ISSUE_FILTERS}): IssueConnection
  mergeRequests(${PAGE}, includeSubgroups: Boolean = false, ${PEOPLE}, ${REQUEST_FILTERS}): MergeRequestConnection
  labels(${PAGE}, searchTerm: String, includeAncestorGroups: Boolean = false): LabelConnection
  milestones(${PAGE}, state: MilestoneStateEnum, title: String): MilestoneConnection
}

type GroupPermissions {
  createProjects: Boolean!
  readGroup: Boolean!
}

type Project {
  id: ID!
  name: String!
  nameWithNamespace: String!
  path: String!
  fullPath: ID!
  description: String
  visibility: String
  webUrl: String
  avatarUrl: String
  archived: Boolean
  createdAt: Time
  lastActivityAt: Time
  starCount: Int!
  forksCount: Int!
  openIssuesCount: Int
  httpUrlToRepo: String
  sshUrlToRepo: String
  topics: [String!]
  issuesEnabled: Boolean
  mergeRequestsEnabled: Boolean
  wikiEnabled: Boolean
  snippetsEnabled: Boolean
  jobsEnabled: Boolean
  lfsEnabled: Boolean
  publicJobs: Boolean
  requestAccessEnabled: Boolean
  sharedRunnersEnabled: Boolean
  containerRegistryEnabled: Boolean
  onlyAllowMergeIfPipelineSucceeds: Boolean
  onlyAllowMergeIfAllDiscussionsAreResolved: Boolean
  allowMergeOnSkippedPipeline: Boolean
  removeSourceBranchAfterMerge: Boolean
  autocloseReferencedIssues: Boolean
  printingMergeRequestLinkEnabled: Boolean
  mergeRequestsFfOnlyEnabled: Boolean
  squashReadOnly: Boolean!
  mergeCommitTemplate: String
  squashCommitTemplate: String
  suggestionCommitMessage: String
  importStatus: String
  "Always false: a merge request has one assignee."
  allowsMultipleMergeRequestAssignees: Boolean!
  "Always false: a merge request has one reviewer."
  allowsMultipleMergeRequestReviewers: Boolean!
  group: Group
  namespace: Namespace
  "Null for those who may not read code."
  repository: Repository
  userPermissions: ProjectPermissions!
  mergeRequest(iid: String!): MergeRequest
  mergeRequests(${PAGE}, ${PEOPLE}, ${REQUEST_FILTERS}): MergeRequestConnection
  issue(iid: String!): Issue
  issues(${PAGE}, ${ISSUE_FILTERS}): IssueConnection
  label(title: String!): Label
  labels(${PAGE}, searchTerm: String, includeAncestorGroups: Boolean = false): LabelConnection
  milestones(${PAGE}, state: MilestoneStateEnum, title: String): MilestoneConnection
  projectMembers(${PAGE}, search: String, relations: [ProjectMemberRelation!] = [DIRECT, INHERITED]): MemberInterfaceConnection
  pipeline(id: CiPipelineID, iid: ID, sha: String): Pipeline
  pipelines(${PAGE}, ref: String, scope: PipelineScopeEnum, sha: String, source: String, status: PipelineStatusEnum, updatedAfter: Time,
    updatedBefore: Time, username: String): PipelineConnection
  jobs(${PAGE}, statuses: [CiJobStatus!]): CiJobConnection
  snippets(${PAGE}): SnippetConnection
}

type ProjectPermissions {
  adminOperations: Boolean!
  adminProject: Boolean!
  archiveProject: Boolean!
  changeNamespace: Boolean!
  changeVisibilityLevel: Boolean!
  createIssue: Boolean!
  createLabel: Boolean!
  createMergeRequestFrom: Boolean!
  createMergeRequestIn: Boolean!
  createPipeline: Boolean!
  createSnippet: Boolean!
  createWiki: Boolean!
  downloadCode: Boolean!
  forkProject: Boolean!
  pushCode: Boolean!
  readMergeRequest: Boolean!
  readProject: Boolean!
  readProjectMember: Boolean!
  readWiki: Boolean!
  removeForkProject: Boolean!
  removeProject: Boolean!
  renameProject: Boolean!
  requestAccess: Boolean!
  updateWiki: Boolean!
  uploadFile: Boolean!
}
`
export const labels = `
type Label {
  id: ID!
  title: String!
  color: String!
  textColor: String!
  description: String
}

type Milestone {
  id: ID!
  iid: ID!
  title: String!
  description: String
  state: MilestoneStateEnum!
  startDate: Time
  dueDate: Time
  expired: Boolean!
  groupMilestone: Boolean!
  projectMilestone: Boolean!
  createdAt: Time!
  updatedAt: Time!
  webPath: String!
}

enum MilestoneStateEnum {
  active
  closed
}
${connection('Label')}${connection('Milestone', { count: false })}`
