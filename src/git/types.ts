import type { Readable, Writable } from 'node:stream'

/** Forty lower-case hex digits. */
export type Oid = string

/** The object id that stands for "no such ref" in ref updates. */
export const ZERO: Oid = '0'.repeat(40)

/** Where a repository lives: the name of a storage, and the id of the project it belongs to. Names play no part, so renames move nothing. */
export interface RepositoryKey {
  storage: string
  id: number
  kind: 'project' | 'wiki'
}

/** Who and when, as a commit or tag header has it. `name` and `email` are decoded text; a header that cannot be parsed gives empty strings and second 0. */
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
  /** The commit (or other object) an annotated tag points at in the end; `oid` for everything else. */
  peeled: Oid
}

/** What a revision given by a user names: see SEC-81, SEC-82 and C-8. */
export interface Resolved {
  /** The commit, tags peeled. */
  commit: Oid
  /** The full ref name when the text named a branch or a tag, else null. */
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

/** A line of a file as a difference shows it: removed (`old_line` alone), added (`new_line` alone) or unchanged (both). */
export interface DiffLine {
  /** The path after the change; of a deleted file the one it had. */
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
  /** The folder everything is in. */
  prefix: string
  /** Only this file or folder, literally; '' is all. */
  path: string
  /** Ends git when it fires. */
  signal: AbortSignal
  /** Who takes the turn, such as the client's address. */
  holder?: string | undefined
}

export interface Contributor {
  name: string
  email: string
  commits: number
}

export interface GrepOptions extends Patience {
  /** Literal paths of files and folders; all when absent. */
  paths?: string[]
  /** Lines shown before and after each hit. */
  context: number
  /** So many chunks. */
  limit: number
}

/** How long a search may take. */
export interface Patience {
  /** Milliseconds after which what was found is the answer. */
  deadline?: number
  signal?: AbortSignal
}

/** Lines of a file that belong together: hits and what is around them. */
export interface GrepChunk {
  path: string
  /** Of the first line, from 1. */
  startLine: number
  /** The lines, LF between them. */
  text: string
}

/** One change of the commits API, already normalised by the service (C-38) and validated as a path (SEC-92, SEC-93). */
export type Change =
  | { action: 'create'; path: string; content: Buffer; executable?: boolean }
  | { action: 'update'; path: string; content: Buffer; executable?: boolean }
  | { action: 'delete'; path: string }
  /** Without content the old one is kept. */
  | { action: 'move'; from: string; path: string; content?: Buffer }

/** Why a change cannot be applied; the service has the texts. */
export type ChangeFault = 'exists' | 'missing' | 'invalid_path'

export interface CommitDraft {
  /** The tree the changes are applied to comes from the first parent; none: an empty tree. */
  parents: Oid[]
  changes: Change[]
  author: Signature
  committer: Signature
  message: string
  /** Only look whether the changes could be applied; nothing is written and the ids returned mean nothing. */
  check?: boolean
}

export type DraftResult = { commit: Oid; tree: Oid } | { fault: ChangeFault /** Position in `changes`. */; index: number; path: string }

/** A commit upon `onto` that does again, or takes back, what another one changed against its first parent. */
export interface PickDraft {
  /** The commit whose change is meant. */
  commit: Oid
  /** Takes the change back. */
  reverse?: boolean
  onto: Oid
  author: Signature
  committer: Signature
  message: string
}

/** `unchanged`: there is nothing to do, the change is there (or gone) already. */
export type PickResult = { commit: Oid; tree: Oid } | { refusal: 'conflict' | 'unchanged' }

/** A commit that joins `from` to `into`, its first parent. */
export interface MergeDraft {
  into: Oid
  from: Oid
  author: Signature
  committer: Signature
  message: string
}

/** `conflict`: git cannot do it by itself, or the two have nothing in common. */
export type MergeResult = { commit: Oid; tree: Oid } | { refusal: 'conflict' }

/** What a push asks for, as Git's receive-pack hands it over before any ref moves. */
export interface PushCommand {
  ref: string
  old: Oid
  new: Oid
}

/** The repository with a push's objects in sight, before they are let in. */
export type Quarantine = Pick<GitRepository, 'isAncestor' | 'commit' | 'objectInfo'>

export interface PushPolicy {
  /** Asked once all objects have arrived, before a ref moves, about the branches, tags and notes that are pushed; a text declines the whole push and is shown to the person (GH-18). `quarantine` reads the repository with the new objects in sight. */
  verdict(commands: PushCommand[], quarantine: Quarantine): Promise<string | null>
  /** Told which refs did move, before the connection closes; lines returned are shown on the progress channel. */
  moved(commands: PushCommand[]): Promise<string[]>
}

export interface TransportRequest {
  body: Readable
  out: Writable
  /** The Git-Protocol header, if it is one Git knows. */
  protocol?: string | undefined
  /** Kills the process group when it fires. */
  signal: AbortSignal
  /** Who takes the turn, such as the client's address. */
  holder?: string | undefined
}

/** How much is done: what every push needs; small packs joined; all packs joined; and, beyond that, objects dropped that no ref has reached for two weeks. */
export type Depth = 'usual' | 'incremental' | 'full' | 'gc'

export interface MaintenanceOptions {
  depth?: Depth
  /** Whether packs may be joined at all; the commit-graph is written in any case. */
  packing?: boolean
  /** Whether packs get bitmaps, by which clones are counted out quicker. */
  bitmaps?: boolean
  /** Bytes that finding out which paths the commits changed may take. */
  memory?: number
}

/** What is wrong in one repository. */
export interface Examination {
  /** The commit-graph says something else than the commits, or cannot be read. */
  brokenGraph: boolean
  /** Refs whose object is not there; ZERO where the file of a ref holds no object id at all. */
  brokenRefs: Pick<Ref, 'name' | 'oid'>[]
  /** Packs that are cut short, or not the ones their indexes were made for. While there are any, what else seems missing may be in them. */
  brokenPacks: string[]
  /** What Git says of other objects that are missing or damaged; empty: all that refs reach is whole. */
  damage: string
}

export interface ExamineOptions {
  /** Reads every object to its end, and not only which objects refer to which. */
  full?: boolean
  signal?: AbortSignal
}

/** Where another repository is, and how to get there and nowhere else. */
export interface FetchSource {
  /** Without user and password: arguments can be seen by others. */
  url: string
  /** What the host of an http URL resolves to: connections go there, whatever its name says meanwhile. */
  addresses: string[]
  /** The value of an Authorization header. */
  authorization?: string | undefined
  /** What a git URL, whose host is an address, is called by its server. */
  virtualHost?: string | undefined
}

/** Where the refs of a repository stood at some moment, HEAD among them as the branch it names. */
export interface RefsThen {
  head: string
  refs: Pick<Ref, 'name' | 'oid'>[]
}

export type Service = 'git-upload-pack' | 'git-receive-pack'

/** One bare repository. Speaks ids, bytes and streams only; knows no database and no product. Reads of a repository that is missing on disk or cannot be read throw RepositoryMissing; only a wiki may be absent, and then reads as an empty one. */
export interface GitRepository {
  readonly key: RepositoryKey

