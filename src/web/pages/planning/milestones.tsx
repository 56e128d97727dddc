import { z } from 'zod'
import type { Caller } from '../../../access/actor.js'
import { type GroupSubject, onProjectSignedIn, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import * as documented from '../../../http/documented.js'
import { clearableDate, oneOf, opt, orDefault, paging, rowId, searchText, str } from '../../../http/params.js'
import { countIssues, listIssues } from '../../../services/issuables/issues/list.js'
import type { IssuableSource } from '../../../services/issuables/list.js'
import { withLabelColors } from '../../../services/issuables/merge-requests/reading/label-colors.js'
import { countMergeRequests, listMergeRequests } from '../../../services/issuables/merge-requests/reading/list.js'
import {
  createMilestone,
  deleteMilestone,
  getMilestoneNumbered,
  listMilestones,
  type Milestone,
  updateMilestone,
} from '../../../services/issuables/milestones.js'
import { promoteMilestone } from '../../../services/issuables/promote-milestone.js'
import { Editor, EditorForm } from '../../components/editor/editor.js'
import { checkVersion, Version } from '../../components/editor/version.js'
import { ActionButton, Field, FormFaults, Submit } from '../../components/form.js'
import { IssueRow, RequestRow } from '../../components/issuable/rows.js'
import { Badge, Pager, Row, Rows } from '../../components/list.js'
import { Prose } from '../../components/markup.js'
import { renderText } from '../../components/render-text.js'
import { SearchForm } from '../../components/search.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { inUrl } from '../../links.js'
import { form, type PageView, page, Redirect } from '../../page.js'
import { ofGroup, ofProject, type Planning } from './sources.js'

const PER_PAGE = 20
const ALL = { scope: 'all', order_by: 'created_at', sort: 'desc' } as const

/** Open and closed issues and merge requests of a milestone that the caller sees. */
async function progressOf(
  ctx: Context,
  caller: Caller,
  { issues, requests }: Record<'issues' | 'requests', IssuableSource | null>,
  milestone_id: number,
) {
  const paged = { ...ALL, in: [], milestone_id, page: 1, per_page: 1 }
  const issuesIn = (state: 'opened' | 'closed') =>
    issues ? countIssues(ctx, caller, issues, { ...paged, in: [], state, with_labels_details: false }) : 0
  const requestsIn = (state: 'all' | 'opened') => (requests ? countMergeRequests(ctx, caller, requests, { ...paged, in: [], state }) : 0)
  const [open, closed, all, openRequests] = await Promise.all([issuesIn('opened'), issuesIn('closed'), requestsIn('all'), requestsIn('opened')])
  return { issues: { open, closed }, requests: { open: openRequests, closed: all - openRequests } }
}

const Progress = ({ done, all }: { done: number; all: number }) => (
  <>
    <progress max={Math.max(all, 1)} value={done} aria-label={t('Progress')} />
    <span class="dim">
      {' '}
      {all === 0 ? t('nothing in it yet') : t('{done} of {all} done ({floor} %)', { done, all, floor: Math.floor((done / all) * 100) })}
    </span>
  </>
)

const Dates = ({ view, milestone: { start_date, due_date, state } }: { view: PageView; milestone: Milestone }) => {
  const isLate = state === 'active' && due_date !== null && due_date < view.now.toISOString().slice(0, 10)
  return (
    <>
      {start_date && `${t('from {startDate}', { startDate: start_date })} `}
      {due_date && (
        <span class={isLate ? 'late' : ''}>
          <Phrase text="due {dueDate}" dueDate={due_date} />
        </span>
      )}
    </>
  )
}

const fields = z.object({
  version: opt(str()),
  milestone: z.object({
    title: opt(documented.title()),
    description: opt(str()),
    start_date: clearableDate().optional(),
    due_date: clearableDate().optional(),
    state_event: opt(oneOf(['close', 'activate'])),
  }),
})

function milestonesOf<Subject extends ProjectSubject | GroupSubject>(of: Planning<Subject>) {
  const list = (subject: Subject) => `${of.home(subject)}/-/milestones`
  const addressOf = (subject: Subject, iid: number) => `${list(subject)}/${iid}`
  const projectOf = (subject: Subject) => {
    const source = of.source(subject)
    return 'project' in source ? source.project : null
  }

  const Fields = ({ view, subject, milestone }: { view: PageView; subject: Subject; milestone?: Milestone }) => {
    const f = fieldsOf(view, fields).milestone
    return (
      <>
        <FormFaults view={view} />
        <Field {...f.title} label={t('Title')} value={milestone?.title} autofocus />
        <div class="columns">
          <Field {...f.start_date} label={t('Start date')} value={milestone?.start_date} />
          <Field {...f.due_date} label={t('Due date')} value={milestone?.due_date} />
        </div>
        <Editor {...f.description} label={t('Description')} value={milestone?.description} hint={t('Markdown.')} project={projectOf(subject)} />
      </>
    )
  }

  const milestonesPage = page({
    at: `${of.at}/milestones`,
    access: of.readMilestones,
    input: z.object({ state: orDefault(oneOf(['opened', 'active', 'closed', 'all']), 'opened'), search: opt(searchText()), page: paging.page }),
    async show({ ctx, subject, input, view }) {
      const state = input.state === 'opened' ? 'active' : input.state
      const { items, total } = await listMilestones(ctx, of.source(subject), { state, search: input.search, page: input.page, per_page: PER_PAGE })
      const at = view.links.prefix + list(subject)
      return {
        title: `${t('Milestones')} · ${of.name(subject)}`,
        body: (
          <of.Frame view={view} subject={subject} tab="milestones">
            <div class="heading">
              <h1>{t('Milestones')}</h1>
              {of.may(subject, 'manage_milestone') && (
                <a class="button primary" href={`${at}/new`}>
                  {t('New milestone')}
                </a>
              )}
            </div>
            <nav class="group states" aria-label={t('State')}>
              {(
                [
                  ['opened', t('Open')],
                  ['closed', t('Closed')],
                  ['all', t('All')],
                ] as const
              ).map(([name, label]) => (
                <a
                  key={name}
                  class="button"
                  href={`${at}?${new URLSearchParams({ state: name, ...(input.search && { search: input.search }) })}`}
                  {...((name === 'opened' ? 'active' : name) === state && { 'aria-current': 'page' })}
                >
                  {label}
                </a>
              ))}
            </nav>
            <SearchForm action={at} label={t('Find a milestone')} value={input.search} hidden={{ state: input.state }} />
            <Rows empty={t('There are no such milestones.')}>
              {items.map(({ milestone }) => (
                <Row key={milestone.id} actions={milestone.state === 'closed' && <Badge>{t('closed')}</Badge>}>
                  <a href={`${at}/${milestone.iid}`} class="title">
                    <strong>{milestone.title}</strong>
                  </a>
                  <span class="dim">
                    <Dates view={view} milestone={milestone} />
                  </span>
                </Row>
              ))}
            </Rows>
            <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
          </of.Frame>
        ),
      }
    },
  })

  const milestonePage = page({
    at: `${of.at}/milestones/:iid`,
    access: of.readMilestones,
    input: z.object({ iid: rowId(), tab: orDefault(oneOf(['issues', 'merge_requests']), 'issues'), page: paging.page }),
    async show({ ctx, caller, subject, input, view }) {
      const { milestone } = await getMilestoneNumbered(ctx, of.source(subject), input.iid)
      const sources = { issues: of.issues(subject), requests: of.requests(subject) }
      const isIssues = input.tab === 'issues'
      const filter = { ...ALL, state: 'all', in: [], milestone_id: milestone.id, page: input.page, per_page: PER_PAGE } as const
      const none = { items: [], total: 0 }
      const [html, progress, issues, requests] = await Promise.all([
        renderText(ctx, caller, projectOf(subject), milestone.description),
        progressOf(ctx, caller, sources, milestone.id),
        isIssues && sources.issues ? listIssues(ctx, caller, sources.issues, { ...filter, in: [], with_labels_details: true }) : none,
        !isIssues && sources.requests ? listMergeRequests(ctx, caller, sources.requests, { ...filter, in: [] }) : none,
      ])
      const shown = await withLabelColors(ctx, requests.items)
      const at = view.links.prefix + addressOf(subject, milestone.iid)
      const mayManage = of.may(subject, 'manage_milestone')
      const [done, all] = [progress.issues.closed, progress.issues.closed + progress.issues.open]
      const withProject = of.at === 'G/-'
      const isOpen = milestone.state === 'active'
      return {
        title: `${milestone.title} · ${of.name(subject)}`,
        body: (
          <of.Frame view={view} subject={subject} tab="milestones">
            <div class="heading">
              <h1>{milestone.title}</h1>
              {mayManage && (
                <div class="row start">
                  <a class="button" href={`${at}/edit`}>
                    {t('Edit')}
                  </a>
                  <ActionButton
                    view={view}
                    action={addressOf(subject, milestone.iid)}
                    method="PUT"
                    label={isOpen ? t('Close milestone') : t('Reopen milestone')}
                    fields={{ [fieldsOf(view, fields).milestone.state_event.name]: isOpen ? 'close' : 'activate' }}
                  />
                </div>
              )}
            </div>
            <p class="dim">
              <Badge kind={isOpen ? 'success' : ''}>{isOpen ? t('Open') : t('Closed')}</Badge> <Dates view={view} milestone={milestone} />
            </p>
            <p>
              <Progress done={done} all={all} />
            </p>
            {html && (
              <section class="box">
                <Prose html={html} />
              </section>
            )}
            <nav class="tabs" aria-label={t('Milestone')}>
              <a href={at} {...(isIssues && { 'aria-current': 'page' })}>
                <Phrase text="Issues {all}" all={all} />
              </a>
              <a href={`${at}?tab=merge_requests`} {...(!isIssues && { 'aria-current': 'page' })}>
                <Phrase text="Merge requests {open}" open={progress.requests.open + progress.requests.closed} />
              </a>
            </nav>
            <Rows
              empty={isIssues ? t('No issue that you can see is in this milestone.') : t('No merge request that you can see is in this milestone.')}
            >
              {isIssues
                ? issues.items.map((record) => <IssueRow key={record.issue.id} view={view} withProject={withProject} record={record} />)
                : shown.map((record) => <RequestRow key={record.request.id} view={view} withProject={withProject} record={record} />)}
            </Rows>
            <Pager view={view} page={input.page} perPage={PER_PAGE} total={isIssues ? issues.total : requests.total} />
          </of.Frame>
        ),
      }
    },
  })

  const newMilestonePage = page({
    at: `${of.at}/milestones/new`,
    access: of.manageMilestones,
    async show({ subject, view }) {
      return {
        title: `${t('New milestone')} · ${of.name(subject)}`,
        body: (
          <of.Frame view={view} subject={subject} tab="milestones">
            <h1>{t('New milestone')}</h1>
            <EditorForm view={view} action={list(subject)} once>
              <Fields view={view} subject={subject} />
              <Submit label={t('Create milestone')} />
            </EditorForm>
          </of.Frame>
        ),
      }
    },
  })

  const newMilestone = form({
    at: `${of.at}/milestones`,
    files: true,
    access: of.manageMilestones,
    input: fields,
    on: newMilestonePage,
    async submit({ ctx, caller, subject, input: { milestone } }) {
      const { state_event: _, title = '', ...given } = milestone
      const made = await createMilestone(ctx, caller, of.source(subject), { ...given, title })
      return new Redirect(addressOf(subject, made.milestone.iid), { notice: t('Milestone created.') })
    },
  })

  const editMilestonePage = page({
    at: `${of.at}/milestones/:iid/edit`,
    access: of.manageMilestones,
    input: z.object({ iid: rowId() }),
    async show({ ctx, subject, input, view }) {
      const source = of.source(subject)
      const { milestone } = await getMilestoneNumbered(ctx, source, input.iid)
      const at = addressOf(subject, milestone.iid)
      const mayPromote = 'project' in source && source.project.project.namespace.kind === 'group' && source.project.can('manage_project')
      return {
        title: `${t('Edit {title}', { title: milestone.title })} · ${of.name(subject)}`,
        body: (
          <of.Frame view={view} subject={subject} tab="milestones">
            <h1>{t('Edit milestone')}</h1>
            <EditorForm view={view} action={at} method="PUT">
              <Version
                {...fieldsOf(view, fields).version}
                texts={[
                  { label: t('Title'), text: milestone.title },
                  { label: t('Description'), text: milestone.description },
                ]}
              />
              <Fields view={view} subject={subject} milestone={milestone} />
              <Submit label={t('Save changes')} />
            </EditorForm>
            {mayPromote && (
              <>
                <h2>{t('Promote')}</h2>
                <p>{t('The milestone becomes one of the group, and replaces the milestones of this title of the projects in it.')}</p>
                <ActionButton view={view} action={`${at}/promote`} label={t('Promote to a milestone of the group')} />
              </>
            )}
            <h2>{t('Delete')}</h2>
            <p>{t('Issues and merge requests lose this milestone.')}</p>
            <ActionButton view={view} action={at} method="DELETE" label={t('Delete milestone')} class="danger" />
          </of.Frame>
        ),
      }
    },
  })

  const milestoneChange = form({
    at: `${of.at}/milestones/:iid`,
    method: 'PUT',
    files: true,
    access: of.manageMilestones,
    input: fields.extend({ iid: rowId() }),
    on: editMilestonePage,
    async submit({ ctx, caller, subject, input: { iid, version, milestone: given } }) {
      const source = of.source(subject)
      const { milestone } = await getMilestoneNumbered(ctx, source, iid)
      if (version !== undefined) checkVersion(version, milestone.title, milestone.description)
      await updateMilestone(ctx, caller, source, milestone.id, given)
      const { state_event: event } = given
      const notice = event ? (event === 'close' ? t('Milestone closed.') : t('Milestone reopened.')) : t('Milestone updated.')
      return new Redirect(addressOf(subject, iid), { notice })
    },
  })

  const milestoneRemoval = form({
    at: `${of.at}/milestones/:iid`,
    method: 'DELETE',
    access: of.manageMilestones,
    input: z.object({ iid: rowId() }),
    async submit({ ctx, caller, subject, input }) {
      const source = of.source(subject)
      const { milestone } = await getMilestoneNumbered(ctx, source, input.iid)
      await deleteMilestone(ctx, caller, source, milestone.id, () => undefined)
      return new Redirect(list(subject), { notice: t('Milestone deleted.') })
    },
  })

  return [milestonesPage, newMilestonePage, milestonePage, editMilestonePage, newMilestone, milestoneChange, milestoneRemoval]
}

/** Promotes a milestone of a project to one of its group (PT-33). */
export const milestonePromotion = form({
  at: 'P/-/milestones/:iid/promote',
  access: onProjectSignedIn('manage_project'),
  input: z.object({ iid: rowId() }),
  async submit({ ctx, caller, subject, input }) {
    const { milestone } = await getMilestoneNumbered(ctx, { project: subject }, input.iid)
    const promoted = await promoteMilestone(ctx, caller, subject, milestone.id)
    return new Redirect(`/groups/${inUrl(promoted.path)}/-/milestones/${promoted.milestone.iid}`, {
      notice: t('The milestone is one of the group now.'),
    })
  },
})

export const projectMilestones = milestonesOf(ofProject)
export const groupMilestones = milestonesOf(ofGroup)
