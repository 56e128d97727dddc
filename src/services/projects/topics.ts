import { and, asc, desc, eq, sql } from 'drizzle-orm'
import type { Viewer } from '../../access/actor.js'
import { type ViewerKind, viewerKindOf, visibleProject } from '../../access/visible.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { totalCount } from '../../db/decoded.js'
import { conditionsOf, type FilterNames, type Filters, usedFilters } from '../../db/filters.js'
import { onlyRow } from '../../db/only-row.js'
import { projects, topics } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { unlessUniqueViolation } from '../../db/unique-violation.js'
import { invalidRecord, notFound, refused } from '../../failures.js'
import { lengthOf, tooLong } from '../../rules/path.js'
import { type AuditAction, audit, changesOf } from '../core/audit.js'
import { createdNow } from '../core/created-now.js'
import { type Page, type Paging, pageFrom } from '../core/page.js'
import { imageFaults, removeAvatar, storeAvatar } from '../identity/avatars.js'

export type Topic = typeof topics.$inferSelect

export interface TopicFilter extends Paging {
  /** A part of the name or title. */
  search?: string | undefined
  without_projects?: boolean | undefined
}

interface Given {
  name?: string | undefined
  title?: string | undefined
  description?: string | null | undefined
  /** Null removes it. */
  avatar?: { data: Buffer } | null | undefined
}

/** The most topics that administrators have made. */
const MAX_TOPICS = 10_000
const MAX_NAME = 255
const MAX_DESCRIPTION = 4_096

const FILTERS = {
  search: {
    where: (text) => sql`(strpos(lower(${topics.name}), lower(${text})) > 0 or strpos(lower(coalesce(${topics.title}, '')), lower(${text})) > 0)`,
    value: ({ search }) => search || undefined,
  },
  without_projects: {
    where: (is) => sql`(${topics.projects_count} = 0) = ${is}::boolean`,
    value: ({ without_projects }) => without_projects || undefined,
  },
} satisfies Filters<TopicFilter, FilterNames<TopicFilter>>

type By = 'list' | 'id' | 'name'

/** Topics that the viewer may see: those that were made, and those of a project that they see (TP-2). */
const selectTopics = statement('topics', (db, { viewer, filters, by }: { viewer: ViewerKind; filters: (keyof typeof FILTERS)[]; by: By }) => {
  const user = sql`${sql.placeholder('user')}::bigint`
  const ofProject = sql`exists (select from ${projects} where ${projects.tag_list} @> array[${topics.name}] and ${visibleProject(viewer, user)})`
  return db
    .select({ topic: topics, total: totalCount() })
    .from(topics)
    .where(
      and(
        viewer === 'admin' ? undefined : sql`(${topics.made} or ${ofProject})`,
        by === 'list' ? undefined : eq(topics[by], sql.placeholder('key')),
        ...conditionsOf(FILTERS, filters, null),
      ),
    )
    .orderBy(desc(topics.projects_count), asc(topics.name))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset'))
})

/** The topics that the caller may see, those of most projects first (TP-2). */
export async function listTopics(ctx: Context, { user }: Viewer, filter: TopicFilter): Promise<Page<Topic>> {
  const used = usedFilters(FILTERS, filter)
  const select = selectTopics(ctx.db, { viewer: viewerKindOf(user), filters: used.names, by: 'list' })
  const { items, total } = await pageFrom(select, { ...used.values, user: user?.id ?? 0 }, filter)
  return { items: items.map(({ topic }) => topic), total }
}

/** By its id or its name; null if the caller may not see it. */
export async function findTopic(ctx: Context, { user }: Viewer, key: number | string): Promise<Topic | null> {
  const by = typeof key === 'number' ? 'id' : 'name'
  const select = selectTopics(ctx.db, { viewer: viewerKindOf(user), filters: [], by })
  const [row] = await select.execute({ key, user: user?.id ?? 0, limit: 1, offset: 0 })
  return row?.topic ?? null
}

export async function getTopic(ctx: Context, caller: Viewer, id: number): Promise<Topic> {
  const topic = await findTopic(ctx, caller, id)
  if (!topic) throw notFound()
  return topic
}

function check({ name, title, description, avatar }: Given): void {
  const faults: Record<string, string[]> = {}
  for (const [field, text] of Object.entries({ name, title })) {
    if (text?.trim() === '') faults[field] = ["can't be blank"]
    else if (lengthOf(text ?? '') > MAX_NAME) faults[field] = [tooLong(MAX_NAME)]
  }
  // lists of topics have commas between them, and no spaces around them
  if (!faults['name'] && name !== undefined && (/[,\n\r]/.test(name) || name.trim() !== name))
    faults['name'] = ['must be on one line, without commas and without spaces around it']
  if (lengthOf(description ?? '') > MAX_DESCRIPTION) faults['description'] = [tooLong(MAX_DESCRIPTION)]
  const picture = avatar ? imageFaults(avatar.data) : []
  if (picture.length > 0) faults['avatar'] = picture
  if (Object.keys(faults).length > 0) throw invalidRecord(faults)
}

