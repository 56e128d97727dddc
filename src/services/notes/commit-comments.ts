import { and, asc, eq, sql } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { totalCount } from '../../db/decoded.js'
import { completeTexts, LONG_TEXTS, prefixOf } from '../../db/long-text.js'
import { notes, users } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { type Page, type Paging, pageFrom } from '../core/page.js'
import type { UserRefRecord } from '../identity/user-ref.js'
import { getCommit } from '../repository/commits/read.js'
import { aboutCommit, type NoteableSubject } from './noteables.js'
import { commitRange, threadAtLine } from './positions.js'
import { checkBody, createNote, type ThreadColumns } from './write.js'

const selectComments = statement('comments on a commit', (db) =>
  db
    .select({
      id: notes.id,
      note: prefixOf(notes.note),
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
      total: totalCount(),
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
export type CommitCommentRecord = Omit<Awaited<ReturnType<ReturnType<typeof selectComments>['execute']>>[number], 'id' | 'total'>

/** The comments on the commit in this project, oldest first (C-58). */
export async function listCommitComments(
  ctx: Context,
  subject: ProjectSubject,
  { sha, ...paging }: { sha: string } & Paging,
): Promise<Page<CommitCommentRecord>> {
  const { oid } = await getCommit(ctx, subject, sha)
  const page = await pageFrom(selectComments(ctx.db, null), { project: subject.project.id, commit: oid }, paging)
  await completeTexts(ctx, LONG_TEXTS.notes, page.items, 'page')
  return page
}

export interface NewCommitComment {
  sha: string
  note: string
  path?: string | undefined
  /** Null if the parameter is not a number. */
  line?: number | null | undefined
  line_type?: 'new' | 'old' | undefined
}

/**
 * Comments on a commit. If the given line is part of the commit's diff, the comment starts a thread there (C-59 to
 * C-61).
 */
export async function createCommitComment(
  ctx: Context,
  subject: ProjectSubject,
  caller: SignedIn,
  { sha, note, ...given }: NewCommitComment,
): Promise<Omit<CommitCommentRecord, 'author'> & { author: UserRefRecord }> {
  const about = await aboutCommit(ctx, subject, sha)
  checkBody(note)
  const thread = await threadFor(ctx, about, given)
  const { note: row, author } = await createNote(ctx, caller, about, { body: note }, thread)
  const { path, line, line_type, created_at } = row
  return { note, path, line, line_type, created_at, author }
}

/** A thread at the line, if path, line and side are given and the commit's diff has the line (C-60). */
function threadFor(
  ctx: Context,
  about: NoteableSubject,
  { path, line, line_type }: Omit<NewCommitComment, 'sha' | 'note'>,
): Promise<ThreadColumns | undefined> {
  if (!path || !line || line < 1 || line_type === undefined) return Promise.resolve(undefined)
  const lines = line_type === 'new' ? { old_line: null, new_line: line } : { old_line: line, new_line: null }
  return threadAtLine(ctx, about, commitRange(about), { ...lines, new_path: path })
}
