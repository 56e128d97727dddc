import { z } from 'zod'
import { findIssueFor } from '../../../access/issues.js'
import { fullPathOf, onProjectSignedIn, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { invalidRecord, notFound } from '../../../failures.js'
import { orDefault, rowId, str } from '../../../http/params.js'
import { type LabelChoice, labelChoices } from '../../../services/issuables/choices.js'
import { type IssueRecord, listIssues } from '../../../services/issuables/issues/list.js'
import { updateIssue } from '../../../services/issuables/issues/update.js'
import { FormFaults, FormTag } from '../../components/form.js'
import { Badge } from '../../components/list.js'
import { ProjectLayout } from '../../layout/project.js'
import { inUrl, projectLinks } from '../../links.js'
import { form, type PageView, page, Redirect } from '../../page.js'
import { Labels, LabelTag } from './parts.js'

/** Lists of labels of one board, and issues that each list shows. */
const MAX_LISTS = 10
const MAX_CARDS = 20

const within = (subject: ProjectSubject) => `/${inUrl(fullPathOf(subject.project))}/-`

/** The lists of the board: a label with a priority is one, in the order of the priorities. */
const listsOf = async (ctx: Context, project: ProjectSubject): Promise<LabelChoice[]> =>
  (await labelChoices(ctx, { project })).filter(({ priority }) => priority !== null).slice(0, MAX_LISTS)

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

export const boardPage = page({
  at: 'P/-/boards',
  access: onProjectSignedIn('read_issue'),
  input: z.object({}),
  async show({ ctx, caller, subject, view }) {
    const labels = await listsOf(ctx, subject)
    const names = labels.map(({ name }) => name)
    const filter = { scope: 'all', order_by: 'updated_at', sort: 'desc', with_labels_details: true, page: 1, per_page: MAX_CARDS } as const
    const load = async (
      list: Omit<List, 'items' | 'total'>,
      given: { state: 'opened' | 'closed'; labels?: string[]; without?: string[] },
    ): Promise<List> => {
      const not = given.without && given.without.length > 0 ? { labels: given.without } : undefined
      return {
        ...list,
        ...(await listIssues(ctx, caller, { project: subject }, { ...filter, in: [], state: given.state, labels: given.labels, not })),
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
      body: (
        <ProjectLayout view={view} subject={subject} tab="issues">
          <div class="heading">
            <h1>Board</h1>
            <a href={links.page('issues')}>List of issues</a>
          </div>
          <FormFaults view={view} />
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
                  <a href={`${links.page('issues')}?${new URLSearchParams(list.query)}`}>{list.total - list.items.length} more</a>
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
          <select name="to" id={id} aria-label={`Move #${issue.iid} to`}>
            {lists.map(({ key, title }) => (
              <option key={key} value={key} selected={key === list.key}>
                {title}
              </option>
            ))}
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
  method: 'POST',
  access: onProjectSignedIn('manage_issue'),
  input: z.object({ issue_iid: rowId(), from: orDefault(str(), ''), to: orDefault(str(), '') }),
  on: boardPage,
  async submit({ ctx, caller, subject, input: { issue_iid, from, to } }) {
    const issue = await findIssueFor(ctx, caller, subject, issue_iid)
    if (!issue) throw notFound('Issue')
    const lists = await listsOf(ctx, subject)
    const labelOf = (key: string) => lists.find(({ id }) => String(id) === key)?.name
    const [source, target] = [labelOf(from), labelOf(to)]
    if (target === undefined && to !== 'opened' && to !== 'closed') throw invalidRecord({ base: ['is no list of this board any more'] })
    await updateIssue(ctx, caller, issue, {
      state_event: to === 'closed' ? 'close' : 'reopen',
      ...(target !== undefined && { add_labels: [target] }),
      ...(source !== undefined && source !== target && to !== 'closed' && { remove_labels: [source] }),
    })
    return new Redirect(`${within(subject)}/boards`)
  },
})
