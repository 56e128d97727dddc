import { isUtf8 } from 'node:buffer'
import type { SignedIn } from '../../../../access/actor.js'
import type { MergeRequestSubject } from '../../../../access/merge-requests.js'
import type { ProjectSubject } from '../../../../access/rules.js'
import type { Context } from '../../../../context.js'
import { conflict, forbidden, invalidRecord, nullOnFailure, refused } from '../../../../failures.js'
import { RefChanged } from '../../../../git/errors.js'
import type { Change, Commit, GitRepository, MergedTexts, Oid, Stage } from '../../../../git/types.js'
import { hasMarks } from '../../../../rules/reviews/conflict-marks.js'
import { copyCommits } from '../../../repository/object-copies.js'
import { moveRefs } from '../../../repository/push/door.js'
import { checkQuota } from '../../../repository/quotas.js'
import { repositoryOf, signatureOf } from '../../../repository/repositories.js'
import { branchOptions } from '../reading/after-merge.js'
import { methodNotAllowed } from './merge.js'
import { refuseLongMessage } from './messages.js'

/** What a page resolves at most; the rest is for commands. */
const MAX_FILES = 50
/** The largest texts that are shown, and all of them together, in bytes. */
const MAX_BYTES = 200_000
const MAX_TOTAL = 2_000_000

/**
 * What becomes of a file: that of one side as it is (its removal, if that side has none); both sides merged, with the
 * lines of one side where both changed the same; or another text.
 */
export const TAKES = ['ours', 'theirs', 'our_lines', 'their_lines', 'edit'] as const
export type Take = (typeof TAKES)[number]

export interface ConflictedFile {
  path: string
  /** Null where the side has removed the file. */
  ours: Stage | null
  theirs: Stage | null
  /** With git's marks; null for what is no text, or too large. */
  text: string | null
  /** The texts of the sides, beside `text`. */
  texts: MergedTexts | null
}

export interface Conflicts {
  /** The heads of the source and the target. */
  head: Oid
  start: Oid
  /** The commit whose tree has the marks. */
  marked: Oid
  files: ConflictedFile[]
  /** Files that no page can resolve: renamed differently, or a file here and a folder there. */
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
  if ((await repository.mergeBase(start, head)) === null)
    throw conflict('The branches have no common history: rebase the source branch, or merge them by commands')
  if (await repository.canMerge(start, head)) return null
  await checkQuota(ctx, repository)
  const merged = await repository.draftConflicted(head, start)
  if (!merged) return null
  const files: ConflictedFile[] = []
  const others: string[] = []
  let total = 0
  for (const { path, base = null, ours = null, theirs = null } of merged.files) {
    const there = await repository.entry(merged.commit, path)
    // a file that one side alone has, without a base, was renamed or makes room for a folder
    const isPlain = ours && theirs ? true : (ours ?? theirs) !== null && base !== null
    if (!isPlain || !there || there.type === 'tree' || files.length === MAX_FILES) {
      others.push(path)
      continue
    }
    const texts = ours && theirs ? await textsOf(repository, base, ours, theirs) : null
    const text = texts && total < MAX_TOTAL ? await textOf(repository, there.oid) : null
    total += text?.length ?? 0
    files.push({ path, ours, theirs, text: text?.toString() ?? null, texts: text && texts })
  }
  return { head, start, marked: merged.commit, files, others }
}

type Reading = Pick<GitRepository, 'objectInfo' | 'blob'>

/** The content of a file that is a text of a bearable size. */
async function textOf(repository: Reading, oid: Oid): Promise<Buffer | null> {
  const info = await repository.objectInfo(oid)
  const content = info?.type === 'blob' && info.size <= MAX_BYTES ? await repository.blob(oid) : null
  return content && isUtf8(content) && !content.includes(0) ? content : null
}

/** The texts of the three stages; null unless all are texts in regular files. */
async function textsOf(repository: Reading, ...stages: [Stage | null, Stage, Stage]): Promise<MergedTexts | null> {
  if (!stages.every((stage) => stage === null || /^100/.test(stage.mode))) return null
  const [base, ours, theirs] = await Promise.all(stages.map((stage) => stage && textOf(repository, stage.oid)))
  return ours && theirs && (base || !stages[0]) ? { base: base ?? null, ours, theirs } : null
}

export interface Resolution {
  /** The heads that the caller has seen. */
  head: string
  start: string
  message: string
  files: { path: string; take: Take; content?: string | undefined }[]
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
  const { source_branch, target_branch } = subject.request
  const labels = [source_branch, target_branch, head, start]
  const repository = repositoryOf(ctx, subject.project)
  const changes: Change[] = []
  for (const file of files) {
    const wanted = given.files.find(({ path }) => path === file.path)
    if (!wanted) throw invalidRecord({ base: [`needs a decision about ${file.path}`] })
    changes.push(await changeOf(repository, file, wanted, labels))
  }
  const own = signatureOf(ctx, caller)
  const drafted = await repository.draftCommit({ parents: [marked], changes, author: own, committer: own, message: '' })
  if ('fault' in drafted) throw refused(`${drafted.path} cannot be changed`)
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

/** How one file changes from the tree with the marks. */
async function changeOf(
  repository: Pick<GitRepository, 'mergeTexts'>,
  { path, ours, theirs, text, texts }: ConflictedFile,
  { take, content = '' }: Resolution['files'][number],
  labels: string[],
): Promise<Change> {
  if (take === 'ours' || take === 'theirs') {
    const stage = take === 'ours' ? ours : theirs
    return stage ? { action: 'replace', path, ...stage } : { action: 'delete', path }
  }
  if (text === null || texts === null) throw invalidRecord({ base: [`cannot merge the lines of ${path}: take it from one side`] })
  if (take !== 'edit') return { action: 'update', path, content: await repository.mergeTexts(texts, take === 'our_lines' ? 'ours' : 'theirs') }
  const edited = content.replace(/\r?\n/g, text.includes('\r\n') ? '\r\n' : '\n')
  if (hasMarks(edited, labels, [texts.ours.toString(), texts.theirs.toString()]))
    throw invalidRecord({ base: [`still has marks of a conflict in ${path}`] })
  return { action: 'update', path, content: Buffer.from(edited) }
}
