import { z } from 'zod'
import type { Caller } from '../../../../access/actor.js'
import type { GroupSubject, ProjectSubject } from '../../../../access/rules.js'
import type { Context } from '../../../../context.js'
import { oneOrMore, opt, rowId, searchText, str } from '../../../../http/params.js'
import { traitsOf } from '../../../../routes/issuables/filters.js'
import { type BoardSource, MAX_LISTS } from '../../../../services/issuables/boards.js'
import { labelChoices, MAX_CHOICES, milestoneChoices } from '../../../../services/issuables/choices.js'
import { type IssueRecord, listIssues } from '../../../../services/issuables/issues/list.js'
import { ActionButton, FormFaults, FormTag } from '../../../components/form.js'
import { Icon } from '../../../components/icon.js'
import { FilterField } from '../../../components/issuable/filters.js'
import { Dot, Labels } from '../../../components/issuable/labels.js'
import { Badge } from '../../../components/list.js'
import { Avatar } from '../../../components/people/avatar.js'
import { Faces } from '../../../components/people/faces.js'
import { t } from '../../../language/language.js'
import { Phrase } from '../../../language/phrase.js'
import { inUrl } from '../../../links.js'
import { type PageView, page } from '../../../page.js'
import { loadBoard, type ShownBoard, type ShownList } from './load.js'
import { type BoardPlace, ofGroup, ofProject } from './place.js'

/** Issues that each list shows. */
const MAX_CARDS = 20

/** What the cards of a board can be narrowed by (WB-133). */
const boardFilters = {
  label_name: opt(oneOrMore(str())),
  assignee_username: opt(str()),
  milestone_title: opt(str()),
  search: opt(searchText()),
}
type Filters = z.infer<z.ZodObject<typeof boardFilters>>

/** A number that a form leaves empty for the board which nobody has made. */
export const boardId = () => z.preprocess((value) => (value === '' ? undefined : value), opt(rowId()))

/** The filters that are given, as in an address. */
const queryOf = ({ label_name, assignee_username, milestone_title, search }: Filters): [string, string][] =>
  Object.entries({ label_name, assignee_username, milestone_title, search }).flatMap(([name, value]) =>
    Array.isArray(value) ? value.map((each): [string, string] => [`${name}[]`, each]) : value ? [[name, value] as [string, string]] : [],
  )

interface Filled extends ShownList {
  items: IssueRecord[]
  total: number
  /** The parameters of the list of issues with the same ones. */
  query: [string, string][]
}

/** The cards of all lists. */
async function fill(ctx: Context, caller: Caller, source: BoardSource, { lists }: ShownBoard, given: Filters) {
  const filtered = (given.label_name ?? []).filter((name) => name !== '')
  const names = lists.flatMap(({ kind }) => ('label' in kind ? [kind.label.name] : []))
  const people = lists.flatMap(({ kind, user }) => ('user' in kind && user ? [user] : []))
  const milestones = lists.flatMap(({ kind, title }) => ('milestone' in kind ? [{ id: kind.milestone.id, title }] : []))
  const filter = {
    assignee_username: given.assignee_username ? [given.assignee_username] : undefined,
    milestone: traitsOf({ milestone: given.milestone_title || undefined }).milestone,
    search: given.search || undefined,
    labels: filtered.length > 0 ? filtered : undefined,
    in: ['title', 'description'] as ('title' | 'description')[],
    state: 'opened' as const,
    scope: 'all' as const,
    order_by: 'updated_at' as const,
    sort: 'desc' as const,
    with_labels_details: true,
    page: 1,
    per_page: MAX_CARDS,
  }
  const own = ({ kind, title, user }: ShownList) => {
    if ('label' in kind) return { filter: { labels: [...new Set([title, ...filtered])] }, query: [['label_name[]', title]] }
    if ('user' in kind) return { filter: { assignee_id: [kind.user.id] }, query: [['assignee_username', user?.username ?? '']] }
    if ('milestone' in kind) return { filter: { milestone_id: kind.milestone.id }, query: [['milestone_title', title]] }
    if (kind.state === 'closed') return { filter: { state: 'closed' as const }, query: [['state', 'closed']] }
    return {
      filter: {
        not: { ...(names.length > 0 && { labels: names }), ...(people.length > 0 && { assignee_id: people.map(({ id }) => id) }) },
        without_milestones: milestones.map(({ id }) => id),
      },
      query: [
        ...(names.length > 0 ? [['not[labels]', names.join(',')]] : []),
        ...people.map(({ username }) => ['not[assignee_username][]', username]),
        ...(milestones.length === 1 ? [['not[milestone]', milestones[0]?.title ?? '']] : []),
      ],
    }
  }
  return Promise.all(
    lists.map(async (list): Promise<Filled> => {
      const { filter: more, query } = own(list)
      return { ...list, ...(await listIssues(ctx, caller, source, { ...filter, ...more })), query: query as [string, string][] }
    }),
  )
}

