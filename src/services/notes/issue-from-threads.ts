import type { SignedIn } from '../../access/actor.js'
import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { createIssue, type NewIssue } from '../issuables/issues/create.js'
import type { IssueRecord } from '../issuables/issues/list.js'
import { findThreadsForIssue } from './discussions.js'

/** The threads of a merge request that a new issue replaces. */
export interface ThreadSelection {
  /** The iid of the merge request. */
  request: number
  /** The id of one thread; all unresolved threads by default. */
  discussion?: string | undefined
}

/**
 * Creates an issue that replaces threads of a merge request: the threads are resolved, and the description lists them
 * unless one is given.
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
