import type { Readable, Writable } from 'node:stream'
import type { Outlet } from './process/spawner.js'

/** Forty lower-case hex digits. */
export type Oid = string

/** The object id that stands for "no such ref" in ref updates. */
export const ZERO: Oid = '0'.repeat(40)

/** What a storage is needed for; what writes reads as well. */
export type StorageAccess = 'read' | 'write'

/**
 * Where a repository is stored: the storage's name and the project's id. Project names are not part of it, so renaming
 * a project moves nothing.
 */
export interface RepositoryKey {
  storage: string
  id: number
  kind: 'project' | 'wiki'
}

/**
 * Name, e-mail address and date from a commit or tag header, as decoded text. A header that cannot be parsed gives
 * empty strings and 0 seconds.
 */
export interface Signature {
  name: string
  email: string
  /** Seconds since 1970, as stored; may be negative or beyond the range of Date. */
  seconds: number
  /** As stored, such as `+0200`. */
  offset: string
}

export interface Commit {
  oid: Oid
  tree: Oid
  parents: Oid[]
  author: Signature
  committer: Signature
  /** Decoded according to the `encoding` header, with invalid bytes replaced; the trailing newline is kept. */
  message: string
}

export interface Tag {
  oid: Oid
  target: Oid
  targetType: 'commit' | 'tree' | 'blob' | 'tag'
  tagger: Signature | null
  message: string
}

export type Mode = '100644' | '100755' | '120000' | '160000' | '040000' | (string & {})

export interface TreeEntry {
  /** Six digits; `040000` for a tree. */
  mode: Mode
  type: 'blob' | 'tree' | 'commit'
  oid: Oid
  /** The last part of `path`. Invalid UTF-8 shows as U+FFFD. */
  name: string
  /** From the root of the repository. */
  path: string
  /** The path with its bytes, where it is not UTF-8 (see `lib/text/byte-path.ts`). */
  bytePath?: string
}

export interface Ref {
  /** Full name, `refs/heads/main`. */
  name: string
  oid: Oid
  /** The object that an annotated tag finally points at, usually a commit; `oid` for other refs. */
  peeled: Oid
}

/** What a user-supplied revision resolves to (SEC-81, SEC-82, C-8). */
export interface Resolved {
  /** The commit, tags peeled. */
  commit: Oid
  /** The full ref name if the revision named a branch or a tag, otherwise null. */
  ref: string | null
}

export interface RefUpdate {
  ref: string
  /** ZERO: must not exist yet. */
  old: Oid
  /** ZERO: delete. */
  new: Oid
}

export interface FileDiff {
  old_path: string
  new_path: string
  /** The paths for a URL, where they are not UTF-8 (see `lib/text/byte-path.ts`). */
  encoded_old_path?: string
  encoded_new_path?: string
  /** `0` if the file does not exist on this side. */
  a_mode: string
  b_mode: string
  new_file: boolean
  renamed_file: boolean
  deleted_file: boolean
  /** Unified diff text from the `---` line on (C-55); empty if too large, identical or a mode change only. */
  diff: string
  /** Only where the text is left out because it is too large, in the names of later versions (C-62). */
  collapsed?: false
  too_large?: true
}

export interface DiffLimits {
  files: number
  lines: number
  /** Maximum bytes of diff text in total. */
  bytes: number
  /** Maximum bytes of diff text per file; the `diff` of a larger one is empty. */
  fileBytes: number
}

export interface Diff {
  files: FileDiff[]
  /** Whether files were omitted because of a limit. */
  truncated: boolean
  /** How much of each renamed file is as it was, in percent, by its new path. */
  similarity: Readonly<Record<string, number>>
  /** The blobs of each file before and after the change, by its new path; null where it does not exist. */
  blobs: Readonly<Record<string, readonly [Oid | null, Oid | null]>>
}

/** A line of a file in a diff: removed (`old_line` only), added (`new_line` only) or context (both). */
export interface DiffLine {
  /** The path after the change; for a deleted file the old one. */
  path: string
  old_line: number | null
  new_line: number | null
}

