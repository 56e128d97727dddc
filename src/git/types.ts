import type { Readable, Writable } from 'node:stream'
import type { Outlet } from './process/spawner.js'

/** Forty lower-case hex digits. */
export type Oid = string

/** The object id that stands for "no such ref" in ref updates. */
export const ZERO: Oid = '0'.repeat(40)

/**
 * Where a repository lives: the name of a storage, and the id of the project it belongs to. Names play no part, so a
 * rename moves nothing.
 */
export interface RepositoryKey {
  storage: string
  id: number
  kind: 'project' | 'wiki'
}

/**
 * Name, address and date, as a commit or tag header has them. `name` and `email` are decoded text; a header that cannot
 * be parsed gives empty strings and second 0.
 */
export interface Signature {
  name: string
  email: string
  /** Seconds since 1970, as stored: may be negative or beyond what a Date holds. */
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
  /** Decoded by the commit's encoding header, invalid bytes replaced; trailing newline kept. */
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
}

export interface Ref {
  /** Full name, `refs/heads/main`. */
  name: string
  oid: Oid
  /** The commit (or other object) that an annotated tag finally points at; `oid` for everything else. */
  peeled: Oid
}

/** What a revision given by a user refers to: see SEC-81, SEC-82 and C-8. */
export interface Resolved {
  /** The commit, tags peeled. */
  commit: Oid
  /** The full ref name when the text named a branch or a tag, otherwise null. */
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
  /** `0` on the missing side. */
  a_mode: string
  b_mode: string
  new_file: boolean
  renamed_file: boolean
  deleted_file: boolean
  /** Unified text from the `---` line on (C-55); empty when too large, identical or mode only. */
  diff: string
}

export interface DiffLimits {
  files: number
  lines: number
  /** Bytes of diff text in all. */
  bytes: number
  /** Bytes of diff text of one file; from there on its `diff` is empty. */
  fileBytes: number
}

export interface Diff {
  files: FileDiff[]
  /** True when a limit left files out. */
  truncated: boolean
}

/** A line of a file as a diff shows it: removed (`old_line` only), added (`new_line` only) or unchanged (both). */
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
  /** Start from these commits; the log is the union of their histories. */
  from: Oid[]
  /** Leave out what these reach. */
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
  /** How many commits match all filters, without skip and limit. */
  total: number
}

export type ArchiveKind = 'tar' | 'tar.gz' | 'tar.bz2' | 'zip'

export interface ArchiveOptions {
  kind: ArchiveKind
  commit: Oid
  /** The folder that everything is in. */
  prefix: string
  /** Only this file or folder, literally; '' is all. */
  path: string
  /** Ends git when it fires. */
  signal: AbortSignal
  /** The holder of the turn, such as the client's address. */
  holder?: string | undefined
}

export interface Contributor {
  name: string
  email: string
  commits: number
}

export interface GrepOptions extends SearchDeadline {
  /** Literal paths of files and folders; all when absent. */
  paths?: string[]
  /** Lines shown before and after each hit. */
  context: number
  /** Chunks returned at most. */
  limit: number
}

/** Limits on the duration of a search. */
export interface SearchDeadline {
  /** Milliseconds after which what was found so far is the answer. */
  deadline?: number
  signal?: AbortSignal
}

/** Lines of a file that come from one commit, counted from one. */
export interface BlameGroup {
  oid: Oid
  start: number
  count: number
}

/** Lines of a file that belong together: hits and their context. */
export interface GrepChunk {
  path: string
  /** Of the first line, from 1. */
  startLine: number
  /** The lines, LF between them. */
  text: string
}

/** A change of the commits API, already normalised by the service (C-38) and validated as a path (SEC-92, SEC-93). */
export type Change =
  | { action: 'create'; path: string; content: Buffer; executable?: boolean }
  | { action: 'update'; path: string; content: Buffer; executable?: boolean }
  | { action: 'delete'; path: string }
  /** Without content the old one is kept. */
  | { action: 'move'; from: string; path: string; content?: Buffer }
  /** The commit of another repository that a submodule points at. */
  | { action: 'submodule'; path: string; oid: Oid }