function boardsOf<Subject extends ProjectSubject | GroupSubject>(of: BoardPlace<Subject>) {
  async function show(
    ctx: Context,
    caller: Caller,
    subject: Subject,
    view: PageView,
    { board_id, ...input }: Filters & { board_id?: number | undefined },
  ) {
    const source = of.source(subject)
    const [board, labels, milestones] = await Promise.all([
      loadBoard(ctx, source, board_id),
      labelChoices(ctx, source),
      milestoneChoices(ctx, source),
    ])
    const mayManage = of.mayManage(subject)
    const [lists, people] = await Promise.all([fill(ctx, caller, source, board, input), mayManage ? of.people(ctx, subject) : []])
    const at = `${of.home(subject)}/-/boards`
    const home = `${view.links.prefix}${at}`
    const query = queryOf(input)
    // not the address of a form that was refused
    const here = `${at}${board_id === undefined ? '' : `/${board_id}`}${query.length > 0 ? `?${new URLSearchParams(query)}` : ''}`
    const issues = `${view.links.prefix}${of.home(subject)}/-/issues`
    return {
      title: `${board.name} · ${of.name(subject)}`,
      module: 'board' as const,
      body: (
        <of.Frame view={view} subject={subject}>
          <div class="heading">
            <h1 class="hidden">{board.name}</h1>
            <BoardMenu board={board} home={home} mayManage={mayManage} />
            <div class="toolbar">
              {mayManage && board.id !== null && (
                <a class="button ghost" href={`${home}/${board.id}/edit`}>
                  <Icon name="pencil" />
                  {t('Edit board')}
                </a>
              )}
              <a class="button ghost" href={issues}>
                <Icon name="list" />
                {t('List of issues')}
              </a>
            </div>
          </div>
          <FormFaults view={view} />
          <BoardFilters action={board_id === undefined ? home : `${home}/${board_id}`} input={input} labels={labels} milestones={milestones} />
          {board.id === null && lists.length === 2 && (
            <p class="dim">
              <Phrase
                text="Add lists to this board, or {link}: they are its lists until then."
                link={<a href={`${view.links.prefix}${of.home(subject)}/-/labels`}>{t('give labels a priority')}</a>}
              />
            </p>
          )}
          {mayManage && (
            <FormTag view={view} action={`${at}/move`} attributes={{ id: 'board-move', hidden: true }}>
              {['issue_iid', 'project', 'from', 'to'].map((name) => (
                <input type="hidden" key={name} name={name} />
              ))}
              <input type="hidden" name="board_id" value={board.id ?? ''} />
              <input type="hidden" name="back" value={here} />
            </FormTag>
          )}
          <div class="board" id="board">
            {lists.map((list, i) => (
              <section key={list.key} class="list" data-list={list.key} aria-labelledby={`list_${list.key}`}>
                <div class="line">
                  <h2 id={`list_${list.key}`} class="line grow">
                    {list.color && <Dot color={list.color} />}
                    {list.user && <Avatar view={view} user={list.user} size="small" />}
                    {'milestone' in list.kind && <Icon name="milestone" />}
                    <span class="cut">{list.title}</span> <span class="count">{list.total}</span>
                  </h2>
                  {mayManage && !('state' in list.kind) && (
                    <ListMenu view={view} at={at} board={board} list={list} isFirst={i === 1} isLast={i === lists.length - 2} />
                  )}
                </div>
                <ul>
                  {list.items.map((record) => (
                    <Card
                      key={record.issue.id}
                      view={view}
                      record={record}
                      list={list}
                      isGroup={of.at === 'G/-'}
                      move={
                        mayManage ? `${home}/move?${new URLSearchParams({ board_id: String(board.id ?? ''), from: list.key, back: here })}` : null
                      }
                    />
                  ))}
                </ul>
                {list.total > list.items.length && (
                  <a href={`${issues}?${new URLSearchParams([...query, ...list.query])}`}>
                    <Phrase text="{count} more" count={list.total - list.items.length} />
                  </a>
                )}
              </section>
            ))}
            {mayManage && lists.length < MAX_LISTS + 2 && (
              <AddList view={view} at={at} board={board} labels={labels} people={people} milestones={milestones} />
            )}
          </div>
        </of.Frame>
      ),
    }
  }

  return {
    first: page({
      at: `${of.at}/boards`,
      access: of.read,
      // a form that is refused names its board
      input: z.object({ ...boardFilters, board_id: boardId() }),
      show: ({ ctx, caller, subject, input, view }) => show(ctx, caller, subject, view, input),
    }),
    one: page({
      at: `${of.at}/boards/:board_id`,
      access: of.read,
      input: z.object({ ...boardFilters, board_id: rowId() }),
      show: ({ ctx, caller, subject, input, view }) => show(ctx, caller, subject, view, input),
    }),
  }
}

