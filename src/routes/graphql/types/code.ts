import { z } from 'zod'
import { fullPathOf, type ProjectSubject } from '../../../access/rules.js'
import { presentSnippet, Snippet } from '../../../entities/content/snippet.js'
import { Commit, presentCommit } from '../../../entities/repository/commit.js'
import { nullOnFailure, refused } from '../../../failures.js'
import type { Commit as GitCommit, TreeEntry } from '../../../git/types.js'
import { encodePath } from '../../../lib/text/byte-path.js'
import { withoutAround } from '../../../lib/text/without-trailing.js'
import { visibilityName } from '../../../rules/visibility.js'
import type { ListedSnippet } from '../../../services/content/snippets.js'
import { readBlob } from '../../../services/repository/blobs.js'
import { branchNames } from '../../../services/repository/branches.js'
import { lastCommitOf } from '../../../services/repository/commits/read.js'
import { findFiles } from '../../../services/repository/files.js'
import { listTree } from '../../../services/repository/tree.js'
import type { Call } from '../call.js'
import { PAGED, paged, partOfList } from '../connection.js'
import { globalId } from '../global-id.js'
import { type Fields, field, namesOf, objectType } from '../object-type.js'

export interface CommitNode {
  commit: GitCommit
  fullPath: string
}
interface TreeNode {
  subject: ProjectSubject
  ref: string
  path: string
  entries: TreeEntry[]
}
interface EntryNode extends Omit<TreeNode, 'entries'> {
  entry: TreeEntry
}
interface FileNode {
  subject: ProjectSubject
  ref: string
  entry: TreeEntry
  content(): Promise<Buffer>
}

/** The most entries of a tree, files and names of branches that one field reads. */
const MAX_ENTRIES = 10_000
const MAX_FILES = 20
/** As how many lists a tree counts. */
const LISTS_OF_TREE = 5
const MAX_NAMES = 1_000

const NAMES = z.object({ limit: z.int(), offset: z.int(), searchPattern: z.string() })
const TREE = z.object({ path: z.string().nullish(), recursive: z.boolean().nullish(), ref: z.string().nullish() })
const BLOBS = z.object({ ...paged, paths: z.array(z.string()), ref: z.string().nullish() })

const refOf = ({ project }: ProjectSubject, ref: string | null | undefined) => (!ref || ref === 'HEAD' ? project.default_branch : ref)

const repositoryFields: Fields<ProjectSubject> = {
  rootRef: ({ project }) => (project.empty_repo ? null : project.default_branch),
  empty: ({ project }) => project.empty_repo,
  exists: () => true,
  branchNames: field(NAMES, (subject: ProjectSubject, { limit, offset, searchPattern }, call) => {
    if (limit < 0 || offset < 0) throw refused('limit and offset must not be negative')
    call.countList()
    return branchNames(call.ctx, subject, searchPattern, { offset, limit: Math.min(limit, MAX_NAMES) })
  }),
  tree: field(TREE, async (subject: ProjectSubject, args, call) => {
    call.countList(LISTS_OF_TREE)
    const path = withoutAround(args.path ?? '', '/')
    const ref = refOf(subject, args.ref)
    const part = { page: 1, per_page: MAX_ENTRIES }
    const found = await nullOnFailure(listTree(call.ctx, subject, { ref, path, recursive: args.recursive ?? false, ...part }))
    return found && ({ subject, ref, path, entries: found.items } satisfies TreeNode)
  }),
  blobs: field(BLOBS, async (subject: ProjectSubject, args, call) => {
    if (args.paths.length > MAX_FILES) throw refused(`paths are too many (maximum is ${MAX_FILES})`)
    call.countList()
    const ref = refOf(subject, args.ref)
    const entries = await findFiles(call.ctx, subject, args.paths, ref)
    return partOfList(
      entries.map((entry) => fileOf(call, subject, ref, entry)),
      args,
    )
  }),
}

function fileOf(call: Call, subject: ProjectSubject, ref: string, entry: TreeEntry): FileNode {
  let content: Promise<Buffer> | undefined
  return {
    subject,
    ref,
    entry,
    content() {
      content ??= call.oneByOne(() => readBlob(call.ctx, subject, entry.oid))
      return content
    },
  }
}

const ofType = (type: TreeEntry['type']) =>
  field(PAGED, ({ entries, ...place }: TreeNode, args) =>
    partOfList(
      entries.filter((entry) => entry.type === type).map((entry): EntryNode => ({ ...place, entry })),
      args,
    ),
  )