/** Why a change cannot be applied; the service has the messages. */
export type ChangeFault = 'exists' | 'missing' | 'invalid_path'

export interface CommitDraft {
  /** The tree that the changes are applied to comes from the first parent; without one it is empty. */
  parents: Oid[]
  changes: Change[]
  author: Signature
  committer: Signature
  message: string
  /** Only checks whether the changes could be applied; nothing is written and the returned ids mean nothing. */
  check?: boolean
}

export type DraftResult = { commit: Oid; tree: Oid } | { fault: ChangeFault /** Position in `changes`. */; index: number; path: string }

/** Commits that may build on each other, in one pack. */
export interface HistoryDraft {
  /** As `draftCommit`, but that it is not written yet. */
  commit(draft: CommitDraft): Promise<DraftResult>
  write(): Promise<void>
}

/** A commit on top of `onto` that applies, or reverts, what another one changed against its first parent. */
export interface PickDraft {
  /** The commit to apply or revert. */
  commit: Oid
  /** Reverts it. */
  reverse?: boolean
  onto: Oid
  author: Signature
  committer: Signature
  message: string
}

/** `unchanged`: there is nothing to do, because the change is present (or absent) already. */
export type PickResult = { commit: Oid; tree: Oid } | { refusal: 'conflict' | 'unchanged' }

/** A commit that merges `from` into `into`, its first parent. */
export interface MergeDraft {
  into: Oid
  from: Oid
  author: Signature
  committer: Signature
  message: string
}

/** `conflict`: git cannot merge them by itself, or they have no common history. */
export type MergeResult = { commit: Oid; tree: Oid } | { refusal: 'conflict' }

/** A command of a push, as Git's receive-pack passes it on before any ref moves. */
export interface PushCommand {
  ref: string
  old: Oid
  new: Oid
}

/** The repository together with a push's objects, before they are accepted. */
export type Quarantine = Pick<GitRepository, 'isAncestor' | 'commit' | 'objectInfo'> & {
  /** The pointers of Git LFS among the new files, each object once. */
  newPointers(): Promise<LfsPointer[]>
}

/** What Git stores in place of a file that Git LFS keeps: the SHA-256 of its bytes in hex, and their number. */
export interface LfsPointer {
  oid: string
  size: number
}

export interface PushPolicy {
  /**
   * Asked once all objects have arrived, before a ref moves, about the branches, tags and notes of the push; a text
   * refuses the whole push and is shown to the user (GH-18). `quarantine` reads the repository together with the new
   * objects.
   */
  verdict(commands: PushCommand[], quarantine: Quarantine): Promise<string | null>
  /** Told which refs moved, before the connection closes; returned lines are shown on the progress channel. */
  moved(commands: PushCommand[]): Promise<string[]>
}

export interface TransportRequest {
  body: Readable
  out: Writable
  /** The Git-Protocol header, if it is one Git knows. */
  protocol?: string | undefined
  /**
   * The whole conversation is one stream, as over SSH: an advertisement has no service line, and a fetch is all its
   * rounds.
   */
  duplex?: boolean
  /** Of a duplex fetch: git writes its answer there, and not to `out`; whoever reads it ends one that has stalled. */
  outlet?: (Outlet & { opened(): void }) | undefined
  /** Kills the process group when it fires. */
  signal: AbortSignal
  /** The holder of the turn, such as the client's address. */
  holder?: string | undefined
}

/**
 * How much is done: what every push needs; small packs joined; all packs joined; and in addition objects dropped that
 * no ref has reached for two weeks.
 */
export type MaintenanceDepth = 'usual' | 'incremental' | 'full' | 'gc'

export interface MaintenanceOptions {
  depth?: MaintenanceDepth
  /** Whether packs may be joined at all; the commit-graph is written in any case. */
  packing?: boolean
  /** Whether packs get bitmaps, which make clones faster. */
  bitmaps?: boolean
  /** Bytes of memory for computing which paths the commits changed. */
  memory?: number
  /** Ends it: the next run does what it left. */
  signal?: AbortSignal | undefined
}

