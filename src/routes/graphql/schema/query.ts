import { connection, PAGE } from './connections.js'

export const query = `
type Query {
  "The user of the token; null without one."
  currentUser: UserCore
  "Gives the text back, with the name of the caller."
  echo(text: String!): String!
  group(fullPath: ID!): Group
  groups(${PAGE}, search: String, topLevelOnly: Boolean, ownedOnly: Boolean): GroupConnection
  issue(id: IssueID!): Issue
  mergeRequest(id: MergeRequestID!): MergeRequest
  metadata: Metadata
  project(fullPath: ID!): Project
  projects(${PAGE}, ids: [ID!], membership: Boolean, search: String, searchNamespaces: Boolean, sort: String = "id_desc", topics: [String!]): ProjectConnection
  "Snippets by their ids."
  snippets(${PAGE}, ids: [SnippetID!]): SnippetConnection
  user(id: UserID, username: String): UserCore
  "Users by ids, by usernames, or by a search."
  users(${PAGE}, ids: [ID!], search: String, usernames: [String!]): UserCoreConnection
}

type Metadata {
  version: String!
  revision: String!
  enterprise: Boolean!
  kas: Kas!
}

type Kas {
  enabled: Boolean!
  externalUrl: String
  version: String
}

type PageInfo {
  startCursor: String
  endCursor: String
  hasNextPage: Boolean!
  hasPreviousPage: Boolean!
}

scalar Time
scalar DiscussionID
scalar IssueID
scalar JobID
scalar MergeRequestID
scalar NoteID
scalar ProjectID
scalar SnippetID
scalar UserID
${['Group', 'Project', 'Snippet', 'UserCore'].map((node) => connection(node)).join('')}`
