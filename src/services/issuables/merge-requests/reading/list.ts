import { eq, type SQL, sql } from 'drizzle-orm'
import type { Caller } from '../../../../access/actor.js'
import { mergeRequestsInReach, visibleMergeRequests } from '../../../../access/visible.js'
import type { Context } from '../../../../context.js'
import { type issueLabels, type issues, mergeRequestApprovals, mergeRequestLabels, mergeRequests, users } from '../../../../db/schema/index.js'
import { DRAFT_MARK } from '../../../../rules/draft.js'
import type { Page } from '../../../core/page.js'
import { type Assignees, anyOrNone, type IssuableFilter } from '../../filters.js'
import { type IssuableSource, listerOf } from '../../list.js'
import { loadListed, type MergeRequestRecord } from './load.js'

export interface MergeRequestFilter extends IssuableFilter {
  state: 'opened' | 'closed' | 'merged' | 'all'
  source_branch?: string | undefined
  target_branch?: string | undefined
  draft?: boolean | undefined
  reviewer_id?: Assignees | undefined
  reviewer_username?: string | undefined
  /** Approved by all of these users. */
  approved_by_ids?: Assignees | undefined
  approved_by_usernames?: string[] | 'any' | 'none' | undefined
}

/** `isDraft` for every row. */
const isDraft = sql`${mergeRequests.title} ~* ${DRAFT_MARK}`

const value = (name: string) => sql.placeholder(name)
const isApproved = sql`exists (select 1 from ${mergeRequestApprovals} a where a.merge_request_id = ${mergeRequests.id})`
/** The merge requests that as many of the users that match have approved as there are values. */
const approvedByAll = (users: SQL, values: SQL) => sql`${mergeRequests.id} in (select a.merge_request_id from ${mergeRequestApprovals} a
  where a.user_id in (${users}) group by a.merge_request_id having count(*) = cardinality(${values}))`
const ids = sql`${value('approved_by_ids')}::bigint[]`
const usernames = sql`${value('approved_by_usernames')}::text[]`

const list = listerOf<'all' | 'own'>({
  type: 'MergeRequest',
  list: 'merge_requests',
  issuables: mergeRequests as unknown as typeof issues,
  issuableLabels: { ...mergeRequestLabels, issue_id: mergeRequestLabels.merge_request_id } as unknown as typeof issueLabels,
  reach: (subject) => (subject.can('read_merge_request') ? 'all' : 'own'),
  inReach: mergeRequestsInReach,
  visible: visibleMergeRequests,
  filters: {
    source_branch: () => eq(mergeRequests.source_branch, sql.placeholder('source_branch')),
    target_branch: () => eq(mergeRequests.target_branch, sql.placeholder('target_branch')),
    draft: () => isDraft,
    ready: () => sql`not ${isDraft}`,
    for_my_review: () => sql`${mergeRequests.reviewer_id} = ${value('user')}::bigint`,
    reviewer_ids: () => sql`${mergeRequests.reviewer_id} = any(${value('reviewer_ids')}::bigint[])`,
    reviewer_any: () => sql`${mergeRequests.reviewer_id} is not null`,
    reviewer_none: () => sql`${mergeRequests.reviewer_id} is null`,
    reviewer_username: () =>
      sql`${mergeRequests.reviewer_id} = (select u.id from ${users} u where lower(u.username) = lower(${value('reviewer_username')}))`,
    approved_by_ids: () => approvedByAll(sql`select unnest(${ids})`, ids),
    approved_by_usernames: () => approvedByAll(sql`select u.id from ${users} u where lower(u.username) = any(${usernames})`, usernames),
    approved_any: () => isApproved,
    approved_none: () => sql`not ${isApproved}`,
  },
})

/** Each value once; users' names in lower case. */
const listOf = <T extends number | string>(given: T[] | 'any' | 'none' | undefined) =>
  Array.isArray(given) ? [...new Set(given.map((each) => (typeof each === 'string' ? each.toLowerCase() : each)))] : undefined

/**
 * The merge requests that the caller may read and that match the filters (MR-13). The caller must already see the
 * source.
 */
export const listMergeRequests = (
  ctx: Context,
  caller: Pick<Caller, 'user'>,
  at: IssuableSource,
  filter: MergeRequestFilter,
): Promise<Page<MergeRequestRecord>> =>
  list(
    ctx,
    caller,
    at,
    {
      filter,
      extraValues: {
        source_branch: filter.source_branch || undefined,
        target_branch: filter.target_branch || undefined,
        draft: filter.draft === true || undefined,
        ready: filter.draft === false || undefined,
        for_my_review: filter.scope === 'reviews_for_me' || undefined,
        reviewer_ids: listOf(filter.reviewer_id),
        ...anyOrNone('reviewer', filter.reviewer_id),
        reviewer_username: filter.reviewer_username || undefined,
        approved_by_ids: listOf(filter.approved_by_ids),
        ...anyOrNone('approved', filter.approved_by_ids),
        approved_by_usernames: listOf(filter.approved_by_usernames),
        ...anyOrNone('approved', filter.approved_by_usernames),
      },
    },
    (ids) => loadListed(ctx, ids),
  )
