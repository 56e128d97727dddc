import { connection, PAGE } from './connections.js'

export const code = `
type Repository {
  rootRef: String
  empty: Boolean!
  exists: Boolean!
  "The names of branches that match a pattern with \`*\`."
  branchNames(limit: Int!, offset: Int!, searchPattern: String!): [String!]
  tree(path: String = "", recursive: Boolean = false, ref: String): Tree
  blobs(${PAGE}, paths: [String!]!, ref: String): RepositoryBlobConnection
}

type Tree {
  lastCommit: Commit
  blobs(${PAGE}): BlobConnection!
  trees(${PAGE}): TreeEntryConnection!
  submodules(${PAGE}): SubmoduleConnection!
}

type Blob {
  sha: String!
  name: String!
  type: EntryType!
  path: String!
  mode: String
  webUrl: String
  webPath: String
}

type TreeEntry {
  sha: String!
  name: String!
  type: EntryType!
  path: String!
  webUrl: String
  webPath: String
}

type Submodule {
  sha: String!
  name: String!
  type: EntryType!
  path: String!
}

enum EntryType {
  tree
  blob
  commit
}

type RepositoryBlob {
  oid: String!
  name: String
  path: String!
  mode: String
  size: Int
  rawSize: Int
  "The text of the file; null for a binary one."
  rawTextBlob: String
  rawBlob: String
  rawPath: String
  webPath: String
}

type Commit {
  id: ID!
  sha: String!
  shortId: String!
  title: String
  fullTitle: String
  message: String
  authorName: String
  authorEmail: String
  authoredDate: Time
  committedDate: Time
  "The user to whom the address belongs."
  author: UserCore
  webUrl: String!
  webPath: String!
}

type Snippet {
  id: SnippetID!
  title: String!
  description: String
  fileName: String
  visibilityLevel: VisibilityLevelsEnum!
  createdAt: Time!
  updatedAt: Time!
  webUrl: String!
  rawUrl: String!
  author: UserCore
  project: Project
  blobs(${PAGE}): SnippetBlobConnection
}

type SnippetBlob {
  name: String
  path: String
  rawPath: String!
  rawPlainData: String
  size: Int!
}

enum VisibilityLevelsEnum {
  private
  internal
  public
}
${['Blob', 'TreeEntry', 'Submodule', 'RepositoryBlob', 'Commit', 'SnippetBlob'].map((node) => connection(node, { count: false })).join('')}`