  // refs
  /** The object a full ref name points at, or null. */
  ref(name: string): Promise<Oid | null>
  /** All refs below a prefix such as `refs/heads/`, by name. */
  refs(prefix: string): Promise<Ref[]>
  /** What a user's text means: branch, tag, hash, prefix of one, or HEAD; null for all else (SEC-81, SEC-82). */
  resolve(revision: string): Promise<Resolved | null>
  /** The branch HEAD names, whether it exists or not. */
  headBranch(): Promise<string | null>
  setHeadBranch(branch: string): Promise<void>
  /** All or nothing, each by compare-and-swap, synced. Throws RefChanged when an old value does not hold, RefNameConflict when names clash (`a` and `a/b`). */
  updateRefs(updates: RefUpdate[]): Promise<void>
  /** Runs work while nobody can move a ref from a value; nothing in it may move refs of this repository. Throws RefChanged when it is elsewhere. */
  whileAt<T>(ref: string, oid: Oid, work: () => Promise<T>): Promise<T>

  // objects
  commit(oid: Oid): Promise<Commit | null>
  /** In the order asked; null where there is none or it is no commit. Long messages are cut: `commit` has the whole. */
  commits(oids: Oid[]): Promise<(Commit | null)[]>
  /** The commit that a hash, whole or cut short, means, whatever branches and tags are called so. */
  commitNamed(hash: string): Promise<Oid | null>
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
  /** A part of all that is below a path, by path, and how much there is; null when there is no tree. */
  treePage(commit: Oid, path: string, part: { skip: number; limit: number }): Promise<{ entries: TreeEntry[]; total: number } | null>

