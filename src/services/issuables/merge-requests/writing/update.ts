import { eq, sql } from 'drizzle-orm'
import type { SignedIn } from '../../../../access/actor.js'
import type { MergeRequest, MergeRequestSubject } from '../../../../access/merge-requests.js'
import type { Context } from '../../../../context.js'
import type { Transaction } from '../../../../db/client.js'
import { mergeRequests } from '../../../../db/schema/index.js'
import { retryOnUniqueViolation } from '../../../../db/taken.js'
import { notFound } from '../../../../failures.js'
import { sameButForTicks, tasksIn } from '../../../../lib/text/references.js'
import { mentionsIn, recordCrossReferences, thingsMentioned } from '../../../activity/cross-references.js'
import { recordEvent } from '../../../activity/events.js'
import { followMentions } from '../../../activity/mentions.js'
import { writeSystemNotes } from '../../../activity/system-notes.js'
import { createTodos, finishTodos } from '../../../activity/todos.js'
import { changeLabels } from '../../assigned-labels.js'
import { usableMilestone } from '../../milestones.js'
import { checkTexts } from '../../texts.js'
import { closed, MOVES, NOT_DEFERRED, reopened, type StateEvent } from '../merging/states.js'
import { loadMergeRequest, type SingleMergeRequest } from '../reading/load.js'
import { readersAmong } from '../reading/readers.js'
import { updateVersion } from '../versions/update.js'
import { assignable, findDuplicate, refuseDuplicate, refuseSameBranch } from './attributes.js'
import { updateIssueLinks } from './issue-links.js'

export interface MergeRequestChanges {
  title?: string | undefined
  description?: string | null | undefined
  target_branch?: string | undefined
  /** The first is assigned if they may be; nobody when it is 0 or the list is empty. */
  assignee_ids?: number[] | undefined
  /** 0 clears. */
  milestone_id?: number | undefined
  labels?: string[] | undefined
  add_labels?: string[] | undefined
  remove_labels?: string[] | undefined
  remove_source_branch?: boolean | undefined
  discussion_locked?: boolean | undefined
  squash?: boolean | undefined
  allow_collaboration?: boolean | undefined
  state_event?: StateEvent | undefined
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
  const mentioned = await thingsMentioned(ctx, caller, subject, await mentionsIn(ctx, `${given.description ?? ''}\n\n${given.title ?? ''}`))
  const changed = await retryOnUniqueViolation(() =>
    ctx.db.transaction(async (tx) => {
      const due = await change(ctx, tx, caller, subject, { ...given, ...texts })
      await recordCrossReferences(tx, { type: 'MergeRequest', project_id: subject.project.id, id, sha: null }, mentioned, caller.user.id, ctx.now())
      return due
    }),
  )
  if (changed.version) await updateVersion(ctx, { id })
  if (changed.links) await updateIssueLinks(ctx, id)
  return loadMergeRequest(ctx, caller, subject, id)
}

/** What a change makes necessary: a new version with everything that depends on it, and new links to issues. */
interface Due {
  version: boolean
  links: boolean
}

async function change(ctx: Context, tx: Transaction, caller: SignedIn, subject: MergeRequestSubject, given: MergeRequestChanges): Promise<Due> {
  const { project } = subject
  const [before] = await tx.select().from(mergeRequests).where(eq(mergeRequests.id, subject.request.id)).for('update')
  if (!before || before.deleted_at) throw notFound()
  const now = ctx.now()
  const { id: callerId } = caller.user
  const target = { type: 'MergeRequest' as const, id: before.id, project_id: project.id }
  const moved = await moveTo(tx, caller, before, given.state_event, now)
  const values = differing(before, {
    ...moved,
    ...(await retargeted(tx, caller, subject, { ...before, ...moved }, given.target_branch)),
    ...(await described(given)),
    ...(subject.can('manage_merge_request') ? await managed(tx, subject, given) : {}),
  })
  const worn = subject.can('manage_merge_request') ? await changeLabels(tx, subject, target, given, now) : []
  const told = [...(await notesOf(before, values)), ...worn]
  if (Object.keys(values).length === 0 && worn.length === 0) return { version: false, links: false }
  const version = values.target_branch !== undefined || values.state === 'opened'
  const links = version || values.title !== undefined || values.description !== undefined
  const [row] = await tx
    .update(mergeRequests)
    .set({ ...values, ...(version && UNKNOWN), ...(links && { links_due: true }), updated_at: now })
    .where(eq(mergeRequests.id, before.id))
    .returning()
  const after = row as MergeRequest
  await writeSystemNotes(tx, target, callerId, told, now)
  if (after.assignee_id !== null && after.assignee_id !== before.assignee_id && after.assignee_id !== callerId)
    await createTodos(tx, { users: [after.assignee_id], author_id: callerId, target, action: 'assigned' }, now)
  if (values.title !== undefined || values.description !== undefined) {
    const readers = (who: Parameters<typeof readersAmong>[3]) => readersAmong(tx, project, after, who)
    const text = (request: MergeRequest) => `${request.description}\n\n${request.title}`
    await followMentions(tx, caller, { target, note_id: null, text: text(after), before: text(before) }, readers, now)
  }
  if (await dealtWith(before, after, values, worn)) await finishTodos(tx, callerId, target, now)
  if (after.state !== before.state) {
    const action = after.state === 'closed' ? 'closed' : 'reopened'
    await recordEvent(tx, {
      project_id: project.id,
      author_id: callerId,
      action,
      target_type: 'MergeRequest',
      target_id: before.id,
      created_at: now,
    })
  }
  return { version, links }
}

