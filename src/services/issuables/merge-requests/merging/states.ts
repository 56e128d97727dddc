import type { MergeRequest } from '../../../../access/merge-requests.js'

export type State = MergeRequest['state']
export type StateEvent = 'close' | 'reopen'

/** What becomes of a request in each state by each event; what stands as it was is no error (MR-2, MR-51, MR-52). */
export const MOVES: Record<State, Record<StateEvent, State>> = {
  opened: { close: 'closed', reopen: 'opened' },
  closed: { close: 'closed', reopen: 'opened' },
  merged: { close: 'merged', reopen: 'merged' },
}

/** What no request keeps of a merge that was deferred (MR-71, MR-80). */
export const NOT_DEFERRED = { merge_when_pipeline_succeeds: false, merge_user_id: null, merge_commit_message: null } as const

/** Columns that close a request; what was to be merged later no longer is. */
export const closed = (by: number | null, now: Date) =>
  ({
    state: 'closed',
    closed_at: now,
    closed_by_id: by,
    rebase_user_id: null,
    should_remove_source_branch: null,
    ...NOT_DEFERRED,
  }) as const

/** Columns that open it again. */
export const reopened = { state: 'opened', closed_at: null, closed_by_id: null } as const
