import { setImmediate } from 'node:timers/promises'
import type { SignedIn } from '../../../access/actor.js'
import type { ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { invalidInput, refused, tooLarge } from '../../../failures.js'
import { type Change, type Commit, type GitRepository, type Oid, type Signature, type Stats, ZERO } from '../../../git/types.js'
import { decodeBase64 } from '../../../lib/crypto/base64.js'
import { checkPath, normalisePath } from '../../../lib/git-path.js'
import { shownPath } from '../../../lib/text/byte-path.js'
import { emailFault } from '../../../rules/email.js'
import { lengthOf } from '../../../rules/path.js'
import { branchNameFault } from '../../../rules/refs/branch-name.js'
import { mayPushTo, protectsEmpty } from '../protection.js'
import { PROTECTED_BRANCH, refusalOf } from '../push/rules.js'
import { checkQuota } from '../quotas.js'
import { repositoryOf, signatureOf } from '../repositories.js'
import { resolveRevision } from '../revisions.js'
import { commitToBranch, invalidBranch, type Rules } from './write.js'

/** One element of `actions[]`, as sent. */
export type ActionInput = Record<string, unknown>

export interface NewCommit {
  branch: string
  commit_message: string
  start_branch?: string | undefined
  /** A full commit id, in place of `start_branch`. */
  start_sha?: string | undefined
  force?: boolean | undefined
  actions: ActionInput[]
  author_email?: string | undefined
  author_name?: string | undefined
}

export interface CreatedCommit {
  commit: Commit
  stats: Stats
}

/** Maximum number of actions per commit; more are 413 (SEC-97). */
const MAX_ACTIONS = 10_000
/** Maximum length of a commit message in characters. */
export const MAX_MESSAGE = 1_000_000
/** How many bytes of content are decoded before yielding to the event loop. */
const YIELD_BYTES = 2 * 1024 * 1024

const EXISTS = 'A file with this name already exists'
const DOES_NOT_EXIST = "A file with this name doesn't exist"

/**
 * Applies all actions in one commit and moves the branch to it, or throws and changes nothing (C-17 to C-46). Write
 * access has been checked by the endpoint.
 */
export async function createCommit(
  ctx: Context,
  subject: ProjectSubject,
  caller: SignedIn,
  given: NewCommit,
  { bypassProtection = false }: { bypassProtection?: boolean } = {},
): Promise<CreatedCommit> {
  const { project } = subject
  const { branch } = given
  if (given.start_branch && given.start_sha) throw invalidInput('start_branch, start_sha are mutually exclusive')
  if (given.actions.length > MAX_ACTIONS) throw tooLarge()
  const identity = authorOf(ctx, caller, given)
  if (lengthOf(given.commit_message) > MAX_MESSAGE) throw refused('The commit message is too long')
  const repository = repositoryOf(ctx, project)
  const draft = async (rules: Rules) => {
    const empty = project.empty_repo && (await repository.refs('refs/heads/')).length === 0
    if (!bypassProtection) {
      const blocked = empty && protectsEmpty(project, rules.settings) && !subject.can('manage_protection')
      if (blocked || !mayPushTo(subject, rules.protections, branch)) throw refused(PROTECTED_BRANCH)
    }
    const base = await baseOf(ctx, subject, given, empty)
    if (base.parent && !(await mayResetTo({ subject, repository, ...rules }, branch, base.old, base.parent))) throw refused(PROTECTED_BRANCH)
    return { commit: await draftCommit(ctx, repository, { caller, given, author: identity }, base.parent), old: base.old }
  }
  const describe = (commit: Oid) => Promise.all([repository.commit(commit), repository.stats([commit])])
  const [commit, [stats]] = await commitToBranch(ctx, { subject, caller, branch }, draft, describe)
  return { commit: commit as Commit, stats: stats ?? { additions: 0, deletions: 0 } }
}

/** Writes the objects of a commit with all actions on top of a parent. */
async function draftCommit(
  ctx: Context,
  repository: GitRepository,
  { caller, given, author }: { caller: SignedIn; given: NewCommit; author: Signature },
  parent: Oid | null,
): Promise<Oid> {
  for (const action of given.actions) await checkLastCommit(repository, parent, action)
  const parsed = await parseActions(given.actions)
  const addedBytes = parsed.changes.reduce((sum, change) => sum + ('content' in change && change.content ? change.content.length : 0), 0)
  if (!parsed.fault) await checkQuota(ctx, repository, addedBytes)
  const drafted = await repository.draftCommit({
    parents: parent ? [parent] : [],
    changes: parsed.changes,
    author,
    // author and committer have one time, also across the turn of a second
    committer: { ...signatureOf(ctx, caller), seconds: author.seconds },
    message: given.commit_message,
    ...(parsed.fault && { check: true }),
  })
  if ('fault' in drafted) throw refused(faultText(drafted))
  if (parsed.fault) throw refused(parsed.fault)
  return drafted.commit
}

/**
 * Whether `force` may reset a branch to the parent and so drop history. A protected branch must allow force pushes
 * (SEC-104, BR-19). The error is the one of any refused write to the branch (PU-9).
 */
async function mayResetTo(
  at: Rules & { subject: ProjectSubject; repository: GitRepository },
  branch: string,
  old: Oid,
  parent: Oid,
): Promise<boolean> {
  if (old === ZERO || old === parent) return true
  const move = { ref: `refs/heads/${branch}`, old, new: parent }
  return (await refusalOf({ ...at, door: 'api' }, move)) === null
}

/** The author: name and address default to the caller's, each on its own (C-43, SEC-100). */
function authorOf(ctx: Context, caller: SignedIn, { author_name, author_email }: NewCommit) {
  const defaults = signatureOf(ctx, caller)
  for (const [field, value] of Object.entries({ author_name, author_email })) {
    if (value === undefined) continue
    if (value.trim() === '' || /[<>\r\n]/.test(value) || lengthOf(value) > 255) throw refused(`${field} is invalid`)
  }
  if (author_email !== undefined && emailFault(author_email.trim())) throw refused('author_email is invalid')
  return { ...defaults, name: author_name?.trim() ?? defaults.name, email: author_email?.trim() ?? defaults.email }
}

/**
 * The parent of the commit, and the value that the branch must still have (C-29 to C-31, C-36, C-37). `start_sha` is a
 * start that need not be a branch head; with `force` an existing branch is reset to the start.
 */
async function baseOf(ctx: Context, subject: ProjectSubject, given: NewCommit, empty: boolean): Promise<{ parent: Oid | null; old: Oid }> {
  const repository = repositoryOf(ctx, subject.project)
  const { branch, start_branch, start_sha, force } = given
  if (empty) {
    if (branchNameFault(branch)) throw refused(invalidBranch(branch))
    return { parent: null, old: ZERO }
  }
  const [target, source] = await Promise.all([
    headOf(repository, branch),
    start_sha ? startCommit(ctx, subject, start_sha) : headOf(repository, start_branch || branch),
  ])
  if (!source)
    throw refused(start_sha ? `There is no commit ${start_sha} to start from` : 'You can only create or edit files when you are on a branch')
  const differentStart = start_sha ? source !== target : (start_branch || branch) !== branch
  if (target && differentStart && !force) throw refused(`A branch called '${branch}' already exists. Switch to that branch in order to make changes`)
  if (target) return { parent: source, old: target }
  if (branchNameFault(branch)) throw refused(invalidBranch(branch))
  return { parent: source, old: ZERO }
}

/** Accepts full ids only: an abbreviation may become ambiguous between two attempts. */
async function startCommit(ctx: Context, subject: ProjectSubject, sha: string): Promise<Oid | null> {
  return /^[0-9a-f]{40}$/.test(sha) ? ((await resolveRevision(ctx, subject, sha))?.commit ?? null) : null
}

async function headOf(repository: GitRepository, branch: string): Promise<Oid | null> {
  return branch === '' || branch.includes('\0') ? null : repository.ref(`refs/heads/${branch}`)
}

const stringOf = (value: unknown) => (value === undefined || value === null ? undefined : typeof value === 'object' ? undefined : String(value))

/**
 * Compares `last_commit_id` with the newest commit that touched the file; only for changes of existing files (C-42).
 */
async function checkLastCommit(repository: GitRepository, parent: Oid | null, action: ActionInput) {
  const lastCommitId = stringOf(action['last_commit_id'])
  const kind = stringOf(action['action'])
  if (!lastCommitId || !parent || !kind || !['update', 'move', 'delete', 'chmod'].includes(kind)) return
  const path = normalisePath(stringOf(kind === 'move' ? (action['previous_path'] ?? action['file_path']) : action['file_path']) ?? '')
  if (checkPath(path)) return
  const [newest] = await repository.lastCommits(parent, [path])
  if (newest && newest !== lastCommitId) throw refused(`The file has changed since you started editing it: ${shownPath(path)}`)
}

/** Parses actions up to the first invalid one, and returns its fault (C-24 to C-27, C-34, C-38, C-39). */
export async function parseActions(actions: ActionInput[]): Promise<{ changes: Change[]; fault: string | null }> {
  const changes: Change[] = []
  let bytes = 0
  for (const action of actions) {
    const change = await parseAction(action)
    if (typeof change === 'string') return { changes, fault: change }
    changes.push(change)
    // decoding 100 MiB takes a third of a second (SEC-145)
    bytes += 'content' in change ? (change.content?.length ?? 0) : 0
    if (bytes < YIELD_BYTES) continue
    bytes = 0
    await setImmediate()
  }
  return { changes, fault: null }
}

/** The messages for invalid paths (C-26, C-27, C-34). */
export const PATH_FAULTS = {
  blank: () => 'You must provide a file path',
  traversal: () => 'Path cannot include directory traversal',
  invalid: (path: string) => `invalid path: '${shownPath(path)}'`,
}

const ACTIONS = ['create', 'update', 'delete', 'move', 'chmod'] as const
const isActionKind = (kind: string): kind is (typeof ACTIONS)[number] => ACTIONS.some((known) => known === kind)

async function parseAction(action: ActionInput): Promise<Change | string> {
  const kind = stringOf(action['action']) ?? ''
  if (!isActionKind(kind)) return `Unknown action '${kind}'`
  const given = [stringOf(action['file_path']), ...(kind === 'move' ? [stringOf(action['previous_path'])] : [])]
  const paths: string[] = []
  for (const text of given) {
    if (text === undefined || text.trim() === '') return PATH_FAULTS.blank()
    const path = normalisePath(text)
    const fault = checkPath(path)
    if (fault) return PATH_FAULTS[fault](path)
    paths.push(path)
  }
  const [path, from] = paths as [string, string]
  const text = stringOf(action['content'])
  const encoding = action['encoding'] ?? ''
  if (encoding !== '' && encoding !== 'text' && encoding !== 'base64') return `Unknown encoding '${stringOf(encoding) ?? ''}'`
  const content = text === undefined ? undefined : await decodeContent(text, encoding)
  if (content === null) return `The content of ${shownPath(path)} is not valid base64`
  const mode = stringOf(action['execute_filemode'])
  const executable = mode === 'true' || mode === 'false' ? { executable: mode === 'true' } : {}
  if (kind === 'delete') return { action: kind, path }
  // as `git add` does (C-34)
  const overFiles = true
  if (kind === 'move') return { action: kind, path, from, overFiles, ...(content && { content }) }
  if (kind === 'chmod') return 'executable' in executable ? { action: 'update', path, ...executable } : 'You must provide execute_filemode'
  if (!content) return 'You must provide content'
  return kind === 'create' ? { action: kind, path, content, overFiles, ...executable } : { action: kind, path, content, ...executable }
}

/** Decodes content: CRLF becomes LF in content sent as text (C-39). Null for invalid base64. */
async function decodeContent(text: string, encoding: '' | 'text' | 'base64'): Promise<Buffer | null> {
  return encoding === 'base64' ? decodeBase64(text) : Buffer.from(text.replaceAll('\r\n', '\n'), 'utf8')
}

function faultText({ fault, path }: { fault: 'exists' | 'missing' | 'invalid_path'; path: string }): string {
  if (fault === 'exists') return EXISTS
  return fault === 'missing' ? DOES_NOT_EXIST : PATH_FAULTS.invalid(path)
}
