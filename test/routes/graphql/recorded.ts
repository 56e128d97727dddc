/** What clients send, as facts: operations, fields and variables, in our own order and spelling (GQL-40 to GQL-44). */

const PAGE = 'pageInfo { endCursor hasNextPage }'

/** GitLens, and the library that it lists merge requests and issues with. */
const USER = 'id name username publicEmail avatarUrl webUrl'
const LABEL = 'color description id title'
const MILESTONE = 'description dueDate id iid startDate state title webPath'
const REPOSITORY = 'id httpUrlToRepo fullPath sshUrlToRepo webUrl'
const WHOLE_REPOSITORY =
  'id fullPath webUrl httpUrlToRepo sshUrlToRepo repository { rootRef } userPermissions { adminOperations downloadCode pushCode }'
const ISSUE = `author { ${USER} } assignees { nodes { ${USER} } } closedAt createdAt description dueDate id iid labels { nodes { ${LABEL} } }
  state title type updatedAt upvotes userNotesCount webUrl milestone { ${MILESTONE} }`
const STAGES = 'stages { nodes { jobs { nodes { allowFailure createdAt finishedAt id name status } } name } }'
const REQUEST = `id state author { ${USER} } diffRefs { baseSha headSha } diffStatsSummary { additions deletions fileCount } commitCount draft
  userNotesCount upvotes title description webUrl createdAt updatedAt mergedAt iid targetBranch sourceBranch assignees { nodes { ${USER} } }
  reviewers { nodes { ${USER} mergeRequestInteraction { approved reviewState } } } mergeStatusEnum labels { nodes { ${LABEL} } }
  milestone { ${MILESTONE} } headPipeline { ${STAGES} }`
const AUTHOR = 'author { id name avatarUrl webUrl }'
const PLACE = 'id fullPath webUrl'