/** What is wrong in one repository. */
export interface Examination {
  /** The commit-graph contradicts the commits, or cannot be read. */
  brokenGraph: boolean
  /** Refs whose object does not exist; ZERO where the file of a ref holds no object id at all. */
  brokenRefs: Pick<Ref, 'name' | 'oid'>[]
  /**
   * Packs that are truncated, or do not match their indexes. While there are any, other objects that seem missing may
   * be in them.
   */
  brokenPacks: string[]
  /** What Git says about other missing or damaged objects; empty: everything that refs reach is intact. */
  damage: string
}

export interface ExamineOptions {
  /** Reads every object completely, and not only which objects refer to which. */
  full?: boolean
  signal?: AbortSignal
}

/** Where another repository is, and the only way to connect to it. */
export interface FetchSource {
  /** Without user and password: other processes can see arguments. */
  url: string
  /**
   * What the host of an http URL resolves to: connections go there, even if its name resolves differently meanwhile.
   */
  addresses: string[]
  /** The value of an Authorization header. */
  authorization?: string | undefined
  /** The host name that a git URL, whose host is an address here, sends to its server. */
  virtualHost?: string | undefined
}

/** Where the refs of a repository were at some moment; HEAD as the name of its branch. */
export interface RefSnapshot {
  head: string
  refs: Pick<Ref, 'name' | 'oid'>[]
}

export type Service = 'git-upload-pack' | 'git-receive-pack'

/**
 * One bare repository. Its interface is ids, bytes and streams; it knows no database and no product. Reads of a
 * repository that is missing or cannot be read throw RepositoryMissing; only a wiki may be absent, and then reads as an
 * empty one.
 */
export interface GitRepository {
  readonly key: RepositoryKey

  // refs
  /** The object a full ref name points at, or null. */
  ref(name: string): Promise<Oid | null>
  /** All refs below a prefix such as `refs/heads/`, by name. */
  refs(prefix: string): Promise<Ref[]>
  /** Some of them, and how many there are: for a page of a list, or whether there is any. */
  refsPage(prefix: string, part: { skip: number; limit: number }): Promise<{ refs: Ref[]; total: number }>
  /** Resolves what a user wrote: branch, tag, id, abbreviation, or HEAD; null for anything else (SEC-81, SEC-82). */
  resolve(revision: string): Promise<Resolved | null>
  /** The branch HEAD names, whether it exists or not. */
  headBranch(): Promise<string | null>
  setHeadBranch(branch: string): Promise<void>
  /**
   * All or nothing, each by compare-and-swap, synced. Throws RefChanged when an old value does not hold,
   * RefNameConflict when names clash (`a` and `a/b`).
   */
  updateRefs(updates: RefUpdate[]): Promise<void>
  /**
   * Runs work while nobody can move a ref from a value; nothing in it may move refs of this repository. Throws
   * RefChanged when the ref has another value.
   */
  withRefLocked<T>(ref: string, oid: Oid, work: () => Promise<T>): Promise<T>

  // objects
  commit(oid: Oid): Promise<Commit | null>
  /**
   * In the given order; null where there is none or it is no commit. Long messages are cut: `commit` has them whole.
   */
  commits(oids: Oid[]): Promise<(Commit | null)[]>
  /** The commit that an id, full or abbreviated, means, whatever branches and tags have that name. */
  commitNamed(hash: string): Promise<Oid | null>
  /** The signature of a commit and the bytes that it signs; null where there is none, or for one above a MiB. */
  signedCommit(oid: Oid): Promise<{ signature: string; text: Buffer } | null>
  tag(oid: Oid): Promise<Tag | null>
  /** Type and size of any object, without its content. */
  objectInfo(oid: Oid): Promise<{ type: 'commit' | 'tree' | 'blob' | 'tag'; size: number } | null>
  /** The content, whole. Null when there is no such blob. Ask objectInfo first. */
  blob(oid: Oid): Promise<Buffer | null>
  /** The first bytes of a blob of any size. */
  blobStart(oid: Oid, bytes: number): Promise<Buffer | null>
  /** The content as a stream with backpressure, for blobs of any size. */
  blobStream(oid: Oid, signal?: AbortSignal): Promise<{ size: number; stream: Readable } | null>
  /** The entry at `path` in a commit's tree ('' is the root tree itself), or null. */
  entry(commit: Oid, path: string): Promise<TreeEntry | null>
  /** One level, or all below, in Git's order; null when there is no tree at `path`. */
  tree(commit: Oid, path: string, options: { recursive: boolean }): Promise<TreeEntry[] | null>
  /** A part of everything below a path, by path, and the total; null when there is no tree. */
  treePage(commit: Oid, path: string, part: { skip: number; limit: number }): Promise<{ entries: TreeEntry[]; total: number } | null>

