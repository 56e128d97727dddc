import { and, eq, isNull, type SQL, sql } from 'drizzle-orm'
import type { SignedIn } from '../../../../access/actor.js'
import type { MergeRequest, MergeRequestSubject } from '../../../../access/merge-requests.js'
import type { Context } from '../../../../context.js'
import type { Transaction } from '../../../../db/client.js'
import { onlyRow } from '../../../../db/only-row.js'
import { mergeRequests, projects } from '../../../../db/schema/index.js'
import { retryOnUniqueViolation } from '../../../../db/unique-violation.js'
import { invalidRecord, notFound } from '../../../../failures.js'
import { enqueue } from '../../../../jobs/enqueue.js'
import { sameButForTicks } from '../../../../rules/references.js'
import { issueReferencesIn, recordCrossReferences, resolveMentions } from '../../../activity/cross-references.js'
import { finishTodos } from '../../../activity/todos.js'
import { requestPipeline } from '../../../ci/merge-requests/run.js'
import { actAs } from '../../../outbox/acting.js'
import { changeLabels } from '../../assigned-labels.js'
import { checkTexts } from '../../validation.js'
import {
  changedAttributes,
  changedPeople,
  changedTexts,
  changedValues,
  type IssuableChanges,
  notesOnAttributes,
  notesOnTexts,
  recordChange,
  textOf,
  without,
} from '../../writing.js'
import { closedColumns, NOT_DEFERRED, REOPENED_COLUMNS, type StateEvent, TRANSITIONS } from '../merging/states.js'
import { stopReviewsOf } from '../merging/transitions.js'
import { loadMergeRequest, type SingleMergeRequest } from '../reading/load.js'
import { readersAmong } from '../reading/readers.js'
import { updateVersion } from '../versions/update.js'
import { assignableAmong, branchFaults, findDuplicate, refuseDuplicate, refuseSameBranch } from './attributes.js'
import { updateIssueLinks } from './issue-links.js'
import { forgetReviews, notesOnReviewers, notifyReviewers, requestTimes } from './reviewers.js'

export interface MergeRequestChanges extends IssuableChanges {
  /** As `assignee_ids`. */
  reviewer_ids?: number[] | undefined
  /** Reviewers who are asked anew, as if they had not reviewed before (MR-604); others are ignored. */
  review_again?: readonly number[] | undefined
  target_branch?: string | undefined
  remove_source_branch?: boolean | undefined
  squash?: boolean | undefined
  allow_collaboration?: boolean | undefined
  state_event?: StateEvent | undefined
  /** Refuses the change, with what the merge request was before it. */
  check?: ((before: Pick<MergeRequest, 'title' | 'description'>) => void) | undefined
}

type Columns = Partial<MergeRequest>

/**
 * Changes a merge request in one transaction, with its system notes and events (MR-41 to MR-56). Attributes that the
 * caller's role does not cover are ignored.
 */
export async function updateMergeRequest(
  ctx: Context,
  caller: SignedIn,
  subject: MergeRequestSubject,
  given: MergeRequestChanges,
): Promise<SingleMergeRequest> {
  const texts = checkTexts({ ...given, labels: [given.labels, given.add_labels] })
  const { id } = subject.request
  const mentioned = await resolveMentions(ctx, caller, subject, await issueReferencesIn(ctx, textOf(given)))
  const changed = await retryOnUniqueViolation(() =>
    ctx.db.transaction(async (tx) => {
      const consequences = await applyChange(ctx, tx, caller, subject, { ...given, ...texts })
      await recordCrossReferences(tx, { type: 'MergeRequest', project_id: subject.project.id, id, sha: null }, mentioned, caller.user.id, ctx.now())
      return consequences
    }),
  )
  if (changed.version) await updateVersion(ctx, { id })
  if (changed.reopened) await enqueue(ctx.db, requestPipeline, { merge_request: id, user: caller.user.id })
  if (changed.links) await updateIssueLinks(ctx, id)
  return loadMergeRequest(ctx, caller, subject, id)
}

/** What a change requires afterwards: a new version, a pipeline, and new links to issues. */
interface Consequences {
  version: boolean
  reopened: boolean
  links: boolean
}