/** All boards, and a new one. */
const BoardMenu = ({ board, home, mayManage }: { board: ShownBoard; home: string; mayManage: boolean }) => (
  <details class="menu">
    <summary class="button">
      <Icon name="columns-3" />
      <strong>{board.name}</strong>
      <Icon name="chevron-down" />
    </summary>
    <div class="items">
      {board.others.map(({ id, name }) => (
        <a key={id} href={`${home}/${id}`} {...(id === board.id && { 'aria-current': 'page' })}>
          {name}
        </a>
      ))}
      {mayManage && (
        <a href={`${home}/new`}>
          <Icon name="plus" />
          {t('New board')}
        </a>
      )}
      {board.others.length === 0 && !mayManage && <p class="dim">{t('There is no other board.')}</p>}
    </div>
  </details>
)

interface FilterProps {
  action: string
  input: Filters
  labels: { name: string }[]
  milestones: { title: string }[]
}

const BoardFilters = ({ action, input, labels, milestones }: FilterProps) => (
  <search>
    <form method="get" action={action} class="filtering">
      <div class="search">
        <input
          name="search"
          type="search"
          value={input.search ?? ''}
          placeholder={t('Search titles and descriptions')}
          aria-label={t('Search titles and descriptions')}
        />
        <button type="submit">{t('Show')}</button>
      </div>
      <details class="filters" open={queryOf(input).some(([name]) => name !== 'search')}>
        <summary>{t('Filters')}</summary>
        <div class="columns">
          <FilterField
            name="label_name"
            label={t('Label')}
            value={input.label_name?.find((name) => name !== '') ?? ''}
            list={labels.map(({ name }) => name)}
          />
          <FilterField name="assignee_username" label={t('Assignee')} value={input.assignee_username ?? ''} />
          <FilterField
            name="milestone_title"
            label={t('Milestone')}
            value={input.milestone_title ?? ''}
            list={milestones.map(({ title }) => title)}
          />
        </div>
      </details>
    </form>
  </search>
)

interface ListMenuProps {
  view: PageView
  at: string
  board: ShownBoard
  list: ShownList
  isFirst: boolean
  isLast: boolean
}