  /** Hands on every file of a commit with its size, in Git's order; links and submodules are left out. False when it took too long. */
  fileSizes(commit: Oid, take: (path: string, size: number) => void): Promise<boolean>

  // history
  log(options: LogOptions): Promise<LogPage>
  /** How many commits `to` has that `from` has not; of histories beyond `most` commits only so many are looked at. */
  countNew(from: Oid[], to: Oid, most: number): Promise<number>
  /** The ids of the commits that `to` has and `from` has not, newest first and no more than `most`, and how many there are. */
  range(from: Oid[], to: Oid, most: number): Promise<{ oids: Oid[]; total: number }>
  /** The newest commit reachable from `from` that touched each path; null where none did. */
  lastCommits(from: Oid, paths: string[]): Promise<(Oid | null)[]>
  /** Of more than two: the best commit that all of them have. */
  mergeBase(...commits: Oid[]): Promise<Oid | null>
  /** The best common ancestor of two; null: there is none, or more than one. */
  onlyBase(ours: Oid, theirs: Oid): Promise<Oid | null>
  isAncestor(ancestor: Oid, descendant: Oid): Promise<boolean>
  /** Which of `heads` are contained in `into`; warm answers start no process. */
  merged(heads: Oid[], into: Oid): Promise<boolean[]>
  /** Full names of branches and tags that contain the commit. */
  refsContaining(commit: Oid, prefix: 'refs/heads/' | 'refs/tags/'): Promise<string[]>
  /** How many commits each side has that the other has not. */
  aheadBehind(a: Oid, b: Oid): Promise<{ ahead: number; behind: number }>
  /** Who wrote the commits of a history, merges left out, by e-mail address, in no order. */
  contributors(head: Oid): Promise<Contributor[]>
  /** The ids of commits of a history whose message holds a text, newest first; `truncated` when there are more or the time was up. */
  searchLog(from: Oid, text: string, options: { limit: number } & Patience): Promise<{ oids: Oid[]; truncated: boolean }>
  /** Where a text stands in the files of a commit, by path; `truncated` when there is more, the time was up or files were left out. */
  grep(commit: Oid, text: string, options: GrepOptions): Promise<{ chunks: GrepChunk[]; truncated: boolean }>
  /** Of the files at some paths, literal ones of files and folders, those in which the text stands; by path. */
  filesWith(commit: Oid, text: string, options: { paths: string[] } & Patience): Promise<string[]>

  // differences
  /** From null: against the empty tree. Renames at 50 %, no copies (C-52 to C-57). */
  diff(from: Oid | null, to: Oid, limits: DiffLimits): Promise<Diff>
  /** The paths of the file with a line that the difference removes, adds, or shows beside such lines (three on either side); null when it shows no such line. As large as it may be. */
  diffLine(from: Oid | null, to: Oid, at: DiffLine): Promise<DiffPaths | null>
  /** Against the first parent (C-6), one a commit asked. */
  stats(commits: Oid[]): Promise<Stats[]>

  // writing objects: none of these moves a ref; all objects are synced when they return
  draftCommit(draft: CommitDraft): Promise<DraftResult>
  /** Exactly what `git cherry-pick` or `git revert` would make of it. */
  draftPick(draft: PickDraft): Promise<PickResult>
  /** Whether git merges the one into the other by itself; asked once a pair. */
  canMerge(into: Oid, from: Oid): Promise<boolean>
  /** Exactly what `git merge --no-ff` would make of it. `beside` is told the commit's id, and done while its objects are written. */
  draftMerge(draft: MergeDraft, beside?: (commit: Oid) => Promise<void>): Promise<MergeResult>
  /** A commit of an existing tree with any parents. */
  writeCommit(commit: { tree: Oid; parents: Oid[]; author: Signature; committer: Signature; message: string }): Promise<Oid>
  writeTag(tag: { name: string; target: Oid; targetType: Tag['targetType']; tagger: Signature; message: string }): Promise<Oid>

  // the wire
  /** The files of a commit as one stream with backpressure. */
  archive(options: ArchiveOptions): Promise<Readable>
  advertise(service: Service, request: Omit<TransportRequest, 'body'>): Promise<void>
  uploadPack(request: TransportRequest): Promise<void>
  receivePack(request: TransportRequest, policy: PushPolicy): Promise<void>

