import { z } from 'zod'
import { signedIn } from '../../access/rules.js'
import { presentTodo, Todo } from '../../entities/issuables/todo.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { idPaging, oneOf, opt, orDefault, rowId } from '../../http/params.js'
import { dayOf } from '../../lib/text/day.js'
import { finishAllTodos, finishTodo, listTodos } from '../../services/issuables/todo-list.js'

const filters = {
  // no todo has the action `approval_required`: no approval is required (TD-3)
  action: opt(
    oneOf(['assigned', 'review_requested', 'mentioned', 'build_failed', 'marked', 'approval_required', 'unmergeable', 'directly_addressed']),
  ),
  author_id: opt(rowId()),
  project_id: opt(rowId()),
  group_id: opt(rowId()),
  type: opt(oneOf(['Issue', 'MergeRequest'])),
}

/** Todos (TO-1 to TO-3). */
export const todos = [
  endpoint({
    method: 'GET',
    path: '/todos',
    summary: "List the caller's todos",
    access: signedIn,
    input: z.object({ ...filters, state: orDefault(oneOf(['pending', 'done']), 'pending'), ...idPaging }),
    output: z.array(Todo),
    async handler({ ctx, caller, input, view }) {
      return pageOf(await listTodos(ctx, caller, input), input, (todo) => presentTodo(todo, dayOf(ctx.now()), view)).inOrderOfIds(input, 'desc')
    },
  }),
  endpoint({
    method: 'POST',
    path: '/todos/:id/mark_as_done',
    summary: 'Mark a todo as done',
    access: signedIn,
    input: z.object({ id: rowId() }),
    output: Todo,
    async handler({ ctx, caller, input, view }) {
      return presentTodo(await finishTodo(ctx, caller, input.id), dayOf(ctx.now()), view)
    },
  }),
  endpoint({
    method: 'POST',
    path: '/todos/mark_as_done',
    summary: 'Mark all todos as done',
    description: 'Marks all todos that match the filters.',
    access: signedIn,
    status: 204,
    input: z.object(filters),
    handler: async ({ ctx, caller, input }) => finishAllTodos(ctx, caller, input),
  }),
]
