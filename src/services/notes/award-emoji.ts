import { and, asc, eq, inArray, sql } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import type { Context } from '../../context.js'
import { count, decoded } from '../../db/decoded.js'
import { awardEmoji, issues, mergeRequests, notes, snippets, todos, users } from '../../db/schema/index.js'
import { batchStatement, statement } from '../../db/statement.js'
import { notFound, unauthenticated } from '../../failures.js'
import { groupedBy } from '../../lib/grouped-by.js'
import type { Keyset } from '../../lib/keyset.js'
import { mainEmojiName } from '../../lib/text/emoji.js'
import type { TargetType } from '../activity/subscriptions.js'
import { afterRow, type Page, type Paging, pageAndTotal } from '../core/page.js'
import { type UserRefRecord, userRefColumns } from '../identity/user-ref.js'
import type { Noteable } from './noteables.js'

type Row = typeof awardEmoji.$inferSelect

/** What an emoji is awarded to: an issue, merge request or snippet, or a note on one. */
export interface Awardable {
  type: Row['awardable_type']
  id: number
  /** The awardable itself, or the noteable of the note. An award marks the user's todos on it done (TO-6). */
  noteable: Noteable
}

export interface AwardRecord {
  award: Row
  user: UserRefRecord
}

const value = (name: string) => sql`${sql.placeholder(name)}`
const shown = { award: awardEmoji, user: userRefColumns(users) }
const onAwardable = and(
  eq(awardEmoji.project_id, sql.placeholder('project')),
  eq(awardEmoji.awardable_type, sql.placeholder('type')),
  eq(awardEmoji.awardable_id, sql.placeholder('thing')),
)
const awardableValues = ({ type, id, noteable }: Awardable) => ({ project: noteable.project_id, type, thing: id })