/** What can be done with a list. */
function ListMenu({ view, at, board, list, isFirst, isLast }: ListMenuProps) {
  const fields = { board_id: String(board.id ?? ''), list: list.key }
  const shared = { view, what: list.title }
  return (
    <details class="menu end">
      <summary class="button ghost square" aria-label={t('List {title}', { title: list.title })}>
        <Icon name="ellipsis" />
      </summary>
      <div class="items">
        {!isFirst && <ActionButton {...shared} action={`${at}/lists/move`} label={t('Move left')} fields={{ ...fields, by: '-1' }} />}
        {!isLast && <ActionButton {...shared} action={`${at}/lists/move`} label={t('Move right')} fields={{ ...fields, by: '1' }} />}
        <ActionButton {...shared} action={`${at}/lists/remove`} label={t('Remove list')} fields={fields} />
      </div>
    </details>
  )
}

interface AddProps {
  view: PageView
  at: string
  board: ShownBoard
  labels: { id: number; name: string }[]
  people: { id: number; name: string }[]
  milestones: { id: number; title: string }[]
}

/** What a board has no list of yet. */
function AddList({ view, at, board, labels, people, milestones }: AddProps) {
  const taken = new Set(board.lists.map(({ key }) => key))
  const groups = [
    [t('Labels'), labels.map(({ id, name }) => ({ key: `label-${id}`, name }))],
    [t('People'), people.map(({ id, name }) => ({ key: `assignee-${id}`, name }))],
    [t('Milestones'), milestones.map(({ id, title }) => ({ key: `milestone-${id}`, name: title }))],
  ] as const
  const offered = groups.map(([name, all]) => [name, all.filter(({ key }) => !taken.has(key)).slice(0, MAX_CHOICES)] as const)
  return (
    <section class="list add" aria-labelledby="add-list">
      <h2 id="add-list">{t('Add a list')}</h2>
      <FormTag view={view} action={`${at}/lists`}>
        <input type="hidden" name="board_id" value={board.id ?? ''} />
        <select name="list" aria-labelledby="add-list" required>
          <option value="">{t('Choose')}</option>
          {offered.map(
            ([name, all]) =>
              all.length > 0 && (
                <optgroup key={name} label={name}>
                  {all.map((each) => (
                    <option key={each.key} value={each.key}>
                      {each.name}
                    </option>
                  ))}
                </optgroup>
              ),
          )}
        </select>
        <button type="submit">{t('Add list')}</button>
      </FormTag>
    </section>
  )
}

interface CardProps {
  view: PageView
  record: IssueRecord
  list: ShownList
  isGroup: boolean
  /** Where it is moved without scripts; null if the viewer may not. */
  move: string | null
}

function Card({ view, record: { issue, path, labels, assignees, milestone }, list, isGroup, move }: CardProps) {
  const others = labels.filter((label) => typeof label === 'string' || !('label' in list.kind) || label.id !== list.kind.label.id) as typeof labels
  return (
    <li
      class="box card"
      id={`card-${issue.id}`}
      {...(move !== null && { draggable: true, 'data-issue': issue.iid, ...(isGroup && { 'data-project': path }) })}
    >
      <div class="line">
        <a href={`${view.links.prefix}/${inUrl(path)}/-/issues/${issue.iid}`} class="title grow" draggable={false}>
          {issue.title}
        </a>
        {move !== null && (
          <a
            class="button ghost square"
            href={`${move}&issue_iid=${issue.iid}${isGroup ? `&${new URLSearchParams({ project: path })}` : ''}`}
            data-move
            aria-label={t('Move {path}#{iid}', { path: isGroup ? path : '', iid: issue.iid })}
            draggable={false}
          >
            <Icon name="ellipsis" />
          </a>
        )}
      </div>
      {(issue.confidential || others.length > 0) && (
        <p class="labels">
          {issue.confidential && <Badge kind="waiting">{t('confidential')}</Badge>} <Labels labels={others} />
        </p>
      )}
      <p class="dim line">
        <span class="grow cut">
          {isGroup && path.split('/').at(-1)}#{issue.iid}
          {milestone && !('milestone' in list.kind) && ` · ${milestone.title}`}
        </span>
        <Faces view={view} people={assignees} as={t('Assigned to')} size="small" />
      </p>
    </li>
  )
}

export const projectBoards = boardsOf(ofProject)
export const groupBoards = boardsOf(ofGroup)
