import type { SQL } from 'drizzle-orm'
import type { SignedIn } from '../../../../access/actor.js'
import type { ProjectSubject } from '../../../../access/rules.js'
import type { Context } from '../../../../context.js'
import type { Transaction } from '../../../../db/client.js'
import { onlyRow } from '../../../../db/only-row.js'
import { mergeRequests } from '../../../../db/schema/index.js'
import { retryOnUniqueViolation } from '../../../../db/unique-violation.js'
import { forbidden, notFound, unprocessable } from '../../../../failures.js'
import { enqueue } from '../../../../jobs/enqueue.js'
import { settleAll } from '../../../../lib/async/settle-all.js'
import { squashesByDefault } from '../../../../rules/squash.js'
import { issueReferencesIn, recordCrossReferences, resolveMentions } from '../../../activity/cross-references.js'
import { recordEvent } from '../../../activity/events.js'
import { requestPipeline } from '../../../ci/merge-requests/run.js'
import { lastIid, nextIid } from '../../../core/iids.js'
import { findVisibleProject } from '../../../identity/acting-users.js'
import { actAs } from '../../../outbox/acting.js'
import { inSameNetwork } from '../../../projects/fork-network.js'
import { repositoryOf } from '../../../repository/repositories.js'
import { refuseFaults, textFaults } from '../../validation.js'
import { descriptionColumns, type NewIssuable, newAttributes, recordCreation, textOf } from '../../writing.js'
import { MAX_COMMITS } from '../reading/contents.js'
import { loadMergeRequest, type SingleMergeRequest } from '../reading/load.js'
import { readersAmong } from '../reading/readers.js'
import { draftFirstVersion, recordVersions, setFirstVersionRefs, type VersionDraft } from '../versions/make.js'
import { headsOf } from '../versions/refs.js'
import { updateVersion } from '../versions/update.js'
import { assignableAmong, branchFaults, refuseDuplicate, refuseSameBranch } from './attributes.js'
import { mentionsIssues, updateIssueLinks } from './issue-links.js'
import { notifyReviewers } from './reviewers.js'

export interface NewMergeRequest extends NewIssuable {
  /** Those of these users who can be assigned (MR-620). */
  reviewer_ids?: number[] | undefined
  source_branch: string
  target_branch: string
  /** The source by default. */
  target_project_id?: number | undefined
  remove_source_branch?: boolean | undefined
  squash?: boolean | undefined
  allow_collaboration?: boolean | undefined
  /** It gets no pipeline (PO-9). */
  skip_ci?: boolean | undefined
}

/**
 * Creates a merge request (MR-23 to MR-40). Attributes that the caller's role on the target does not cover are ignored,
 * not refused.
 */
export async function createMergeRequest(
  ctx: Context,
  caller: SignedIn,
  source: ProjectSubject,
  given: NewMergeRequest,
): Promise<SingleMergeRequest> {
  const target = await targetOf(ctx, caller, source, given.target_project_id)
  if (target.project.archived) throw forbidden()
  const request: MergeRequestToCreate = { caller, source, target, given, branches: branchesOf(source, target, given) }
  const mentioned = await resolveMentions(ctx, caller, target, await issueReferencesIn(ctx, textOf(given)))
  const [id, draft] = await retryOnUniqueViolation(async () => {
    // the version is drafted before the row exists, so that no reader sees a row without it; commits of a fork are
    // copied only after everything else has been validated
    const early = source.project.id === target.project.id ? draftFor(ctx, request) : null
    early?.catch(() => {})
    await refuse(ctx, request)
    const draft = await (early ?? draftFor(ctx, request))
    const createdId = await ctx.db.transaction(async (tx) => {
      const [{ id, iid }] = await Promise.all([insert(ctx, tx, request), actAs(tx, caller.user.id)])
      const created = { ...draft, request: { ...draft.request, id, iid } }
      await Promise.all([
        setFirstVersionRefs(ctx, created),
        recordVersions(tx, [created], {}, ctx.now()),
        recordCreatedEvent(tx, created.request, caller, ctx.now()),
        enqueuePipeline(tx, caller, id, given),
      ])
      await recordCrossReferences(tx, { type: 'MergeRequest', project_id: target.project.id, id, sha: null }, mentioned, caller.user.id, ctx.now())
      return id
    })
    return [createdId, draft] as const
  })
  // a concurrent push did not see the row
  const { head, start } = await headsOf(ctx, draft.request)
  if (head !== draft.heads.head || start !== draft.heads.start) await updateVersion(ctx, { id })
  if (head !== draft.heads.head) await enqueuePipeline(ctx.db, caller, id, given)
  if (!draft.withoutReferences) await updateIssueLinks(ctx, id)
  return loadMergeRequest(ctx, caller, target, id)
}

const enqueuePipeline = async (db: Transaction | Context['db'], { user }: SignedIn, id: number, { skip_ci }: NewMergeRequest) =>
  skip_ci ? undefined : enqueue(db, requestPipeline, { merge_request: id, user: user.id })