const TAKEN = () => invalidRecord({ name: ['has already been taken'] })

const auditTopic = (ctx: Context, tx: Transaction, action: Extract<AuditAction, `topic_${string}`>, name: string, changes: object) =>
  audit(ctx, tx, { action, target: { type: 'settings', id: null, name: `topic ${name}` }, changes: { ...changes } })

/** Stores the picture of a topic, or takes it away. */
async function setAvatar(ctx: Context, topic: Topic, image: { data: Buffer } | null): Promise<Topic> {
  const avatar = image && (await storeAvatar(ctx, 'topic', topic.id, image.data))
  await ctx.db.write.update(topics).set({ avatar, updated_at: ctx.now() }).where(eq(topics.id, topic.id))
  if (topic.avatar && topic.avatar !== avatar) await removeAvatar(ctx, 'topic', topic.id, topic.avatar)
  return { ...topic, avatar }
}

/** Makes a topic, or makes one of those that projects have known to everyone. */
export async function createTopic(ctx: Context, given: Given & { name: string }): Promise<Topic> {
  check(given)
  const { name, title = name, description = null, avatar } = given
  const made = await ctx.db.transaction(async (tx) => {
    if ((await tx.$count(topics, eq(topics.made, true))) >= MAX_TOPICS) throw invalidRecord({ base: [`there are already ${MAX_TOPICS} topics`] })
    const [row] = await tx
      .insert(topics)
      .values({ name, title, description, made: true, ...createdNow(ctx) })
      .onConflictDoUpdate({ target: topics.name, set: { title, description, made: true, updated_at: ctx.now() }, setWhere: eq(topics.made, false) })
      .returning()
    if (!row) throw TAKEN()
    await auditTopic(ctx, tx, 'topic_created', name, { title })
    return row
  })
  return avatar ? setAvatar(ctx, made, avatar) : made
}

/** Gives the projects of a topic another one in its place, or none. */
async function replaceInProjects(tx: Transaction, from: string, to: string | null): Promise<void> {
  const others = sql`array_remove(${projects.tag_list}, ${from})`
  const list = to === null ? others : sql`(select array_agg(distinct n order by n) from unnest(${others} || ${to}::text) n)`
  await tx.update(projects).set({ tag_list: list }).where(sql`${projects.tag_list} @> array[${from}::text]`)
}

/** Changes a topic; its projects keep it under another name. */
export async function updateTopic(ctx: Context, id: number, given: Given): Promise<Topic> {
  check(given)
  const update = () =>
    ctx.db.transaction(async (tx) => {
      const [before] = await tx.select().from(topics).where(eq(topics.id, id)).for('update')
      if (!before) throw notFound()
      const { name = before.name, title = before.title, description = before.description } = given
      const changes = changesOf(before, { name, title, description })
      if (Object.keys(changes).length === 0) return before
      const after = onlyRow(
        await tx.update(topics).set({ name, title, description, made: true, updated_at: ctx.now() }).where(eq(topics.id, id)).returning(),
      )
      await auditTopic(ctx, tx, 'topic_updated', before.name, changes)
      if (name === before.name) return after
      await replaceInProjects(tx, before.name, name)
      // the trigger has counted the projects once more
      const { projects_count } = before
      await tx.update(topics).set({ projects_count }).where(eq(topics.id, id))
      return { ...after, projects_count }
    })
  const topic = await unlessUniqueViolation(update, TAKEN)
  return given.avatar === undefined ? topic : setAvatar(ctx, topic, given.avatar)
}

/** Deletes a topic, and takes it from its projects. */
export async function deleteTopic(ctx: Context, id: number): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const [topic] = await tx.select().from(topics).where(eq(topics.id, id)).for('update')
    if (!topic) throw notFound()
    await replaceInProjects(tx, topic.name, null)
    await tx.delete(topics).where(eq(topics.id, id))
    await auditTopic(ctx, tx, 'topic_deleted', topic.name, {})
  })
  await removeAvatar(ctx, 'topic', id)
}

/** Gives the projects of one topic another one, and deletes it (TP-4). */
export async function mergeTopics(ctx: Context, source: number, target: number): Promise<Topic> {
  if (source === target) throw refused('The source topic and the target topic are identical.')
  const merged = await ctx.db.transaction(async (tx) => {
    const found = await tx.select().from(topics).where(sql`${topics.id} in (${source}, ${target})`).orderBy(asc(topics.name)).for('update')
    const [from, to] = [source, target].map((id) => found.find((topic) => topic.id === id))
    if (!from || !to) throw notFound()
    // it outlasts the last of its projects, should they lose it meanwhile
    await tx.update(topics).set({ made: true }).where(eq(topics.id, to.id))
    await replaceInProjects(tx, from.name, to.name)
    await tx.delete(topics).where(eq(topics.id, from.id))
    await auditTopic(ctx, tx, 'topic_merged', from.name, { into: to.name })
    return onlyRow(await tx.select().from(topics).where(eq(topics.id, to.id)))
  })
  await removeAvatar(ctx, 'topic', source)
  return merged
}
