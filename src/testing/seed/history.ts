import type { SignedIn } from '../../access/actor.js'
import { getProjectFor } from '../../access/rules.js'
import { type Change, type GitRepository, type HistoryDraft, type Oid, type Signature, ZERO } from '../../git/types.js'
import { parseActions } from '../../services/repository/commits/create.js'
import { moveRefs } from '../../services/repository/push/door.js'
import { repositoryOf, signatureOf } from '../../services/repository/repositories.js'
import type { SeedAuthor, SeedCommit, SeedFiles, SeedProject } from './declaration.js'
import { below, entries, type Seeder, seedFault, withPosition } from './seeder.js'

/** The current commit of a branch, and the paths of its files. */
interface BranchHead {
  oid: Oid
  files: ReadonlySet<string>
}

export interface History {
  project: number
  /** The username that pushes the branches. */
  creator: string
  defaultBranch: string
}

/**
 * Creates the commits of a project and pushes all its branches at once, as its creator. Returns the commit ids by
 * branch.
 */
export async function seedHistory(seeder: Seeder, at: string, given: SeedProject, history: History): Promise<Map<string, Oid>> {
  const { files, commits = [], branches } = given
  const { ctx } = seeder.world
  const caller = await seeder.caller(at, history.creator)
  const subject = await getProjectFor(ctx, caller, String(history.project))
  const builder = new HistoryBuilder(seeder, repositoryOf(ctx, subject.project), caller, history.defaultBranch)
  if (files) await builder.add({ message: 'Initial commit', files }, at)
  for (const [commit, position] of entries(at, 'commits', commits)) await builder.add(commit, position)
  for (const [branch, position] of entries(at, 'branches', branches)) {
    const { name, ref } = typeof branch === 'string' ? { name: branch, ref: history.defaultBranch } : branch
    builder.branch(name, ref, position)
  }
  const heads = new Map([...builder.heads].map(([name, { oid }]) => [name, oid]))
  if (heads.size === 0) return heads
  await builder.write()
  const moves = [...heads].map(([name, oid]) => ({ ref: `refs/heads/${name}`, old: ZERO, new: oid }))
  await withPosition(below(at, 'branches'), moveRefs(ctx, subject, caller.user.id, moves))
  return heads
}

/** Creates commits and tracks their branches in memory; the refs are pushed afterwards. */
class HistoryBuilder {
  readonly heads = new Map<string, BranchHead>()
  readonly #signatures = new Map<string, Signature>()
  readonly #history: HistoryDraft

  constructor(
    private readonly seeder: Seeder,
    repository: GitRepository,
    private readonly caller: SignedIn,
    private readonly defaultBranch: string,
  ) {
    this.#history = repository.draftHistory()
  }

  async add(given: SeedCommit, at: string): Promise<void> {
    const { branch = this.defaultBranch, message, actions, files } = given
    const start = this.heads.get(branch) ?? this.#start(given, branch, at)
    const paths = new Set(start?.files)
    const changes: Change[] = await this.#changes(files, actions, paths, at)
    const author = await this.#signature(given.author, given.date, below(at, 'author'))
    const committer = given.committer === undefined ? author : await this.#signature(given.committer, given.date, below(at, 'committer'))
    const drafted = await this.#history.commit({ parents: start ? [start.oid] : [], changes, author, committer, message })
    if ('fault' in drafted) throw seedFault(at, `${drafted.path}: ${CHANGE_FAULTS[drafted.fault]}`)
    this.heads.set(branch, { oid: drafted.commit, files: paths })
  }

  write(): Promise<void> {
    return this.#history.write()
  }

  branch(name: string, ref: string, at: string): void {
    const head = this.heads.get(ref)
    if (!head) throw seedFault(at, `there is no branch ${ref} in this seed`)
    if (this.heads.has(name)) throw seedFault(at, `the branch ${name} exists already`)
    this.heads.set(name, head)
  }

  /** The start of a new branch; null for a branch without a parent commit. */
  #start({ from }: SeedCommit, branch: string, at: string): BranchHead | null {
    if (from === null) return null
    const start = this.heads.get(from ?? this.defaultBranch)
    if (!start && (from !== undefined || branch !== this.defaultBranch))
      throw seedFault(below(at, 'from'), `the branch ${from ?? this.defaultBranch} has no commits yet`)
    return start ?? null
  }

  /** Parses the changes of a commit, and updates `paths` from the files before the commit to those after it. */
  async #changes(files: SeedFiles | undefined, actions: SeedCommit['actions'], paths: Set<string>, at: string): Promise<Change[]> {
    const asked = [...Object.entries(files ?? {}).map(([path, content]) => actionFor(path, content, paths.has(path))), ...(actions ?? [])]
    const { changes, fault } = await parseActions(asked)
    if (fault) throw seedFault(at, fault)
    for (const change of changes) {
      if (change.action === 'delete') paths.delete(change.path)
      else paths.add(change.path)
      if (change.action === 'move') paths.delete(change.from)
    }
    return changes
  }

  async #signature(given: SeedAuthor | undefined, date: string | undefined, at: string): Promise<Signature> {
    const { ctx } = this.seeder.world
    const identity = typeof given === 'object' ? { ...signatureOf(ctx, this.caller), ...given } : await this.#identity(given, at)
    return date === undefined ? identity : { ...identity, ...dateOf(date) }
  }

  async #identity(username: string | undefined, at: string): Promise<Signature> {
    const { ctx } = this.seeder.world
    if (username === undefined) return signatureOf(ctx, this.caller)
    const exists = this.#signatures.get(username) ?? signatureOf(ctx, await this.seeder.caller(at, username))
    this.#signatures.set(username, exists)
    return exists
  }
}

const CHANGE_FAULTS = { exists: 'there is such a file already', missing: 'there is no such file', invalid_path: 'the path is not valid' } as const

function actionFor(file_path: string, content: SeedFiles[string], exists: boolean) {
  if (content === null) return { action: 'delete', file_path }
  const action = exists ? 'update' : 'create'
  if (typeof content === 'string') return { action, file_path, content }
  const { base64, executable } = content
  return { action, file_path, content: base64, encoding: 'base64', ...(executable !== undefined && { execute_filemode: executable }) }
}

/** The date of a commit in seconds, with the time zone as written. */
function dateOf(time: string): { seconds: number; offset: string } {
  const [, zone = 'Z'] = /(Z|[+-]\d\d:?\d\d)$/.exec(time) ?? []
  return { seconds: Math.floor(Date.parse(time) / 1_000), offset: zone === 'Z' ? '+0000' : zone.replace(':', '') }
}
