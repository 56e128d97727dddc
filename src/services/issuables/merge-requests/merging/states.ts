import type { MergeRequest } from '../../../../access/merge-requests.js'

export type State = MergeRequest['state']
export type StateEvent = 'close' | 'reopen'

/** The next state for each state and event; an event without effect is no error (MR-2, MR-51, MR-52). */
export const TRANSITIONS: Record<State, Record<StateEvent, State>> = {
  opened: { close: 'closed', reopen: 'opened' },
  closed: { close: 'closed', reopen: 'opened' },
  merged: { close: 'merged', reopen: 'merged' },
}

/** Columns that cancel a deferred merge (MR-71, MR-80). */
export const NOT_DEFERRED = {
  merge_when_pipeline_succeeds: false,
  merge_user_id: null,
  merge_commit_message: null,
  squash_commit_message: null,
} as const

/** Columns that close a merge request and cancel its deferred merge. */
export const closedColumns = (by: number | null, now: Date) =>
  ({
    state: 'closed',
    closed_at: now,
    closed_by_id: by,
    rebase_user_id: null,
    should_remove_source_branch: null,
    ...NOT_DEFERRED,
  }) as const

/** Columns that reopen a merge request. */
export const REOPENED_COLUMNS = { state: 'opened', closed_at: null, closed_by_id: null } as const
