import type { Context } from '../../../../context.js'
import { notFound } from '../../../../failures.js'
import type { UserRefRecord } from '../../../../services/identity/user-ref.js'
import {
  type BoardList,
  type BoardSource,
  DEFAULT_NAME,
  defaultLabels,
  getBoard,
  type ListKind,
  listBoards,
} from '../../../../services/issuables/boards.js'
import { t } from '../../../language/language.js'

/** Boards that a menu names: as many as there may be. */
const ALL = { page: 1, per_page: 50 }

/** A list as a board shows it; the first and the last have a state alone. */
export interface ShownList {
  /** What forms call it. */
  key: string
  title: string
  kind: ListKind
  /** Its colour, if it is of a label. */
  color?: string
  user?: UserRefRecord
}

export interface ShownBoard {
  /** Null while it is made of the labels with a priority. */
  id: number | null
  name: string
  lists: ShownList[]
  /** All boards there. */
  others: { id: number; name: string }[]
}

const opened = (): ShownList => ({ key: 'opened', title: t('Open'), kind: { state: 'opened' } })
const closed = (): ShownList => ({ key: 'closed', title: t('Closed'), kind: { state: 'closed' } })

const ofLabel = (label: { id: number; name: string; color: string }): ShownList => ({
  key: `label-${label.id}`,
  title: label.name,
  kind: { label },
  color: label.color,
})

function shownList({ label, user, milestone }: BoardList): ShownList[] {
  if (label) return [ofLabel(label)]
  if (user) return [{ key: `assignee-${user.id}`, title: user.name, kind: { user }, user }]
  if (milestone) return [{ key: `milestone-${milestone.milestone.id}`, title: milestone.milestone.title, kind: { milestone: milestone.milestone } }]
  return []
}

/** A board with all its lists; without a number the first, or what there is before one is made (WB-133). */
export async function loadBoard(ctx: Context, source: BoardSource, id: number | undefined): Promise<ShownBoard> {
  const { items } = await listBoards(ctx, source, ALL)
  const others = items.map(({ board }) => ({ id: board.id, name: board.name }))
  const found = id === undefined ? items[0] : items.find(({ board }) => board.id === id)
  if (found) return { id: found.board.id, name: found.board.name, lists: [opened(), ...found.lists.flatMap(shownList), closed()], others }
  if (id !== undefined) throw notFound(t('Board'))
  return { id: null, name: DEFAULT_NAME, lists: [opened(), ...(await defaultLabels(ctx, source)).map(ofLabel), closed()], others }
}

/** The list of a stored board by the key that forms have for it. */
export async function listKeyed(ctx: Context, source: BoardSource, boardId: number, key: string): Promise<BoardList | undefined> {
  const { lists } = await getBoard(ctx, source, boardId)
  return lists.find((list) => shownList(list)[0]?.key === key)
}

/** What a new list is of, by such a key. */
export function listOfKey(key: string) {
  const [, kind, id] = /^(label|assignee|milestone)-(\d{1,15})$/.exec(key) ?? []
  return kind === undefined ? null : { [`${kind}_id`]: Number(id) }
}
