import type { Caller } from '../../access/actor.js'
import type { IssueSubject } from '../../access/issues.js'
import type { MergeRequestSubject } from '../../access/merge-requests.js'
import type { Context } from '../../context.js'
import { externalClosings } from '../../lib/references.js'
import { issuesMeant } from '../closing.js'
import { type IssueRecord, loadIssues } from '../issues/list.js'
import { type Page, type Paging, slice } from '../page.js'
import { closingIn, textsOf } from './links.js'

/** The issues that merging the request closes, as far as the caller may read them, each once (MR-82, SEC-122). */
export async function issuesToClose(ctx: Context, caller: Pick<Caller, 'user'>, subject: MergeRequestSubject): Promise<IssueSubject[]> {
  const texts = await textsOf(ctx, subject.project, subject.request)
  return issuesMeant(ctx, caller, subject, closingIn(ctx, subject, subject.request, texts))
}

/** One issue that is closed, of this service or of another tracker (MR-81). */
export type ClosedIssue = { issue: IssueRecord } | { key: string }

/** MR-81: those of this service first. */
export async function listClosedIssues(
  ctx: Context,
  caller: Pick<Caller, 'user'>,
  subject: MergeRequestSubject,
  paging: Paging,
): Promise<Page<ClosedIssue>> {
  const { request, project } = subject
  if (request.target_branch !== project.default_branch) return { items: [], total: 0 }
  const texts = await textsOf(ctx, project, request)
  const meant = await issuesMeant(ctx, caller, subject, closingIn(ctx, subject, request, texts))
  const keys = [...new Set(texts.flatMap(externalClosings))]
  const { items, total } = slice<number | string>([...meant.map(({ issue }) => issue.id), ...keys], paging)
  const ids = items.filter((item) => typeof item === 'number')
  const known = new Map((await loadIssues(ctx, caller, ids)).map((issue) => [issue.issue.id, issue]))
  const shown = items.flatMap((item): ClosedIssue[] => {
    if (typeof item === 'string') return [{ key: item }]
    const issue = known.get(item)
    return issue ? [{ issue }] : []
  })
  return { items: shown, total }
}