const branchesOf = (source: ProjectSubject, target: ProjectSubject, given: NewMergeRequest) => ({
  project_id: target.project.id,
  target_branch: given.target_branch,
  source_project_id: source.project.id,
  source_branch: given.source_branch,
})

/** A merge request to create. */
interface MergeRequestToCreate {
  caller: SignedIn
  source: ProjectSubject
  target: ProjectSubject
  given: NewMergeRequest
  branches: ReturnType<typeof branchesOf>
}

/** Drafts the first version, and finds out whether the texts contain references. */
async function draftFor(ctx: Context, { caller, source, target, given, branches }: MergeRequestToCreate): Promise<VersionDraft> {
  const request = { ...branches, author_id: caller.user.id, storage: target.project.storage, source_storage: source.project.storage }
  const draft = await draftFirstVersion(ctx, { ...request, ...NO_VERSION, title: given.title })
  if (draft.sourceUnreadable) throw forbidden()
  const commits = await repositoryOf(ctx, target.project).commits(draft.version?.oids.slice(0, MAX_COMMITS) ?? [])
  const texts = [textOf(given), ...commits.map((commit) => commit?.message ?? '')]
  for (const text of texts) if (await mentionsIssues(ctx, text)) return { ...draft, withoutReferences: false }
  return { ...draft, withoutReferences: true }
}

/** Columns of a merge request that has no row yet. */
const NO_VERSION = { id: 0, iid: 0, sha: null, version_id: null, version_due: false, commits: 0, merge_checks: 0 }

/** The target project; 404 if the caller does not see it (MR-24). */
export async function targetOf(ctx: Context, caller: SignedIn, source: ProjectSubject, id: number | undefined): Promise<ProjectSubject> {
  if (id === undefined || id === source.project.id) return source
  const target = await findVisibleProject(ctx, caller, id)
  if (!target) throw notFound()
  return target
}

/** Validation errors of the texts: a blank or too long title or name of a branch (MR-34). */
function faultsOf({ labels, source_branch, target_branch, ...given }: NewMergeRequest): Record<string, string[]> {
  const faults = {
    ...textFaults({ ...given, labels: [labels] }),
    source_branch: branchFaults(source_branch),
    target_branch: branchFaults(target_branch),
  }
  return Object.fromEntries(Object.entries(faults).filter(([, texts]) => texts.length > 0))
}

/** Validates in the order of MR-30 to MR-34. */
async function refuse(ctx: Context, { caller, source, target, given, branches }: MergeRequestToCreate): Promise<void> {
  refuseSameBranch(branches)
  if (!(await inSameNetwork(ctx.db.write, source.project.id, target.project.id)))
    throw unprocessable('Source project is not a fork of the target project')
  await refuseDuplicate(ctx.db.write, caller, target, branches, given.title.trim())
  if (!target.can('propose_merge_request')) throw unprocessable('Target project has disabled merge requests')
  refuseFaults(faultsOf(given))
}

async function insert(
  ctx: Context,
  tx: Transaction,
  { caller, target, given, branches }: MergeRequestToCreate,
): Promise<{ id: number; iid: number }> {
  const { project } = target
  const now = ctx.now()
  const wanted: Partial<NewMergeRequest> = target.can('manage_merge_request') ? given : {}
  const [{ labelIds, ...assigned }, reviewer_ids] = await settleAll([
    newAttributes(tx, target, wanted, assignableAmong, now),
    assignableAmong(tx, target, wanted.reviewer_ids ?? []),
  ])
  const values = {
    ...branches,
    original_source_project_id: branches.source_project_id,
    title: given.title.trim(),
    ...(await descriptionColumns(ctx, given.description ?? '')),
    author_id: caller.user.id,
    ...assigned,
    reviewer_ids,
    reviews_requested_at: reviewer_ids.map(() => now),
    force_remove_source_branch: given.remove_source_branch ?? project.remove_source_branch_after_merge,
    squash: given.squash ?? squashesByDefault(target.project),
    allow_collaboration: given.allow_collaboration ?? false,
    created_at: now,
    updated_at: now,
  }
  const [iid, rows] = await settleAll([
    nextIid(tx, project.id, 'merge_request'),
    tx
      .insert(mergeRequests)
      .values({ ...values, iid: lastIid(project.id, 'merge_request') })
      .returning({ id: mergeRequests.id }),
  ])
  const { id } = onlyRow(rows)
  const about = { type: 'MergeRequest' as const, id, project_id: project.id }
  const readers = (candidates: SQL) => readersAmong(tx, project, values, candidates)
  await recordCreation(ctx, tx, caller, { target: about, ...assigned, labelIds, text: textOf(given), readers })
  await notifyReviewers(tx, caller, about, reviewer_ids, now)
  return { id, iid }
}

const recordCreatedEvent = (tx: Transaction, { id, project_id }: VersionDraft['request'], { user }: SignedIn, now: Date) =>
  recordEvent(tx, { project_id, author_id: user.id, action: 'created', target_type: 'MergeRequest', target_id: id, created_at: now })
