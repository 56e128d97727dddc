import type { SignedIn } from '../../access/actor.js'
import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { createIssue, type NewIssue } from '../issuables/issues/create.js'
import type { IssueRecord } from '../issuables/issues/list.js'
import { findThreadsForIssue } from './discussions.js'

/** Threads of a merge request that an issue takes over. */
export interface ThreadSelection {
  /** Number of the merge request. */
  request: number
  /** One thread; all that are not resolved by default. */
  discussion?: string | undefined
}

/**
 * Creates an issue that takes over threads of a merge request: its description lists them, unless one is given, and
 * they are resolved.
 */
export async function createIssueFromThreads(
  ctx: Context,
  caller: SignedIn,
  subject: ProjectSubject,
  given: NewIssue,
  wanted: ThreadSelection,
): Promise<IssueRecord> {
  const threads = await findThreadsForIssue(ctx, caller, subject, wanted)
  const { description = threads?.description } = given
  return createIssue(ctx, caller, subject, { ...given, description }, threads?.resolve)
}
