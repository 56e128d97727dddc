import { sql } from 'drizzle-orm'
import { bigint, boolean, check, index, integer, jsonb, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { VERDICTS } from '../../rules/reviews/states.js'
import { id, moment, ref } from './columns.js'
import { mergeRequests, mergeRequestVersions } from './merge-requests.js'
import { notes, type Position } from './notes.js'
import { users } from './users.js'

/** A note of a review that its author has not sent yet (WB-96): the start of a thread, or a reply. */
export const draftNotes = pgTable(
  'draft_notes',
  {
    id: id(),
    /** The merge request's project; the row is deleted with the merge request. */
    project_id: ref().notNull(),
    merge_request_id: ref()
      .notNull()
      .references(() => mergeRequests.id, { onDelete: 'cascade' }),
    author_id: ref()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    note: text().notNull(),
    /** The thread that it answers; null: it starts one. */
    discussion_id: text(),
    /** What sending it does with the thread that it answers: resolves it, or reopens it; null: neither. */
    resolve_discussion: boolean(),
    position: jsonb().$type<Position>(),
    path: text(),
    line: integer(),
    line_type: text({ enum: ['new', 'old'] }),
    excerpt: text(),
    /** Set while it is being sent. */
    sending_since: moment(),
    created_at: moment().notNull(),
    updated_at: moment().notNull(),
  },
  (t) => [
    index('draft_notes_merge_request_id_idx').on(t.merge_request_id, t.author_id, t.id),
    index('draft_notes_author_id_idx').on(t.author_id),
    check('draft_notes_thread_or_position', sql`${t.discussion_id} is null or ${t.position} is null`),
  ],
)

/** A change of lines that a note on a merge request suggests (WB-100). */
export const suggestions = pgTable(
  'suggestions',
  {
    id: id(),
    /** The project of the note; the row is deleted with the note. */
    project_id: ref().notNull(),
    note_id: ref()
      .notNull()
      .references(() => notes.id, { onDelete: 'cascade' }),
    /** Its place among those of the note, from 0. */
    place: integer().notNull(),
    /** Lines before and after that of the note which it replaces, too. */
    lines_above: integer().notNull(),
    lines_below: integer().notNull(),
    content: text().notNull(),
    applied_at: moment(),
    commit_id: text(),
  },
  (t) => [index('suggestions_note_id_idx').on(t.note_id, t.place)],
)

/** A file of a merge request that a user has marked as viewed, with a digest of its change at that time (WB-94). */
export const viewedFiles = pgTable(
  'viewed_files',
  {
    merge_request_id: ref()
      .notNull()
      .references(() => mergeRequests.id, { onDelete: 'cascade' }),
    user_id: ref()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    /** The digest of the path. */
    file: text().notNull(),
    change: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.merge_request_id, t.user_id, t.file] }), index('viewed_files_user_id_idx').on(t.user_id)],
)

/** The newest version of a merge request whose changes a user has seen (WB-95). */
export const seenVersions = pgTable(
  'seen_versions',
  {
    merge_request_id: ref()
      .notNull()
      .references(() => mergeRequests.id, { onDelete: 'cascade' }),
    user_id: ref()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    version_id: ref()
      .notNull()
      .references(() => mergeRequestVersions.id, { onDelete: 'cascade' }),
  },
  (t) => [
    primaryKey({ columns: [t.merge_request_id, t.user_id] }),
    index('seen_versions_user_id_idx').on(t.user_id),
    index('seen_versions_version_id_idx').on(t.version_id),
  ],
)

/** A form that was sent, so that sending it again does nothing (WB-90). */
export const sentForms = pgTable(
  'sent_forms',
  {
    user_id: ref()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    /** Made with the form. */
    key: text().notNull(),
    /** Where it led; null while it is being worked on. */
    location: text(),
    sent_at: moment().notNull(),
  },
  (t) => [primaryKey({ columns: [t.user_id, t.key] }), index('sent_forms_sent_at_idx').on(t.sent_at)],
)

/** The newest review of each user who has submitted one (MR-600). */
export const mergeRequestReviews = pgTable(
  'merge_request_reviews',
  {
    /** The merge request's project; the row is deleted with the merge request. */
    project_id: ref().notNull(),
    merge_request_id: ref()
      .notNull()
      .references(() => mergeRequests.id, { onDelete: 'cascade' }),
    user_id: ref()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    state: text({ enum: ['reviewed', 'requested_changes'] }).notNull(),
    /** What the review said, which its mail names: an approval is stored apart. */
    verdict: text({ enum: VERDICTS }).notNull(),
    /** The head that it was about. */
    sha: text(),
    /** Its notes, in their order. */
    note_ids: bigint({ mode: 'number' }).array().notNull(),
    submitted_at: moment().notNull(),
  },
  (t) => [primaryKey({ columns: [t.merge_request_id, t.user_id] }), index('merge_request_reviews_user_id_idx').on(t.user_id, t.merge_request_id)],
)
