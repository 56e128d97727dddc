import { and, asc, desc, eq, inArray, sql } from 'drizzle-orm'
import type { Viewer } from '../../access/actor.js'
import { fullPathOf, type GroupSubject, getProjectFor, type ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { decoded, totalCount } from '../../db/decoded.js'
import { onlyRow } from '../../db/only-row.js'
import { containerManifests, containerRepositories, containerTags, namespaceAncestry, namespaces, projects } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { notFound, nullOnFailure, refused } from '../../failures.js'
import { Turn } from '../../lib/async/yield.js'
import { audit } from '../core/audit.js'
import { lockName } from '../core/lock-name.js'
import { type Page, type Paging, pageFrom } from '../core/page.js'
import { type ReachShape, reachOf, reachValues, readableBy } from '../packages/caller.js'

export type Repository = typeof containerRepositories.$inferSelect

/** The most repositories of a project (OCI-8). */
const MAX_REPOSITORIES = 1_000

/** The repository of a project with a name; null if nothing was pushed to it. */
export async function findRepository(ctx: Context, { project }: ProjectSubject, name: string): Promise<Repository | null> {
  const [found] = await ctx.db.write
    .select()
    .from(containerRepositories)
    .where(and(eq(containerRepositories.project_id, project.id), eq(containerRepositories.name, name)))
  return found ?? null
}

/** The same, which is made by the first push. */
export async function ensureRepository(ctx: Context, subject: ProjectSubject, name: string): Promise<Repository> {
  const found = await findRepository(ctx, subject, name)
  if (found) return found
  return ctx.db.transaction(async (tx) => {
    await lockName(tx, `container repositories ${subject.project.id}`)
    const key = eq(containerRepositories.project_id, subject.project.id)
    const [made] = await tx
      .select()
      .from(containerRepositories)
      .where(and(key, eq(containerRepositories.name, name)))
    if (made) return made
    if ((await tx.$count(containerRepositories, key)) >= MAX_REPOSITORIES)
      throw refused(`A project may have ${MAX_REPOSITORIES} repositories of images`)
    return onlyRow(await tx.insert(containerRepositories).values({ project_id: subject.project.id, name, created_at: ctx.now() }).returning())
  })
}

/** A repository with the number of its tags, and the path of its project. */
export interface RepositoryRecord extends Repository {
  tags_count: number
  fullPath: string
}

interface Shape {
  by: 'project' | 'group' | 'id'
  reach: ReachShape | null
}

const selectRepositories = statement('container repositories', (db, { by, reach }: Shape) => {
  const where =
    by === 'project'
      ? eq(containerRepositories.project_id, sql.placeholder('of'))
      : by === 'id'
        ? eq(containerRepositories.id, sql.placeholder('of'))
        : and(
            sql`${projects.namespace_id} in (select a.descendant_id from ${namespaceAncestry} a where a.ancestor_id = ${sql.placeholder('of')}::bigint)`,
            reach ? readableBy(reach, 'images') : sql`true`,
          )
  return db
    .select({
      repository: containerRepositories,
      tags_count: decoded(sql<number>`(select count(*) from ${containerTags} t where t.repository_id = ${containerRepositories.id})`, Number),
      path: projects.path,
      full_path: namespaces.full_path,
      total: totalCount(),
    })
    .from(containerRepositories)
    .innerJoin(projects, eq(projects.id, containerRepositories.project_id))
    .innerJoin(namespaces, eq(namespaces.id, projects.namespace_id))
    .where(where)
    .orderBy(asc(namespaces.full_path), asc(projects.path), asc(containerRepositories.name), asc(containerRepositories.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset'))
})

async function listed(ctx: Context, shape: Shape, values: Record<string, unknown>, paging: Paging): Promise<Page<RepositoryRecord>> {
  const { items, total } = await pageFrom(selectRepositories(ctx.db, shape), values, paging)
  return {
    items: items.map(({ repository, tags_count, path, full_path }) => ({ ...repository, tags_count, fullPath: `${full_path}/${path}` })),
    total,
  }
}

/** The repositories of a project by name (OCI-20). */
export const listRepositories = (ctx: Context, { project }: ProjectSubject, paging: Paging): Promise<Page<RepositoryRecord>> =>
  listed(ctx, { by: 'project', reach: null }, { of: project.id }, paging)

/** Those of all projects in a group and below it whose images the caller may read. */
export const listGroupRepositories = (ctx: Context, caller: Viewer, { group }: GroupSubject, paging: Paging): Promise<Page<RepositoryRecord>> => {
  const who = { user: caller.user, ...(caller.job && { job: caller.job }) }
  return listed(ctx, { by: 'group', reach: reachOf(who) }, { of: group.id, ...reachValues(who) }, paging)
}

/** One by its id; 404 if there is none, or not in the project that is given. */
export async function getRepository(ctx: Context, id: number, subject?: ProjectSubject): Promise<RepositoryRecord> {
  const { items } = await listed(ctx, { by: 'id', reach: null }, { of: id }, { page: 1, per_page: 1 })
  const [found] = items
  if (!found || (subject && found.project_id !== subject.project.id)) throw notFound('Container Repository')
  return found
}

/** One by its id alone, for a caller who may read the images of its project; otherwise 404. */
export async function getVisibleRepository(ctx: Context, caller: Viewer, id: number): Promise<RepositoryRecord> {
  const found = await getRepository(ctx, id)
  const subject = await nullOnFailure(getProjectFor(ctx, caller, String(found.project_id)))
  if (!subject?.can('read_image')) throw notFound('Container Repository')
  return found
}

/** A tag with what it is of. */
export interface TagRecord {
  name: string
  created_at: Date
  updated_at: Date
  manifest: { oid: string; config: string | null; total_size: number }
}

const selectTags = statement('container tags', (db, by: 'all' | 'name') => {
  const ofRepository = eq(containerTags.repository_id, sql.placeholder('repository'))
  return db
    .select({
      name: containerTags.name,
      created_at: containerTags.created_at,
      updated_at: containerTags.updated_at,
      manifest: { oid: containerManifests.oid, config: containerManifests.config, total_size: containerManifests.total_size },
      total: totalCount(),
    })
    .from(containerTags)
    .innerJoin(containerManifests, eq(containerManifests.id, containerTags.manifest_id))
    .where(by === 'name' ? and(ofRepository, eq(containerTags.name, sql.placeholder('name'))) : ofRepository)
    .orderBy(sql`${containerTags.name} collate "C"`)
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset'))
})

export const listTags = (ctx: Context, repository: number, paging: Paging): Promise<Page<TagRecord>> =>
  pageFrom(selectTags(ctx.db, 'all'), { repository }, paging)

export async function getTag(ctx: Context, repository: number, name: string): Promise<TagRecord> {
  const { items } = await pageFrom(selectTags(ctx.db, 'name'), { repository, name }, { page: 1, per_page: 1 })
  if (!items[0]) throw notFound('Tag')
  return items[0]
}

/** The first tags of these repositories by name, `most` of each. */
export async function tagsOf(ctx: Context, ids: number[], most: number): Promise<Map<number, string[]>> {
  if (ids.length === 0) return new Map()
  const { rows } = await ctx.db.write.execute<{ id: string; names: string[] }>(sql`select r.id, array(
      select t.name from ${containerTags} t where t.repository_id = r.id order by t.name collate "C" limit ${most}) as names
    from ${containerRepositories} r where ${inArray(sql`r.id`, ids)}`)
  return new Map(rows.map(({ id, names }) => [Number(id), names]))
}

/** Names of tags after one, for clients of the registry. */
export async function tagNames(ctx: Context, repository: number, { after, limit }: { after: string; limit: number }): Promise<string[]> {
  const rows = await ctx.db.write
    .select({ name: containerTags.name })
    .from(containerTags)
    .where(and(eq(containerTags.repository_id, repository), sql`${containerTags.name} collate "C" > ${after}`))
    .orderBy(sql`${containerTags.name} collate "C"`)
    .limit(limit)
  return rows.map(({ name }) => name)
}

const targetOf = ({ project }: ProjectSubject) => ({ type: 'project' as const, id: project.id, name: fullPathOf(project) })

/** Removes a repository with all that is in it; bytes that nothing else has go later (OCI-9). */
export async function deleteRepository(ctx: Context, subject: ProjectSubject, id: number): Promise<void> {
  const { name } = await getRepository(ctx, id, subject)
  await ctx.db.transaction(async (tx) => {
    await tx.delete(containerRepositories).where(eq(containerRepositories.id, id))
    await audit(ctx, tx, { action: 'container_repository_deleted', target: targetOf(subject), changes: { name: { from: name, to: null } } })
  })
}

/**
 * Removes tags; their manifests, whose ids it returns, stay for who knows their digests. Throws 404 if a single one is not
 * there.
 */
export async function deleteTags(ctx: Context, subject: ProjectSubject, id: number, names: string[]): Promise<number[]> {
  await getRepository(ctx, id, subject)
  return ctx.db.transaction(async (tx) => {
    const deleted = await tx
      .delete(containerTags)
      .where(and(eq(containerTags.repository_id, id), inArray(containerTags.name, names)))
      .returning({ name: containerTags.name, manifest_id: containerTags.manifest_id })
    if (deleted.length === 0 && names.length === 1) throw notFound('Tag')
    for (const { name } of deleted)
      await audit(ctx, tx, { action: 'container_tag_deleted', target: targetOf(subject), changes: { name: { from: name, to: null } } })
    return deleted.map(({ manifest_id }) => manifest_id)
  })
}

/** Which tags go at once: those whose names fit the first pattern and not the second, but for the newest, if they are old enough. */
export interface TagSelection {
  name_regex_delete: RegExpLike
  name_regex_keep: RegExpLike | null
  keep_n: number
  older_than: Date | null
}

interface RegExpLike {
  matches(text: string): boolean
}

/** The most tags that go at once (OCI-23). */
const MAX_BULK = 1_000

/** Removes tags by their names and age; `latest` stays, as in the original (OCI-23). Returns the ids of their manifests. */
export async function deleteSomeTags(ctx: Context, subject: ProjectSubject, id: number, selection: TagSelection): Promise<number[]> {
  await getRepository(ctx, id, subject)
  const tags = await ctx.db.write
    .select({ name: containerTags.name, updated_at: containerTags.updated_at })
    .from(containerTags)
    .where(and(eq(containerTags.repository_id, id), sql`${containerTags.name} <> 'latest'`))
    .orderBy(desc(containerTags.updated_at), desc(containerTags.name))
  const { name_regex_delete, name_regex_keep, keep_n, older_than } = selection
  const fitting: typeof tags = []
  const turn = new Turn()
  for (const tag of tags) {
    if (name_regex_delete.matches(tag.name) && !name_regex_keep?.matches(tag.name)) fitting.push(tag)
    if (turn.over) await turn.end()
  }
  const old = fitting.slice(keep_n).filter(({ updated_at }) => older_than === null || updated_at < older_than)
  const names = old.slice(-MAX_BULK).map(({ name }) => name)
  return names.length > 0 ? deleteTags(ctx, subject, id, names) : []
}