export interface DiffPaths {
  old_path: string
  new_path: string
}

export interface Stats {
  additions: number
  deletions: number
}

export interface LogOptions {
  /** The starting commits; the log is the union of their histories. */
  from: Oid[]
  /** Commits whose histories are excluded. */
  exclude?: Oid[]
  /** Seconds since 1970, inclusive, compared with the committer date. */
  since?: number
  until?: number
  /** Literal path of a file or directory. A path that is a file in the start commit follows renames (C-11). */
  path?: string
  firstParent?: boolean
  skip: number
  limit: number
}

export interface LogPage {
  commits: Commit[]
  /** Number of matching commits, regardless of `skip` and `limit`. */
  total: number
}

export type ArchiveKind = 'tar' | 'tar.gz' | 'tar.bz2' | 'zip'

export interface ArchiveOptions {
  kind: ArchiveKind
  commit: Oid
  /** The top-level folder in the archive. */
  prefix: string
  /** A literal path of a file or folder; '' means everything. */
  path: string
  /** Kills git when aborted. */
  signal: AbortSignal
  /** The user or client address that the process counts against. */
  holder?: string | undefined
  /** Prefixes of refs that this client may neither see nor fetch, besides those of the service (GH-28). */
  hiddenRefs?: readonly string[]
}

/** `diff`: the changes between two commits; `patch`: each commit of `to` that `from` lacks, as a mail. */
export type PatchKind = 'diff' | 'patch'

export interface PatchOptions {
  kind: PatchKind
  /** Null: an empty tree, or all commits. */
  from: Oid | null
  to: Oid
  /** Kills git when aborted. */
  signal: AbortSignal
  /** The user or client address that the process counts against. */
  holder?: string | undefined
}

export interface Contributor {
  name: string
  email: string
  commits: number
}

export interface GrepOptions extends SearchDeadline {
  /** Literal paths of files and folders; everything if absent. */
  paths?: string[]
  /** Context lines before and after each match. */
  context: number
  /** Maximum number of chunks. */
  limit: number
}

/** How long a search may take. */
export interface SearchDeadline {
  /** Milliseconds after which the matches found so far are returned. */
  deadline?: number
  signal?: AbortSignal
}

/** Consecutive lines of a file that come from one commit; line numbers start at 1. */
export interface BlameGroup {
  oid: Oid
  start: number
  count: number
  /** The version of the file before that commit; null if there is none, or its path has bytes that git escapes. */
  previous: { oid: Oid; path: string } | null
}

/** Adjacent lines of a file: matches and their context. */
export interface GrepChunk {
  path: string
  /** Number of the first line, from 1. */
  startLine: number
  /** The lines, separated by LF. */
  text: string
}

/** A file action of the commits API, normalised by the service (C-38) and with validated paths (SEC-92, SEC-93). */
export type Change =
  /** `overFiles`: a file where the path needs a directory gives way to it. */
  | { action: 'create'; path: string; content: Buffer; executable?: boolean; overFiles?: boolean }
  /** Keeps the file's content if `content` is absent. */
  | { action: 'update'; path: string; content?: Buffer; executable?: boolean }
  | { action: 'delete'; path: string }
  /** Keeps the file's content if `content` is absent. */
  | { action: 'move'; from: string; path: string; content?: Buffer; overFiles?: boolean }
  /** Replaces a file by an object that the repository has. */
  | { action: 'replace'; path: string; mode: string; oid: Oid }
  /** Sets the commit that a submodule points at. */
  | { action: 'submodule'; path: string; oid: Oid }

/** Why a change cannot be applied; the service maps it to a message. */
export type ChangeFault = 'exists' | 'missing' | 'invalid_path'

export interface CommitDraft {
  /** The changes are applied to the tree of the first parent, or to an empty tree if there are no parents. */
  parents: Oid[]
  changes: Change[]
  author: Signature
  committer: Signature
  message: string
  /** Only checks whether the changes apply: nothing is written and the returned ids are meaningless. */
  check?: boolean
}

