import { and, asc, eq, sql } from 'drizzle-orm'
import type { ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { totalCount } from '../../../db/decoded.js'
import { conditionsOf, type FilterNames, type Filters, usedFilters } from '../../../db/filters.js'
import { onlyRow } from '../../../db/only-row.js'
import { featureFlagStrategies, featureFlagUserLists } from '../../../db/schema/index.js'
import { statement } from '../../../db/statement.js'
import { unlessUniqueViolation } from '../../../db/unique-violation.js'
import { conflict, notFound } from '../../../failures.js'
import { xidsFault } from '../../../rules/features/feature-flags.js'
import { lengthOf, tooLong } from '../../../rules/path.js'
import { changesOf } from '../../core/audit.js'
import { createdNow } from '../../core/created-now.js'
import { nextIid } from '../../core/iids.js'
import { type Page, type Paging, pageFrom } from '../../core/page.js'
import { auditFlags, changingFlags, refusedAsSentences } from './shared.js'

export type UserList = typeof featureFlagUserLists.$inferSelect

export interface UserListFilter extends Paging {
  /** A part of the name. */
  search?: string | undefined
}

interface Given {
  name?: string | undefined
  user_xids?: string | undefined
}

const MAX_LISTS = 100
const MAX_NAME = 255

const FILTERS = {
  search: {
    where: (text) => sql`strpos(lower(${featureFlagUserLists.name}), lower(${text})) > 0`,
    value: ({ search }) => search || undefined,
  },
} satisfies Filters<UserListFilter, FilterNames<UserListFilter>>

const selectLists = statement('user lists', (db, filters: (keyof typeof FILTERS)[]) =>
  db
    .select({ list: featureFlagUserLists, total: totalCount() })
    .from(featureFlagUserLists)
    .where(and(eq(featureFlagUserLists.project_id, sql.placeholder('project')), ...conditionsOf(FILTERS, filters, null)))
    .orderBy(asc(featureFlagUserLists.iid))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset')),
)

/** The user lists of a project, the oldest first (FF-8). */
export async function listUserLists(ctx: Context, { project }: ProjectSubject, filter: UserListFilter): Promise<Page<UserList>> {
  const used = usedFilters(FILTERS, filter)
  const { items, total } = await pageFrom(selectLists(ctx.db, used.names), { ...used.values, project: project.id }, filter)
  return { items: items.map(({ list }) => list), total }
}

const byIid = ({ project }: ProjectSubject, iid: number) => and(eq(featureFlagUserLists.project_id, project.id), eq(featureFlagUserLists.iid, iid))

export async function getUserList(ctx: Context, subject: ProjectSubject, iid: number): Promise<UserList> {
  const [found] = await ctx.db.write.select().from(featureFlagUserLists).where(byIid(subject, iid))
  if (!found) throw notFound()
  return found
}

function check({ name, user_xids }: Given): void {
  const faults: Record<string, string[]> = {}
  if (name?.trim() === '') faults['name'] = ["can't be blank"]
  else if (lengthOf(name ?? '') > MAX_NAME) faults['name'] = [tooLong(MAX_NAME)]
  const fault = user_xids === undefined ? null : xidsFault(user_xids)
  if (fault) faults['user_xids'] = [`user_xids ${fault}`]
  if (Object.keys(faults).length > 0) throw refusedAsSentences(faults)
}

const TAKEN = () => refusedAsSentences({ name: ['has already been taken'] })

export async function createUserList(ctx: Context, subject: ProjectSubject, given: { name: string; user_xids: string }): Promise<UserList> {
  check(given)
  const project_id = subject.project.id
  const { name, user_xids } = given
  const create = () =>
    changingFlags(ctx, subject, async (tx) => {
      if ((await tx.$count(featureFlagUserLists, eq(featureFlagUserLists.project_id, project_id))) >= MAX_LISTS)
        throw refusedAsSentences({ base: [`Maximum number of user lists (${MAX_LISTS}) exceeded`] })
      const iid = await nextIid(tx, project_id, 'feature_flag_user_list')
      const values = { project_id, iid, name, user_xids, ...createdNow(ctx) }
      const made = onlyRow(await tx.insert(featureFlagUserLists).values(values).returning())
      await auditFlags(ctx, tx, subject, 'feature_flag_user_list_created', { name })
      return made
    })
  return unlessUniqueViolation(create, TAKEN)
}

export async function updateUserList(ctx: Context, subject: ProjectSubject, iid: number, given: Given): Promise<UserList> {
  check(given)
  const update = () =>
    changingFlags(ctx, subject, async (tx) => {
      const [before] = await tx.select().from(featureFlagUserLists).where(byIid(subject, iid)).for('update')
      if (!before) throw notFound()
      const { name = before.name, user_xids = before.user_xids } = given
      const changes = changesOf(before, { name, user_xids })
      if (Object.keys(changes).length === 0) return before
      const values = { name, user_xids, updated_at: ctx.now() }
      const after = onlyRow(await tx.update(featureFlagUserLists).set(values).where(byIid(subject, iid)).returning())
      // who is named is no news of the log
      await auditFlags(ctx, tx, subject, 'feature_flag_user_list_updated', { name: before.name, changed: Object.keys(changes) })
      return after
    })
  return unlessUniqueViolation(update, TAKEN)
}

/** Deletes a user list that no strategy names. */
export async function deleteUserList(ctx: Context, subject: ProjectSubject, iid: number): Promise<void> {
  await changingFlags(ctx, subject, async (tx) => {
    const [found] = await tx.select().from(featureFlagUserLists).where(byIid(subject, iid)).for('update')
    if (!found) throw notFound()
    if ((await tx.$count(featureFlagStrategies, eq(featureFlagStrategies.user_list_id, found.id))) > 0)
      throw conflict(['User list is associated with a strategy'])
    await tx.delete(featureFlagUserLists).where(eq(featureFlagUserLists.id, found.id))
    await auditFlags(ctx, tx, subject, 'feature_flag_user_list_deleted', { name: found.name })
  })
}