async function applyChange(
  ctx: Context,
  tx: Transaction,
  caller: SignedIn,
  subject: MergeRequestSubject,
  given: MergeRequestChanges,
): Promise<Consequences> {
  const { project } = subject
  const [[before]] = await Promise.all([
    tx.select().from(mergeRequests).where(eq(mergeRequests.id, subject.request.id)).for('update'),
    actAs(tx, caller.user.id),
  ])
  if (!before || before.deleted_at) throw notFound()
  given.check?.(before)
  const now = ctx.now()
  const target = { type: 'MergeRequest' as const, id: before.id, project_id: project.id }
  const newState = await stateColumns(tx, caller, before, given.state_event, now)
  if (newState.state === 'closed' && before.head_pipeline_id !== null) await stopReviewsOf(tx, [before.id], caller.user.id)
  const values = changedValues(before, {
    ...newState,
    ...(await targetColumns(tx, caller, subject, { ...before, ...newState }, given.target_branch)),
    ...(await openColumns(ctx, given)),
    ...(subject.can('manage_merge_request') ? await managedColumns(tx, subject, given) : {}),
  })
  const labelNotes = subject.can('manage_merge_request') ? await changeLabels(tx, subject, target, given, { by: caller.user.id, now }) : []
  const reviewers = values.reviewer_ids ?? before.reviewer_ids
  const again = subject.can('manage_merge_request')
    ? before.reviewer_ids.filter((id) => given.review_again?.includes(id) && reviewers.includes(id))
    : []
  const formerly = without(before.reviewer_ids, again)
  const notes = [...(await notesOf(ctx, before, values)), ...(await notesOnReviewers(tx, formerly, reviewers)), ...labelNotes]
  if (Object.keys(values).length === 0 && labelNotes.length === 0 && again.length === 0) return { version: false, reopened: false, links: false }
  const version = values.target_branch !== undefined || values.state === 'opened'
  const links = version || values.title !== undefined || values.description !== undefined
  const written = tx
    .update(mergeRequests)
    .set({
      ...values,
      reviews_requested_at: requestTimes(before, reviewers, now, again),
      ...(version && UNCHECKED),
      ...(links && { links_due: true }),
      updated_at: now,
    })
    .where(eq(mergeRequests.id, before.id))
    .returning()
  const after = onlyRow(await written)
  const readers = (candidates: SQL) => readersAmong(tx, project, after, candidates)
  await recordChange(ctx, tx, caller, { target, before, after, notes, readers }, now)
  const asked = without(reviewers, formerly)
  await forgetReviews(tx, before.id, [...asked, ...without(before.reviewer_ids, reviewers)])
  await notifyReviewers(tx, caller, target, asked, now)
  if (labelNotes.length > 0 || (await finishesTodos(ctx, before, after, values))) await finishTodos(tx, caller.user.id, target, now)
  return { version, reopened: values.state === 'opened', links }
}

/** Makes the merge status unknown; the new number discards a running check of the former branches (MR-8). */
const UNCHECKED = { merge_status: 'unchecked', version_due: true, merge_checks: sql`${mergeRequests.merge_checks} + 1` } as const

/** Whether the changes mark the user's todos done; ticking a task does not (MR-53, TO-6). */
async function finishesTodos(ctx: Pick<Context, 'cpu'>, before: MergeRequest, after: MergeRequest, values: Columns): Promise<boolean> {
  if (values.description !== undefined && !(await sameButForTicks(ctx.cpu.slices, before.description, after.description))) return true
  return (['title', 'assignee_ids', 'reviewer_ids', 'milestone_id', 'target_branch', 'state'] as const).some((name) => values[name] !== undefined)
}

/**
 * The columns that close or reopen a merge request (MR-50 to MR-52). It stays closed if it has a duplicate by now, or
 * if its source is gone.
 */
async function stateColumns(tx: Transaction, caller: SignedIn, before: MergeRequest, event: StateEvent | undefined, now: Date): Promise<Columns> {
  if (!event) return {}
  const to = TRANSITIONS[before.state][event]
  if (to === before.state) return {}
  if (to === 'closed') return closedColumns(caller.user.id, now)
  if (!(await isSourceThere(tx, before.source_project_id)) || (await findDuplicate(tx, before))) return {}
  return REOPENED_COLUMNS
}

/** Whether the source project exists and does not wait for its removal (PR-26, PR-28). */
const isSourceThere = async (tx: Transaction, id: number | null): Promise<boolean> =>
  id !== null && (await tx.$count(projects, and(eq(projects.id, id), isNull(projects.marked_for_deletion_at)))) > 0

/**
 * The columns that change the target branch (MR-48). This cancels a deferred merge, which was accepted for the former
 * branch. A merged merge request keeps its target.
 */
async function targetColumns(
  tx: Transaction,
  caller: SignedIn,
  subject: MergeRequestSubject,
  before: MergeRequest,
  target_branch: string | undefined,
): Promise<Columns> {
  if (target_branch === undefined || target_branch === before.target_branch || before.state === 'merged') return {}
  const faults = branchFaults(target_branch)
  if (faults.length > 0) throw invalidRecord({ target_branch: faults })
  const branches = { ...before, target_branch }
  refuseSameBranch(branches)
  if (before.state === 'opened') await refuseDuplicate(tx, caller, subject, branches, before.title)
  return {
    target_branch,
    should_remove_source_branch: null,
    ...NOT_DEFERRED,
  }
}

/** The columns that need the ability `manage_merge_request`. */
async function managedColumns(tx: Transaction, subject: MergeRequestSubject, given: MergeRequestChanges): Promise<Columns> {
  const reviewer_ids = await changedPeople(tx, subject, given.reviewer_ids, assignableAmong)
  return { ...(await changedAttributes(tx, subject, given, assignableAmong)), ...(reviewer_ids !== undefined && { reviewer_ids }) }
}

/** The columns that need no ability beyond updating the merge request. */
async function openColumns(ctx: Context, given: MergeRequestChanges): Promise<Columns> {
  const wanted: Columns = await changedTexts(ctx, given)
  if (given.remove_source_branch !== undefined) wanted.force_remove_source_branch = given.remove_source_branch
  if (given.squash !== undefined) wanted.squash = given.squash
  if (given.allow_collaboration !== undefined) wanted.allow_collaboration = given.allow_collaboration
  return wanted
}

/** Texts of the system notes on the changes (NT-6). They name nothing that some readers may not see. */
async function notesOf(ctx: Context, before: MergeRequest, values: Columns): Promise<string[]> {
  const messages = await notesOnTexts(ctx, before, values)
  if (values.target_branch !== undefined) messages.push(`changed the target branch from \`${before.target_branch}\` to \`${values.target_branch}\``)
  messages.push(...notesOnAttributes(values))
  if (values.discussion_locked !== undefined) messages.push(values.discussion_locked ? 'locked this merge request' : 'unlocked this merge request')
  return messages
}