export type DraftResult = { commit: Oid; tree: Oid } | { fault: ChangeFault /** Position in `changes`. */; index: number; path: string }

/** Drafts several commits, which may build on each other, and writes them as one pack. */
export interface HistoryDraft {
  /** Like `draftCommit`, but nothing is written before `write`. */
  commit(draft: CommitDraft): Promise<DraftResult>
  write(): Promise<void>
}

/** The change of `commit` relative to its first parent, to be applied on `onto`. */
export interface PickedChange {
  commit: Oid
  /** Revert instead of cherry-pick. */
  reverse?: boolean
  onto: Oid
  /** Whether a commit that is empty by itself stays: it is not `unchanged`. */
  keepEmpty?: boolean
}

/** A cherry-pick or revert. */
export type PickDraft = PickedChange & CommitTexts

/** `unchanged`: the change is already present (or, for a revert, absent). */
export type PickRefusal = 'conflict' | 'unchanged'

export type PickResult = { commit: Oid; tree: Oid } | { refusal: PickRefusal }

/** What is written when `from` is merged into `into`. */
export interface MergeDraft {
  into: Oid
  from: Oid
  /** A single commit on top of `into`, with all changes of `from`, which is merged in its place. */
  squash: CommitTexts | null
  /** The merge commit, whose first parent is `into`; null: the branch moves on to what is merged. */
  merge: CommitTexts | null
}

export interface CommitTexts {
  author: Signature
  committer: Signature
  message: string
}

/** The new head of the branch, and the squashed commit. */
export interface MergedCommits {
  commit: Oid
  squash: Oid | null
}

/** `conflict`: git cannot merge automatically, or there is no common history. */
export type MergeResult = MergedCommits | { refusal: 'conflict' }

/** The texts of a merge; without a base both sides have added the file. */
export interface MergedTexts {
  base: Buffer | null
  ours: Buffer
  theirs: Buffer
}

/** A file of one side of a merge, or of the base. */
export interface Stage {
  mode: string
  oid: Oid
}

/** A merge that needs decisions: a commit of its tree, in whose texts git has marked the conflicts. */
export interface ConflictedMerge {
  commit: Oid
  /** The conflicts, with what git has of each in its three stages. */
  files: { path: string; base?: Stage; ours?: Stage; theirs?: Stage }[]
}

/** Changes of files. */
export interface PathChanges {
  /** What these commits, and those before them that no branch or tag has yet, change against their parents. */
  commits: readonly Oid[]
  /** The differences between two commits. */
  pairs: readonly (readonly [Oid, Oid])[]
}

/** A ref update requested by a push, as receive-pack passes it to its hooks. */
export interface PushCommand {
  ref: string
  old: Oid
  new: Oid
}

/** Reads the repository including a push's objects that are not accepted yet. */
export type Quarantine = Pick<GitRepository, 'isAncestor' | 'commit' | 'objectInfo' | 'changedPath'> & {
  /** The Git LFS pointers among the new files, one per object. */
  newPointers(): Promise<LfsPointer[]>
}

/** What Git stores in place of a file that Git LFS stores: the SHA-256 of its content in hex, and its size in bytes. */
export interface LfsPointer {
  oid: string
  size: number
}

export interface PushPolicy {
  /** Why a single command is refused because of the name of its ref; the others of the push proceed (GH-18). */
  nameFault?(command: PushCommand): string | null
  /**
   * Called when all objects have arrived and before any ref moves, with the updates of branches, tags and notes. A
   * string rejects the whole push and is shown to the user (GH-18). `quarantine` reads the repository including the new
   * objects; `options` are those of `git push -o`.
   */
  verdict(commands: PushCommand[], quarantine: Quarantine, options: string[]): Promise<string | null>
  /**
   * Called with the refs that moved, before the connection closes; the returned lines are sent on the progress channel.
   */
  moved(commands: PushCommand[]): Promise<string[]>
}

