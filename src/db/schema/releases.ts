import { sql } from 'drizzle-orm'
import { bigint, index, jsonb, pgTable, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { PACKAGE_TYPES } from '../../rules/packages/types.js'
import { id, moment, ref } from './columns.js'
import { milestones } from './issues.js'
import { pipelines } from './pipelines.js'
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

/** The versions of the packages of projects (PK-1). */
export const packages = pgTable(
  'packages',
  {
    id: id(),
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    type: text({ enum: PACKAGE_TYPES }).notNull(),
    name: text().notNull(),
    /** Empty: the files of Maven that belong to no version. */
    version: text().notNull(),
    /** Lists do not have what is hidden. */
    status: text({ enum: ['default', 'hidden'] })
      .notNull()
      .default('default'),
    /** What its format says about the version besides its files, such as what it depends on. */
    metadata: jsonb().$type<Record<string, unknown>>().notNull().default({}),
    creator_id: ref().references(() => users.id, { onDelete: 'set null' }),
    /** The pipeline of the job that published it. */
    pipeline_id: ref().references(() => pipelines.id, { onDelete: 'set null' }),
    created_at: moment().notNull().defaultNow(),
    updated_at: moment().notNull().defaultNow(),
  },
  (t) => [
    uniqueIndex('packages_project_id_type_name_version_key').on(t.project_id, t.type, t.name, t.version),
    index('packages_project_id_created_at_idx').on(t.project_id, t.created_at, t.id),
    index('packages_type_name_idx').on(t.type, t.name),
    // names of Python packages that mean the same (PK-30)
    index('packages_pypi_name_idx').on(sql`lower(regexp_replace(${t.name}, '[-_.]+', '-', 'g'))`, t.project_id).where(sql`${t.type} = 'pypi'`),
    // and of NuGet (PK-82)
    index('packages_nuget_name_idx').on(sql`lower(${t.name})`, t.project_id).where(sql`${t.type} = 'nuget'`),
    index('packages_creator_id_idx').on(t.creator_id),
    index('packages_pipeline_id_idx').on(t.pipeline_id),
  ],
)

/** The files of packages. Several may have one name: the newest counts (PK-4). */
export const packageFiles = pgTable(
  'package_files',
  {
    id: id(),
    package_id: ref()
      .notNull()
      .references(() => packages.id, { onDelete: 'cascade' }),
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    file_name: text().notNull(),
    size: bigint({ mode: 'number' }).notNull(),
    /** The SHA-256 of its bytes, in hex: its name in the store. */
    oid: text().notNull(),
    md5: text(),
    sha1: text(),
    sha512: text(),
    created_at: moment().notNull().defaultNow(),
  },
  (t) => [
    index('package_files_package_id_idx').on(t.package_id, t.file_name, t.id),
    index('package_files_project_id_idx').on(t.project_id),
    index('package_files_oid_idx').on(t.oid),
  ],
)

/** The dist-tags of npm packages, each on one version (PK-22). */
export const packageTags = pgTable(
  'package_tags',
  {
    id: id(),
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    package_id: ref()
      .notNull()
      .references(() => packages.id, { onDelete: 'cascade' }),
    /** The name of the package, among whose versions a tag is on one. */
    package_name: text().notNull(),
    name: text().notNull(),
  },
  (t) => [
    uniqueIndex('package_tags_project_id_package_name_name_key').on(t.project_id, t.package_name, t.name),
    index('package_tags_package_id_idx').on(t.package_id),
  ],
)
