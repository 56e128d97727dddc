import { eq, sql } from 'drizzle-orm'
import type { SignedIn } from '../../../access/actor.js'
import type { IssueSubject } from '../../../access/issues.js'
import { fullPathOf, getProjectFor, type Project, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { onlyRow } from '../../../db/only-row.js'
import {
  awardEmoji,
  issueLabels,
  issues,
  labels,
  mentions,
  milestones,
  namespaceAncestry,
  notes,
  projects,
  resourceEvents,
  subscriptions,
} from '../../../db/schema/index.js'
import { notFound, refused } from '../../../failures.js'
import type { Slices } from '../../../lib/async/slices.js'
import { MAX_DESCRIPTION } from '../../../rules/descriptions.js'
import { referencesIn } from '../../../rules/references.js'
import { recordEvent } from '../../activity/events.js'
import { writeSystemNotes } from '../../activity/system-notes.js'
import { finishTodos } from '../../activity/todos.js'
import { nextIid } from '../../core/iids.js'
import { actAs } from '../../outbox/acting.js'
import { labelIdsOf } from '../labels.js'
import { recordResourceEvents } from '../resource-events.js'
import { assignableAmong, updateIssueCounts } from './attributes.js'
import { moveLinks } from './links.js'
import { type IssueRecord, loadIssue } from './list.js'

/** Moves an issue: creates a copy in the other project, closes this one, and adds system notes to both (IS-8). */
export async function moveIssue(ctx: Context, caller: SignedIn, subject: IssueSubject, toProjectId: number): Promise<IssueRecord> {
  const target = await getProjectFor(ctx, caller, String(toProjectId))
  if (target.project.id === subject.project.id) throw refused('Cannot move issue to project it originates from!')
  if (!target.can('move_issue')) throw refused('Cannot move issue due to insufficient permissions!')
  const id = await ctx.db.transaction(async (tx) => {
    const [[issue]] = await Promise.all([tx.select().from(issues).where(eq(issues.id, subject.issue.id)).for('update'), actAs(tx, caller.user.id)])
    if (!issue) throw notFound('Issue')
    if (issue.moved_to_id !== null) throw refused('Cannot move issue that was moved already!')
    return move(ctx, tx, caller, subject.project, { target, issue })
  })
  return loadIssue(ctx, caller, id)
}

type Issue = typeof issues.$inferSelect

/** Inserts the copy; `from` is the full path of the original project. */
async function insertCopy(ctx: Pick<Context, 'cpu' | 'now'>, tx: Transaction, target: ProjectSubject, issue: Issue, from: string): Promise<Issue> {
  const { project: to } = target
  return onlyRow(
    await tx
      .insert(issues)
      .values({
        project_id: to.id,
        iid: await nextIid(tx, to.id, 'issue'),
        title: issue.title,
        description: await qualifyReferences(ctx.cpu.slices, issue.description, from),
        state: issue.state,
        closed_at: issue.closed_at,
        closed_by_id: issue.closed_by_id,
        author_id: issue.author_id,
        assignee_ids: await assignableAmong(tx, target, issue.assignee_ids),
        milestone_id: await milestoneWithSameTitle(tx, target, issue.milestone_id),
        confidential: issue.confidential,
        discussion_locked: issue.discussion_locked,
        due_date: issue.due_date,
        time_estimate: issue.time_estimate,
        total_time_spent: issue.total_time_spent,
        task_count: issue.task_count,
        task_completed_count: issue.task_completed_count,
        user_notes_count: issue.user_notes_count,
        upvotes: issue.upvotes,
        downvotes: issue.downvotes,
        created_at: issue.created_at,
        updated_at: ctx.now(),
      })
      .returning(),
  )
}

async function move(
  ctx: Context,
  tx: Transaction,
  caller: SignedIn,
  from: Project,
  { target, issue }: { target: ProjectSubject; issue: Issue },
): Promise<number> {
  const now = ctx.now()
  const { id: callerId } = caller.user
  const { project: to } = target
  const labelled = await tx
    .select({ title: labels.title })
    .from(issueLabels)
    .innerJoin(labels, eq(labels.id, issueLabels.label_id))
    .where(eq(issueLabels.issue_id, issue.id))
  const titles = labelled.map(({ title }) => title)
  const labelIds = await labelIdsOf(tx, target, titles, false, now)
  const copy = await insertCopy(ctx, tx, target, issue, fullPathOf(from))
  if (labelIds.length > 0) await tx.insert(issueLabels).values(labelIds.map((label_id) => ({ project_id: to.id, issue_id: copy.id, label_id })))
  await copyDiscussion(tx, issue, copy)
  await copyEvents(tx, issue, copy)
  await moveLinks(tx, issue.id, copy.id)
  await tx
    .update(issues)
    .set({
      moved_to_id: copy.id,
      updated_at: now,
      ...(issue.state === 'opened' && { state: 'closed' as const, closed_at: now, closed_by_id: callerId }),
    })
    .where(eq(issues.id, issue.id))
  const source = { type: 'Issue' as const, id: issue.id, project_id: from.id }
  // neither note names the other project: readers of one issue need not see the other
  await writeSystemNotes(tx, source, callerId, ['moved to another project'], now)
  await writeSystemNotes(tx, { ...source, id: copy.id, project_id: to.id }, callerId, ['moved from another project'], now)
  await finishTodos(tx, callerId, source, now)
  const event = { author_id: callerId, target_type: 'Issue', created_at: now, confidential: issue.confidential } as const
  if (issue.state === 'opened') {
    await recordEvent(tx, { ...event, project_id: from.id, action: 'closed', target_id: issue.id })
    await recordResourceEvents(tx, source, callerId, [{ kind: 'state', state: 'closed' }], now)
  }
  await recordEvent(tx, { ...event, project_id: to.id, action: 'created', target_id: copy.id })
  await updateIssueCounts(tx, from.id, issue, { ...issue, state: 'closed' })
  await updateIssueCounts(tx, to.id, null, copy)
  return copy.id
}

/** Prefixes references like `#1` with the original project's full path, so that they keep their meaning. */
async function qualifyReferences(slices: Slices, text: string, fullPath: string): Promise<string> {
  let result = ''
  let copied = 0
  for (const reference of await referencesIn(slices, text)) {
    if (!('number' in reference) || reference.project !== null) continue
    result += `${text.slice(copied, reference.start)}${fullPath}`
    copied = reference.start
  }
  const whole = result + text.slice(copied)
  return whole.length > MAX_DESCRIPTION ? text : whole
}

/** The milestone of the same title that may be set in the other project. */
async function milestoneWithSameTitle(tx: Transaction, { project }: ProjectSubject, milestoneId: number | null): Promise<number | null> {
  if (milestoneId === null) return null
  const [match] = await tx
    .select({ id: milestones.id })
    .from(milestones)
    .where(
      sql`${milestones.title} = (select m.title from ${milestones} m where m.id = ${milestoneId})
      and (${milestones.project_id} = ${project.id} or ${milestones.namespace_id} = ${project.namespace_id})`,
    )
    .limit(1)
  return match?.id ?? null
}

/** Copies what happened to labels, milestone and state, for the labels and milestones of the same title that the other project has. */
async function copyEvents(tx: Transaction, from: IssueKey, to: IssueKey) {
  const namespace = sql`(select p.namespace_id from ${projects} p where p.id = ${to.project_id})`
  const label = sql`(select t.id from ${labels} t where t.title = l.title and (t.project_id = ${to.project_id} or t.namespace_id in
    (select a.ancestor_id from ${namespaceAncestry} a where a.descendant_id = ${namespace})) order by t.project_id nulls last limit 1)`
  const milestone = sql`(select t.id from ${milestones} t where t.title = m.title and (t.project_id = ${to.project_id} or t.namespace_id = ${namespace})
    order by t.project_id nulls last limit 1)`
  await tx.execute(sql`insert into ${resourceEvents} (project_id, issue_id, kind, user_id, action, label_id, milestone_id, state, created_at)
    select ${to.project_id}::bigint, ${to.id}::bigint, e.kind, e.user_id, e.action, ${label}, ${milestone}, e.state, e.created_at
    from ${resourceEvents} e left join ${labels} l on l.id = e.label_id left join ${milestones} m on m.id = e.milestone_id
    where e.issue_id = ${from.id} order by e.id`)
}

type IssueKey = Pick<typeof issues.$inferSelect, 'id' | 'project_id'>

/** Copies notes, award emoji, mentions and subscriptions. */
async function copyDiscussion(tx: Transaction, from: IssueKey, to: IssueKey) {
  // in SQL, as the builder's `insert … select` wants every column, with the ids that Postgres makes;
  // the new ids of notes are allocated first, so that mentions and award emoji can refer to them
  await tx.execute(sql`with pairs as (
      select n.id as old, nextval(pg_get_serial_sequence('notes', 'id')) as new from (select id from ${notes}
        where project_id = ${from.project_id} and noteable_type = 'Issue' and noteable_id = ${from.id} order by id) n),
    copied as (insert into ${notes} (id, project_id, noteable_type, noteable_id, author_id, note, system, type, discussion_id, position,
        resolved_at, resolved_by_id, path, line, line_type, mentioned_in_type, mentioned_in_project_id, mentioned_in_id, mentioned_in_sha,
        created_at, updated_at)
      overriding system value
      select p.new, ${to.project_id}::bigint, 'Issue', ${to.id}::bigint, n.author_id, n.note, n.system, n.type, n.discussion_id, n.position,
        n.resolved_at, n.resolved_by_id, n.path, n.line, n.line_type, n.mentioned_in_type, n.mentioned_in_project_id, n.mentioned_in_id, n.mentioned_in_sha,
        n.created_at, n.updated_at
      from pairs p join ${notes} n on n.id = p.old),
    named as (insert into ${mentions} (project_id, target_type, target_id, note_id, user_id)
      select ${to.project_id}::bigint, 'Issue', ${to.id}::bigint, p.new, m.user_id from pairs p join ${mentions} m on m.note_id = p.old)
    insert into ${awardEmoji} (project_id, awardable_type, awardable_id, user_id, name, created_at, updated_at)
      select ${to.project_id}::bigint, 'Note', p.new, a.user_id, a.name, a.created_at, a.updated_at from pairs p
      join ${awardEmoji} a on a.project_id = ${from.project_id} and a.awardable_type = 'Note' and a.awardable_id = p.old order by a.id`)
  await tx.execute(sql`insert into ${awardEmoji} (project_id, awardable_type, awardable_id, user_id, name, created_at, updated_at)
    select ${to.project_id}::bigint, 'Issue', ${to.id}::bigint, user_id, name, created_at, updated_at from ${awardEmoji}
    where project_id = ${from.project_id} and awardable_type = 'Issue' and awardable_id = ${from.id} order by id`)
  await tx.execute(sql`insert into ${mentions} (project_id, target_type, target_id, user_id)
    select ${to.project_id}::bigint, 'Issue', ${to.id}::bigint, user_id from ${mentions}
    where project_id = ${from.project_id} and target_type = 'Issue' and target_id = ${from.id} and note_id is null`)
  await tx.execute(sql`insert into ${subscriptions} (project_id, target_type, target_id, user_id, subscribed)
    select ${to.project_id}::bigint, 'Issue', ${to.id}::bigint, user_id, subscribed from ${subscriptions}
    where target_type = 'Issue' and target_id = ${from.id}`)
}