const selectAwards = statement('award emoji of a thing', (db) =>
  db
    .select(shown)
    .from(awardEmoji)
    .innerJoin(users, eq(users.id, awardEmoji.user_id))
    .where(and(onAwardable, afterRow(awardEmoji.id)))
    .orderBy(asc(awardEmoji.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset')),
)

const selectTotal = statement('number of award emoji of a thing', (db) =>
  db
    .select({ total: count() })
    .from(awardEmoji)
    .where(and(onAwardable, afterRow(awardEmoji.id))),
)

const selectAward = statement('one award emoji', (db) =>
  db
    .select(shown)
    .from(awardEmoji)
    .innerJoin(users, eq(users.id, awardEmoji.user_id))
    .where(and(onAwardable, eq(awardEmoji.id, sql.placeholder('id')))),
)

/** The awards of an awardable (AE-1). */
export function listAwards(ctx: Context, awardable: Awardable, paging: Paging & Keyset): Promise<Page<AwardRecord>> {
  return pageAndTotal(selectAwards(ctx.db, null), selectTotal(ctx.db, null), awardableValues(awardable), paging)
}

/** An emoji on a note, with how many people have given it, some of their names, and whether the reader is one of them. */
export interface NoteAward {
  note: number
  name: string
  count: number
  people: string[]
  mine: boolean
}

const selectAwardsOfNotes = statement('award emoji of notes', (db) =>
  db
    .select({
      note: awardEmoji.awardable_id,
      name: awardEmoji.name,
      count: count(),
      people: sql<string[]>`(array_agg(${users.name} order by ${awardEmoji.id}))[1:5]`,
      mine: sql<boolean>`bool_or(${users.id} = ${sql.placeholder('user')}::bigint)`,
    })
    .from(awardEmoji)
    .innerJoin(users, eq(users.id, awardEmoji.user_id))
    .where(
      sql`${awardEmoji.project_id} = ${sql.placeholder('project')} and ${awardEmoji.awardable_type} = 'Note'
        and ${awardEmoji.awardable_id} = any(${sql.placeholder('notes')}::bigint[])`,
    )
    .groupBy(awardEmoji.awardable_id, awardEmoji.name)
    .orderBy(sql`min(${awardEmoji.id})`),
)

/** The emoji on notes, by the ids of these. */
export async function awardsOfNotes(ctx: Context, { user }: Pick<SignedIn, 'user'> | { user: null }, project: number, ids: number[]) {
  if (ids.length === 0) return new Map<number, NoteAward[]>()
  const rows: NoteAward[] = await selectAwardsOfNotes(ctx.db, null).execute({ project, notes: ids, user: user?.id ?? 0 })
  return groupedBy(rows, ({ note }) => note)
}

/** One award of this awardable (AE-2, SEC-31). */
export async function getAward(ctx: Context, awardable: Awardable, id: number): Promise<AwardRecord> {
  const [record] = await selectAward(ctx.db, null).execute({ ...awardableValues(awardable), id })
  if (!record) throw notFound('Award Emoji')
  return record
}

/** SQL that adds to the vote counts that lists show (AE-5), for a row with the alias `t`. */
const voteColumns = (ups: ReturnType<typeof value>, downs: ReturnType<typeof value>) =>
  sql`upvotes = t.upvotes + ${ups}, downvotes = t.downvotes + ${downs}`
const TABLES = { Issue: issues, MergeRequest: mergeRequests, Snippet: snippets, Note: notes } as const
const VOTED_TABLES = { Issue: issues, MergeRequest: mergeRequests } as const
const votesFor = (name: string) => ({ ups: name === 'thumbsup' ? 1 : 0, downs: name === 'thumbsdown' ? 1 : 0 })
const isVoted = (type: Row['awardable_type']): type is TargetType => type in VOTED_TABLES

/** Inserts an award; no row if the user has awarded this emoji already. */
const insertAward = batchStatement('give an emoji', (db, type: Row['awardable_type']) => {
  const now = sql`${sql.placeholder('now')}::timestamptz`
  // the lock keeps the awardable from being deleted concurrently
  const thing = db.$with('thing', {}).as(sql`select t.id from ${TABLES[type]} t where t.id = ${value('thing')} for key share`)
  const award = db
    .$with('award', {})
    .as(sql`insert into ${awardEmoji} (project_id, awardable_type, awardable_id, user_id, name, created_at, updated_at)
    select ${value('project')}, ${type}, thing.id, ${value('user')}, ${value('name')}, ${now}, ${now} from thing on conflict do nothing returning id`)
  const counts = isVoted(type)
    ? [
        db.$with('voted', {}).as(sql`update ${VOTED_TABLES[type]} t set ${voteColumns(sql`${value('ups')}::integer`, sql`${value('downs')}::integer`)}
        from award where t.id = ${value('thing')} and (${value('ups')}::integer, ${value('downs')}::integer) <> (0, 0)`),
      ]
    : []
  const done = db.$with('done', {}).as(sql`update ${todos} t set state = 'done', updated_at = ${now} from award
    where t.project_id = ${value('project')} and t.target_type = ${value('about')} and t.target_id = ${value('noteable')}
    and t.user_id = ${value('user')} and t.state = 'pending'`)
  return db
    .with(thing, award, ...counts, done)
    .select({ id: decoded(sql<number>`award.id`, Number), user: shown.user })
    .from(users)
    .innerJoin(sql`award`, sql`true`)
    .where(eq(users.id, sql.placeholder('user')))
})

const awardError = (text: string) => notFound(`Award Emoji {:name=>["${text}"]}`)

/** Awards an emoji, stored by its main name; 404 if the name is unknown or the caller has awarded it already (AE-3). */
export async function createAward(ctx: Context, { user }: SignedIn, awardable: Awardable, wanted: string): Promise<AwardRecord> {
  const name = mainEmojiName(wanted)
  if (name === undefined) throw awardError(wanted.trim() === '' ? "can't be blank" : 'is not included in the list')
  const now = ctx.now()
  const { type, id, noteable } = awardable
  const values = {
    ...awardableValues(awardable),
    user: user.id,
    name,
    now: now.toISOString(),
    ...votesFor(name),
    about: noteable.type,
    noteable: noteable.id,
  }
  const [row] = await ctx.db.single((on) => insertAward(on, type).execute(values))
  if (!row) throw awardError('has already been taken')
  const award: Row = {
    id: row.id,
    project_id: noteable.project_id,
    awardable_type: type,
    awardable_id: id,
    user_id: user.id,
    name,
    created_at: now,
    updated_at: now,
  }
  return { award, user: row.user }
}

/** Deletes the caller's own award, or any award for administrators (AE-4). `check` gets the time of its last change. */
export async function deleteAward(ctx: Context, { user }: SignedIn, awardable: Awardable, id: number, check: (changed: Date) => void): Promise<void> {
  const { award } = await getAward(ctx, awardable, id)
  if (award.user_id !== user.id && !user.admin) throw unauthenticated()
  check(award.updated_at)
  await ctx.db.transaction(async (tx) => {
    const deleted = await tx.delete(awardEmoji).where(eq(awardEmoji.id, id)).returning({ id: awardEmoji.id })
    if (deleted.length === 0) throw notFound('Award Emoji')
    const { ups, downs } = votesFor(award.name)
    if (!isVoted(award.awardable_type) || (ups === 0 && downs === 0)) return
    await tx.execute(
      sql`update ${VOTED_TABLES[award.awardable_type]} t set ${voteColumns(sql`${-ups}::integer`, sql`${-downs}::integer`)} where t.id = ${award.awardable_id}`,
    )
  })
}

/** Awards an emoji, or deletes the caller's award of it if there is one (QA-15). */
export async function toggleAward(ctx: Context, caller: SignedIn, awardable: Awardable, wanted: string): Promise<void> {
  const [given] = await ctx.db.write
    .select({ id: awardEmoji.id })
    .from(awardEmoji)
    .where(
      and(
        eq(awardEmoji.project_id, awardable.noteable.project_id),
        eq(awardEmoji.awardable_type, awardable.type),
        eq(awardEmoji.awardable_id, awardable.id),
        eq(awardEmoji.user_id, caller.user.id),
        eq(awardEmoji.name, mainEmojiName(wanted) ?? ''),
      ),
    )
  if (given) await deleteAward(ctx, caller, awardable, given.id, () => undefined)
  else await createAward(ctx, caller, awardable, wanted)
}

/** The number of awards handled in one transaction. */
const BATCH_SIZE = 1_000

/**
 * Moves a user's awards to another user, or deletes them if `newUserId` is null (U-34, U-36). Awards that the other
 * user has given already are not duplicated.
 */
export async function transferAwards(ctx: Context, userId: number, newUserId: number | null): Promise<void> {
  for (;;) {
    const processed = await ctx.db.transaction(async (tx) => {
      const rows = await tx.select().from(awardEmoji).where(eq(awardEmoji.user_id, userId)).limit(BATCH_SIZE).for('update')
      const ids = rows.map(({ id }) => id)
      if (ids.length === 0) return 0
      if (newUserId !== null)
        await tx.execute(sql`update ${awardEmoji} a set user_id = ${newUserId} where ${inArray(sql`a.id`, ids)} and not exists (select 1 from ${awardEmoji} h
          where h.project_id = a.project_id and h.awardable_type = a.awardable_type and h.awardable_id = a.awardable_id and h.name = a.name and h.user_id = ${newUserId})`)
      const deleted = await tx
        .delete(awardEmoji)
        .where(and(inArray(awardEmoji.id, ids), eq(awardEmoji.user_id, userId)))
        .returning()
      for (const type of ['Issue', 'MergeRequest'] as const) {
        const of = deleted.filter((row) => row.awardable_type === type)
        await tx.execute(sql`update ${VOTED_TABLES[type]} t set ${voteColumns(sql`-c.ups`, sql`-c.downs`)}
          from (select id, count(*) filter (where name = 'thumbsup') as ups, count(*) filter (where name = 'thumbsdown') as downs
            from unnest(${sql.param(of.map((row) => row.awardable_id))}::bigint[], ${sql.param(of.map(({ name }) => name))}::text[]) as g (id, name) group by id) c
          where t.id = c.id`)
      }
      return ids.length
    })
    if (processed < BATCH_SIZE) return
  }
}