  /**
   * Passes on every file of a commit with its size, in Git's order; links and submodules are left out. False when it
   * took too long.
   */
  fileSizes(commit: Oid, visit: (path: string, size: number) => void): Promise<boolean>

  // history
  log(options: LogOptions): Promise<LogPage>
  /**
   * How many commits `to` has that `from` does not; of histories longer than `most` commits only so many are examined.
   */
  countNew(from: Oid[], to: Oid, limit: number): Promise<number>
  /** The ids of the commits that `to` has and `from` does not, newest first and at most `most`, and their total. */
  range(from: Oid[], to: Oid, limit: number): Promise<{ oids: Oid[]; total: number }>
  /** The newest commit reachable from `from` that touched each path; null where none did. */
  lastCommits(from: Oid, paths: string[]): Promise<(Oid | null)[]>
  /** For more than two: the best common ancestor of all. */
  mergeBase(...commits: Oid[]): Promise<Oid | null>
  /** The best common ancestor of two; null: there is none, or more than one. */
  uniqueMergeBase(ours: Oid, theirs: Oid): Promise<Oid | null>
  isAncestor(ancestor: Oid, descendant: Oid): Promise<boolean>
  /** Which of `heads` are contained in `into`; warm answers start no process. */
  merged(heads: Oid[], into: Oid): Promise<boolean[]>
  /** Full names of branches and tags that contain the commit. */
  refsContaining(commit: Oid, prefix: 'refs/heads/' | 'refs/tags/'): Promise<string[]>
  /** How many commits each side has that the other does not. */
  aheadBehind(a: Oid, b: Oid): Promise<{ ahead: number; behind: number }>
  /** The authors of a history, merges excluded, by e-mail address, in no order. */
  contributors(head: Oid): Promise<Contributor[]>
  /**
   * The ids of commits of a history whose message contains a text, newest first; `truncated` when there are more or the
   * deadline was reached.
   */
  searchLog(from: Oid, text: string, options: { limit: number } & SearchDeadline): Promise<{ oids: Oid[]; truncated: boolean }>
  /**
   * Where a text occurs in the files of a commit, by path; `truncated` when there is more, the deadline was reached or
   * files were left out.
   */
  grep(commit: Oid, text: string, options: GrepOptions): Promise<{ chunks: GrepChunk[]; truncated: boolean }>
  /**
   * Which commit each line of a file comes from, in the order of the lines; `truncated` when that is too much, or the
   * deadline was reached. Ask for the file first.
   */
  blame(
    commit: Oid,
    path: string,
    options: { range?: { start: number; end: number } } & SearchDeadline,
  ): Promise<{ groups: BlameGroup[]; truncated: boolean }>
  /** Of the files at some literal paths of files and folders, those in which the text occurs; by path. */
  filesWith(commit: Oid, text: string, options: { paths: string[] } & SearchDeadline): Promise<string[]>

  // differences
  /** From null: against the empty tree. Renames at 50 %, no copies (C-52 to C-57). */
  diff(from: Oid | null, to: Oid, limits: DiffLimits): Promise<Diff>
  /**
   * The paths of the file with a line that the diff removes, adds, or shows as context (three lines on either side);
   * null when it shows no such line. The diff may be of any size.
   */
  diffLine(from: Oid | null, to: Oid, at: DiffLine): Promise<DiffPaths | null>
  /** Against the first parent (C-6), one for each commit. */
  stats(commits: Oid[]): Promise<Stats[]>

