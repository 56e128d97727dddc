import type { SignedIn } from '../../../access/actor.js'
import { fullPathOf, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import type { Sender, Transaction } from '../../../db/client.js'
import { codeOf, databaseError } from '../../../db/errors.js'
import { completeTexts, LONG_TEXTS } from '../../../db/long-text.js'
import { unlessUniqueViolation } from '../../../db/unique-violation.js'
import { invalidRecord } from '../../../failures.js'
import { settleAll } from '../../../lib/async/settle-all.js'
import { VISIBILITY_LEVEL } from '../../../rules/visibility.js'
import { crossReferenceRows, issueReferencesIn, resolveMentions } from '../../activity/cross-references.js'
import { findMentionedUsers, mentionedNames } from '../../activity/mentions.js'
import { checkSpam } from '../../core/spam-filter.js'
import { callOrigin } from '../../identity/user-agents.js'
import { splitTitles } from '../labels.js'
import { usableMilestone } from '../milestones.js'
import { checkTexts } from '../validation.js'
import { descriptionColumns, type NewIssuable, textOf } from '../writing.js'
import { assignableAmong } from './attributes.js'
import { countIssue, insertIssue } from './insert.js'
import type { IssueRecord } from './list.js'
import { readersAmong } from './readers.js'

export interface NewIssue extends NewIssuable {
  confidential?: boolean | undefined
  due_date?: string | null | undefined
  discussion_locked?: boolean | undefined
  iid?: number | undefined
  created_at?: Date | undefined
}

/** A new issue with validated texts. */
type Checked = NewIssue & { title: string; description: string }

/**
 * Creates an issue. Attributes that the caller's role does not cover are ignored, not refused (IS-5, IS-17, IS-18).
 * `alongside` runs in the same transaction.
 */
export async function createIssue(
  ctx: Context,
  caller: SignedIn,
  subject: ProjectSubject,
  given: NewIssue,
  alongside?: (tx: Transaction) => Promise<void>,
): Promise<IssueRecord> {
  const { title = '', description = '' } = checkTexts({ ...given, labels: [given.labels] })
  const { created_at: _, iid: __, ...data } = given
  await checkSpam(ctx, caller, {
    kind: 'issue',
    text: `${title}\n\n${description}`,
    project_id: subject.project.id,
    data,
    isPublic: subject.project.visibility === VISIBILITY_LEVEL.public && !given.confidential,
    byMember: subject.level > 0,
  })
  const { shape, values, row } = await prepare(ctx, caller, subject, { ...given, title, description })
  const send = (on: Sender | Transaction) => [insertIssue(on, shape).execute(values), countIssue(on, row.confidential).execute(values)] as const
  const write = () =>
    alongside
      ? ctx.db.transaction(async (tx) => {
          const sent = await settleAll(send(tx))
          await alongside(tx)
          return sent
        })
      : ctx.db.batch((on) => [...send(on)])
  const [[made]] = await unlessUniqueViolation(write, iidTaken).catch((error: unknown) => {
    throw shape.chosenIid && codeOf(databaseError(error)) === NOT_NULL_VIOLATION ? iidTaken() : error
  })
  if (!made) throw new Error('a new issue without an author')
  const { id, iid, ...shown } = made
  await completeTexts(ctx, LONG_TEXTS.milestones, shown.milestone ? [shown.milestone] : [], 'whole')
  return { ...shown, issue: { ...INITIAL_COLUMNS, ...row, id, iid }, path: fullPathOf(subject.project), closed_by: null, subscribed: true }
}

/** Postgres's code of `not_null_violation`: no iid was allocated. */
const NOT_NULL_VIOLATION = '23502'
const iidTaken = () => invalidRecord({ iid: ['has already been taken'] })

/** Columns that are the same in every new issue. */
const INITIAL_COLUMNS = {
  state: 'opened',
  closed_at: null,
  closed_by_id: null,
  moved_to_id: null,
  time_estimate: 0,
  total_time_spent: 0,
  user_notes_count: 0,
  upvotes: 0,
  downvotes: 0,
  merge_requests_count: 0,
} as const

/** Resolves everything that the insert statement needs. */
async function prepare(ctx: Context, caller: SignedIn, subject: ProjectSubject, given: Checked) {
  const { project } = subject
  const now = ctx.now()
  const row = await rowOf(ctx, caller, subject, given, now)
  const [people, mentioned] = await Promise.all([
    mentionsAndTodos(ctx, caller, subject, row, given),
    resolveMentions(ctx, caller, subject, await issueReferencesIn(ctx, textOf(given))),
  ])
  const chosenIid = subject.can('admin_issue') ? given.iid : undefined
  const titles = subject.can('manage_issue') ? splitTitles(given.labels ?? []) : []
  const origin = callOrigin(ctx)
  const shape = {
    chosenIid: chosenIid !== undefined,
    labels: labelsWanted(subject, titles),
    milestone: row.milestone_id !== null,
    assignees: row.assignee_ids.length > 0,
    people: people.named.length > 0 || people.notified.length > 0,
    references: mentioned.length > 0,
    origin: origin !== undefined,
  }
  const values = {
    ...row,
    ...people,
    ...origin,
    now: now.toISOString(),
    created_at: row.created_at.toISOString(),
    project: project.id,
    group: project.namespace_id,
    author: row.author_id,
    assignees: row.assignee_ids,
    milestone: row.milestone_id,
    iid: chosenIid,
    titles,
    references: crossReferenceRows({ type: 'Issue', project_id: project.id, id: null, sha: null }, mentioned),
  }
  return { shape, values, row }
}

function labelsWanted(subject: ProjectSubject, titles: string[]): 'none' | 'known' | 'created' {
  if (titles.length === 0) return 'none'
  return subject.can('manage_label') ? 'created' : 'known'
}

/** The columns of the new issue; attributes that the caller's role does not cover are ignored. */
async function rowOf(ctx: Context, caller: SignedIn, subject: ProjectSubject, given: Checked, now: Date) {
  const wanted: Partial<NewIssue> = subject.can('manage_issue') ? given : {}
  const [assignee_ids, milestone, description] = await Promise.all([
    assignableAmong(ctx.db.write, subject, wanted.assignee_ids ?? []),
    wanted.milestone_id ? usableMilestone(ctx.db.write, subject, wanted.milestone_id) : null,
    descriptionColumns(ctx, given.description),
  ])
  const created_at = (subject.can('admin_issue') && given.created_at) || now
  return {
    project_id: subject.project.id,
    title: given.title,
    ...description,
    author_id: caller.user.id,
    assignee_ids,
    milestone_id: milestone?.id ?? null,
    confidential: given.confidential ?? false,
    due_date: wanted.due_date ?? null,
    discussion_locked: wanted.discussion_locked ?? null,
    created_at,
    updated_at: created_at,
  }
}

interface Ties {
  author_id: number
  assignee_ids: number[]
  confidential: boolean
}

/**
 * The mentioned users, and the users who get todos with the action of each; callers get none for their own issues
 * (TO-5).
 */
async function mentionsAndTodos(ctx: Context, caller: SignedIn, { project }: ProjectSubject, ties: Ties, given: Checked) {
  const names = await mentionedNames(ctx.cpu.slices, textOf(given))
  const { users: named, addressed } = await findMentionedUsers(caller, names, (candidates) => readersAmong(ctx.db.write, project, ties, candidates))
  const todos = [
    ...ties.assignee_ids.map((user) => ({ user, action: 'assigned' })),
    ...named.map((user) => ({ user, action: addressed.has(user) ? 'directly_addressed' : 'mentioned' })),
  ].filter(({ user }) => user !== caller.user.id)
  return { named, notified: todos.map(({ user }) => user), actions: todos.map(({ action }) => action) }
}