export const gitlens = {
  currentUser: `query getCurrentUser { currentUser { ${USER} } }`,
  defaultBranch: 'query getDefaultBranch($fullPath: ID!) { project(fullPath: $fullPath) { repository { rootRef } } }',
  projectId: 'query getProjectId($fullPath: ID!) { project(fullPath: $fullPath) { id } }',
  issueOrMergeRequest: `query getIssueOrMergeRequest($fullPath: ID!, $iid: String!) { project(fullPath: $fullPath) {
    mergeRequest(iid: $iid) { ${AUTHOR} iid title description state createdAt updatedAt mergedAt webUrl }
    issue(iid: $iid) { ${AUTHOR} iid title description state createdAt updatedAt closedAt webUrl } } }`,
  mergeRequestForBranch: `query getMergeRequestForBranch($fullPath: ID!, $branches: [String!]) { project(fullPath: $fullPath) {
    opened: mergeRequests(sourceBranches: $branches state: opened sort: UPDATED_DESC first: 1) { nodes { iid ${AUTHOR} title state } }
    merged: mergeRequests(sourceBranches: $branches state: merged sort: UPDATED_DESC first: 1) { nodes { iid ${AUTHOR} title state } }
    closed: mergeRequests(sourceBranches: $branches state: closed sort: UPDATED_DESC first: 1) { nodes { iid ${AUTHOR} title state } } } }`,
  mergeRequest: `query getMergeRequest($fullPath: ID!, $iid: String!) { project(fullPath: $fullPath) { mergeRequest(iid: $iid) {
    id iid state ${AUTHOR} diffRefs { baseSha headSha } title description webUrl createdAt updatedAt mergedAt targetBranch sourceBranch
    project { ${PLACE} } sourceProject { ${PLACE} } } } }`,
  mergeRequests: `query getMergeRequests($id_0: MergeRequestID!, $id_1: MergeRequestID!) {
    mergeRequest_0: mergeRequest(id: $id_0) { ...more } mergeRequest_1: mergeRequest(id: $id_1) { ...more } }
    fragment more on MergeRequest { diffRefs { baseSha headSha } project { ${PLACE} } sourceProject { ${PLACE} } }`,
  findUser: 'query findUser($search: String!) { users(search: $search) { nodes { id name username publicEmail state avatarUrl webUrl } } }',
  userForCommit: `query getUserForCommit($fullPath: ID!, $oid: String!) { project(fullPath: $fullPath) { repository { tree(ref: $oid) {
    lastCommit { author { avatarUrl } authorName authorEmail } } } } }`,
  accountForUsername: `query getAccountForUsername($username: String!) { user(username: $username) { ${USER} } }`,
  accountsForRepo: `query getAccountsForRepo($fullPath: ID!, $after: String) { project(fullPath: $fullPath) {
    projectMembers(after: $after) { nodes { user { ${USER} } } ${PAGE} } } }`,
  repositories: `query batchGetRepos($one: ID!, $two: ID!) { getRepo_0: project(fullPath: $one) { ${WHOLE_REPOSITORY} }
    getRepo_1: project(fullPath: $two) { ${WHOLE_REPOSITORY} } }`,
  repositoriesOfUser: `query getReposForCurrentUser($after: String) { projects(membership: true first: 100 after: $after) {
    ${PAGE} nodes { ${WHOLE_REPOSITORY} } } }`,
  requestsOfUser: `query getPullRequestsForUser($username: String!, $cursor: String, $labelNames: [String!]) { user(username: $username) {
    authoredMergeRequests(state: opened first: 100 after: $cursor labels: $labelNames) { ${PAGE}
      nodes { ${REQUEST} project { ${REPOSITORY} archived } sourceProject { ${REPOSITORY} } } } } }`,
  requestsToReview: `query getPullRequestsForUser($username: String!, $cursor: String, $labelNames: [String!], $path: String) {
    user(username: $username) { reviewRequestedMergeRequests(state: opened first: 20 after: $cursor labels: $labelNames projectPath: $path) {
      ${PAGE} nodes { ${REQUEST} project { ${REPOSITORY} archived } sourceProject { ${REPOSITORY} } } } } }`,
  requestsOfRepository: `query getPullRequestsForRepo($fullPath: ID!, $after: String, $updatedBefore: Time, $authorUsername: String,
    $assigneeUsernames: [String!], $labelName: [String], $draft: Boolean, $reviewerUsername: String) {
    project(fullPath: $fullPath) { id fullPath webUrl archived mergeRequests(first: 100 state: opened sort: UPDATED_DESC after: $after
      updatedBefore: $updatedBefore authorUsername: $authorUsername assigneeUsernames: $assigneeUsernames labelName: $labelName draft: $draft
      reviewerUsername: $reviewerUsername) { ${PAGE} nodes { ${REQUEST} sourceProject { ${REPOSITORY} } } } } }`,
  requestOfRepository: `query getPullRequestForRepo($fullPath: ID!, $iid: String!) { project(fullPath: $fullPath) { ${REPOSITORY} archived
    mergeRequest(iid: $iid) { ${REQUEST} sourceProject { ${REPOSITORY} } } } }`,
  issue: `query GetSingleIssue($projectId: ID!, $issueNumber: String!) { project(fullPath: $projectId) { id fullPath webUrl
    issue(iid: $issueNumber) { ${ISSUE} } } }`,
  issues: `query GetIssuesFromProject($fullPath: ID!, $after: String, $updatedBefore: Time, $authorUsername: String, $assigneeUsername: String,
    $labelName: [String]) { project(fullPath: $fullPath) { id fullPath webUrl issues(first: 100 state: opened sort: UPDATED_DESC after: $after
      updatedBefore: $updatedBefore authorUsername: $authorUsername assigneeUsername: $assigneeUsername labelName: $labelName) {
      nodes { ${ISSUE} } ${PAGE} } } }`,
  milestones: `query getMilestonesForRepo($fullPath: ID!, $after: String) { project(fullPath: $fullPath) { webUrl
    milestones(after: $after) { nodes { ${MILESTONE} } ${PAGE} } } }`,
  labels: `query getLabelsForRepo($fullPath: ID!, $after: String) { project(fullPath: $fullPath) {
    labels(after: $after) { nodes { ${LABEL} } ${PAGE} } } }`,
}

