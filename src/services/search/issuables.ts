import type { Caller } from '../../access/actor.js'
import type { Context } from '../../context.js'
import type { Page, Paging } from '../core/page.js'
import { FIELDS } from '../issuables/filters.js'
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

/** What a search of issues or merge requests is limited to, and its order (S-30). */
export interface IssuableSearch extends Paging {
  search: string
  state?: 'opened' | 'closed' | 'merged' | 'all' | undefined
  confidential?: boolean | undefined
  order_by?: 'created_at' | undefined
  sort?: 'asc' | 'desc' | undefined
}

/** The filters of a search; most recently updated first, unless another order is asked for. */
const filterOf = ({ page, per_page, order_by, sort }: IssuableSearch) => ({
  scope: 'all' as const,
  in: [...FIELDS],
  order_by: order_by ?? ('updated_at' as const),
  sort: sort ?? ('desc' as const),
  page,
  per_page,
})

const none = { items: [], total: 0 }

/** Issues by number or words (S-8); empty for a project whose issues the caller may not read. */
export async function searchIssues(ctx: Context, caller: Caller, at: IssuableSource, asked: IssuableSearch): Promise<Page<IssueRecord>> {
  if (at !== 'everywhere' && 'project' in at && !at.project.can('read_issue')) return none
  const { search, state = 'all', confidential } = asked
  if (state === 'merged') return none
  return listIssues(ctx, caller, at, { ...filterOf(asked), ...queryFilter(search, /#(\d+)$/), state, confidential, with_labels_details: false })
}

/** Merge requests by number or words (S-9, S-19). */
export async function searchMergeRequests(
  ctx: Context,
  caller: Caller,
  at: IssuableSource,
  asked: IssuableSearch,
): Promise<Page<MergeRequestRecord>> {
  if (at !== 'everywhere' && 'project' in at && !at.project.can('read_own_merge_request')) return none
  const { search, state = 'all' } = asked
  return listMergeRequests(ctx, caller, at, { ...filterOf(asked), ...queryFilter(search, /[#!](\d+)$/), state })
}
