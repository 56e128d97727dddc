import { eq, type SQL } from 'drizzle-orm'
import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { onlyRow } from '../../db/only-row.js'
import { issues } from '../../db/schema/index.js'
import type { Target } from '../activity/subscriptions.js'
import { raiseIid } from '../core/iids.js'
import { assignLabels } from '../issuables/assigned-labels.js'
import { updateIssueCounts } from '../issuables/issues/attributes.js'
import { readersAmong } from '../issuables/issues/readers.js'
import { labelIdsOf, splitTitles } from '../issuables/labels.js'
import { checkTexts } from '../issuables/validation.js'
import { descriptionColumns, textOf } from '../issuables/writing.js'
import { importList, type Write } from './items.js'
import { storeMentions } from './mentions.js'
import { importNotesOfPage } from './notes.js'
import { milestoneId } from './planning.js'
import type { Run } from './run.js'
import type { Scope } from './source/dialect.js'
import type { IssueRecord, MergeRequestRecord } from './source/records.js'
import { maybePersonId, personId, personIds } from './users.js'

/** Imports the issues of a project, oldest first, with their notes. */
export async function importIssues(run: Run, scope: Scope, subject: ProjectSubject): Promise<void> {
  const prepare = (record: IssueRecord) => prepareIssue(run, record, subject)
  const readers = (who: SQL, tx: Transaction, id: number) => issueReaders(tx, subject, id, who)
  await importList(run, 'issue', scope, prepare, (records) =>
    importNotesOfPage(run, { kind: 'issue', type: 'Issue', scope, projectId: subject.project.id, readers }, records),
  )
}

async function issueReaders(tx: Transaction, { project }: ProjectSubject, id: number, who: SQL): Promise<number[]> {
  const { author_id, assignee_ids, confidential } = issues
  const [ties] = await tx.select({ author_id, assignee_ids, confidential }).from(issues).where(eq(issues.id, id))
  return ties ? readersAmong(tx, project, ties, who) : []
}

async function prepareIssue(run: Run, record: IssueRecord, subject: ProjectSubject): Promise<Write> {
  const { ctx } = run
  const { project } = subject
  const { iid, confidential, due_date, closed } = record
  const shared = await commonColumns(run, record, project.id)
  const state = closed ? ('closed' as const) : ('opened' as const)
  return async (tx) => {
    const values = { ...shared, project_id: project.id, iid, state, confidential, due_date }
    const { id } = onlyRow(await tx.insert(issues).values(values).returning({ id: issues.id }))
    await raiseIid(tx, { project_id: project.id }, 'issue', iid)
    await updateIssueCounts(tx, project.id, null, { state, confidential })
    const target: Target = { type: 'Issue', id, project_id: project.id }
    await assignImportedLabels(ctx, tx, subject, target, record.labels)
    await storeMentions(ctx, tx, { target, note_id: null, text: textOf(record) }, (who) => readersAmong(tx, project, values, who))
    return id
  }
}

/** The columns shared by issues and merge requests. */
export async function commonColumns(run: Run, record: IssueRecord | MergeRequestRecord, projectId: number) {
  const { ctx } = run
  const { title: given, description, discussion_locked, closed_at, time_estimate, total_time_spent } = record
  const { title = '' } = checkTexts({ title: given, description, labels: [splitTitles(record.labels)] })
  const created_at = record.created_at ?? ctx.now()
  return {
    title,
    ...(await descriptionColumns(ctx, description)),
    discussion_locked,
    closed_at,
    time_estimate,
    total_time_spent,
    author_id: await personId(run, record.author),
    assignee_ids: await personIds(run, record.assignees),
    closed_by_id: await maybePersonId(run, record.closed_by),
    milestone_id: await milestoneId(run, record.milestone, projectId),
    created_at,
    updated_at: record.updated_at ?? created_at,
  }
}

/** Assigns labels by title; missing labels are created. */
export async function assignImportedLabels(
  ctx: Pick<Context, 'now'>,
  tx: Transaction,
  subject: ProjectSubject,
  target: Target,
  titles: string[],
): Promise<void> {
  await assignLabels(tx, target, await labelIdsOf(tx, subject, titles, true, ctx.now()))
}