/**
 * Whether the branches can be merged is unknown; a check of the former branches that is under way does not count
 * (MR-8).
 */
const UNKNOWN = { merge_status: 'unchecked', version_due: true, merge_checks: sql`${mergeRequests.merge_checks} + 1` } as const

/** Whether a change finishes the user's todos; ticking a task does not (MR-53, TO-6). */
async function dealtWith(before: MergeRequest, after: MergeRequest, values: Columns, worn: string[]): Promise<boolean> {
  if (worn.length > 0) return true
  if (values.description !== undefined && !(await sameButForTicks(before.description, after.description))) return true
  return (['title', 'assignee_id', 'milestone_id', 'target_branch', 'state'] as const).some((name) => values[name] !== undefined)
}

const differing = (before: MergeRequest, wanted: Columns): Columns =>
  Object.fromEntries(Object.entries(wanted).filter(([key, value]) => value !== before[key as keyof MergeRequest])) as Columns

/**
 * Closes or reopens (MR-50 to MR-52). A merge request that has a duplicate by now, or whose source is gone, stays
 * closed.
 */
async function moveTo(tx: Transaction, caller: SignedIn, before: MergeRequest, event: StateEvent | undefined, now: Date): Promise<Columns> {
  if (!event) return {}
  const to = MOVES[before.state][event]
  if (to === before.state) return {}
  if (to === 'closed') return closed(caller.user.id, now)
  if (before.source_project_id === null || (await findDuplicate(tx, before, before.id))) return {}
  return reopened
}

/**
 * Changes the target branch (MR-48). This cancels a deferred merge, which was meant for the former branch; a merged
 * request keeps its target.
 */
async function retargeted(
  tx: Transaction,
  caller: SignedIn,
  subject: MergeRequestSubject,
  before: MergeRequest,
  target_branch: string | undefined,
): Promise<Columns> {
  if (target_branch === undefined || target_branch === before.target_branch || before.state === 'merged') return {}
  const branches = { ...before, target_branch }
  refuseSameBranch(branches)
  if (before.state === 'opened') await refuseDuplicate(tx, caller, subject, branches, before.title, before.id)
  return {
    target_branch,
    should_remove_source_branch: null,
    ...NOT_DEFERRED,
  }
}

/** What everybody may change who may change the merge request at all. */
async function described(given: MergeRequestChanges): Promise<Columns> {
  const wanted: Columns = {}
  if (given.title !== undefined) wanted.title = given.title
  if (given.description !== undefined) {
    const description = given.description ?? ''
    const tasks = await tasksIn(description)
    Object.assign(wanted, { description, task_count: tasks.count, task_completed_count: tasks.completed })
  }
  if (given.remove_source_branch !== undefined) wanted.force_remove_source_branch = given.remove_source_branch
  if (given.squash !== undefined) wanted.squash = given.squash
  if (given.allow_collaboration !== undefined) wanted.allow_collaboration = given.allow_collaboration
  return wanted
}

/** Attributes that need developer on the target project (MR-25, MR-44). */
async function managed(tx: Transaction, subject: MergeRequestSubject, given: MergeRequestChanges): Promise<Columns> {
  const wanted: Columns = {}
  if (given.discussion_locked !== undefined) wanted.discussion_locked = given.discussion_locked
  if (given.milestone_id !== undefined)
    wanted.milestone_id = given.milestone_id === 0 ? null : ((await usableMilestone(tx, subject, given.milestone_id))?.id ?? null)
  if (given.assignee_ids !== undefined) {
    const assignee = await assignable(tx, subject, given.assignee_ids)
    // a user who cannot be assigned leaves the assignee unchanged
    if (assignee !== null || given.assignee_ids.every((id) => id === 0)) wanted.assignee_id = assignee
  }
  return wanted
}

/** The system notes on the changes (NT-6). Names of what not every reader may see are left out. */
async function notesOf(before: MergeRequest, values: Columns): Promise<string[]> {
  const told: string[] = []
  if (values.title !== undefined) told.push('changed the title')
  if (values.description !== undefined && !(await sameButForTicks(values.description, before.description))) told.push('changed the description')
  if (values.state !== undefined) told.push(values.state === 'closed' ? 'closed' : 'reopened')
  if (values.target_branch !== undefined) told.push(`changed the target branch from \`${before.target_branch}\` to \`${values.target_branch}\``)
  if (values.assignee_id !== undefined) told.push(values.assignee_id === null ? 'removed the assignee' : 'changed the assignee')
  if (values.milestone_id !== undefined) told.push(values.milestone_id === null ? 'removed the milestone' : 'changed the milestone')
  if (values.discussion_locked !== undefined) told.push(values.discussion_locked ? 'locked this merge request' : 'unlocked this merge request')
  return told
}
