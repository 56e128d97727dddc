import { eq, type SQL, sql } from 'drizzle-orm'
import type { Caller } from '../../../../access/actor.js'
import { mergeRequestsInReach, visibleMergeRequests } from '../../../../access/visible.js'
import type { Context } from '../../../../context.js'
import { hasOneOf, hasPerson, inIds } from '../../../../db/conditions.js'
import { mergeRequestApprovals, mergeRequestLabels, mergeRequests, users } from '../../../../db/schema/index.js'
import { statement } from '../../../../db/statement.js'
import { DRAFT_MARK } from '../../../../rules/draft.js'
import type { Page } from '../../../core/page.js'
import { type Assignees, any, distinct, type IssuableFilter, idOf, type NegatableFilters, none, ORDER_COLUMNS, user } from '../../filters.js'
import { type IssuableSource, listerOf } from '../../list.js'
import { loadListed, type MergeRequestRecord } from './load.js'

export const MERGE_REQUEST_ORDERS = [...ORDER_COLUMNS, 'title', 'merged_at'] as const

interface ReviewerFilters {
  reviewer_id?: Assignees | undefined
  reviewer_username?: string | undefined
}

export interface MergeRequestFilter extends IssuableFilter, ReviewerFilters {
  /** None is ever `locked`: a merge changes the state when it is done, not before. */
  state: 'opened' | 'closed' | 'locked' | 'merged' | 'all'
  source_project_id?: number | undefined
  source_branch?: string | undefined
  target_branch?: string | undefined
  /** From one of these branches, into one of those. */
  source_branches?: string[] | undefined
  target_branches?: string[] | undefined
  draft?: boolean | undefined
  /** Merged by one of these commits. */
  merged_by?: string[] | undefined
  not?: (NegatableFilters & ReviewerFilters) | undefined
  /** Approved by all of these users. */
  approved_by_ids?: Assignees | undefined
  approved_by_usernames?: string[] | 'any' | 'none' | undefined
}

/** `isDraft` for every row. */
const isDraft = sql`${mergeRequests.title} ~* ${DRAFT_MARK}`

const isApproved = sql`exists (select 1 from ${mergeRequestApprovals} a where a.merge_request_id = ${mergeRequests.id})`
/** The merge requests that as many of the users that match have approved as there are values. */
const approvedByAll = (users: SQL, values: SQL) => sql`${mergeRequests.id} in (select a.merge_request_id from ${mergeRequestApprovals} a
  where a.user_id in (${users}) group by a.merge_request_id having count(*) = cardinality(${values}))`

const byTitle = sql`lower(${mergeRequests.title})`
/** Those that are not merged come last in either direction. */
const byMerge = sql`coalesce(${mergeRequests.merged_at}, 'infinity'::timestamptz)`
const byMergeDescending = sql`coalesce(${mergeRequests.merged_at}, '-infinity'::timestamptz)`

