import { sql } from 'drizzle-orm'
import { index, pgTable, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { id, moment, ref } from './columns.js'
import { milestones } from './issues.js'
import { projects } from './projects.js'
import { users } from './users.js'

/** A release of a tag; without a name it is a release note (TG-5). */
export const releases = pgTable(
  'releases',
  {
    id: id(),
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    tag: text().notNull(),
    /** Null if it is the name of the tag. */
    name: text(),
    description: text().notNull(),
    /** The rendered description, updated with the description. */
    description_html: text().notNull(),
    author_id: ref()
      .notNull()
      .references(() => users.id),
    released_at: moment().notNull(),
    created_at: moment().notNull(),
    updated_at: moment().notNull(),
  },
  (t) => [
    uniqueIndex('releases_project_id_tag_key').on(t.project_id, t.tag),
    index('releases_project_id_released_at_idx').on(t.project_id, t.released_at, t.id),
    index('releases_project_id_created_at_idx').on(t.project_id, t.created_at, t.id),
    index('releases_author_id_idx').on(t.author_id),
  ],
)

/** A link of a release. */
export const releaseLinks = pgTable(
  'release_links',
  {
    id: id(),
    release_id: ref()
      .notNull()
      .references(() => releases.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    url: text().notNull(),
    /** A permanent path of the file below the release; starts with `/`. */
    filepath: text(),
    link_type: text({ enum: ['other', 'runbook', 'image', 'package'] }).notNull(),
    created_at: moment().notNull(),
  },
  (t) => [
    uniqueIndex('release_links_release_id_name_key').on(t.release_id, t.name),
    // over a digest, because a URL may be longer than an index entry allows
    uniqueIndex('release_links_release_id_url_key').on(t.release_id, sql`md5(${t.url})`),
    uniqueIndex('release_links_release_id_filepath_key').on(t.release_id, t.filepath).where(sql`${t.filepath} is not null`),
  ],
)

/** Milestones of a release. */
export const releaseMilestones = pgTable(
  'release_milestones',
  {
    release_id: ref()
      .notNull()
      .references(() => releases.id, { onDelete: 'cascade' }),
    milestone_id: ref()
      .notNull()
      .references(() => milestones.id, { onDelete: 'cascade' }),
  },
  (t) => [primaryKey({ columns: [t.release_id, t.milestone_id] }), index('release_milestones_milestone_id_idx').on(t.milestone_id)],
)
