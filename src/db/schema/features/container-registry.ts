import { bigint, index, pgTable, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { bytea, id, moment, ref } from '../columns.js'
import { projects } from '../projects.js'

/** The repositories of container images of a project (OCI-1). */
export const containerRepositories = pgTable(
  'container_repositories',
  {
    id: id(),
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    /** What follows the path of the project, without its slash; empty for the image that has the name of the project. */
    name: text().notNull(),
    created_at: moment().notNull().defaultNow(),
  },
  (t) => [uniqueIndex('container_repositories_project_id_name_key').on(t.project_id, t.name)],
)

const repository = () =>
  ref()
    .notNull()
    .references(() => containerRepositories.id, { onDelete: 'cascade' })

/** The layers and configurations that a repository has; their bytes are in the store of packages. */
export const containerBlobs = pgTable(
  'container_blobs',
  {
    repository_id: repository(),
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    /** SHA-256 in hex. */
    oid: text().notNull(),
    size: bigint({ mode: 'number' }).notNull(),
    created_at: moment().notNull().defaultNow(),
  },
  (t) => [
    primaryKey({ columns: [t.repository_id, t.oid] }),
    index('container_blobs_oid_idx').on(t.oid),
    index('container_blobs_project_id_idx').on(t.project_id, t.oid),
  ],
)

/** Manifests of images, indexes of images and other artifacts. */
export const containerManifests = pgTable(
  'container_manifests',
  {
    id: id(),
    repository_id: repository(),
    /** SHA-256 of `content`, in hex. */
    oid: text().notNull(),
    media_type: text().notNull(),
    content: bytea().notNull(),
    /** SHA-256 of the configuration; null for an index. */
    config: text(),
    /** Bytes of the configuration and layers. */
    total_size: bigint({ mode: 'number' }).notNull(),
    /** SHA-256 of the manifest that it is about, such as the one that it signs. */
    subject: text(),
    artifact_type: text(),
    created_at: moment().notNull().defaultNow(),
  },
  (t) => [
    uniqueIndex('container_manifests_repository_id_oid_key').on(t.repository_id, t.oid),
    index('container_manifests_repository_id_subject_idx').on(t.repository_id, t.subject),
  ],
)

/** The blobs that manifests need: others are removed after a while. */
export const containerReferences = pgTable(
  'container_references',
  {
    manifest_id: ref()
      .notNull()
      .references(() => containerManifests.id, { onDelete: 'cascade' }),
    oid: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.manifest_id, t.oid] }), index('container_references_oid_idx').on(t.oid)],
)

export const containerTags = pgTable(
  'container_tags',
  {
    repository_id: repository(),
    name: text().notNull(),
    manifest_id: ref()
      .notNull()
      .references(() => containerManifests.id, { onDelete: 'cascade' }),
    created_at: moment().notNull().defaultNow(),
    updated_at: moment().notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.repository_id, t.name] }), index('container_tags_manifest_id_idx').on(t.manifest_id)],
)
