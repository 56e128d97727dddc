import { and, asc, eq, sql } from 'drizzle-orm'
import { groupMembers, membershipCounts } from '../../access/roles.js'
import { fullPathOf, type GroupSubject, type ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { totalCount } from '../../db/decoded.js'
import { completeTexts, LONG_TEXTS, READ_COLUMNS } from '../../db/long-text.js'
import { onlyRow } from '../../db/only-row.js'
import { boardLists, boards, labels, milestones, namespaceAncestry, namespaces, projects, users } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { unlessUniqueViolation } from '../../db/unique-violation.js'
import { Failure, invalidInput, invalidRecord, notFound } from '../../failures.js'
import { lengthOf, tooLong } from '../../rules/path.js'
import { type Page, type Paging, pageFrom, slice } from '../core/page.js'
import { type UserRefRecord, userRefColumns } from '../identity/user-ref.js'
import { type LabelChoice, labelChoices } from './choices.js'
import { assignableAmong } from './issues/attributes.js'
import type { IssueChanges } from './issues/update.js'
import type { MilestoneRecord } from './milestones.js'

/** The owner of boards: a project or a group. */
export type BoardSource = { project: ProjectSubject } | { group: GroupSubject }

/** Boards of a project or group, and lists of a board. */
export const MAX_BOARDS = 50
export const MAX_LISTS = 20
/** In characters. */
const MAX_NAME = 255
/** Lists that a board has which nobody has made: labels with a priority. */
const MAX_DEFAULT_LISTS = 10

type Board = typeof boards.$inferSelect

/** A list of a board: it has one of the three. */
export interface BoardList {
  id: number
  label: { id: number; name: string; color: string; description: string | null } | null
  user: UserRefRecord | null
  milestone: MilestoneRecord | null
  /** Its place among those that are shown, from 0. */
  position: number
  updated_at: Date
}

export interface BoardRecord {
  board: Board
  lists: BoardList[]
}

const ofSource = (source: BoardSource) =>
  'project' in source
    ? { of: 'project' as const, id: source.project.project.id, project: source.project.project.id, group: source.project.project.namespace_id }
    : { of: 'group' as const, id: source.group.group.id, project: 0, group: source.group.group.id }

/** The full path of what owns a milestone of a list. */
const pathOfMilestone = (source: BoardSource, { namespace_id }: { namespace_id: number | null }): string => {
  if ('group' in source) return source.group.group.full_path
  const { project } = source.project
  return namespace_id === null ? fullPathOf(project) : project.namespace.full_path
}

const selectBoards = statement('boards', (db, { of, one }: { of: 'project' | 'group'; one: boolean }) =>
  db
    .select({ board: boards, total: totalCount() })
    .from(boards)
    .where(
      and(
        eq(of === 'project' ? boards.project_id : boards.namespace_id, sql.placeholder('source')),
        one ? eq(boards.id, sql.placeholder('board')) : undefined,
      ),
    )
    .orderBy(asc(boards.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset')),
)

const project = sql`${sql.placeholder('project')}::bigint`
const group = sql`${sql.placeholder('group')}::bigint`

/** The lists of boards; without those whose label or milestone is no longer one that can be used there. */
const selectLists = statement('lists of boards', (db) =>
  db
    .select({
      id: boardLists.id,
      board_id: boardLists.board_id,
      label_id: labels.id,
      name: labels.title,
      color: labels.color,
      // a page of boards may have thousands of lists
      description: sql<string | null>`left(${labels.description}, 1024)`,
      user: userRefColumns(users),
      milestone: READ_COLUMNS.milestones,
      updated_at: boardLists.updated_at,
    })
    .from(boardLists)
    .leftJoin(
      labels,
      sql`${labels.id} = ${boardLists.label_id} and (${labels.project_id} = ${project}
        or ${labels.namespace_id} in (select a.ancestor_id from ${namespaceAncestry} a where a.descendant_id = ${group}))`,
    )
    .leftJoin(users, eq(users.id, boardLists.user_id))
    .leftJoin(
      milestones,
      sql`${milestones.id} = ${boardLists.milestone_id} and (${milestones.project_id} = ${project} or ${milestones.namespace_id} = ${group})`,
    )
    .where(
      sql`${boardLists.board_id} = any(${sql.placeholder('boards')}::bigint[]) and num_nonnulls(${labels.id}, ${users.id}, ${milestones.id}) = 1`,
    )
    .orderBy(asc(boardLists.board_id), asc(boardLists.position), asc(boardLists.id)),
)

async function withLists(ctx: Context, source: BoardSource, found: Board[]): Promise<BoardRecord[]> {
  const { project, group } = ofSource(source)
  const rows = found.length === 0 ? [] : await selectLists(ctx.db, null).execute({ boards: found.map(({ id }) => id), project, group })
  const shown = rows.flatMap(({ milestone }) => milestone ?? [])
  await completeTexts(ctx, LONG_TEXTS.milestones, shown, 'page')
  const listOf = ({ id, label_id, name, color, description, user, milestone, updated_at }: (typeof rows)[number], position: number): BoardList => ({
    id,
    label: label_id === null ? null : { id: label_id, name: name ?? '', color: color ?? '', description },
    user,
    milestone: milestone && { milestone, path: pathOfMilestone(source, milestone) },
    position,
    updated_at,
  })
  return found.map((board) => ({ board, lists: rows.filter(({ board_id }) => board_id === board.id).map(listOf) }))
}

/** The boards of a project or a group, oldest first (BO-1). */
export async function listBoards(ctx: Context, source: BoardSource, paging: Paging): Promise<Page<BoardRecord>> {
  const { of, id } = ofSource(source)
  const { items, total } = await pageFrom(selectBoards(ctx.db, { of, one: false }), { source: id }, paging)
  return {
    items: await withLists(
      ctx,
      source,
      items.map(({ board }) => board),
    ),
    total,
  }
}

/** A board with its lists (BO-1). */
export async function getBoard(ctx: Context, source: BoardSource, boardId: number): Promise<BoardRecord> {
  const { of, id } = ofSource(source)
  const [row] = await selectBoards(ctx.db, { of, one: true }).execute({ source: id, board: boardId, limit: 1, offset: 0 })
  const [record] = row ? await withLists(ctx, source, [row.board]) : []
  if (!record) throw notFound('Board')
  return record
}

/** The lists of a board, without those of open and closed issues (BO-3). */
export const listLists = async (ctx: Context, source: BoardSource, boardId: number, paging: Paging): Promise<Page<BoardList>> =>
  slice((await getBoard(ctx, source, boardId)).lists, paging)

export async function getList(ctx: Context, source: BoardSource, boardId: number, listId: number): Promise<BoardList> {
  const list = (await getBoard(ctx, source, boardId)).lists.find(({ id }) => id === listId)
  if (!list) throw notFound()
  return list
}

/** The name of a board as it is stored; throws what is wrong with it. */
export function checkBoardName(name: string): string {
  const given = name.trim()
  if (given === '') throw invalidRecord({ name: ["can't be blank"] })
  if (lengthOf(given) > MAX_NAME) throw invalidRecord({ name: [tooLong(MAX_NAME)] })
  return given
}

/** Adds a board; those of a project or group are made one after another. */
async function insertBoard(ctx: Context, tx: Transaction, source: BoardSource, name: string): Promise<Board> {
  const { of, id } = ofSource(source)
  const [owner, column] = of === 'project' ? [projects, boards.project_id] : [namespaces, boards.namespace_id]
  await tx.select({ id: owner.id }).from(owner).where(eq(owner.id, id)).for('no key update')
  if ((await tx.$count(boards, eq(column, id))) >= MAX_BOARDS) throw invalidRecord({ base: [`may have at most ${MAX_BOARDS} boards`] })
  const now = ctx.now()
  const values = { ...(of === 'project' ? { project_id: id } : { namespace_id: id }), name, created_at: now, updated_at: now }
  return onlyRow(await tx.insert(boards).values(values).returning())
}

/** Creates a board without lists (BO-2). */
export async function createBoard(ctx: Context, source: BoardSource, name: string): Promise<BoardRecord> {
  const given = checkBoardName(name)
  return { board: await ctx.db.transaction((tx) => insertBoard(ctx, tx, source, given)), lists: [] }
}

/** The name of a board which nobody has made. */
export const DEFAULT_NAME = 'Development'

/** The labels that are lists where there is no board: those with a priority, in that order (WB-133). */
export const defaultLabels = async (ctx: Context, source: BoardSource): Promise<LabelChoice[]> =>
  (await labelChoices(ctx, source)).filter(({ priority }) => priority !== null).slice(0, MAX_DEFAULT_LISTS)

/** The first board; where there is none, one with the lists that are shown without it. */
export async function firstBoard(ctx: Context, source: BoardSource): Promise<number> {
  const { items } = await listBoards(ctx, source, { page: 1, per_page: 1 })
  if (items[0]) return items[0].board.id
  const chosen = await defaultLabels(ctx, source)
  const now = ctx.now()
  return ctx.db.transaction(async (tx) => {
    const board = await insertBoard(ctx, tx, source, DEFAULT_NAME)
    const rows = chosen.map(({ id }, position) => ({ board_id: board.id, label_id: id, position, created_at: now, updated_at: now }))
    if (rows.length > 0) await tx.insert(boardLists).values(rows)
    return board.id
  })
}

/** Renames a board (BO-2). */
export async function renameBoard(ctx: Context, source: BoardSource, boardId: number, name: string | undefined): Promise<BoardRecord> {
  const { lists, board } = await getBoard(ctx, source, boardId)
  if (name === undefined) return { lists, board }
  const [renamed] = await ctx.db.write
    .update(boards)
    .set({ name: checkBoardName(name), updated_at: ctx.now() })
    .where(eq(boards.id, boardId))
    .returning()
  if (!renamed) throw notFound('Board')
  return { lists, board: renamed }
}

/** Deletes a board with its lists; issues stay as they are (BO-2). */
export async function deleteBoard(ctx: Context, source: BoardSource, boardId: number, check: (changed: Date) => void = () => {}): Promise<void> {
  const { board } = await getBoard(ctx, source, boardId)
  check(board.updated_at)
  await ctx.db.write.delete(boards).where(eq(boards.id, boardId))
}

/** What a new list is of: one of them. */
export interface ListOf {
  label_id?: number | undefined
  assignee_id?: number | undefined
  milestone_id?: number | undefined
}

const KINDS = ['label_id', 'assignee_id', 'milestone_id'] as const
const COLUMNS = { label_id: 'label_id', assignee_id: 'user_id', milestone_id: 'milestone_id' } as const
const NAMES = { label_id: 'Label', assignee_id: 'User', milestone_id: 'Milestone' } as const

/** Refused in the shape of lists of boards. */
const refusedList = (text: string) => new Failure('invalid', { message: { error: text } })

/** Adds a list at the end of a board (BO-4). */
export async function createList(ctx: Context, source: BoardSource, boardId: number, given: ListOf): Promise<BoardList> {
  const kinds = KINDS.filter((kind) => given[kind] !== undefined)
  const [kind] = kinds
  if (kind === undefined) throw invalidInput(`${KINDS.join(', ')} are missing, exactly one parameter must be provided`)
  if (kinds.length > 1) throw invalidInput(`${kinds.join(', ')} are mutually exclusive`)
  const id = given[kind] as number
  await getBoard(ctx, source, boardId)
  const made = await unlessUniqueViolation(
    () =>
      ctx.db.transaction(async (tx) => {
        await lock(tx, boardId)
        if (!(await isUsable(tx, source, kind, id))) throw refusedList(`${NAMES[kind]} not found!`)
        const last = await tx
          .select({ position: boardLists.position })
          .from(boardLists)
          .where(eq(boardLists.board_id, boardId))
          .orderBy(sql`${boardLists.position} desc`)
        if (last.length >= MAX_LISTS) throw invalidRecord({ base: [`may have at most ${MAX_LISTS} lists`] })
        const now = ctx.now()
        const values = { board_id: boardId, [COLUMNS[kind]]: id, position: (last[0]?.position ?? -1) + 1, created_at: now, updated_at: now }
        return onlyRow(await tx.insert(boardLists).values(values).returning({ id: boardLists.id }))
      }),
    () => invalidRecord({ [NAMES[kind].toLowerCase()]: ['has already been taken'] }),
  )
  return getList(ctx, source, boardId, made.id)
}

/** Changes of the lists of a board follow one another. */
async function lock(tx: Transaction, boardId: number): Promise<void> {
  const found = await tx.select({ id: boards.id }).from(boards).where(eq(boards.id, boardId)).for('update')
  if (found.length === 0) throw notFound('Board')
}

/** Whether issues there can have this label, assignee or milestone. */
async function isUsable(tx: Transaction, source: BoardSource, kind: (typeof KINDS)[number], id: number): Promise<boolean> {
  const { project, group } = ofSource(source)
  if (kind === 'assignee_id') {
    if ('project' in source) return (await assignableAmong(tx, source.project, [id])).length > 0
    const { rows } = await tx.execute(sql`select from ${users} u where u.id = ${id} and u.state = 'active' and exists (
      select from ${namespaceAncestry} a join ${groupMembers} m on m.namespace_id = a.ancestor_id
      where a.descendant_id = ${group} and m.user_id = u.id and ${membershipCounts})`)
    return rows.length > 0
  }
  const { rows } = await (kind === 'label_id'
    ? tx.execute(sql`select from ${labels} l where l.id = ${id} and (l.project_id = ${project}
        or l.namespace_id in (select a.ancestor_id from ${namespaceAncestry} a where a.descendant_id = ${group}))`)
    : tx.execute(sql`select from ${milestones} m where m.id = ${id} and (m.project_id = ${project} or m.namespace_id = ${group})`))
  return rows.length > 0
}

/** Puts a list at another place; the others move up (BO-5). */
export async function moveList(ctx: Context, source: BoardSource, boardId: number, listId: number, position: number): Promise<BoardList> {
  const { lists } = await getBoard(ctx, source, boardId)
  const list = lists.find(({ id }) => id === listId)
  if (!list) throw notFound()
  if (position < 0 || position >= lists.length || position === list.position) throw refusedList('List could not be moved!')
  await ctx.db.transaction(async (tx) => {
    await lock(tx, boardId)
    const ids = lists.map(({ id }) => id).filter((id) => id !== listId)
    ids.splice(position, 0, listId)
    await tx.execute(sql`update ${boardLists} set position = o.place - 1, updated_at = case when id = ${listId} then ${ctx.now().toISOString()}::timestamptz else updated_at end
      from unnest(${sql.param(ids)}::bigint[]) with ordinality as o(list, place) where id = o.list`)
  })
  return getList(ctx, source, boardId, listId)
}

/** Removes a list from its board; its issues stay as they are (BO-6). */
export async function deleteList(ctx: Context, source: BoardSource, boardId: number, listId: number, check: (changed: Date) => void = () => {}) {
  check((await getList(ctx, source, boardId, listId)).updated_at)
  await ctx.db.write.delete(boardLists).where(and(eq(boardLists.board_id, boardId), eq(boardLists.id, listId)))
}

/** What a list is of, as its forms name it; those of open and closed issues have their state alone. */
export type ListKind =
  | { state: 'opened' | 'closed' }
  | { label: { id: number; name: string } }
  | { user: { id: number } }
  | { milestone: { id: number } }

/**
 * What becomes of an issue that is moved from one list to another: it gets what the list has, loses what the former list
 * has if that is of the same kind or it becomes one of the open ones, and is closed or opened (BO-7).
 */
export function changesOfMove(from: ListKind, to: ListKind, assignees: readonly number[]): IssueChanges {
  const isOpen = 'state' in to && to.state === 'opened'
  if ('state' in to && to.state === 'closed') return { state_event: 'close' }
  const changes: IssueChanges = { state_event: 'reopen' }
  const leaves = (kind: 'label' | 'user' | 'milestone') => isOpen || kind in to
  if ('label' in from && leaves('label')) changes.remove_labels = [from.label.name]
  const others = 'user' in from && leaves('user') ? assignees.filter((id) => id !== from.user.id) : assignees
  if (others.length < assignees.length) changes.assignee_ids = others.length > 0 ? [...others] : [0]
  if ('milestone' in from && leaves('milestone')) changes.milestone_id = 0
  if ('label' in to) {
    changes.add_labels = [to.label.name]
    if ('label' in from && from.label.id === to.label.id) delete changes.remove_labels
  }
  if ('user' in to) changes.assignee_ids = [...others, to.user.id]
  if ('milestone' in to) changes.milestone_id = to.milestone.id
  return changes
}