export interface TransportRequest {
  body: Readable
  out: Writable
  /** The Git-Protocol header, if it is one Git knows. */
  protocol?: string | undefined
  /**
   * Whether the protocol runs over one bidirectional stream, as with SSH: advertisements have no service line, and a
   * fetch has all its rounds in one call.
   */
  duplex?: boolean
  /**
   * For a duplex fetch: the socket that git writes to instead of `out`; the process that reads it cuts off stalled
   * clients.
   */
  outlet?: (Outlet & { opened(): void }) | undefined
  /** Kills the process group when aborted. */
  signal: AbortSignal
  /** The user or client address that the process counts against. */
  holder?: string | undefined
  /** Prefixes of refs that this client may neither see nor fetch, besides those of the service (GH-28). */
  hiddenRefs?: readonly string[]
}

/**
 * `usual` does what every push needs, `incremental` joins small packs, `full` joins all packs, and `gc` also drops
 * objects that have been unreachable for two weeks.
 */
export type MaintenanceDepth = 'usual' | 'incremental' | 'full' | 'gc'

export interface MaintenanceOptions {
  depth?: MaintenanceDepth
  /** Whether packs may be joined; the commit-graph is written in any case. */
  packing?: boolean
  /** Whether to write bitmaps, which make clones faster. */
  bitmaps?: boolean
  /** Maximum memory for computing the changed-path filters of the commit-graph, in bytes. */
  graphMemoryBytes?: number
  /** Aborts the run; the next one continues. */
  signal?: AbortSignal | undefined
}

/** The damage found in one repository. */
export interface Examination {
  /** Whether the commit-graph is unreadable or contradicts the commits. */
  brokenGraph: boolean
  /** Refs whose object does not exist; `oid` is ZERO if the ref's file holds no object id. */
  brokenRefs: Pick<Ref, 'name' | 'oid'>[]
  /**
   * Packs that are truncated or do not match their indexes. If there are any, objects that seem to be missing may be in
   * them.
   */
  brokenPacks: string[]
  /** Git's report of other missing or damaged objects; empty if everything that refs reach is intact. */
  damage: string
}

export interface ExamineOptions {
  /** Verifies the content of every object, not only connectivity. */
  full?: boolean
  signal?: AbortSignal
}

/** A remote repository and the only addresses that may be used to connect to it. */
export interface FetchSource {
  /** Without user and password, because other processes can see arguments; or the absolute path of a bundle. */
  url: string
  /** The resolved addresses of an http URL's host; connections go only there, even if DNS changes meanwhile. */
  addresses: string[]
  /** The value of an Authorization header. */
  authorization?: string | undefined
  /** The host name to send to the server of a `git:` URL whose host was replaced by an address. */
  virtualHost?: string | undefined
}

export interface FetchOptions {
  bytes?: number | undefined
  refspecs?: readonly string[]
  below?: string | undefined
}

/** A ref of a remote repository and the object that it shall point at; null deletes it. */
export interface PushedRef {
  name: string
  oid: Oid | null
  /** Also when that is no fast-forward. */
  force: boolean
}

/** A ref that a remote repository has not moved, with the reason that git reports. */
export interface RejectedRef {
  name: string
  reason: string
}

/** The refs of a repository at one moment; `head` is the full name of the branch that HEAD points at. */
export interface RefSnapshot {
  head: string
  refs: Pick<Ref, 'name' | 'oid'>[]
}

export type Service = 'git-upload-pack' | 'git-receive-pack'

/**
 * One bare repository. Reads of a repository that is missing or unreadable throw RepositoryMissing; only a wiki may be
 * absent, and then reads as empty.
 */
export interface GitRepository {
  readonly key: RepositoryKey