  // writing objects: none of these moves a ref; all objects are synced when they return
  draftCommit(draft: CommitDraft): Promise<DraftResult>
  /** For several commits at once; nothing is written before `write`. */
  draftHistory(): HistoryDraft
  /** Exactly what `git cherry-pick` or `git revert` would make. */
  draftPick(draft: PickDraft): Promise<PickResult>
  /** Whether git merges one into the other without conflicts; computed once for each pair. */
  canMerge(into: Oid, from: Oid): Promise<boolean>
  /**
   * Exactly what `git merge --no-ff` would make. `beside` is called with the commit's id while its objects are written,
   * and awaited.
   */
  draftMerge(draft: MergeDraft, whileWriting?: (commit: Oid) => Promise<void>): Promise<MergeResult>
  /** A commit of an existing tree with any parents. */
  writeCommit(commit: { tree: Oid; parents: Oid[]; author: Signature; committer: Signature; message: string }): Promise<Oid>
  writeTag(tag: { name: string; target: Oid; targetType: Tag['targetType']; tagger: Signature; message: string }): Promise<Oid>

  // the wire
  /** The files of a commit as one stream with backpressure. */
  archive(options: ArchiveOptions): Promise<Readable>
  advertise(service: Service, request: Omit<TransportRequest, 'body'>): Promise<void>
  uploadPack(request: TransportRequest): Promise<void>
  /** `git archive --remote`: the files of a commit that a ref names. */
  uploadArchive(request: TransportRequest): Promise<void>
  receivePack(request: TransportRequest, policy: PushPolicy): Promise<void>

  // other repositories
  /** The branch that the HEAD of another server's repository names, or null. */
  remoteHead(source: FetchSource, signal: AbortSignal): Promise<string | null>
  /**
   * Fetches all branches and tags of another server's repository, and what further refspecs name, all of them or none;
   * `bytes` limits what this repository may then take on the disk. Throws TooLarge, Unavailable or GitFault.
   */
  fetch(source: FetchSource, signal: AbortSignal, options?: { bytes?: number | undefined; refspecs?: readonly string[] }): Promise<void>

  /**
   * Copies commits of another repository of this installation with everything they need, synced; refs here must hold
   * what `have` reaches. No ref moves: keep the commits with refs.
   */
  copyObjects(from: RepositoryKey, commits: Oid[], have: Oid[]): Promise<void>
  /** The pointers of Git LFS that commits bring beyond what the branches and `have` reach, each object once. */
  lfsPointers(commits: Oid[], have: Oid[]): Promise<LfsPointer[]>
  /** Passes on the pointers of Git LFS in all commits that refs reach, an object as often as it is found. */
  forEachLfsPointer(visit: (pointer: LfsPointer) => void): Promise<void>

  // maintenance
  /** Bytes on disk. */
  size(): Promise<number>
  /**
   * Commit-graph, packs and packed refs, as deep as asked; safe while requests are served. False: another process was
   * at it, and nothing was done.
   */
  maintain(options?: MaintenanceOptions): Promise<boolean>
  /** Checks all of it; takes as long as it takes. */
  examine(options?: ExamineOptions): Promise<Examination>
  /** Removes the file of a ref that holds no object id; its value in packed-refs, if any, applies again. */
  dropUnreadableRef(name: string): Promise<void>
  /** Which of these objects exist. */
  existingObjects(oids: Oid[]): Promise<Set<Oid>>
  /** Removes the commit-graph; maintenance writes another. */
  dropCommitGraph(): Promise<void>
  /**
   * Removes lock files on refs that no living process holds: a killed process left them, and nobody could move those
   * refs (SEC-159).
   */
  removeStaleLocks(): Promise<void>
  /**
   * Of these commits, those that exist and that no ref reaches, so that they would be collected one day; or that one
   * commit does not reach.
   */
  unreachable(oids: Oid[], from?: Oid): Promise<Oid[]>
}

