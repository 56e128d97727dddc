import { z } from 'zod'
import type { Access } from '../../access/access.js'
import { type GroupSubject, onGroupSignedIn, onProjectSignedIn, type ProjectSubject } from '../../access/rules.js'
import { Board, BoardList, presentBoard, presentBoardList } from '../../entities/issuables/board.js'
import * as documented from '../../http/documented.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { int, opt, paging, rowId } from '../../http/params.js'
import { dayOf } from '../../lib/text/day.js'
import {
  type BoardSource,
  createBoard,
  createList,
  deleteBoard,
  deleteList,
  getBoard,
  getList,
  listBoards,
  listLists,
  moveList,
  renameBoard,
} from '../../services/issuables/boards.js'

const onBoard = { board_id: rowId() }
const onList = { ...onBoard, list_id: rowId() }

interface BoardRoutes<Subject> {
  /** `/projects/:id` or `/groups/:id`. */
  at: string
  read: Access<Subject, true>
  write: Access<Subject, true>
  source(subject: Subject): BoardSource
}

/** The same endpoints for projects and for groups (BO-1 to BO-6). */
function boardsOf<Subject extends ProjectSubject | GroupSubject>({ at, read, write, source }: BoardRoutes<Subject>) {
  const BOARDS = `${at}/boards`
  const BOARD = `${BOARDS}/:board_id`
  const LISTS = `${BOARD}/lists`
  const LIST = `${LISTS}/:list_id`
  return [
    endpoint({
      method: 'GET',
      path: BOARDS,
      summary: 'List boards',
      access: read,
      input: z.object(paging),
      output: z.array(Board),
      async handler({ ctx, subject, input, view }) {
        return pageOf(await listBoards(ctx, source(subject), input), input, (board) => presentBoard(board, source(subject), dayOf(ctx.now()), view))
      },
    }),
    endpoint({
      method: 'GET',
      path: BOARD,
      summary: 'Get a board',
      access: read,
      input: z.object(onBoard),
      output: Board,
      async handler({ ctx, subject, input, view }) {
        return presentBoard(await getBoard(ctx, source(subject), input.board_id), source(subject), dayOf(ctx.now()), view)
      },
    }),
    endpoint({
      method: 'POST',
      path: BOARDS,
      summary: 'Create a board',
      access: write,
      input: z.object({ name: documented.filled() }),
      output: Board,
      async handler({ ctx, subject, input, view }) {
        return presentBoard(await createBoard(ctx, source(subject), input.name), source(subject), dayOf(ctx.now()), view)
      },
    }),
    endpoint({
      method: 'PUT',
      path: BOARD,
      summary: 'Rename a board',
      access: write,
      input: z.object({ ...onBoard, name: opt(documented.filled()) }),
      output: Board,
      async handler({ ctx, subject, input, view }) {
        return presentBoard(await renameBoard(ctx, source(subject), input.board_id, input.name), source(subject), dayOf(ctx.now()), view)
      },
    }),
    endpoint({
      method: 'DELETE',
      path: BOARD,
      summary: 'Delete a board',
      answers: [412],
      access: write,
      input: z.object(onBoard),
      handler: async ({ ctx, subject, input, unchangedSince }) => deleteBoard(ctx, source(subject), input.board_id, unchangedSince),
    }),
    endpoint({
      method: 'GET',
      path: LISTS,
      summary: 'List the lists of a board',
      access: read,
      input: z.object({ ...onBoard, ...paging }),
      output: z.array(BoardList),
      async handler({ ctx, subject, input, view }) {
        const page = await listLists(ctx, source(subject), input.board_id, input)
        return pageOf(page, input, (list) => presentBoardList(list, dayOf(ctx.now()), view))
      },
    }),
    endpoint({
      method: 'GET',
      path: LIST,
      summary: 'Get a list of a board',
      access: read,
      input: z.object(onList),
      output: BoardList,
      async handler({ ctx, subject, input, view }) {
        return presentBoardList(await getList(ctx, source(subject), input.board_id, input.list_id), dayOf(ctx.now()), view)
      },
    }),
    endpoint({
      method: 'POST',
      path: LISTS,
      summary: 'Add a list to a board',
      description: 'A list is of a label, an assignee or a milestone: exactly one of the three.',
      access: write,
      input: z.object({ ...onBoard, label_id: opt(rowId()), assignee_id: opt(rowId()), milestone_id: opt(rowId()) }),
      output: BoardList,
      async handler({ ctx, subject, input: { board_id, ...given }, view }) {
        return presentBoardList(await createList(ctx, source(subject), board_id, given), dayOf(ctx.now()), view)
      },
    }),
    endpoint({
      method: 'PUT',
      path: LIST,
      summary: 'Put a list of a board at another place',
      access: write,
      input: z.object({ ...onList, position: int() }),
      output: BoardList,
      async handler({ ctx, subject, input: { board_id, list_id, position }, view }) {
        return presentBoardList(await moveList(ctx, source(subject), board_id, list_id, position), dayOf(ctx.now()), view)
      },
    }),
    endpoint({
      method: 'DELETE',
      path: LIST,
      summary: 'Remove a list from a board',
      answers: [412],
      access: write,
      input: z.object(onList),
      handler: async ({ ctx, subject, input, unchangedSince }) => deleteList(ctx, source(subject), input.board_id, input.list_id, unchangedSince),
    }),
  ]
}

/** Boards of issues, and their lists (BO-1 to BO-6). */
export const boards = [
  ...boardsOf({
    at: '/projects/:id',
    read: onProjectSignedIn('read_issue'),
    write: onProjectSignedIn('manage_issue'),
    source: (project) => ({ project }),
  }),
  ...boardsOf({ at: '/groups/:id', read: onGroupSignedIn('read_group'), write: onGroupSignedIn('manage_label'), source: (group) => ({ group }) }),
]
