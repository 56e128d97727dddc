import { z } from 'zod'
import { findIssueFor } from '../../../access/issues.js'
import { fullPathOf, onProjectSignedIn, type ProjectSubject } from '../../../access/rules.js'
import { invalidRecord, notFound } from '../../../failures.js'
import { oneOrMore, opt, orDefault, rowId, searchText, str } from '../../../http/params.js'
import { traitsOf } from '../../../routes/issuables/filters.js'
import { type LabelChoice, labelChoices, milestoneChoices } from '../../../services/issuables/choices.js'
import { type IssueRecord, listIssues } from '../../../services/issuables/issues/list.js'
import { updateIssue } from '../../../services/issuables/issues/update.js'
import { FormFaults, FormTag, Options } from '../../components/form.js'
import { FilterField } from '../../components/issuable/filters.js'
import { Labels, LabelTag } from '../../components/issuable/labels.js'
import { Badge } from '../../components/list.js'
import { ProjectLayout } from '../../layout/project.js'
import { homeOfProject, projectLinks } from '../../links.js'
import { localPath } from '../../local-path.js'
import { form, type PageView, page, Redirect } from '../../page.js'

/** Lists of labels of one board, and issues that each list shows. */
const MAX_LISTS = 10
const MAX_CARDS = 20

const within = (subject: ProjectSubject) => `${homeOfProject(subject)}/-`

/** The lists of the board: a label with a priority is one, in the order of the priorities. */
const listsOf = (choices: LabelChoice[]): LabelChoice[] => choices.filter(({ priority }) => priority !== null).slice(0, MAX_LISTS)

/** The filters that are given, as in an address. */
const queryOf = (given: Record<string, string | string[] | undefined>): [string, string][] =>
  Object.entries(given).flatMap(([name, value]) =>
    Array.isArray(value) ? value.map((each): [string, string] => [`${name}[]`, each]) : value ? [[name, value] as [string, string]] : [],
  )

interface List {
  /** What a move to it sends. */
  key: string
  label: LabelChoice | null
  title: string
  items: IssueRecord[]
  total: number
  /** The parameters of the list of issues with the same ones. */
  query: Record<string, string>
}

/** What the cards of a board can be narrowed by (WB-133). */
const boardFilters = z.object({
  label_name: opt(oneOrMore(str())),
  assignee_username: opt(str()),
  milestone_title: opt(str()),
  search: opt(searchText()),
})

export const boardPage = page({
  at: 'P/-/boards',
  access: onProjectSignedIn('read_issue'),
  input: boardFilters,
  async show({ ctx, caller, subject, input, view }) {
    const [choices, milestones] = await Promise.all([labelChoices(ctx, { project: subject }), milestoneChoices(ctx, { project: subject })])
    const labels = listsOf(choices)
    const names = labels.map(({ name }) => name)
    const filtered = (input.label_name ?? []).filter((name) => name !== '')
    const { assignee_username, milestone_title: milestone, search } = input
    const filter = {
      assignee_username: assignee_username ? [assignee_username] : undefined,
      milestone: traitsOf({ milestone: milestone || undefined }).milestone,
      search: search || undefined,
      scope: 'all',
      order_by: 'updated_at',
      sort: 'desc',
      with_labels_details: true,
      page: 1,
      per_page: MAX_CARDS,
    } as const
    const labelsOf = (own: string[] = []) => (own.length + filtered.length > 0 ? [...new Set([...own, ...filtered])] : undefined)
    const query = queryOf(input)
    const load = async (
      list: Omit<List, 'items' | 'total'>,
      given: { state: 'opened' | 'closed'; labels?: string[]; without?: string[] },
    ): Promise<List> => {
      const not = given.without && given.without.length > 0 ? { labels: given.without } : undefined
      return {
        ...list,
        ...(await listIssues(
          ctx,
          caller,
          { project: subject },
          { ...filter, in: ['title', 'description'], state: given.state, labels: labelsOf(given.labels), not },
        )),
      }
    }
    const lists = await Promise.all([
      load({ key: 'opened', label: null, title: 'Open', query: { 'not[labels]': names.join(',') } }, { state: 'opened', without: names }),
      ...labels.map((label) =>
        load({ key: String(label.id), label, title: label.name, query: { 'label_name[]': label.name } }, { state: 'opened', labels: [label.name] }),
      ),
      load({ key: 'closed', label: null, title: 'Closed', query: { state: 'closed' } }, { state: 'closed' }),
    ])
    const links = projectLinks(view, fullPathOf(subject.project))
    const mayMove = subject.can('manage_issue')
    return {
      title: `Board · ${fullPathOf(subject.project)}`,
      module: 'board',
      body: (
        <ProjectLayout view={view} subject={subject} tab="issues">
          <div class="heading">
            <h1>Board</h1>
            <a href={links.page('issues')}>List of issues</a>
          </div>
          <FormFaults view={view} />
          <search>
            <form method="get" action={links.page('boards')} class="filtering">
              <div class="search">
                <input
                  name="search"
                  type="search"
                  value={search ?? ''}
                  placeholder="Search titles and descriptions"
                  aria-label="Search titles and descriptions"
                />
                <button type="submit">Show</button>
              </div>
              <details class="filters" open={query.some(([name]) => name !== 'search')}>
                <summary>Filters</summary>
                <div class="columns">
                  <FilterField name="label_name" label="Label" value={filtered[0] ?? ''} list={choices.map(({ name }) => name)} />
                  <FilterField name="assignee_username" label="Assignee" value={assignee_username ?? ''} />
                  <FilterField name="milestone_title" label="Milestone" value={milestone ?? ''} list={milestones.map(({ title }) => title)} />
                </div>
              </details>
            </form>
          </search>
          {labels.length === 0 && (
            <p class="empty">
              Each label with a priority is a list of the board. <a href={links.page('labels')}>Give labels a priority</a>
            </p>
          )}
          <div class="board">
            {lists.map((list) => (
              <section key={list.key} class="list" data-list={list.key}>
                <h2>
                  {list.label ? <LabelTag label={list.label} /> : list.title} <span class="count">{list.total}</span>
                </h2>
                <ul>
                  {list.items.map((record) => (
                    <Card key={record.issue.id} view={view} subject={subject} record={record} list={list} lists={mayMove ? lists : []} />
                  ))}
                </ul>
                {list.total > list.items.length && (
                  <a href={`${links.page('issues')}?${new URLSearchParams([...query, ...Object.entries(list.query)])}`}>
                    {list.total - list.items.length} more
                  </a>
                )}
              </section>
            ))}
          </div>
        </ProjectLayout>
      ),
    }
  },
})

