import { desc, eq, sql } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import { onIssueSignedIn } from '../../access/issues.js'
import { onMergeRequest } from '../../access/merge-requests.js'
import { onProjectSignedIn } from '../../access/rules.js'
import { onSnippetSignedIn } from '../../access/snippets.js'
import { type Context, withOrigin } from '../../context.js'
import { heldTexts, namespaces, projects, users } from '../../db/schema/index.js'
import { Failure, notFound, refused } from '../../failures.js'
import { createSnippet, type SnippetInput } from '../content/snippets.js'
import { audit } from '../core/audit.js'
import { limits, type Page, type Paging } from '../core/page.js'
import { type HeldText, teachFilter } from '../core/spam-filter.js'
import { findActiveUser } from '../identity/acting-users.js'
import { type UserRefRecord, userRefColumns } from '../identity/user-ref.js'
import { createIssue, type NewIssue } from '../issuables/issues/create.js'
import { aboutCommit, aboutIssue, aboutMergeRequest, aboutSnippet, type NoteableSubject } from '../notes/noteables.js'
import { createNote, type ThreadColumns } from '../notes/write.js'

/** Characters of a text that lists show. */
const MAX_SHOWN = 2_000

export interface HeldRecord extends Pick<HeldText, 'id' | 'kind' | 'noteable_type' | 'address' | 'user_agent' | 'created_at'> {
  /** The beginning of the text. */
  text: string
  /** Whether there is more of it. */
  cut: boolean
  author: UserRefRecord & { created_at: Date }
  /** The full path of the project; null for a personal snippet. */
  project: string | null
}

/** The texts that wait for an administrator, the oldest last (WB-202). */
export async function listHeldTexts({ db }: Context, paging: Paging): Promise<Page<HeldRecord>> {
  const { limit, offset } = limits(paging)
  const { id, kind, noteable_type, address, user_agent, created_at, text } = heldTexts
  const [rows, total] = await Promise.all([
    db.write
      .select({
        ...{ id, kind, noteable_type, address, user_agent, created_at },
        text: sql<string>`left(${text}, ${MAX_SHOWN})`,
        cut: sql<boolean>`length(${text}) > ${MAX_SHOWN}`,
        author: { ...userRefColumns(users), created_at: users.created_at },
        namespace: namespaces.full_path,
        path: projects.path,
      })
      .from(heldTexts)
      .innerJoin(users, eq(users.id, heldTexts.user_id))
      .leftJoin(projects, eq(projects.id, heldTexts.project_id))
      .leftJoin(namespaces, eq(namespaces.id, projects.namespace_id))
      .orderBy(desc(heldTexts.id))
      .limit(limit)
      .offset(offset),
    db.write.$count(heldTexts),
  ])
  return { items: rows.map(({ namespace, path, ...row }) => ({ ...row, project: namespace === null ? null : `${namespace}/${path}` })), total }
}

/** Publishes a held text as its author, and tells the filter that it was wrong. */
export async function releaseText(ctx: Context, id: number): Promise<void> {
  const held = await take(ctx, id, 'held_text_released')
  try {
    const author = await findActiveUser(ctx, held.user_id)
    if (!author) throw refused('Its author is blocked')
    const { address, user_agent: userAgent } = held
    const origin = { caller: author, address, userAgent, requestId: ctx.origin?.requestId ?? '', released: true }
    await publish(withOrigin(ctx, origin), author, held)
  } catch (error) {
    // it waits again, to be removed or tried later
    await ctx.db.write.insert(heldTexts).overridingSystemValue().values(held)
    if (error instanceof Failure && (error.kind === 'not_found' || error.kind === 'forbidden')) throw refused('Its author may no longer write it')
    throw error
  }
  await teachFilter(ctx, held, false)
}

/** Removes a held text, and tells the filter that it was right. */
export async function removeText(ctx: Context, id: number): Promise<void> {
  await teachFilter(ctx, await take(ctx, id, 'held_text_removed'), true)
}

/** Takes a text out of those that wait, so that nobody else decides about it, too. */
const take = (ctx: Context, id: number, action: 'held_text_released' | 'held_text_removed'): Promise<HeldText> =>
  ctx.db.transaction(async (tx) => {
    const [held] = await tx.delete(heldTexts).where(eq(heldTexts.id, id)).returning()
    if (!held) throw notFound('Held Text')
    const [author] = await tx.select({ username: users.username }).from(users).where(eq(users.id, held.user_id))
    await audit(ctx, tx, { action, target: { type: 'user', id: held.user_id, name: author?.username ?? '' }, changes: { kind: held.kind } })
    return held
  })

async function publish(ctx: Context, author: SignedIn, { kind, project_id, noteable_type, data }: HeldText): Promise<void> {
  const id = String(project_id)
  if (kind === 'issue') {
    const subject = await onProjectSignedIn('create_issue').find(ctx, author, { id })
    await createIssue(ctx, author, subject, data as NewIssue)
  } else if (kind === 'snippet') {
    const subject = project_id === null ? null : await onProjectSignedIn('create_snippet').find(ctx, author, { id })
    await createSnippet(ctx, author, subject, data as SnippetInput & { title: string })
  } else {
    const { body, thread, at } = data as { body: string; thread: ThreadColumns; at: number | string }
    await createNote(ctx, author, await noteableOf(ctx, author, { type: noteable_type, id, at: String(at) }), { body }, thread)
  }
}

async function noteableOf(
  ctx: Context,
  author: SignedIn,
  { type, id, at }: { type: HeldText['noteable_type']; id: string; at: string },
): Promise<NoteableSubject> {
  switch (type) {
    case 'Issue':
      return aboutIssue(await onIssueSignedIn('create_note').find(ctx, author, { id, issue_iid: at }))
    case 'MergeRequest':
      return aboutMergeRequest(await onMergeRequest('create_note').find(ctx, author, { id, merge_request_iid: at }))
    case 'Snippet':
      return aboutSnippet(await onSnippetSignedIn('create_note').find(ctx, author, { id, snippet_id: at }))
    default:
      return aboutCommit(ctx, await onProjectSignedIn('comment_on_commit').find(ctx, author, { id }), at)
  }
}