  // refs
  /** The object that a full ref name points at, or null. */
  ref(name: string): Promise<Oid | null>
  /** All refs below a prefix such as `refs/heads/`, sorted by name. */
  refs(prefix: string): Promise<Ref[]>
  /** One page of the refs below a prefix, and their total number. */
  refsPage(prefix: string, part: { skip: number; limit: number }): Promise<{ refs: Ref[]; total: number }>
  /** Resolves a branch, tag, full or abbreviated id, or HEAD; null for anything else (SEC-81, SEC-82). */
  resolve(revision: string): Promise<Resolved | null>
  /** The branch that HEAD points at, which need not exist. */
  headBranch(): Promise<string | null>
  setHeadBranch(branch: string): Promise<void>
  /**
   * Applies all updates atomically, each by compare-and-swap, and syncs them. Throws RefChanged if an old value does
   * not match, RefNameConflict if names clash (`a` and `a/b`).
   */
  updateRefs(updates: RefUpdate[]): Promise<void>
  /**
   * Runs `work` while the ref is locked at `oid`; `work` must not update refs of this repository. Throws RefChanged if
   * the ref has another value.
   */
  withRefLocked<T>(ref: string, oid: Oid, work: () => Promise<T>): Promise<T>

  // objects
  commit(oid: Oid): Promise<Commit | null>
  /** In the given order; null for missing commits. Long messages are cut; `commit` returns them whole. */
  commits(oids: Oid[]): Promise<(Commit | null)[]>
  /** The commit with a full or abbreviated id, even if a branch or tag has that name. */
  commitNamed(hash: string): Promise<Oid | null>
  /** The signature of a commit and the bytes it covers; null if unsigned or larger than 1 MiB. */
  signedCommit(oid: Oid): Promise<{ signature: string; text: Buffer } | null>
  tag(oid: Oid): Promise<Tag | null>
  /** The type and size of any object. */
  objectInfo(oid: Oid): Promise<{ type: 'commit' | 'tree' | 'blob' | 'tag'; size: number } | null>
  /** The whole content; null if there is no such blob. Check its size with `objectInfo` first. */
  blob(oid: Oid): Promise<Buffer | null>
  /** The first bytes of a blob of any size. */
  blobStart(oid: Oid, bytes: number): Promise<Buffer | null>
  /** The content as a stream with backpressure. */
  blobStream(oid: Oid, signal?: AbortSignal): Promise<{ size: number; stream: Readable } | null>
  /** The entry at `path` in a commit's tree ('' is the root tree itself), or null. */
  entry(commit: Oid, path: string): Promise<TreeEntry | null>
  /** One level or the whole subtree, in Git's order; null if there is no tree at `path`. */
  tree(commit: Oid, path: string, options: { recursive: boolean }): Promise<TreeEntry[] | null>
  /** One page of the subtree at `path`, sorted by path, and the total; null if there is no tree. */
  treePage(commit: Oid, path: string, part: { skip: number; limit: number }): Promise<{ entries: TreeEntry[]; total: number } | null>

  /**
   * Calls `visit` for every file of a commit with its size, in Git's order, without symlinks and submodules. Returns
   * false on timeout.
   */
  fileSizes(commit: Oid, visit: (path: string, size: number) => void): Promise<boolean>

