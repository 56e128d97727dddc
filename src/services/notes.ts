import { and, asc, eq, sql } from 'drizzle-orm'
import type { SignedIn } from '../access/actor.js'
import type { ProjectSubject } from '../access/rules.js'
import type { Context } from '../context.js'
import { notes, users } from '../db/schema/index.js'
import { statement } from '../db/statement.js'
import { failedTo } from '../failures.js'
import type { Commit } from '../git/types.js'
import { titleOf } from '../lib/commit-title.js'
import { lengthOf, tooLong } from '../lib/path.js'
import { findCommit } from './commits/read.js'
import { recordEvent } from './events.js'
import { limits, type Page, type Paging, pageFrom } from './page.js'
import { repositoryOf } from './repositories.js'

const comments = statement('comments on a commit', (db) =>
  db
    .select({
      note: notes.note,
      path: notes.path,
      line: notes.line,
      line_type: notes.line_type,
      created_at: notes.created_at,
      author: {
        id: users.id,
        name: users.name,
        username: users.username,
        state: users.state,
        avatar: users.avatar,
        email: users.email,
        created_at: users.created_at,
      },
      total: sql<number>`count(*) over ()`.mapWith(Number),
    })
    .from(notes)
    .innerJoin(users, eq(users.id, notes.author_id))
    .where(
      and(eq(notes.project_id, sql.placeholder('project')), eq(notes.commit_id, sql.placeholder('commit')), eq(notes.noteable_type, sql`'Commit'`)),
    )
    .orderBy(asc(notes.created_at), asc(notes.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset')),
)

/** A comment on a commit, with its author. */
export type CommitCommentRecord = Omit<Awaited<ReturnType<ReturnType<typeof comments>['execute']>>[number], 'total'>

/** C-58: what was said of the commit in this project, oldest first. */
export async function listCommitComments(
  ctx: Context,
  subject: ProjectSubject,
  { sha, ...paging }: { sha: string } & Paging,
): Promise<Page<CommitCommentRecord>> {
  const { oid } = await findCommit(ctx, subject, sha)
  const run = (at: Paging) => comments(ctx.db, null).execute({ project: subject.project.id, commit: oid, ...limits(at) })
  return pageFrom(await run(paging), paging, () => run({ page: 1, per_page: 1 }))
}

/** SEC-63. */
const MAX_NOTE = 1_000_000

export interface NewCommitComment {
  sha: string
  note: string
  path?: string | undefined
  line?: number | undefined
  line_type?: 'new' | 'old' | undefined
}

/** Comments on the commit that the text names, at a line of its difference if there is such a line (C-59 to C-61). */
export async function createCommitComment(
  ctx: Context,
  subject: ProjectSubject,
  caller: SignedIn,
  { sha, note, ...wish }: NewCommitComment,
): Promise<CommitCommentRecord> {
  const commit = await findCommit(ctx, subject, sha)
  const faults = [...(note.trim() === '' ? ["can't be blank"] : []), ...(lengthOf(note) > MAX_NOTE ? [tooLong(MAX_NOTE)] : [])]
  if (faults.length > 0) throw failedTo('save note', { note: faults })
  const place = await placeOf(ctx, subject, commit, wish)
  const { id: author_id } = caller.user
  const project_id = subject.project.id
  return ctx.db.transaction(async (tx) => {
    const created_at = ctx.now()
    const values = {
      project_id,
      noteable_type: 'Commit' as const,
      commit_id: commit.oid,
      author_id,
      note,
      ...place,
      created_at,
      updated_at: created_at,
    }
    const [row] = await tx.insert(notes).values(values).returning({ id: notes.id })
    const target_title = titleOf(commit.message).replaceAll('\0', '\ufffd')
    await recordEvent(tx, { project_id, author_id, action: 'commented', target_type: 'Note', target_id: row?.id, target_title, created_at })
    const [author] = await tx.select().from(users).where(eq(users.id, author_id))
    return { note, ...place, created_at, author: author as typeof users.$inferSelect }
  })
}

type Place = Pick<CommitCommentRecord, 'path' | 'line' | 'line_type'>

const NOWHERE: Place = { path: null, line: null, line_type: null }

/** C-60: the place, if all of it was given and the commit's difference has it. */
async function placeOf(
  ctx: Context,
  { project }: ProjectSubject,
  commit: Commit,
  { path, line, line_type }: Omit<NewCommitComment, 'sha' | 'note'>,
): Promise<Place> {
  if (!path || line === undefined || line < 1 || line_type === undefined) return NOWHERE
  const at = { path, line, side: line_type }
  return (await repositoryOf(ctx, project).isChangedLine(commit.parents[0] ?? null, commit.oid, at)) ? { path, line, line_type } : NOWHERE
}
