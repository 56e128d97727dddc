import type { SignedIn } from '../../access/actor.js'
import type { MergeRequestSubject } from '../../access/merge-requests.js'
import type { Context } from '../../context.js'
import { Failure } from '../../failures.js'
import type { Verdict } from '../../rules/reviews/states.js'
import { checkVerdict, recordReview } from '../issuables/merge-requests/writing/reviews.js'
import { createDiscussion, replyTo, resolveDiscussion } from '../notes/discussions.js'
import { type DraftNote, sendDrafts } from '../notes/drafts.js'
import { aboutMergeRequest, type NoteableSubject } from '../notes/noteables.js'
import { checkBody, createNote, type ThreadColumns } from '../notes/write.js'
import { noteWithCommands } from './notes.js'

export interface Review {
  /** What the review says as a whole. */
  summary?: string | undefined
  verdict: Verdict
  /** The head that the caller has seen and approves. */
  sha?: string | undefined
}

/** Sends the drafts of the caller as notes, with a summary and a verdict (WB-98, MR-600). Returns whether it said anything. */
export async function sendReview(
  ctx: Context,
  caller: SignedIn,
  request: MergeRequestSubject,
  { summary = '', verdict, sha }: Review,
): Promise<boolean> {
  const subject = aboutMergeRequest(request)
  // what cannot be approved is said before anything is sent
  checkVerdict(request, verdict, sha)
  if (summary.trim() !== '') checkBody(summary)
  const sent = await sendDrafts(ctx, caller, subject.noteable, { send: (draft) => sendOne(ctx, caller, subject, draft, true) })
  if (summary.trim() !== '') {
    const write = (body: string) => createNote(ctx, caller, subject, { body, in_review: true })
    await noteWithCommands(ctx, caller, subject, { body: summary, how: 'new' }, write)
  } else if (sent === 0 && verdict === 'commented') return false
  await recordReview(ctx, caller, request, { verdict, sha })
  return true
}

/** Sends one draft of the caller as a note, which is no review. */
export async function sendDraft(ctx: Context, caller: SignedIn, request: MergeRequestSubject, id: number): Promise<void> {
  const subject = aboutMergeRequest(request)
  await sendDrafts(ctx, caller, subject.noteable, { id, send: (draft) => sendOne(ctx, caller, subject, draft, false) })
}

async function sendOne(ctx: Context, caller: SignedIn, subject: NoteableSubject, draft: DraftNote, in_review: boolean): Promise<void> {
  const { discussion_id: discussion, resolve_discussion, position, path, line, line_type, excerpt } = draft
  const write = async (body: string) => {
    const note = { body, draft: draft.id, in_review }
    if (discussion !== null) {
      const reply = await replyTo(ctx, caller, subject, discussion, note).catch((error: unknown) => {
        if (error instanceof Failure && error.kind === 'not_found') return null
        throw error
      })
      if (reply) return
    }
    // the thread that it answers is gone
    if (!position) await createDiscussion(ctx, caller, subject, note)
    else {
      const thread: ThreadColumns = { type: 'DiffNote', position, excerpt, ...(path !== null && { path, line, line_type }) }
      await createNote(ctx, caller, subject, note, thread)
    }
  }
  await noteWithCommands(ctx, caller, subject, { body: draft.note, how: 'new' }, write)
  if (discussion !== null && resolve_discussion !== null)
    await resolveDiscussion(ctx, caller, subject, { discussion, resolved: resolve_discussion }).catch(() => undefined)
}
