import type { SignedIn } from '../../../../access/actor.js'
import type { MergeRequestSubject } from '../../../../access/merge-requests.js'
import type { ProjectSubject } from '../../../../access/rules.js'
import type { Context } from '../../../../context.js'
import { conflict, forbidden, invalidRecord, nullOnFailure, refused } from '../../../../failures.js'
import { RefChanged } from '../../../../git/errors.js'
import type { Commit, Oid } from '../../../../git/types.js'
import { hasMarks, type Side, takeSide } from '../../../../rules/reviews/conflict-marks.js'
import { copyCommits } from '../../../repository/object-copies.js'
import { moveRefs } from '../../../repository/push/door.js'
import { checkQuota } from '../../../repository/quotas.js'
import { repositoryOf, signatureOf } from '../../../repository/repositories.js'
import { branchOptions } from '../reading/after-merge.js'
import { methodNotAllowed } from './merge.js'
import { refuseLongMessage } from './messages.js'

/** What a page resolves at most; the rest is for commands. */
const MAX_FILES = 50
const MAX_BYTES = 200_000
const MAX_TOTAL = 2_000_000

export interface ConflictedFile {
  path: string
  /** With git's marks. */
  text: string
}

export interface Conflicts {
  /** The heads of the source and the target. */
  head: Oid
  start: Oid
  /** The commit whose tree has the marks. */
  marked: Oid
  files: ConflictedFile[]
  /** Files that no page can resolve: not texts, too large, renamed, deleted on one side. */
  others: string[]
}

const HEADS = 'refs/heads/'

/** The project whose branch the caller may push to resolve conflicts; 403 for everybody else. */
async function pushedSource(ctx: Context, caller: SignedIn, subject: MergeRequestSubject): Promise<ProjectSubject> {
  const { request, project } = subject
  if (request.state !== 'opened') throw methodNotAllowed()
  const { source } = await branchOptions(ctx, caller, subject)
  // the result has the commits of the target (SEC-43)
  if (!source || (source.project.id !== project.id && !subject.can('download_code'))) throw forbidden()
  return source
}

/** Whether the caller may resolve conflicts, as far as rights go. */
export async function mayResolveConflicts(ctx: Context, caller: SignedIn, subject: MergeRequestSubject): Promise<boolean> {
  return (await nullOnFailure(pushedSource(ctx, caller, subject))) !== null
}

/**
 * The conflicts of a merge request, for those who may push its source branch; null without any (WB-110). The target's
 * repository has both sides: nothing comes into that of a fork before it is resolved (WB-331).
 */
export async function loadConflicts(ctx: Context, caller: SignedIn, subject: MergeRequestSubject): Promise<Conflicts | null> {
  const { request, project } = subject
  const source = await pushedSource(ctx, caller, subject)
  const repository = repositoryOf(ctx, project)
  const [head, start] = await Promise.all([
    repositoryOf(ctx, source.project).ref(HEADS + request.source_branch),
    repository.ref(HEADS + request.target_branch),
  ])
  if (!head || !start) return null
  if (!(await repository.commit(head))) throw conflict('The newest commits of the source branch are being read: try again in a moment')
  if (await repository.canMerge(start, head)) return null
  await checkQuota(ctx, repository)
  const merged = await repository.draftConflicted(head, start)
  if (!merged) return null
  const files: ConflictedFile[] = []
  const others: string[] = []
  let total = 0
  for (const { path, sides } of merged.files) {
    const both = [2, 3].every((stage) => sides.some((side) => side.stage === stage && /^100/.test(side.mode)))
    const entry = both && files.length < MAX_FILES ? await repository.entry(merged.commit, path) : null
    const info = entry?.type === 'blob' ? await repository.objectInfo(entry.oid) : null
    const content = entry && info && info.size <= MAX_BYTES && total + info.size <= MAX_TOTAL ? await repository.blob(entry.oid) : null
    const text = content?.toString('utf8')
    const isText = text !== undefined && !text.includes('\0') && Buffer.from(text).equals(content as Buffer)
    if (!isText || takeSide(text, 'ours', { ours: head, theirs: start }) === null || !hasMarks(text)) others.push(path)
    else {
      files.push({ path, text })
      total += info?.size ?? 0
    }
  }
  return { head, start, marked: merged.commit, files, others }
}

export interface Resolution {
  /** The heads that the caller has seen. */
  head: string
  start: string
  message: string
  files: { path: string; take: Side | 'edit'; content?: string | undefined }[]
}

/** Resolves all conflicts as a merge commit on the source branch, with the rules of every push (WB-110). */
export async function resolveConflicts(ctx: Context, caller: SignedIn, subject: MergeRequestSubject, given: Resolution): Promise<Commit> {
  refuseLongMessage(given.message)
  const source = await pushedSource(ctx, caller, subject)
  const found = await loadConflicts(ctx, caller, subject)
  if (!found || found.head !== given.head || found.start !== given.start)
    throw conflict('The branches have changed since this page was opened: look at the conflicts again')
  const { head, start, marked, files, others } = found
  if (others.length > 0) throw refused('Some conflicts can only be resolved by commands')
  const changes = files.map(({ path, text }) => {
    const wanted = given.files.find((file) => file.path === path)
    if (!wanted) throw invalidRecord({ base: [`needs a decision about ${path}`] })
    const ends = text.includes('\r\n') ? '\r\n' : '\n'
    const content =
      wanted.take === 'edit' ? (wanted.content ?? '').replace(/\r?\n/g, ends) : takeSide(text, wanted.take, { ours: head, theirs: start })
    if (content === null || hasMarks(content)) throw invalidRecord({ base: [`still has marks of a conflict in ${path}`] })
    return { action: 'update' as const, path, content: Buffer.from(content) }
  })
  const repository = repositoryOf(ctx, subject.project)
  const own = signatureOf(ctx, caller)
  const drafted = await repository.draftCommit({ parents: [marked], changes, author: own, committer: own, message: '' })
  if ('fault' in drafted) throw refused(`${drafted.path} cannot be changed`)
  const { source_branch, target_branch } = subject.request
  const message = given.message.trim() || `Merge branch '${target_branch}' into '${source_branch}'`
  const oid = await repository.writeCommit({ tree: drafted.tree, parents: [head, start], author: own, committer: own, message })
  if (source.project.id !== subject.project.id) {
    await checkQuota(ctx, repositoryOf(ctx, source.project))
    const from = { storage: subject.project.storage, id: subject.project.id, kind: 'project' } as const
    const into = { ...from, storage: source.project.storage, id: source.project.id }
    if (!(await copyCommits(ctx, caller.user.id, from, into, { commits: [oid], have: [head] }))) throw forbidden()
  }
  try {
    await moveRefs(ctx, source, caller.user.id, [{ ref: HEADS + source_branch, old: head, new: oid }])
  } catch (error) {
    if (error instanceof RefChanged) throw conflict('The source branch was changed meanwhile')
    throw error
  }
  return (await repository.commit(oid)) as Commit
}
