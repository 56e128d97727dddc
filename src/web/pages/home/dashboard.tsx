import type { ComponentChildren } from 'preact'
import { z } from 'zod'
import type { SignedIn } from '../../../access/actor.js'
import { signedIn } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { opt, paging, searchText } from '../../../http/params.js'
import type { PipelineState } from '../../../rules/pipeline-states.js'
import { loadFirstSteps } from '../../../services/activity/first-steps.js'
import { headStates } from '../../../services/ci/last-states.js'
import { type IssueRecord, listIssues } from '../../../services/issuables/issues/list.js'
import { listMergeRequests } from '../../../services/issuables/merge-requests/reading/list.js'
import type { MergeRequestRecord } from '../../../services/issuables/merge-requests/reading/load.js'
import { listTodos, type TodoRecord } from '../../../services/issuables/todo-list.js'
import { listProjects } from '../../../services/projects/list.js'
import { PipelineIcon } from '../../components/files/code.js'
import { ActionButton } from '../../components/form.js'
import { Icon } from '../../components/icon.js'
import { Labels } from '../../components/issuable/labels.js'
import { aboutTodo, todoText } from '../../components/issuable/todo.js'
import { Row, StateIcon } from '../../components/list.js'
import { Avatar } from '../../components/people/avatar.js'
import { DashboardHeading, DashboardTabs } from '../../components/projects/dashboard.js'
import { listedProjects, ProjectRows } from '../../components/projects/project-rows.js'
import { Time } from '../../components/time.js'
import { plural, t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { projectLinks } from '../../links.js'
import { type PageView, page, Redirect } from '../../page.js'
import { FIRST_STEPS, FirstStepsCard } from './first-steps.js'

/** The most of each kind that are shown; the rest is a link away. */
const SHOWN = 5
const PROJECTS_SHOWN = 8

/** What waits for the viewer, in a constant number of statements. */
async function waitingOf(ctx: Context, caller: SignedIn) {
  const newest = { in: [] as ('title' | 'description')[], order_by: 'updated_at', sort: 'desc', page: 1, per_page: SHOWN } as const
  const opened = { ...newest, state: 'opened' } as const
  const [reviews, requests, issues, todos] = await Promise.all([
    listMergeRequests(ctx, caller, 'everywhere', { ...opened, scope: 'reviews_for_me' }),
    listMergeRequests(ctx, caller, 'everywhere', { ...opened, scope: 'created_by_me' }),
    listIssues(ctx, caller, 'everywhere', { ...opened, scope: 'assigned_to_me', with_labels_details: true }),
    listTodos(ctx, caller, { state: 'pending', page: 1, per_page: SHOWN }),
  ])
  const heads = [...reviews.items, ...requests.items].map(({ request }) => request.head_pipeline_id)
  return { reviews, requests, issues, todos, states: await headStates(ctx, caller.user, heads) }
}

/** The home of who is signed in: first what waits for them, then their projects (WB-524). */
export const dashboardPage = page({
  at: '/dashboard',
  robots: 'disallow',
  access: signedIn,
  ownerOnly: false,
  input: z.object({ page: paging.page, name: opt(searchText()) }),
  async show({ ctx, caller, input: { page: number, name }, view }) {
    // the list of projects was here
    if (name !== undefined || number > 1)
      return new Redirect(`/dashboard/projects?${new URLSearchParams({ ...(name && { name }), page: String(number) })}`)
    const mine = { membership: true, order_by: 'last_activity_at', sort: 'desc', page: 1, per_page: PROJECTS_SHOWN } as const
    const [{ reviews, requests, issues, todos, states }, projects, steps] = await Promise.all([
      waitingOf(ctx, caller),
      listProjects(ctx, caller, mine),
      view.dismissed.includes(FIRST_STEPS) ? null : loadFirstSteps(ctx, caller.user),
    ])
    const shown = await listedProjects(ctx, caller.user, projects.items)
    const nothing = reviews.total + requests.total + issues.total + todos.total === 0
    return {
      title: t('Home'),
      body: (
        <>
          <DashboardHeading view={view} title={t('What waits for you')} />
          <DashboardTabs view={view} at="/dashboard" />
          <div class="with-aside wider">
            <div>
              {steps && <FirstStepsCard view={view} steps={steps} />}
              {nothing && (
                <section class="empty">
                  <Icon name="check" />
                  <h2>{t('Nothing waits for you')}</h2>
                  <p>{t('Reviews, your merge requests, issues and to-dos are shown here.')}</p>
                </section>
              )}
              <Part view={view} title={t('Waiting for your review')} total={reviews.total} at="/dashboard/merge_requests">
                {reviews.items.map((record) => (
                  <RequestLine key={record.request.id} view={view} record={record} state={stateOf(states, record)} />
                ))}
              </Part>
              <Part view={view} title={t('Your merge requests')} total={requests.total} at="/dashboard/merge_requests?scope=created_by_me">
                {requests.items.map((record) => (
                  <RequestLine key={record.request.id} view={view} record={record} state={stateOf(states, record)} />
                ))}
              </Part>
              <Part view={view} title={t('Your issues')} total={issues.total} at="/dashboard/issues">
                {issues.items.map((record) => (
                  <IssueLine key={record.issue.id} view={view} record={record} />
                ))}
              </Part>
              <Part view={view} title={t('To-dos')} total={todos.total} at="/dashboard/todos">
                {todos.items.map((record) => (
                  <TodoLine key={record.todo.id} view={view} viewer={caller.user} record={record} />
                ))}
              </Part>
            </div>
            <section class="box" aria-labelledby="projects">
              <div class="head">
                <h2 class="grow" id="projects">
                  {t('Your projects')}
                </h2>
                <a href={`${view.links.prefix}/dashboard/projects`}>
                  <Phrase text="All {count}" count={projects.total} />
                </a>
              </div>
              <form method="get" action={`${view.links.prefix}/dashboard/projects`} class="find-project">
                <input name="name" type="search" placeholder={t('Find a project')} aria-label={t('Find a project')} />
              </form>
              <ProjectRows view={view} projects={shown} empty={t('You are in no project yet. Make one, or push to a new address below your name.')} />
            </section>
          </div>
        </>
      ),
    }
  },
})

const stateOf = (states: Map<number, PipelineState>, { request: { head_pipeline_id: id } }: MergeRequestRecord) =>
  id === null ? undefined : states.get(id)

interface PartProps {
  view: PageView
  title: string
  total: number
  /** The whole list. */
  at: string
  children: ComponentChildren[]
}

/** The first of what waits; nothing if nothing does. */
const Part = ({ view, title, total, at, children }: PartProps) =>
  total === 0 ? null : (
    <section class="box">
      <div class="head">
        <h2 class="grow">
          {title} <span class="count">{total}</span>
        </h2>
        <a href={view.links.prefix + at} aria-label={t('All: {title}', { title })}>
          {t('All')}
        </a>
      </div>
      <ul class="rows">{children}</ul>
    </section>
  )

function RequestLine({
  view,
  record: { request, author, path, changes_requested },
  state,
}: {
  view: PageView
  record: MergeRequestRecord
  state: PipelineState | undefined
}) {
  const threads = request.unresolved_discussions_count
  return (
    <Row
      before={<StateIcon icon="git-pull-request" kind="success" label={t('open')} />}
      actions={
        <>
          <PipelineIcon state={state} />
          {author.id !== view.viewer?.id && (
            <span title={author.name}>
              <Avatar view={view} user={author} />
              <span class="hidden">{author.name}</span>
            </span>
          )}
        </>
      }
    >
      <a href={projectLinks(view, path).page(`merge_requests/${request.iid}`)} class="title" data-row>
        {request.title}
      </a>
      <span class="dim">
        {path}!{request.iid} · <Time at={request.updated_at} />
        {threads > 0 && <span class="waiting"> · {plural(threads, '1 open thread', '{count} open threads')}</span>}
        {changes_requested && <span class="waiting"> · {t('changes requested')}</span>}
        {request.merge_status === 'cannot_be_merged' && <span class="late"> · {t('has conflicts')}</span>}
      </span>
    </Row>
  )
}

function IssueLine({ view, record: { issue, labels, path } }: { view: PageView; record: IssueRecord }) {
  const links = projectLinks(view, path)
  const isLate = issue.due_date !== null && issue.due_date < view.now.toISOString().slice(0, 10)
  return (
    <Row
      before={<StateIcon icon="circle-dot" kind="success" label={t('open')} />}
      actions={
        <span class="labels">
          <Labels labels={labels} at={links.page('issues')} />
        </span>
      }
    >
      <a href={links.page(`issues/${issue.iid}`)} class="title" data-row>
        {issue.title}
      </a>
      <span class="dim">
        {path}#{issue.iid}
        {issue.due_date && (
          <span class={isLate ? 'late' : ''}>
            {' · '}
            <Phrase text="due {dueDate}" dueDate={issue.due_date} />
          </span>
        )}
      </span>
    </Row>
  )
}

function TodoLine({ view, viewer, record }: { view: PageView; viewer: { id: number }; record: TodoRecord }) {
  const { todo, author, project, note } = record
  const { iid, title, isIssue, page: subpage } = aboutTodo(record)
  return (
    <Row
      before={<Avatar view={view} user={author} />}
      actions={
        <>
          <span class="dim">
            <Time at={todo.created_at} />
          </span>
          <ActionButton
            view={view}
            action={`/dashboard/todos/${todo.id}`}
            method="DELETE"
            label={t('Done')}
            what={title}
            icon="check"
            class="ghost"
          />
        </>
      }
    >
      <span>
        {todoText(viewer, record)}{' '}
        <a href={projectLinks(view, project.path_with_namespace).page(subpage)} class="title">
          {title}
        </a>
      </span>
      <span class="dim cut">
        {project.path_with_namespace}
        {isIssue ? '#' : '!'}
        {iid}
        {note && ` · “${note.slice(0, 120)}”`}
      </span>
    </Row>
  )
}
