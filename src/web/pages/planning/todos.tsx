import { z } from 'zod'
import { signedIn } from '../../../access/rules.js'
import { int, oneOf, oneOfOrBlank, opt, orDefault, paging, rowId } from '../../../http/params.js'
import { finishAllTodos, finishTodo, listTodos, restoreTodo, restoreTodosOf } from '../../../services/issuables/todo-list.js'
import { ActionButton } from '../../components/form.js'
import { aboutTodo, todoText } from '../../components/issuable/todo.js'
import { Badge, Pager, Row, Rows } from '../../components/list.js'
import { Time } from '../../components/time.js'
import { plural, t } from '../../language/language.js'
import { projectLinks } from '../../links.js'
import { form, page, Redirect } from '../../page.js'

const PER_PAGE = 20
const AT = '/dashboard/todos'
/** The last moment that is a date. */
const MAX_MOMENT = 8_640_000_000_000_000

const filters = {
  project_id: opt(rowId()),
  author_id: opt(rowId()),
  type: opt(oneOfOrBlank(['Issue', 'MergeRequest'])),
}

/** The moment at which to-dos were marked as done together, in milliseconds. */
const moment = int({ min: 0, max: MAX_MOMENT })

export const todosPage = page({
  at: AT,
  access: signedIn,
  ownerOnly: false,
  input: z.object({
    state: orDefault(oneOf(['pending', 'done']), 'pending'),
    done: opt(rowId()),
    all_done: opt(moment),
    page: paging.page,
    ...filters,
  }),
  async show({ ctx, caller, input, view }) {
    const { state, done, all_done, ...given } = input
    const { items, total } = await listTodos(ctx, caller, { ...given, state, per_page: PER_PAGE })
    const isPending = state === 'pending'
    const at = view.links.prefix + AT
    return {
      title: t('To-do list'),
      body: (
        <>
          <div class="heading">
            <h1>{t('To-do list')}</h1>
            {isPending && items.length > 0 && (
              <ActionButton view={view} action={`${AT}/destroy_all`} method="DELETE" label={t('Mark all as done')} fields={fieldsOf(given)} />
            )}
          </div>
          {done !== undefined && (
            <div class="flash undo">
              {t('Marked as done.')} <ActionButton view={view} action={`${AT}/${done}/restore`} method="PATCH" label={t('Undo')} />
            </div>
          )}
          {all_done !== undefined && (
            <div class="flash undo">
              {t('All are marked as done.')}{' '}
              <ActionButton view={view} action={`${AT}/bulk_restore`} method="PATCH" label={t('Undo')} fields={{ moment: String(all_done) }} />
            </div>
          )}
          <nav class="tabs" aria-label={t('State')}>
            <a href={at} {...(isPending && { 'aria-current': 'page' })}>
              {t('To do')}
            </a>
            <a href={`${at}?state=done`} {...(!isPending && { 'aria-current': 'page' })}>
              {t('Done')}
            </a>
          </nav>
          <Rows empty={isPending ? t('Nothing waits for you.') : t('Nothing is done yet.')}>
            {items.map(({ todo, author, project, note, target }) => {
              const links = projectLinks(view, project.path_with_namespace)
              const { iid, title, state: of, isIssue, page: subpage } = aboutTodo({ todo, target })
              const to = links.page(subpage)
              return (
                <Row
                  key={todo.id}
                  actions={
                    isPending ? (
                      <ActionButton view={view} action={`${AT}/${todo.id}`} method="DELETE" label={t('Done')} what={title} icon="check" />
                    ) : (
                      <ActionButton view={view} action={`${AT}/${todo.id}/restore`} method="PATCH" label={t('Restore')} what={title} />
                    )
                  }
                >
                  <span>
                    {todoText(caller.user, { todo, author })}{' '}
                    <a href={to} class="title" data-row>
                      <strong>{title}</strong>
                    </a>{' '}
                    {of !== 'opened' && <Badge>{of}</Badge>}
                  </span>
                  {note && <span class="excerpt">{note.slice(0, 200)}</span>}
                  <span class="dim">
                    {project.path_with_namespace}
                    {isIssue ? '#' : '!'}
                    {iid} · <Time at={todo.created_at} />
                  </span>
                </Row>
              )
            })}
          </Rows>
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
        </>
      ),
    }
  },
})

const fieldsOf = (given: { project_id?: number | undefined; author_id?: number | undefined; type?: string | undefined }) =>
  Object.fromEntries(Object.entries(given).flatMap(([name, value]) => (value === undefined || name === 'page' ? [] : [[name, String(value)]])))

export const todoDone = form({
  at: `${AT}/:id`,
  method: 'DELETE',
  access: signedIn,
  ownerOnly: false,
  input: z.object({ id: rowId() }),
  async submit({ ctx, caller, input }) {
    await finishTodo(ctx, caller, input.id)
    return new Redirect(`${AT}?done=${input.id}`)
  },
})

export const todoRestoration = form({
  at: `${AT}/:id/restore`,
  method: 'PATCH',
  access: signedIn,
  ownerOnly: false,
  input: z.object({ id: rowId() }),
  async submit({ ctx, caller, input }) {
    await restoreTodo(ctx, caller, input.id)
    return new Redirect(AT, { notice: t('It is in the list again.') })
  },
})

export const todosDone = form({
  at: `${AT}/destroy_all`,
  method: 'DELETE',
  access: signedIn,
  ownerOnly: false,
  input: z.object(filters),
  async submit({ ctx, caller, input: { project_id, author_id, type } }) {
    const done = await finishAllTodos(ctx, caller, { project_id, author_id, type })
    return new Redirect(`${AT}?all_done=${done.getTime()}`)
  },
})

export const todosRestoration = form({
  at: `${AT}/bulk_restore`,
  method: 'PATCH',
  access: signedIn,
  ownerOnly: false,
  input: z.object({ moment }),
  async submit({ ctx, caller, input }) {
    const count = await restoreTodosOf(ctx, caller, new Date(input.moment))
    return new Redirect(AT, { notice: plural(count, 'One is in the list again.', '{count} are in the list again.') })
  },
})
