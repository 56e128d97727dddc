import { eq, sql } from 'drizzle-orm'
import type { Caller } from '../../../../access/actor.js'
import { mergeRequestsInReach, visibleMergeRequests } from '../../../../access/visible.js'
import type { Context } from '../../../../context.js'
import { type issueLabels, type issues, mergeRequestLabels, mergeRequests } from '../../../../db/schema/index.js'
import { DRAFT_MARK } from '../../../../rules/draft.js'
import type { Page } from '../../../core/page.js'
import type { IssuableFilter } from '../../filters.js'
import { type IssuableSource, listerOf } from '../../list.js'
import { loadListed, type MergeRequestRecord } from './load.js'

export interface MergeRequestFilter extends IssuableFilter {
  state: 'opened' | 'closed' | 'merged' | 'all'
  source_branch?: string | undefined
  target_branch?: string | undefined
  draft?: boolean | undefined
}

/** `isDraft` for every row. */
const isDraft = sql`${mergeRequests.title} ~* ${DRAFT_MARK}`

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
      },
    },
    (ids) => loadListed(ctx, ids),
  )