interface CardProps {
  view: PageView
  subject: ProjectSubject
  record: IssueRecord
  list: List
  /** Where it can be moved; none if the viewer may not. */
  lists: List[]
}

function Card({ view, subject, record: { issue, labels, assignee }, list, lists }: CardProps) {
  const id = `move_${list.key}_${issue.iid}`
  const others = labels.filter((label) => typeof label === 'string' || label.name !== list.title)
  return (
    <li class="box card" {...(lists.length > 0 && { draggable: true })}>
      <p>
        <a href={`${view.links.prefix}${within(subject)}/issues/${issue.iid}`} class="title" draggable={false}>
          {issue.title}
        </a>{' '}
        {issue.confidential && <Badge kind="waiting">confidential</Badge>}
      </p>
      <p class="dim">
        #{issue.iid}
        {assignee && ` · ${assignee.name}`} <Labels labels={others as typeof labels} />
      </p>
      {lists.length > 0 && (
        <FormTag view={view} action={`${within(subject)}/boards/move`} class="row start">
          <input type="hidden" name="issue_iid" value={issue.iid} />
          <input type="hidden" name="from" value={list.key} />
          <input type="hidden" name="back" value={view.address} />
          <select name="to" id={id} aria-label={`Move #${issue.iid} to`}>
            <Options choices={lists.map(({ key, title }) => ({ value: key, label: title }))} chosen={list.key} />
          </select>
          <button type="submit" aria-label={`Move #${issue.iid}`}>
            Move
          </button>
        </FormTag>
      )}
    </li>
  )
}

/** Moves an issue to another list: its label, or its state, becomes that of the list (WB-133). */
export const boardMove = form({
  at: 'P/-/boards/move',
  access: onProjectSignedIn('manage_issue'),
  input: z.object({ issue_iid: rowId(), from: orDefault(str(), ''), to: orDefault(str(), ''), back: opt(str()) }),
  on: boardPage,
  async submit({ ctx, caller, subject, input: { issue_iid, from, to, back } }) {
    const issue = await findIssueFor(ctx, caller, subject, issue_iid)
    if (!issue) throw notFound('Issue')
    const lists = listsOf(await labelChoices(ctx, { project: subject }))
    const labelOf = (key: string) => lists.find(({ id }) => String(id) === key)?.name
    const [source, target] = [labelOf(from), labelOf(to)]
    if (target === undefined && to !== 'opened' && to !== 'closed') throw invalidRecord({ base: ['is no list of this board any more'] })
    await updateIssue(ctx, caller, issue, {
      state_event: to === 'closed' ? 'close' : 'reopen',
      ...(target !== undefined && { add_labels: [target] }),
      ...(source !== undefined && source !== target && to !== 'closed' && { remove_labels: [source] }),
    })
    return new Redirect(localPath(back, `${within(subject)}/boards`))
  },
})
