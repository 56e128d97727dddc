import { sql } from 'drizzle-orm'
import { check, index, jsonb, pgTable, text } from 'drizzle-orm/pg-core'
import { id, moment, ref } from './columns.js'
import { projects } from './projects.js'
import { users } from './users.js'

/**
 * The names by which lists of events are filtered; the entity's `actionName` turns them into the names shown (EV-5).
 */
export const EVENT_ACTIONS = [
  'created',
  'updated',
  'closed',
  'reopened',
  'pushed',
  'commented',
  'merged',
  'joined',
  'left',
  'destroyed',
  'expired',
] as const

export const EVENT_TARGETS = ['Issue', 'MergeRequest', 'Milestone', 'Note', 'DiffNote', 'DiscussionNote', 'Snippet', 'Project', 'User'] as const

/** What only some of those who see a project see there: code, and things that may be hidden. */
export const EVENT_SUBJECTS = ['Commit', 'Issue', 'MergeRequest', 'Snippet'] as const

/** What moved in a push, and how many commits it brought; `commit_title` is null when the ref is gone. */
export interface PushData {
  commit_count: number
  action: 'created' | 'removed' | 'pushed'
  ref_type: 'branch' | 'tag'
  commit_from: string | null
  commit_to: string | null
  ref: string
  commit_title: string | null
}

/** An event of a project; never changed, and removed when it is old. */
export const events = pgTable(
  'events',
  {
    id: id(),
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    author_id: ref()
      .notNull()
      .references(() => users.id),
    action: text({ enum: EVENT_ACTIONS }).notNull(),
    target_type: text({ enum: EVENT_TARGETS }),
    target_id: ref(),
    /** Only for targets whose title never changes, such as commits. */
    target_title: text(),
    push: jsonb().$type<PushData>(),
    /** What the event, or the note it tells of, is about: it is shown to those who see that (EV-4). Null: to all. */
    about_type: text({ enum: EVENT_SUBJECTS }),
    /** Null for a commit. */
    about_id: ref(),
    created_at: moment().notNull(),
  },
  (t) => [
    check('events_push_data', sql`(${t.action} = 'pushed') = (${t.push} is not null)`),
    check(
      'events_about',
      sql`case when ${t.action} = 'pushed' then ${t.about_type} is not distinct from 'Commit'
        when ${t.target_type} in ('Issue', 'MergeRequest', 'Snippet') then (${t.about_type}, ${t.about_id}) is not distinct from (${t.target_type}, ${t.target_id})
        else true end`,
    ),
    // lists are counted from these indexes alone
    index('events_project_id_created_at_idx').on(t.project_id, t.created_at, t.id, t.about_type, t.about_id),
    index('events_target_idx').on(t.target_type, t.target_id).where(sql`${t.target_id} is not null`),
    index('events_author_id_created_at_idx').on(t.author_id, t.created_at, t.id, t.project_id, t.about_type, t.about_id),
  ],
)
