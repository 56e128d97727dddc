/** The arguments of every list. */
export const PAGE = 'after: String, before: String, first: Int, last: Int'

/** The types of a list of nodes, as Relay names them. */
export const connection = (node: string, { count = true }: { count?: boolean } = {}): string => `
type ${node}Connection {
  nodes: [${node}]
  edges: [${node}Edge]
  pageInfo: PageInfo!${count ? '\n  count: Int!' : ''}
}

type ${node}Edge {
  cursor: String!
  node: ${node}
}
`

/** Filters of lists of merge requests. */
export const REQUEST_FILTERS = `createdAfter: Time, createdBefore: Time, draft: Boolean, iids: [String!], labels: [String!], labelName: [String],
    milestoneTitle: String, sort: MergeRequestSort = created_desc, sourceBranches: [String!], state: MergeRequestState, targetBranches: [String!],
    updatedAfter: Time, updatedBefore: Time`

/** Filters of lists of issues. */
export const ISSUE_FILTERS = `assigneeUsername: String, assigneeUsernames: [String!], authorUsername: String, confidential: Boolean, createdAfter: Time,
    createdBefore: Time, iid: String, iids: [String!], labelName: [String], milestoneTitle: [String], search: String, sort: IssueSort = created_desc,
    state: IssuableState, updatedAfter: Time, updatedBefore: Time`