  // history
  log(options: LogOptions): Promise<LogPage>
  /** Number of commits reachable from `to` but not from `from`, visiting at most `limit` commits. */
  countNew(from: Oid[], to: Oid, limit: number): Promise<number>
  /** The newest `limit` commits that `to` reaches and `from` does not, and their total. */
  range(from: Oid[], to: Oid, limit: number): Promise<{ oids: Oid[]; total: number }>
  /** For each path, the newest commit reachable from `from` that changed it, or null. */
  lastCommits(from: Oid, paths: string[]): Promise<(Oid | null)[]>
  /** A best common ancestor of all given commits. */
  mergeBase(...commits: Oid[]): Promise<Oid | null>
  /** The best common ancestor of two commits; null if there is none or more than one. */
  uniqueMergeBase(ours: Oid, theirs: Oid): Promise<Oid | null>
  isAncestor(ancestor: Oid, descendant: Oid): Promise<boolean>
  /** For each of `heads`, whether `into` contains it. */
  merged(heads: Oid[], into: Oid): Promise<boolean[]>
  /** Full names of the branches or tags that contain the commit. */
  refsContaining(commit: Oid, prefix: 'refs/heads/' | 'refs/tags/'): Promise<string[]>
  /** Number of commits that each side has and the other does not. */
  aheadBehind(a: Oid, b: Oid): Promise<{ ahead: number; behind: number }>
  /** The authors of a history by e-mail address, unordered; merges do not count. */
  contributors(head: Oid): Promise<Contributor[]>
  /**
   * Commits of a history whose message contains a text, newest first; `truncated` if there are more or the deadline was
   * reached.
   */
  searchLog(from: Oid, text: string, options: { limit: number } & SearchDeadline): Promise<{ oids: Oid[]; truncated: boolean }>
  /**
   * Matches of a text in the files of a commit, by path; `truncated` if there are more, the deadline was reached or
   * files were skipped.
   */
  grep(commit: Oid, text: string, options: GrepOptions): Promise<{ chunks: GrepChunk[]; truncated: boolean }>
  /**
   * The commit that each line of a file comes from, in line order; `truncated` if there are too many groups or the
   * deadline was reached. The file must exist. Lines of the ignored commits, which must exist, are those of earlier ones.
   */
  blame(
    commit: Oid,
    path: string,
    options: { range?: { start: number; end: number }; ignored?: Oid[] } & SearchDeadline,
  ): Promise<{ groups: BlameGroup[]; truncated: boolean }>
  /** The files below the given literal paths that contain the text, by path. */
  filesWith(commit: Oid, text: string, options: { paths: string[] } & SearchDeadline): Promise<string[]>

  // differences
  /** Compares with the empty tree if `from` is null. Detects renames at 50 %, but no copies (C-52 to C-57). */
  diff(from: Oid | null, to: Oid, limits: DiffLimits): Promise<Diff>
  /**
   * The paths of the file in which the diff removes, adds or shows as context (three lines on either side) the given
   * line; null if there is none. The diff may be of any size.
   */
  diffLine(from: Oid | null, to: Oid, at: DiffLine): Promise<DiffPaths | null>
  /** The first of the paths that the changes touch, or null. Throws GitTimeout. */
  changedPath(changes: PathChanges, paths: Iterable<string>): Promise<string | null>
  /** Line counts of each commit against its first parent (C-6). */
  stats(commits: Oid[]): Promise<Stats[]>

  // writing objects: these move no ref; all objects are synced when they return
  draftCommit(draft: CommitDraft): Promise<DraftResult>
  /** Drafts several commits; nothing is written before `write`. */
  draftHistory(): HistoryDraft
  /** Same result as `git cherry-pick` or `git revert`. */
  draftPick(draft: PickDraft): Promise<PickResult>
  /** Why `draftPick` would refuse the change, or null. Writes nothing. */
  pickRefusal(change: PickedChange): Promise<PickRefusal | null>
  /** Whether `from` merges into `into` without conflicts; cached. */
  canMerge(into: Oid, from: Oid): Promise<boolean>
  /**
   * Same result as `git merge --no-ff`. `whileWriting` is called with the new commit's id while its objects are
   * written, and awaited.
   */
  draftMerge(draft: MergeDraft, whileWriting?: (commits: MergedCommits) => Promise<void>): Promise<MergeResult>
  /** Writes what `git merge` leaves behind when the merge of `theirs` into `ours` conflicts; null if it does not. */
  draftConflicted(ours: Oid, theirs: Oid): Promise<ConflictedMerge | null>
  /** Merges three texts line by line; where both sides changed the same lines, those of one side are taken. */
  mergeTexts(texts: MergedTexts, side: 'ours' | 'theirs'): Promise<Buffer>
  /** The hunks of the diff of two texts that are in no commit; null if they take git too long. */
  diffTexts(before: Buffer, after: Buffer): Promise<string | null>
  /** Writes a commit with an existing tree. */
  writeCommit(commit: { tree: Oid; parents: Oid[]; author: Signature; committer: Signature; message: string }): Promise<Oid>
  writeTag(tag: { name: string; target: Oid; targetType: Tag['targetType']; tagger: Signature; message: string }): Promise<Oid>

