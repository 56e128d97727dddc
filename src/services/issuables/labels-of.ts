import { asc, eq } from 'drizzle-orm'
import type { Context } from '../../context.js'
import { inIds } from '../../db/conditions.js'
import { completeTexts, LONG_TEXTS, READ_COLUMNS } from '../../db/long-text.js'
import { issueLabels, labels, mergeRequestLabels } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { groupedBy } from '../../lib/grouped-by.js'
import type { Label } from './labels.js'

const selectOfIssues = statement('labels of issues', (db) =>
  db
    .select({ owner: issueLabels.issue_id, label: READ_COLUMNS.labels })
    .from(issueLabels)
    .innerJoin(labels, eq(labels.id, issueLabels.label_id))
    .where(inIds(issueLabels.issue_id))
    .orderBy(asc(labels.title), asc(labels.id)),
)

const selectOfRequests = statement('whole labels of merge requests', (db) =>
  db
    .select({ owner: mergeRequestLabels.merge_request_id, label: READ_COLUMNS.labels })
    .from(mergeRequestLabels)
    .innerJoin(labels, eq(labels.id, mergeRequestLabels.label_id))
    .where(inIds(mergeRequestLabels.merge_request_id))
    .orderBy(asc(labels.title), asc(labels.id)),
)

/** The labels of issues or merge requests, by name, by the id of what has them. The caller must be allowed to see these. */
export async function labelsOf(ctx: Context, type: 'Issue' | 'MergeRequest', ids: number[]): Promise<Map<number, Label[]>> {
  if (ids.length === 0) return new Map()
  const rows = await (type === 'Issue' ? selectOfIssues : selectOfRequests)(ctx.db, null).execute({ ids })
  const found = rows.map(({ label }) => label)
  await Promise.all([completeTexts(ctx, LONG_TEXTS.labels, found, 'page'), completeTexts(ctx, LONG_TEXTS.labelPages, found, 'page')])
  return new Map([...groupedBy(rows, ({ owner }) => owner)].map(([owner, own]) => [owner, own.map(({ label }) => label)]))
}