/** The extension for VS Code (GitLab Workflow). */
const DETAILS = 'id name description httpUrlToRepo sshUrlToRepo fullPath webUrl wikiEnabled group { id }'
const NOTE = `id createdAt system author { avatarUrl name username webUrl } body bodyHtml url
  userPermissions { resolveNote adminNote createNote } ...position`
const DISCUSSIONS = `fragment position on Note { position { diffRefs { baseSha headSha startSha } filePath positionType newLine oldLine newPath
    oldPath positionType } }
  fragment noteDetails on Note { ${NOTE} }
  fragment discussionDetails on Discussion { replyId createdAt resolved resolvable notes { ${PAGE} nodes { ...noteDetails } } }
  fragment discussions on DiscussionConnection { pageInfo { hasNextPage endCursor } nodes { ...discussionDetails } }`

export const vscode = {
  project: `fragment projectDetails on Project { ${DETAILS} }
    query GetProject($projectPath: ID!) { project(fullPath: $projectPath) { ...projectDetails } }`,
  projects: `fragment projectDetails on Project { ${DETAILS} }
    query GetProjects($search: String, $membership: Boolean, $limit: Int, $searchNamespaces: Boolean) {
      projects(search: $search membership: $membership first: $limit searchNamespaces: $searchNamespaces) {
        nodes { ...projectDetails repository { empty } } } }`,
  snippets: `query GetSnippets($projectPath: ID!, $afterCursor: String) { project(fullPath: $projectPath) { id
    snippets(after: $afterCursor) { ${PAGE} nodes { id title description blobs { nodes { name path rawPath } } } } } }`,
  snippetContent: `query GetSnippetContent($snippetId: SnippetID!) { snippets(ids: [$snippetId]) {
    nodes { blobs { nodes { path rawPlainData } } } } }`,
  requestDiscussions: `${DISCUSSIONS} query GetMrDiscussions($projectPath: ID!, $iid: String!, $afterCursor: String) {
    project(fullPath: $projectPath) { id mergeRequest(iid: $iid) { discussions(after: $afterCursor) { ...discussions } } } }`,
  issueDiscussions: `${DISCUSSIONS} query GetIssueDiscussions($projectPath: ID!, $iid: String!, $afterCursor: String) {
    project(fullPath: $projectPath) { id issue(iid: $iid) { discussions(after: $afterCursor) { ...discussions } } } }`,
  requestPermissions: `query GetMrPermissions($projectPath: ID!, $iid: String!) { project(fullPath: $projectPath) {
    mergeRequest(iid: $iid) { userPermissions { createNote } } } }`,
  projectPermissions: `query getProjectUserPermissions($projectPath: ID!) { project(fullPath: $projectPath) {
    userPermissions { createMergeRequestIn readMergeRequest pushCode } } }`,
}

/** The import of groups and users into the catalogue of Backstage. */
export const backstage = {
  descendantGroups: `query listDescendantGroups($group: ID!, $endCursor: String) { group(fullPath: $group) {
    descendantGroups(first: 100, after: $endCursor) { nodes { id name description fullPath visibility parent { id } } ${PAGE} } } }`,
  groupMembers: `query getGroupMembers($group: ID!, $relations: [GroupMemberRelation!], $endCursor: String) { group(fullPath: $group) {
    groupMembers(first: 100, relations: $relations, after: $endCursor) {
      nodes { user { id username publicEmail name state webUrl avatarUrl } } ${PAGE} } } }`,
}

/** python-gitlab, and what its documentation shows. */
export const python = { active: 'query {currentUser {active}}', name: '{ currentUser { name } }' }

/** What the documentation of glab shows: `glab api graphql`, with and without `--paginate`. */
export const glab = {
  currentUser: 'query { currentUser { username } }',
  pages: `query($endCursor: String) { project(fullPath: "PATH") { name issues(first: 2, after: $endCursor) {
    edges { node { title } } pageInfo { endCursor hasNextPage } } } }`,
}