/** How a project's repositories go to another storage. */
export interface Relocation {
  /** Of this attempt: all others of the same project count as ended. */
  run: string
  signal: AbortSignal
  /** Whether somebody is about to move refs of the project, or has to do what follows from it. */
  hasPendingWrites(): Promise<boolean>
  /** Makes the copies the valid ones; until it returns the gates stay closed. */
  commit(): Promise<void>
}

/** All repositories of this installation. */
export interface Git {
  /** Cheap: touches no disk. */
  open(key: RepositoryKey): GitRepository
  /** Creates an empty bare repository whose HEAD names `branch`; does nothing when it exists. */
  create(key: RepositoryKey, branch: string): Promise<void>
  /** Throws RepositoryMissing when that cannot be told, because its storage is not mounted or it cannot be read. */
  exists(key: RepositoryKey): Promise<boolean>
  /**
   * Creates a repository from the branches and tags of another one, whose packs it shares on disk without depending on
   * it; HEAD names `branch`. Does nothing when it exists.
   */
  fork(from: RepositoryKey, to: RepositoryKey, branch: string): Promise<void>
  /** Answers what an empty repository advertises, for one that is about to be created. */
  advertiseEmpty(service: Service, request: Omit<TransportRequest, 'body'>): Promise<void>
  /** Moves the repository out of sight at once, and removes it. */
  remove(key: RepositoryKey): Promise<void>
  /**
   * Every repository on the disk that is not being created: none that changed in the last ten minutes, or so many
   * milliseconds.
   */
  listRepositories(minAgeMs?: number): AsyncIterable<RepositoryKey>
  /** The present values of the refs of a repository; null: it does not exist. */
  snapshotRefs(key: RepositoryKey): Promise<RefSnapshot | null>
  /** Copies a repository into a new folder, with its refs as they were; false: it no longer exists. */
  saveRepository(key: RepositoryKey, refs: RefSnapshot, target: string): Promise<boolean>
  /** Whether writers of a repository have to wait, or to look where it is now: it is being moved to another storage. */
  isMoving(key: RepositoryKey): Promise<boolean>
  /**
   * Moves a project's repository and wiki to another storage while they are in use (SEC-187). What was there stays for
   * its readers until `removeFormer`. Throws Unavailable where they are being maintained or written to for too long.
   */
  relocate(id: number, places: { from: string; to: string }, move: Relocation): Promise<void>
  /**
   * Takes back what a killed run of a move has left: opens the gates of the storage where the project is, and removes
   * copies in the other ones but for those to be spared.
   */
  undoRelocation(id: number, storage: string, spared: string[]): Promise<void>
  /** Whether git on this machine is at work in the former copies of a project; true where that cannot be told. */
  isFormerCopyInUse(id: number, storage: string): Promise<boolean>
  /** Removes the former copies of a project's repository and wiki, and the gates beside them. */
  removeFormerCopies(id: number, storage: string): Promise<void>
  /** Puts a saved copy in its place, where nothing may exist. */
  restoreRepository(saved: string, key: RepositoryKey): Promise<void>
  /** Moves a repository out of the way, where an administrator can examine it; returns its new place. */
  quarantineRepository(key: RepositoryKey): Promise<string>
  /** Removes what was moved out of the way so many milliseconds ago or earlier; returns where it was. */
  removeQuarantinedRepositories(minAgeMs: number): Promise<string[]>
  /**
   * Marks storages as in use, so that one whose disk is not mounted can be told from a new one; `inUse` says whether
   * one should hold repositories. Returns the names of those not mounted.
   */
  claimStorages(inUse: (storage: string) => Promise<boolean>): Promise<string[]>
  /** Resolves when a storage is mounted and can be read and written. */
  checkStorage(storage: string): Promise<void>
  /** Resolves when every storage is mounted and can be read and written, and git can be run. */
  ping(): Promise<void>
  /** Removes what killed processes left behind and nobody holds; returns what that was (SEC-159). */
  removeLeftovers(): Promise<string[]>
  /** What `clean` would remove. */
  leftovers(): Promise<string[]>
  /** Ends all processes it started. */
  close(): Promise<void>
}