  // the wire
  /** The files of a commit as one stream with backpressure. */
  archive(options: ArchiveOptions): Promise<Readable>
  /** The changes between two commits as a stream; see `PatchKind`. */
  patch(options: PatchOptions): Promise<Readable>
  advertise(service: Service, request: Omit<TransportRequest, 'body'>): Promise<void>
  /** Returns whether objects were asked for, and not only refs. */
  uploadPack(request: TransportRequest): Promise<boolean>
  /** Serves `git archive --remote`. */
  uploadArchive(request: TransportRequest): Promise<void>
  receivePack(request: TransportRequest, policy: PushPolicy): Promise<void>

  // other repositories
  /** The branch that HEAD of a remote repository points at, or null. */
  remoteHead(source: FetchSource, signal: AbortSignal): Promise<string | null>
  /**
   * Fetches all branches and tags of a remote repository, and further refspecs, atomically; `bytes` limits this
   * repository's size on disk. `below`: a prefix for them, where refs of any value are replaced and others removed.
   * Throws TooLarge, Unavailable or GitFault.
   */
  fetch(source: FetchSource, signal: AbortSignal, options?: FetchOptions): Promise<void>
  /** The branches and tags of a remote repository, by full name. */
  remoteRefs(source: FetchSource, signal: AbortSignal): Promise<Map<string, Oid>>
  /**
   * Moves refs of a remote repository and returns those that it did not accept. `deadline`: milliseconds of one git
   * process. Throws TooLarge, Unavailable or GitFault.
   */
  push(source: FetchSource, refs: PushedRef[], limits: { signal: AbortSignal; deadline: number }): Promise<RejectedRef[]>

  /**
   * Copies commits from another repository of this installation with all objects they need, synced. What `have` reaches
   * must be held by refs here. Moves no ref: the caller must create refs that keep the commits.
   */
  copyObjects(from: RepositoryKey, commits: Oid[], have: Oid[]): Promise<void>
  /** The Git LFS pointers that commits add to what the branches and `have` reach, one per object. */
  lfsPointers(commits: Oid[], have: Oid[]): Promise<LfsPointer[]>
  /** Calls `visit` for each Git LFS pointer that refs reach, without removing duplicates. */
  forEachLfsPointer(visit: (pointer: LfsPointer) => void): Promise<void>

  /** Writes a bundle of all refs that are not hidden, and of those that keep commits, into a new file; false if there are none. */
  bundle(file: string, signal: AbortSignal): Promise<boolean>

  // maintenance
  /** Bytes on disk. */
  size(): Promise<number>
  /**
   * Maintains the commit-graph, packs and packed refs; safe while requests are served. Returns false, having done
   * nothing, if another process is maintaining the repository.
   */
  maintain(options?: MaintenanceOptions): Promise<boolean>
  /** Checks the whole repository; may take very long. */
  examine(options?: ExamineOptions): Promise<Examination>
  /** Removes a ref's file that holds no object id; its value in packed-refs, if any, applies again. */
  dropUnreadableRef(name: string): Promise<void>
  /** Which of these objects exist. */
  existingObjects(oids: Oid[]): Promise<Set<Oid>>
  /** Removes the commit-graph; the next maintenance writes a new one. */
  dropCommitGraph(): Promise<void>
  /**
   * Removes lock files of refs that no living process holds: after a process was killed, they would block updates of
   * those refs forever (SEC-159).
   */
  removeStaleLocks(): Promise<void>
  /**
   * The existing commits among `oids` that no ref reaches, so that they would be collected one day, or that `from` does
   * not reach.
   */
  unreachable(oids: Oid[], from?: Oid): Promise<Oid[]>
}

/** One attempt to move a project's repositories to another storage. */
export interface Relocation {
  /** The id of this attempt; it supersedes all others for the same project. */
  run: string
  signal: AbortSignal
  /** Whether a ref update of the project is planned or has unfinished follow-up work. */
  hasPendingWrites(): Promise<boolean>
  /** Makes the copies current; the gates stay closed until it returns. */
  commit(): Promise<void>
}

