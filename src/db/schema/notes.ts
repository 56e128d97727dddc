import { sql } from 'drizzle-orm'
import { boolean, check, index, integer, jsonb, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { id, moment, ref } from './columns.js'
import { projects } from './projects.js'
import { users } from './users.js'

/** What notes can be attached to. */
export const NOTEABLES = ['Commit', 'Issue', 'MergeRequest', 'Snippet'] as const
/** What can mention another item, which then gets a system note. */
export const MENTIONERS = ['Commit', 'Issue', 'MergeRequest'] as const

/** The first or last line of a range (DI-11). */
export interface LinePoint {
  line_code: string
  /** Null for an unchanged line. */
  type: 'old' | 'new' | null
  old_line: number | null
  new_line: number | null
}

/**
 * A line in the diff of two commits: added with `new_line` only, removed with `old_line` only, unchanged with both; the
 * last of a range; a whole file; or a point of a picture (DI-10 to DI-12).
 */
export interface Position {
  base_sha: string
  start_sha: string
  head_sha: string
  position_type: 'text' | 'file' | 'image'
  old_path: string
  new_path: string
  old_line: number | null
  new_line: number | null
  line_range?: { start: LinePoint; end: LinePoint }
  /** Of pictures. */
  width?: number
  height?: number
  x?: number
  y?: number
}

/** Forty random hex digits. */
const newDiscussion = sql`left(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 40)`

/** A note on an item of a project: on a commit by its SHA, on anything else by its id. */
export const notes = pgTable(
  'notes',
  {
    id: id(),
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    noteable_type: text({ enum: NOTEABLES }).notNull(),
    /** Null for a commit. */
    noteable_id: ref(),
    commit_id: text(),
    author_id: ref()
      .notNull()
      .references(() => users.id),
    note: text().notNull(),
    /** Whether it is a system note. */
    system: boolean().notNull().default(false),
    /** Null for an individual note, which has no replies (DI-5). */
    type: text({ enum: ['DiscussionNote', 'DiffNote'] }),
    /**
     * Shared by the notes of a thread. A moved issue keeps the ids of its discussions, so they are unique for one
     * noteable only.
     */
    discussion_id: text().notNull().default(newDiscussion),
    /** The position of a `DiffNote`. */
    position: jsonb().$type<Position>(),
    resolved_at: moment(),
    resolved_by_id: ref().references(() => users.id, { onDelete: 'set null' }),
    /** The position of a comment on a diff line as lists of comments show it (C-60); an unchanged line has no type. */
    path: text(),
    line: integer(),
    line_type: text({ enum: ['new', 'old'] }),
    /** The line of a `DiffNote` and those before it, as the diff had them: what it was about once the diff has moved on. */
    excerpt: text(),
    /** Whether it is part of a review that is being sent, whose mail has it (ML-600). */
    in_review: boolean().notNull().default(false),
    /**
     * For a cross-reference note, the item that contains the mention: only users who can see that item see the note
     * (SEC-35).
     */
    mentioned_in_type: text({ enum: MENTIONERS }),
    mentioned_in_project_id: ref().references(() => projects.id, { onDelete: 'cascade' }),
    /** Null for a commit. */
    mentioned_in_id: ref(),
    mentioned_in_sha: text(),
    created_at: moment().notNull().defaultNow(),
    updated_at: moment().notNull().defaultNow(),
  },
  (t) => [
    check('notes_one_noteable', sql`case ${t.noteable_type} when 'Commit' then ${t.commit_id} is not null else ${t.noteable_id} is not null end`),
    check('notes_whole_place', sql`num_nulls(${t.path}, ${t.line}) in (0, 2) and (${t.line_type} is null or ${t.path} is not null)`),
    index('notes_project_id_commit_id_idx').on(t.project_id, t.commit_id, t.created_at, t.id).where(sql`${t.noteable_type} = 'Commit'`),
    index('notes_noteable_idx').on(t.project_id, t.noteable_type, t.noteable_id, t.created_at, t.id),
    check('notes_type_of_position', sql`(${t.position} is not null) = (${t.type} is not distinct from 'DiffNote')`),
    index('notes_unresolved_idx')
      .on(t.project_id, t.noteable_id, t.discussion_id)
      .where(sql`${t.noteable_type} = 'MergeRequest' and ${t.type} is not null and ${t.resolved_at} is null`),
    index('notes_resolved_by_id_idx').on(t.resolved_by_id).where(sql`${t.resolved_by_id} is not null`),
    index('notes_author_id_idx').on(t.author_id),
    check(
      'notes_whole_mention',
      sql`case when ${t.mentioned_in_type} is null then ${t.mentioned_in_project_id} is null
        else ${t.system} and ${t.mentioned_in_project_id} is not null and num_nonnulls(${t.mentioned_in_id}, ${t.mentioned_in_sha}) = 1 end`,
    ),
    uniqueIndex('notes_mention_key')
      .on(
        t.mentioned_in_project_id,
        t.mentioned_in_type,
        sql`coalesce(${t.mentioned_in_id}, 0)`,
        sql`coalesce(${t.mentioned_in_sha}, '')`,
        t.noteable_type,
        t.noteable_id,
      )
      .where(sql`${t.mentioned_in_project_id} is not null`),
    index('notes_system_idx').on(t.project_id, t.noteable_type, t.noteable_id).where(sql`${t.system} and ${t.noteable_id} is not null`),
    index('notes_project_id_created_at_idx').on(t.project_id, t.created_at, t.id).where(sql`not ${t.system}`),
  ],
)

/** What can be given an emoji. */
export const AWARDABLES = ['Issue', 'MergeRequest', 'Snippet', 'Note'] as const

/** An award emoji; each user can award each name once (AE-3). The code that deletes the target deletes these rows. */
export const awardEmoji = pgTable(
  'award_emoji',
  {
    id: id(),
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    awardable_type: text({ enum: AWARDABLES }).notNull(),
    awardable_id: ref().notNull(),
    user_id: ref()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    created_at: moment().notNull(),
    updated_at: moment().notNull(),
  },
  (t) => [
    uniqueIndex('award_emoji_key').on(t.project_id, t.awardable_type, t.awardable_id, t.name, t.user_id),
    index('award_emoji_user_id_idx').on(t.user_id, t.awardable_type, t.name, t.awardable_id),
  ],
)
