import type { SignedIn } from '../../access/actor.js'
import type { Context } from '../../context.js'
import { updateIssue } from '../issuables/issues/update.js'
import { updateMergeRequest } from '../issuables/merge-requests/writing/update.js'
import { type NoteableSubject, targetOf } from '../notes/noteables.js'
import { checkBody } from '../notes/write.js'
import { carryOut, type Outcome, planCommands } from './plan.js'
import { onIssue, onMergeRequest } from './target.js'

/** What came of a note: null if its text had only commands; and what those did. */
export interface Noted<T> {
  made: T | null
  outcome: Outcome
}

/**
 * Writes a note without the commands in its text, and carries those out (QA-2). A text of commands alone makes no note,
 * and is refused where one is changed.
 */
export async function noteWithCommands<T>(
  ctx: Context,
  caller: SignedIn,
  subject: NoteableSubject,
  { body, how }: { body: string; how: 'new' | 'changed' },
  write: (body: string) => Promise<T>,
): Promise<Noted<T>> {
  const { issue, request, noteable } = subject
  const target = targetOf(noteable)
  const on = issue ? onIssue(issue) : request && onMergeRequest(request)
  if (!target || !on) return { made: await write(body), outcome: { changes: {}, messages: [] } }
  checkBody(body)
  const plan = await planCommands({ ctx, caller, target: on }, body)
  const onlyCommands = how === 'new' && plan.text === '' && plan.planned.length > 0
  const made = onlyCommands ? null : await write(plan.text)
  const update = () =>
    issue ? updateIssue(ctx, caller, issue, plan.attributes) : request ? updateMergeRequest(ctx, caller, request, plan.attributes) : Promise.resolve()
  return { made, outcome: await carryOut(plan, target, update) }
}
