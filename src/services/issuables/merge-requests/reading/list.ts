import { eq, sql } from 'drizzle-orm'
import type { Caller } from '../../../../access/actor.js'
import { mergeRequestsInReach, visibleMergeRequests } from '../../../../access/visible.js'
import type { Context } from '../../../../context.js'
import { mergeRequestLabels, mergeRequests } from '../../../../db/schema/index.js'
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

const list = listerOf<'all' | 'own', MergeRequestFilter>({
  type: 'MergeRequest',
  list: 'merge_requests',
  issuables: mergeRequests,
  issuableLabels: mergeRequestLabels,
  labelled_id: mergeRequestLabels.merge_request_id,
  reach: (subject) => (subject.can('read_merge_request') ? 'all' : 'own'),
  inReach: mergeRequestsInReach,
  visible: visibleMergeRequests,
  filters: {
    source_branch: { where: (branch) => eq(mergeRequests.source_branch, branch), value: ({ source_branch }) => source_branch || undefined },
    target_branch: { where: (branch) => eq(mergeRequests.target_branch, branch), value: ({ target_branch }) => target_branch || undefined },
    draft: { where: () => isDraft, value: ({ draft }) => draft || undefined },
    ready: { where: () => sql`not ${isDraft}`, value: ({ draft }) => draft === false || undefined },
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
