import { and, asc, eq, isNull, lt, or, sql } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import type { Context } from '../../context.js'
import { count } from '../../db/decoded.js'
import { draftNotes } from '../../db/schema/index.js'
import { notFound, refused } from '../../failures.js'
import { lockName } from '../core/lock-name.js'
import { mayResolve } from './discussions.js'
import { getDiscussion, type NoteRecord } from './list.js'
import type { Noteable, NoteableSubject } from './noteables.js'
import { type GivenPosition, threadAtPosition } from './positions.js'
import { checkBody } from './write.js'

export type DraftNote = typeof draftNotes.$inferSelect

/** The most drafts that a user has on one merge request. */
export const MAX_DRAFTS = 500

export interface NewDraft {
  note: string
  discussion?: string | undefined
  /** Whether sending it resolves the thread that it answers. */
  resolve?: boolean | undefined
  position?: GivenPosition | null | undefined
}

const ofUser = ({ user }: SignedIn, { id }: Noteable) => and(eq(draftNotes.merge_request_id, id as number), eq(draftNotes.author_id, user.id))
/** After a crash, a draft that was being sent is one again. */
const SENDING_MS = 60_000

/** The caller's own drafts on a merge request, oldest first; nobody else sees them (WB-96). */
export const listDrafts = (ctx: Context, caller: SignedIn, noteable: Noteable): Promise<DraftNote[]> =>
  ctx.db.write.select().from(draftNotes).where(ofUser(caller, noteable)).orderBy(asc(draftNotes.id)).limit(MAX_DRAFTS)

/** Keeps a note for a review. Its position must be in a version of the merge request, and stays there (WB-97). */
export async function saveDraft(ctx: Context, caller: SignedIn, subject: NoteableSubject, given: NewDraft): Promise<DraftNote> {
  const { noteable } = subject
  checkBody(given.note)
  const first = given.discussion === undefined ? null : ((await getDiscussion(ctx, caller, noteable, given.discussion)).notes[0] as NoteRecord)
  if (first?.note.type === null) throw refused('A note that stands alone cannot be answered')
  const thread = given.position && !first ? await threadAtPosition(ctx, subject, given.position) : null
  const now = ctx.now()
  return ctx.db.transaction(async (tx) => {
    await lockName(tx, `drafts ${caller.user.id} ${noteable.id}`)
    const [{ drafts } = { drafts: 0 }] = await tx.select({ drafts: count() }).from(draftNotes).where(ofUser(caller, noteable))
    if (drafts >= MAX_DRAFTS) throw refused(`A review has at most ${MAX_DRAFTS} comments: send it first`)
    const [made] = await tx
      .insert(draftNotes)
      .values({
        project_id: noteable.project_id,
        merge_request_id: noteable.id as number,
        author_id: caller.user.id,
        note: given.note,
        discussion_id: given.discussion ?? null,
        resolve_discussion: first && given.resolve !== undefined && mayResolve(caller, subject, first) ? given.resolve : null,
        position: thread?.position ?? null,
        path: thread?.path ?? null,
        line: thread?.line ?? null,
        line_type: thread?.line_type ?? null,
        excerpt: thread?.excerpt?.replaceAll('\0', '\ufffd') ?? null,
        created_at: now,
        updated_at: now,
      })
      .returning()
    return made as DraftNote
  })
}

/** One draft of the caller. */
export async function getDraft(ctx: Context, caller: SignedIn, noteable: Noteable, id: number): Promise<DraftNote> {
  const [draft] = await ctx.db.write
    .select()
    .from(draftNotes)
    .where(and(ofUser(caller, noteable), eq(draftNotes.id, id)))
  if (!draft) throw notFound('Draft Note')
  return draft
}

/** Changes the text of a draft. */
export async function updateDraft(
  ctx: Context,
  caller: SignedIn,
  noteable: Noteable,
  { id, note }: { id: number; note: string },
): Promise<DraftNote> {
  checkBody(note)
  const [draft] = await ctx.db.write
    .update(draftNotes)
    .set({ note, updated_at: ctx.now() })
    .where(and(ofUser(caller, noteable), eq(draftNotes.id, id)))
    .returning()
  if (!draft) throw notFound('Draft Note')
  return draft
}

export async function deleteDraft(ctx: Context, caller: SignedIn, noteable: Noteable, id: number): Promise<void> {
  const deleted = await ctx.db.write
    .delete(draftNotes)
    .where(and(ofUser(caller, noteable), eq(draftNotes.id, id)))
    .returning({ id: draftNotes.id })
  if (deleted.length === 0) throw notFound('Draft Note')
}

/** Deletes all drafts of the caller on a merge request. */
export const discardDrafts = async (ctx: Context, caller: SignedIn, noteable: Noteable): Promise<void> => {
  await ctx.db.write.delete(draftNotes).where(ofUser(caller, noteable))
}

/** Passes each draft of the caller, or one of them, to `send` once, even if two requests send the review. */
export async function sendDrafts(
  ctx: Context,
  caller: SignedIn,
  noteable: Noteable,
  { id, send }: { id?: number | undefined; send(draft: DraftNote): Promise<void> },
): Promise<number> {
  const drafts = (await listDrafts(ctx, caller, noteable)).filter((draft) => id === undefined || draft.id === id)
  if (id !== undefined && drafts.length === 0) throw notFound('Draft Note')
  let sent = 0
  for (const { id: draft } of drafts) {
    const now = ctx.now()
    const isFree = or(isNull(draftNotes.sending_since), lt(draftNotes.sending_since, new Date(now.valueOf() - SENDING_MS)))
    const [own] = await ctx.db.write
      .update(draftNotes)
      .set({ sending_since: now })
      .where(and(eq(draftNotes.id, draft), isFree))
      .returning()
    if (!own) continue
    try {
      await send(own)
    } catch (error) {
      const left = await ctx.db.write
        .update(draftNotes)
        .set({ sending_since: sql`null` })
        .where(eq(draftNotes.id, draft))
        .returning({ id: draftNotes.id })
      if (left.length > 0) throw error
      continue // another request has sent it
    }
    // a note has taken its draft with it; one of commands alone has not
    await ctx.db.write.delete(draftNotes).where(eq(draftNotes.id, draft))
    sent++
  }
  return sent
}
