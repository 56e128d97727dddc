import { stringify } from 'csv-stringify/sync'
import type { Caller } from '../../access/actor.js'
import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { humanDuration } from '../../rules/duration.js'
import type { IssuableFilter } from './filters.js'
import { type IssueRecord, listIssues } from './issues/list.js'
import { listMergeRequests } from './merge-requests/reading/list.js'
import type { MergeRequestRecord } from './merge-requests/reading/load.js'

export type CsvKind = 'issues' | 'merge_requests'

/** The most rows of a table, and its most bytes. */
export const MAX_ROWS = 10_000
const MAX_BYTES = 15 * 1024 * 1024
const BATCH = 100
/** No cell of a spreadsheet has more characters. */
const MAX_TEXT = 32_000

const moment = (date: Date | null) => date?.toISOString().slice(0, 19).replace('T', ' ') ?? ''
const named = (user: { name: string; username: string } | null) => [user?.name ?? '', user?.username ?? '']
/** People in one cell each for names and user names, as tables of the original have several. */
const namedAll = (users: { name: string; username: string }[]) => [
  users.map(({ name }) => name).join(', '),
  users.map(({ username }) => username).join(', '),
]
const cut = (text: string | null) => (text === null ? '' : text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text)
const yesOrNo = (value: boolean | null) => (value ? 'Yes' : 'No')

const ISSUE_COLUMNS = [
  ...['Title', 'Description', 'Issue ID', 'URL', 'State', 'Author', 'Author Username', 'Assignee', 'Assignee Username', 'Confidential', 'Locked'],
  ...['Due Date', 'Created At (UTC)', 'Updated At (UTC)', 'Closed At (UTC)', 'Milestone', 'Labels', 'Time Estimate', 'Time Spent'],
]

const issueRow = (ctx: Context, { issue, path, author, assignees, milestone, labels }: IssueRecord) => [
  issue.title,
  cut(issue.description),
  String(issue.iid),
  `${ctx.links.base}/${path}/-/issues/${issue.iid}`,
  issue.state === 'closed' ? 'Closed' : 'Open',
  ...named(author),
  ...namedAll(assignees),
  yesOrNo(issue.confidential),
  yesOrNo(issue.discussion_locked),
  issue.due_date ?? '',
  moment(issue.created_at),
  moment(issue.updated_at),
  moment(issue.closed_at),
  milestone?.title ?? '',
  labels.map((label) => (typeof label === 'string' ? label : label.name)).join(','),
  humanDuration(issue.time_estimate) ?? '',
  humanDuration(issue.total_time_spent) ?? '',
]

const REQUEST_COLUMNS = [
  ...['Title', 'Description', 'MR IID', 'URL', 'State', 'Source Branch', 'Target Branch', 'Author', 'Author Username', 'Assignee'],
  ...['Assignee Username', 'Reviewer', 'Reviewer Username', 'Merged User', 'Merged Username', 'Milestone', 'Labels', 'Created At (UTC)'],
  ...['Updated At (UTC)', 'Merged At (UTC)', 'Closed At (UTC)'],
]

const requestRow = (ctx: Context, { request, path, author, assignees, reviewers, merged_by, milestone, labels }: MergeRequestRecord) => [
  request.title,
  cut(request.description),
  String(request.iid),
  `${ctx.links.base}/${path}/-/merge_requests/${request.iid}`,
  request.state,
  request.source_branch,
  request.target_branch,
  ...named(author),
  ...namedAll(assignees),
  ...namedAll(reviewers),
  ...named(merged_by),
  milestone?.title ?? '',
  labels.join(','),
  moment(request.created_at),
  moment(request.updated_at),
  moment(request.merged_at),
  moment(request.closed_at),
]

const everyOf = (iids: number[]) =>
  ({
    iids,
    state: 'all',
    scope: 'all',
    in: ['title'],
    order_by: 'created_at',
    sort: 'desc',
    page: 1,
    per_page: BATCH,
  }) as const satisfies IssuableFilter

/** Rows of a batch, by their number in the project. */
async function rowsOf(ctx: Context, caller: Caller, kind: CsvKind, project: ProjectSubject, iids: number[]): Promise<Map<number, string[]>> {
  if (kind === 'issues') {
    const { items } = await listIssues(ctx, caller, { project }, { ...everyOf(iids), with_labels_details: false })
    return new Map(items.map((record) => [record.issue.iid, issueRow(ctx, record)]))
  }
  const { items } = await listMergeRequests(ctx, caller, { project }, everyOf(iids))
  return new Map(items.map((record) => [record.request.iid, requestRow(ctx, record)]))
}

/** Every text is quoted, and none is a formula for a spreadsheet. */
const textOf = (rows: string[][]) => stringify(rows, { quoted_string: true, quoted_empty: false, escape_formulas: true, record_delimiter: 'windows' })

/**
 * A table of issues or merge requests of a project, in the order of their numbers here, as far as the caller sees them
 * now. `rows` are fewer than were asked for where it would be too large.
 */
export async function csvOf(
  ctx: Context,
  caller: Caller,
  project: ProjectSubject,
  { kind, iids }: { kind: CsvKind; iids: number[] },
): Promise<{ bytes: Buffer; rows: number; whole: boolean }> {
  const parts = [Buffer.from(`\ufeff${textOf([kind === 'issues' ? ISSUE_COLUMNS : REQUEST_COLUMNS])}`)]
  let [size, rows] = [parts[0]?.length ?? 0, 0]
  for (let from = 0; from < iids.length; from += BATCH) {
    const batch = iids.slice(from, from + BATCH)
    const found = await rowsOf(ctx, caller, kind, project, batch)
    for (const iid of batch) {
      const row = found.get(iid)
      if (!row) continue
      const part = Buffer.from(textOf([row]))
      if (size + part.length > MAX_BYTES) return { bytes: Buffer.concat(parts), rows, whole: false }
      parts.push(part)
      size += part.length
      rows++
    }
  }
  return { bytes: Buffer.concat(parts), rows, whole: true }
}
