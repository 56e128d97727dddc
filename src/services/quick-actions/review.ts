import type { SignedIn } from '../../access/actor.js'
import type { MergeRequestSubject } from '../../access/merge-requests.js'
import type { Context } from '../../context.js'
import { Failure } from '../../failures.js'
import { approve } from '../issuables/merge-requests/writing/approvals.js'
import { createDiscussion, replyTo, resolveDiscussion } from '../notes/discussions.js'
import { type DraftNote, sendDrafts } from '../notes/drafts.js'
import { aboutMergeRequest, type NoteableSubject } from '../notes/noteables.js'
import { createNote, type ThreadColumns } from '../notes/write.js'
import { noteWithCommands } from './notes.js'

export interface Review {
  /** One draft alone. */
  id?: number | undefined
  /** What the review says as a whole. */
  summary?: string | undefined
  /** The head that the caller has seen and approves; undefined: they do not approve. */
  approves?: string | undefined
}

/** Sends the drafts of the caller as notes, with a summary, and approves if asked to (WB-98). Returns how many it sent. */
export async function sendReview(ctx: Context, caller: SignedIn, request: MergeRequestSubject, { id, summary, approves }: Review): Promise<number> {
  const subject = aboutMergeRequest(request)
  // what cannot be approved is said before anything is sent
  if (approves !== undefined) await approve(ctx, caller, request, approves || undefined).catch(alreadyApproved)
  const sent = await sendDrafts(ctx, caller, subject.noteable, { id, send: (draft) => sendOne(ctx, caller, subject, draft) })
  if (summary !== undefined && summary.trim() !== '')
    await noteWithCommands(ctx, caller, subject, { body: summary, how: 'new' }, (body) => createNote(ctx, caller, subject, { body }))
  return sent
}

function alreadyApproved(error: unknown): null {
  if (error instanceof Failure && error.kind === 'unauthenticated') return null
  throw error
}

async function sendOne(ctx: Context, caller: SignedIn, subject: NoteableSubject, draft: DraftNote): Promise<void> {
  const { discussion_id: discussion, resolve_discussion, position, path, line, line_type, excerpt } = draft
  const write = async (body: string) => {
    const note = { body, draft: draft.id }
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