const treeFields: Fields<TreeNode> = {
  lastCommit: async ({ subject, ref, path }, _, { ctx }) => {
    const commit = await lastCommitOf(ctx, subject, ref, path)
    return commit && { commit, fullPath: fullPathOf(subject.project) }
  },
  blobs: ofType('blob'),
  trees: ofType('tree'),
  submodules: ofType('commit'),
}

const inUrl = (path: string) => path.split('/').map(encodePath).join('/')

const urlOf = ({ subject, ref, entry }: Omit<EntryNode, 'path'>, { view }: Call, kind: 'blob' | 'tree' | 'raw') =>
  `${view.links.project(fullPathOf(subject.project))}/-/${kind}/${inUrl(ref)}/${inUrl(entry.path)}`

const kindOf = ({ entry }: EntryNode) => (entry.type === 'tree' ? 'tree' : 'blob')

const entryFields: Fields<EntryNode> = {
  sha: ({ entry }) => entry.oid,
  name: ({ entry }) => entry.name,
  type: ({ entry }) => entry.type,
  path: ({ entry }) => entry.path,
  mode: ({ entry }) => entry.mode,
  webUrl: (node, _, call) => urlOf(node, call, kindOf(node)),
  webPath: (node, _, call) => call.pathOf(urlOf(node, call, kindOf(node))),
}
const entryType = objectType<EntryNode>({ fields: entryFields })

const size = async ({ content }: FileNode) => (await content()).length
const text = async ({ content }: FileNode) => {
  const bytes = await content()
  return bytes.includes(0) ? null : bytes.toString('utf8')
}

const fileFields: Fields<FileNode> = {
  oid: ({ entry }) => entry.oid,
  name: ({ entry }) => entry.name,
  path: ({ entry }) => entry.path,
  mode: ({ entry }) => entry.mode,
  size,
  rawSize: size,
  rawBlob: text,
  rawTextBlob: text,
  rawPath: (node, _, call) => call.pathOf(urlOf(node, call, 'raw')),
  webPath: (node, _, call) => call.pathOf(urlOf(node, call, 'blob')),
}

const shownCommit = ({ commit, fullPath }: CommitNode, { view }: Call) => presentCommit(commit, { fullPath }, view)

const commitFields: Fields<CommitNode> = {
  id: ({ commit }) => globalId('CommitPresenter', commit.oid),
  sha: ({ commit }) => commit.oid,
  fullTitle: ({ commit }) => commit.message.split('\n', 1)[0] ?? '',
  author: ({ commit }, _, { loaders }) => loaders.usersByAddress.load(commit.author.email.toLowerCase()),
  webPath: (node, _, call) => call.pathOf(shownCommit(node, call).web_url),
}

const snippetFields: Fields<ListedSnippet> = {
  id: ({ snippet }) => globalId(snippet.project_id === null ? 'PersonalSnippet' : 'ProjectSnippet', snippet.id),
  visibilityLevel: ({ snippet }) => visibilityName(snippet.visibility),
  author: ({ author }) => author,
  project: ({ snippet }, _, { loaders }) => (snippet.project_id === null ? null : loaders.projects.load(snippet.project_id)),
  blobs: field(PAGED, (record: ListedSnippet, args) => partOfList([record], args)),
}

const contentOf = async ({ snippet }: ListedSnippet, { loaders }: Call) => (await loaders.snippets.load(snippet.id))?.snippet.content ?? null

/** The one file of a snippet. */
const snippetFileFields: Fields<ListedSnippet> = {
  name: ({ snippet }) => snippet.file_name,
  path: ({ snippet }) => snippet.file_name,
  rawPath: (record, _, call) => call.pathOf(presentSnippet(record, call.view).raw_url),
  rawPlainData: (record, _, call) => contentOf(record, call),
  size: async (record, _, call) => Buffer.byteLength((await contentOf(record, call)) ?? ''),
}

export const codeTypes = {
  Repository: objectType<ProjectSubject>({ fields: repositoryFields }),
  Tree: objectType<TreeNode>({ fields: treeFields }),
  Blob: entryType,
  TreeEntry: entryType,
  Submodule: entryType,
  RepositoryBlob: objectType<FileNode>({ fields: fileFields }),
  Commit: objectType<CommitNode>({ fields: commitFields, shown: shownCommit, entity: namesOf(Commit) }),
  Snippet: objectType<ListedSnippet>({ fields: snippetFields, shown: (record, { view }) => presentSnippet(record, view), entity: namesOf(Snippet) }),
  SnippetBlob: objectType<ListedSnippet>({ fields: snippetFileFields }),
}
