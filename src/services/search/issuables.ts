import type { Caller } from '../../access/actor.js'
import type { Context } from '../../context.js'
import type { Page, Paging } from '../core/page.js'
import { type IssueRecord, listIssues } from '../issuables/issues/list.js'
import type { IssuableSource } from '../issuables/list.js'
import { listMergeRequests } from '../issuables/merge-requests/reading/list.js'
import type { MergeRequestRecord } from '../issuables/merge-requests/reading/load.js'

const MAX_IID = 2_147_483_647

/** The filter of a search: by the number that the text ends in, or else by its words. */
function queryFilter(text: string, numbered: RegExp): { iids: number[] } | { search: string } {
  const digits = numbered.exec(text.trimEnd())?.[1]
  if (digits === undefined) return { search: text }
  // 0 matches nothing
  return { iids: [Number(digits) <= MAX_IID ? Number(digits) : 0] }
}

/** Filters that match everything, most recently updated first. */
const allStates = ({ page, per_page }: Paging) => ({
  state: 'all' as const,
  scope: 'all' as const,
  in: ['title', 'description'] as ('title' | 'description')[],
  order_by: 'updated_at' as const,
  sort: 'desc' as const,
  page,
  per_page,
})

const none = { items: [], total: 0 }

/** Issues by number or words (S-8); empty for a project whose issues the caller may not read. */
export async function searchIssues(ctx: Context, caller: Caller, at: IssuableSource, text: string, paging: Paging): Promise<Page<IssueRecord>> {
  if (at !== 'everywhere' && 'project' in at && !at.project.can('read_issue')) return none
  return listIssues(ctx, caller, at, { ...allStates(paging), ...queryFilter(text, /#(\d+)$/), with_labels_details: false })
}

/** Merge requests by number or words (S-9, S-19). */
export async function searchMergeRequests(
  ctx: Context,
  caller: Caller,
  at: IssuableSource,
  text: string,
  paging: Paging,
): Promise<Page<MergeRequestRecord>> {
  if (at !== 'everywhere' && 'project' in at && !at.project.can('read_own_merge_request')) return none
  return listMergeRequests(ctx, caller, at, { ...allStates(paging), ...queryFilter(text, /[#!](\d+)$/) })
}