  // other repositories
  /** The branch that the HEAD of a repository elsewhere names, or null. */
  remoteHead(source: FetchSource, signal: AbortSignal): Promise<string | null>
  /** Brings over all branches and tags of a repository elsewhere, all of them or none; `bytes` is a bound for all this repository may then have on the disk. Throws TooLarge, Unavailable or GitFault. */
  fetch(source: FetchSource, signal: AbortSignal, bytes?: number): Promise<void>

  /** Brings over commits of another repository of this installation with all they need, synced; what `have` reaches is held by refs here. No ref moves: pin them. */
  take(from: RepositoryKey, commits: Oid[], have: Oid[]): Promise<void>

  // upkeep
  /** Bytes on disk. */
  size(): Promise<number>
  /** Commit-graph, packs and packed refs, as deep as asked; safe beside requests. False: another was at it, and nothing was done. */
  maintain(options?: MaintenanceOptions): Promise<boolean>
  /** Looks through all of it; takes as long as it takes. */
  examine(options?: ExamineOptions): Promise<Examination>
  /** Removes the file of a ref that holds no object id; the value it had before, if packed, comes to light. */
  dropUnreadableRef(name: string): Promise<void>
  /** Of some objects those that are there. */
  existing(oids: Oid[]): Promise<Set<Oid>>
  /** Takes the commit-graph away; maintenance writes another. */
  dropCommitGraph(): Promise<void>
  /** Removes lock files on refs that no living process holds: a killed process left them, and nobody could move those refs (SEC-159). */
  removeStaleLocks(): Promise<void>
  /** Of some commits those that are there and that no ref reaches, so that they would be collected one day; or that one commit does not reach. */
  unreached(oids: Oid[], from?: Oid): Promise<Oid[]>
}

/** All repositories of this installation. */
export interface Git {
  /** Cheap: touches no disk. */
  open(key: RepositoryKey): GitRepository
  /** Makes an empty bare repository whose HEAD names `branch`; does nothing when it is there. */
  create(key: RepositoryKey, branch: string): Promise<void>
  /** Throws RepositoryMissing when that cannot be told, because its storage is not mounted or it cannot be read. */
  exists(key: RepositoryKey): Promise<boolean>
  /** Makes a repository of the branches and tags of another one, whose packs it shares on disk without depending on it; HEAD names `branch`. Does nothing when it is there. */
  fork(from: RepositoryKey, to: RepositoryKey, branch: string): Promise<void>
  /** Answers what an empty repository advertises, for one that is about to be made. */
  advertiseEmpty(service: Service, request: Omit<TransportRequest, 'body'>): Promise<void>
  /** Takes the repository out of sight at once and removes it. */
  remove(key: RepositoryKey): Promise<void>
  /** Every repository on the disk that is not about to be made: none that changed in the last ten minutes, or so many milliseconds. */
  all(unchanged?: number): AsyncIterable<RepositoryKey>
  /** Where the refs of a repository stand now; null: there is none. */
  refsNow(key: RepositoryKey): Promise<RefsThen | null>
  /** Writes a repository into a new folder, with its refs as they were; false: it is gone. */
  save(key: RepositoryKey, refs: RefsThen, target: string): Promise<boolean>
  /** Puts what was saved in its place, where nothing may be. */
  restoreRepository(saved: string, key: RepositoryKey): Promise<void>
  /** Moves a repository out of the way, where a person can look at it; returns where it is. */
  quarantineRepository(key: RepositoryKey): Promise<string>
  /** Removes what was moved out of the way so many milliseconds ago or earlier; tells where it was. */
  removeQuarantinedRepositories(older: number): Promise<string[]>
  /** Marks storages as in use, so that one whose disk is not mounted is told from a new one; `inUse` tells whether one should hold repositories. Returns the names of those not mounted. */
  claimStorages(inUse: (storage: string) => Promise<boolean>): Promise<string[]>
  /** Settles when every storage is there and can be read and written, and git can be run. */
  ping(): Promise<void>
  /** Removes what killed processes left behind and nobody holds; tells which (SEC-159). */
  clean(): Promise<string[]>
  /** What `clean` would remove. */
  leftovers(): Promise<string[]>
  /** Ends all processes it started. */
  close(): Promise<void>
}