const list = listerOf<'all' | 'own', MergeRequestFilter>({
  type: 'MergeRequest',
  list: 'merge_requests',
  issuables: mergeRequests,
  issuableLabels: mergeRequestLabels,
  labelled_id: mergeRequestLabels.merge_request_id,
  reach: (subject) => (subject.can('read_merge_request') ? 'all' : 'own'),
  inReach: mergeRequestsInReach,
  visible: visibleMergeRequests,
  orderKey: (by, descending) => (by === 'title' ? byTitle : by === 'merged_at' ? (descending ? byMergeDescending : byMerge) : undefined),
  filters: {
    source_branches: {
      where: (names) => sql`${mergeRequests.source_branch} = any(${names}::text[])`,
      value: ({ source_branches }) => source_branches,
    },
    target_branches: {
      where: (names) => sql`${mergeRequests.target_branch} = any(${names}::text[])`,
      value: ({ target_branches }) => target_branches,
    },
    source_project_id: {
      where: (id) => eq(mergeRequests.original_source_project_id, id),
      value: ({ source_project_id }) => source_project_id,
    },
    source_branch: { where: (branch) => eq(mergeRequests.source_branch, branch), value: ({ source_branch }) => source_branch || undefined },
    target_branch: { where: (branch) => eq(mergeRequests.target_branch, branch), value: ({ target_branch }) => target_branch || undefined },
    merged_by: {
      where: (shas) =>
        sql`${mergeRequests.state} = 'merged' and coalesce(${mergeRequests.merge_commit_sha}, ${mergeRequests.squash_commit_sha}, ${mergeRequests.merged_head_sha}, ${mergeRequests.sha}) = any(${shas}::text[])`,
      value: ({ merged_by }) => merged_by,
    },
    draft: { where: () => isDraft, value: ({ draft }) => draft || undefined },
    ready: { where: () => sql`not ${isDraft}`, value: ({ draft }) => draft === false || undefined },
    for_my_review: { where: () => hasPerson(mergeRequests.reviewer_ids, user), value: ({ scope }) => scope === 'reviews_for_me' || undefined },
    reviewer_ids: { where: (ids) => hasOneOf(mergeRequests.reviewer_ids, sql`${ids}::bigint[]`), value: ({ reviewer_id }) => distinct(reviewer_id) },
    reviewer_any: { where: () => sql`${mergeRequests.reviewer_ids} <> '{}'`, value: ({ reviewer_id, not }) => any(reviewer_id, not?.reviewer_id) },
    reviewer_none: { where: () => sql`${mergeRequests.reviewer_ids} = '{}'`, value: ({ reviewer_id, not }) => none(reviewer_id, not?.reviewer_id) },
    reviewer_username: {
      where: (name) => hasPerson(mergeRequests.reviewer_ids, idOf(name)),
      value: ({ reviewer_username }) => reviewer_username || undefined,
      cacheable: false,
    },
    not_reviewer_ids: {
      where: (ids) => sql`not ${hasOneOf(mergeRequests.reviewer_ids, sql`${ids}::bigint[]`)}`,
      value: ({ not }) => distinct(not?.reviewer_id),
    },
    not_reviewer_username: {
      where: (name) => sql`not ${hasPerson(mergeRequests.reviewer_ids, idOf(name))}`,
      value: ({ not }) => not?.reviewer_username || undefined,
      cacheable: false,
    },
    approved_by_ids: {
      where: (ids) => approvedByAll(sql`select unnest(${ids}::bigint[])`, sql`${ids}::bigint[]`),
      value: ({ approved_by_ids }) => distinct(approved_by_ids),
    },
    approved_by_usernames: {
      where: (names) => approvedByAll(sql`select u.id from ${users} u where lower(u.username) = any(${names}::text[])`, sql`${names}::text[]`),
      value: ({ approved_by_usernames }) => distinct(approved_by_usernames),
      cacheable: false,
    },
    approved_any: {
      where: () => isApproved,
      value: ({ approved_by_ids, approved_by_usernames }) => any(approved_by_ids, undefined) ?? any(approved_by_usernames, undefined),
    },
    approved_none: {
      where: () => sql`not ${isApproved}`,
      value: ({ approved_by_ids, approved_by_usernames }) => none(approved_by_ids, undefined) ?? none(approved_by_usernames, undefined),
    },
  },
})

/**
 * The merge requests that the caller may read and that match the filters (MR-13). The caller must already see the
 * source.
 */
export const listMergeRequests = (
  ctx: Context,
  caller: Pick<Caller, 'user'>,
  at: IssuableSource,
  filter: MergeRequestFilter,
): Promise<Page<MergeRequestRecord>> => list(ctx, caller, at, filter, (ids) => loadListed(ctx, ids))

const selectIids = statement('numbers of merge requests', (db) =>
  db.select({ id: mergeRequests.id, iid: mergeRequests.iid }).from(mergeRequests).where(inIds(mergeRequests.id)),
)

/** The numbers of the merge requests of a list, in its order. */
export const listRequestIids = (
  ctx: Context,
  caller: Pick<Caller, 'user'>,
  at: IssuableSource,
  filter: MergeRequestFilter,
): Promise<Page<{ iid: number }>> =>
  list(ctx, caller, at, filter, async (ids) => {
    const found = new Map((ids.length > 0 ? await selectIids(ctx.db, null).execute({ ids }) : []).map((each) => [each.id, each]))
    return ids.flatMap((id) => found.get(id) ?? [])
  })

/** How many there are of them. */
export const countMergeRequests = async (
  ctx: Context,
  caller: Pick<Caller, 'user'>,
  at: IssuableSource,
  filter: MergeRequestFilter,
): Promise<number> => (await list(ctx, caller, at, { ...filter, page: 1, per_page: 1 }, async () => [])).total
