import { eq } from 'drizzle-orm'
import type { SignedIn } from '../../../access/actor.js'
import { onIssueSignedIn } from '../../../access/issues.js'
import { onMergeRequest } from '../../../access/merge-requests.js'
import { onProjectSignedIn } from '../../../access/rules.js'
import { onSnippetSignedIn } from '../../../access/snippets.js'
import type { Context } from '../../../context.js'
import { issues, mergeRequests, notes } from '../../../db/schema/index.js'
import { notFound } from '../../../failures.js'
import { aboutCommit, aboutIssue, aboutMergeRequest, aboutSnippet, type NoteableSubject } from '../../notes/noteables.js'
import type { ReplyTarget } from './keys.js'

/** What an answer becomes a note on, as the API loads it for a new note, and the thread that it belongs to. */
interface Answered {
  subject: NoteableSubject
  discussion: string | null
}

/** Finds what an answer is about with the ability to comment on it; throws what the API answers (ML-622). */
export async function findAnswered(ctx: Context, caller: SignedIn, { kind, id }: ReplyTarget): Promise<Answered> {
  if (kind !== 'note') return { subject: await issuable(ctx, caller, kind === 'issue' ? 'Issue' : 'MergeRequest', id), discussion: null }
  const [note] = await ctx.db.write.select().from(notes).where(eq(notes.id, id))
  if (!note) throw notFound('Note')
  const { noteable_type: type, noteable_id, project_id, commit_id, discussion_id } = note
  const discussion = note.type === null ? null : discussion_id
  if (type === 'Issue' || type === 'MergeRequest') return { subject: await issuable(ctx, caller, type, noteable_id ?? 0), discussion }
  const project = { id: String(project_id) }
  if (type === 'Snippet') {
    const found = await onSnippetSignedIn('create_note').find(ctx, caller, { ...project, snippet_id: String(noteable_id) })
    return { subject: aboutSnippet(found), discussion }
  }
  return { subject: await aboutCommit(ctx, await onProjectSignedIn('comment_on_commit').find(ctx, caller, project), commit_id ?? ''), discussion }
}

async function issuable(ctx: Context, caller: SignedIn, type: 'Issue' | 'MergeRequest', id: number): Promise<NoteableSubject> {
  const table = type === 'Issue' ? issues : mergeRequests
  const [row] = await ctx.db.write.select({ project: table.project_id, iid: table.iid }).from(table).where(eq(table.id, id))
  if (!row) throw notFound()
  const params = { id: String(row.project) }
  return type === 'Issue'
    ? aboutIssue(await onIssueSignedIn('create_note').find(ctx, caller, { ...params, issue_iid: String(row.iid) }))
    : aboutMergeRequest(await onMergeRequest('create_note').find(ctx, caller, { ...params, merge_request_iid: String(row.iid) }))
}