/** All repositories of this installation. */
export interface Git {
  /** Cheap: does no disk access. */
  open(key: RepositoryKey): GitRepository
  /** Reads a repository together with the objects of another one, without copying any; close it. */
  openBoth(key: RepositoryKey, other: RepositoryKey): Pick<GitRepository, 'mergeBase' | 'log' | 'diff'> & { close(): void }
  /** Creates an empty bare repository whose HEAD points at `branch`; does nothing if it exists. */
  create(key: RepositoryKey, branch: string): Promise<void>
  /** Throws RepositoryMissing if the storage is not mounted or the repository cannot be read. */
  exists(key: RepositoryKey): Promise<boolean>
  /**
   * Creates a repository with the branches and tags of another one. Its packs are hard links, so neither depends on the
   * other. HEAD points at `branch`. Does nothing if it exists.
   */
  fork(from: RepositoryKey, to: RepositoryKey, branch: string): Promise<void>
  /** Writes the advertisement of an empty repository, for one that is about to be created. */
  advertiseEmpty(service: Service, request: Omit<TransportRequest, 'body'>): Promise<void>
  /** Renames the repository away, then removes its files. */
  remove(key: RepositoryKey): Promise<void>
  /**
   * Every repository on disk that has not changed for `minAgeMs`, by default ten minutes, so that none is still being
   * created.
   */
  listRepositories(minAgeMs?: number): AsyncIterable<RepositoryKey>
  /** The current refs of a repository; null if it does not exist. */
  snapshotRefs(key: RepositoryKey): Promise<RefSnapshot | null>
  /** Copies a repository into a new folder, with the given refs; false if it no longer exists. */
  saveRepository(key: RepositoryKey, refs: RefSnapshot, target: string): Promise<boolean>
  /** Whether the repository is moving to another storage, so that writers must wait and look up its storage again. */
  isMoving(key: RepositoryKey): Promise<boolean>
  /**
   * Moves a project's repository and wiki to another storage while they are in use (SEC-187). The former copies stay
   * for running reads until `removeFormerCopies`. Throws Unavailable if maintenance or writes hold it up for too long.
   */
  relocate(id: number, storages: { from: string; to: string }, move: Relocation): Promise<void>
  /**
   * Cleans up after a killed move: opens the gates of the project's current storage, and removes the copies in all
   * other storages except `spared`.
   */
  undoRelocation(id: number, storage: string, spared: string[]): Promise<void>
  /** Whether a git process on this machine uses the former copies of a project; true if that is unknown. */
  isFormerCopyInUse(id: number, storage: string): Promise<boolean>
  /** Removes the former copies of a project's repository and wiki, and their gates. */
  removeFormerCopies(id: number, storage: string): Promise<void>
  /** Restores a saved copy; throws if the repository exists. */
  restoreRepository(saved: string, key: RepositoryKey): Promise<void>
  /** Moves a repository to `lost+found` in its storage for an administrator to examine; returns its new path. */
  quarantineRepository(key: RepositoryKey): Promise<string>
  /** Removes repositories quarantined at least `minAgeMs` ago; returns their paths. */
  removeQuarantinedRepositories(minAgeMs: number): Promise<string[]>
  /**
   * Marks storages as in use, which distinguishes a new storage from one whose disk is not mounted; `inUse` says
   * whether a storage should hold repositories. Returns the names of those not mounted.
   */
  claimStorages(inUse: (storage: string) => Promise<boolean>): Promise<string[]>
  /** Throws unless the storage is mounted, readable and writable. */
  checkStorage(storage: string, access: StorageAccess): Promise<void>
  /** Rejects when git cannot be started; does not wait for other git processes. */
  checkStart(): Promise<void>
  /** Throws unless every storage is mounted, readable and writable, and git can be run. */
  ping(): Promise<void>
  /** Removes leftovers of killed processes that no process uses; returns their paths (SEC-159). */
  removeLeftovers(): Promise<string[]>
  /** The paths that `removeLeftovers` would remove and that have not changed for so many milliseconds. */
  leftovers(minAgeMs: number): Promise<string[]>
  /** Ends all processes that were started. */
  close(): Promise<void>
}
