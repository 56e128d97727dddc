import type { ComponentChildren } from 'preact'
import { z } from 'zod'
import type { Caller } from '../../../access/actor.js'
import { findIssueFor } from '../../../access/issues.js'
import {
  fullPathOf,
  type GroupSubject,
  onGroup,
  onGroupSignedIn,
  onProject,
  onProjectSignedIn,
  type ProjectSubject,
  signedIn,
} from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { Failure, invalidRecord } from '../../../failures.js'
import { commaList, list, oneOfOrBlank, opt, orDefault, rowId, str } from '../../../http/params.js'
import { labelChoices, MAX_CHOICES, milestoneChoices } from '../../../services/issuables/choices.js'
import { countIssues, listIssues } from '../../../services/issuables/issues/list.js'
import { type IssueChanges, updateIssue } from '../../../services/issuables/issues/update.js'
import type { IssuableSource } from '../../../services/issuables/list.js'
import { countMergeRequests, listMergeRequests } from '../../../services/issuables/merge-requests/reading/list.js'
import { Field, FormFaults, FormTag, SelectField, Submit } from '../../components/form.js'
import { Pager, Rows } from '../../components/list.js'
import { GroupLayout } from '../../layout/group.js'
import { ProjectLayout } from '../../layout/project.js'
import { groupLinks, inUrl, projectLinks } from '../../links.js'
import { form, type PageView, page, Redirect } from '../../page.js'
import { issueFilterOf, issueFilters, ListHead, requestFilterOf, requestFilters } from './filters.js'
import { IssueRow, RequestRow } from './lists.js'
import { assigneeOf } from './people.js'

const PER_PAGE = 20
const within = (subject: ProjectSubject) => `/${inUrl(fullPathOf(subject.project))}/-/issues`

/** The filters of the address, with their question mark. */
const queryOf = ({ address }: PageView) => (address.includes('?') ? address.slice(address.indexOf('?')) : '')

interface IssueList {
  ctx: Context
  caller: Caller
  view: PageView
  source: IssuableSource
  given: z.infer<typeof issueFilters>
  /** The address of the list. */
  at: string
  scope?: 'all' | 'assigned_to_me'
  /** Where issues of the project can be changed together. */
  changeAt?: string | null
}

/** A list of issues with its states, filters and pages. */
async function issueList({ ctx, caller, view, source, given, at, scope = 'all', changeAt = null }: IssueList) {
  const filter = issueFilterOf(given, scope)
  const states = ['opened', 'closed', 'all'] as const
  const choices = source !== 'everywhere' && caller.user ? source : null
  const [{ items, total }, counts, labels, milestones] = await Promise.all([
    listIssues(ctx, caller, source, filter),
    Promise.all(states.map((state) => countIssues(ctx, caller, source, { ...filter, state }))),
    choices ? labelChoices(ctx, choices) : [],
    choices ? milestoneChoices(ctx, choices) : [],
  ])
  const chosen = new Set([(view.submitted?.values['issue_iids'] as unknown[] | undefined) ?? []].flat().map(String))
  const rows = (
    <Rows empty="There are no such issues.">
      {items.map((record) => (
        <IssueRow
          key={record.issue.id}
          view={view}
          withProject={source === 'everywhere' || 'group' in source}
          record={record}
          {...(changeAt && { chosen: chosen.has(String(record.issue.iid)) })}
        />
      ))}
    </Rows>
  )
  return (
    <>
      <ListHead
        view={view}
        at={at}
        kind="issues"
        state={given.state}
        counts={Object.fromEntries(states.map((state, i) => [state, counts[i] ?? 0]))}
        sort={given.sort}
        search={given.search}
        labels={labels.slice(0, MAX_CHOICES)}
        milestones={milestones.slice(0, MAX_CHOICES)}
      />
      {changeAt && items.length > 0 ? (
        <FormTag view={view} action={`${changeAt}${queryOf(view)}`}>
          <FormFaults view={view} fields={['assignee_username']} />
          {rows}
          <details class="box bulk" open={view.submitted !== null}>
            <summary class="head">Change the chosen issues</summary>
            <div class="note">
              <div class="columns">
                <SelectField
                  view={view}
                  name="update[state_event]"
                  label="State"
                  choices={[
                    { value: '', label: 'As it is' },
                    { value: 'close', label: 'Close' },
                    { value: 'reopen', label: 'Reopen' },
                  ]}
                />
                <Field view={view} name="update[assignee_username]" label="Assignee" hint="A username, or none." />
                <Field view={view} name="update[add_labels]" label="Add labels" hint="With commas between." list="list_labels" />
                <Field view={view} name="update[remove_labels]" label="Remove labels" hint="With commas between." list="list_labels" />
                <SelectField
                  view={view}
                  name="update[milestone_id]"
                  label="Milestone"
                  choices={[
                    { value: '', label: 'As it is' },
                    { value: '0', label: 'None' },
                    ...milestones.slice(0, MAX_CHOICES).map(({ id, title }) => ({ value: String(id), label: title })),
                  ]}
                />
              </div>
              <Submit label="Change issues" class="" />
            </div>
          </details>
        </FormTag>
      ) : (
        rows
      )}
      <Pager view={view} page={given.page} perPage={PER_PAGE} total={total} />
    </>
  )
}

export const issuesPage = page({
  at: 'P/-/issues',
  access: onProject('read_issue'),
  input: issueFilters,
  async show({ ctx, caller, subject, input, view }) {
    const links = projectLinks(view, fullPathOf(subject.project))
    const changeAt = subject.can('manage_issue') ? `${within(subject)}/bulk_update` : null
    return {
      title: `Issues · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="issues" heading="Issues">
          <div class="toolbar end">
            {view.viewer && (
              <>
                <a href={links.page('milestones')}>Milestones</a>
                <a href={links.page('labels')}>Labels</a>
              </>
            )}
            {subject.can('create_issue') && (
              <a class="button primary" href={links.page('issues/new')}>
                New issue
              </a>
            )}
          </div>
          {await issueList({ ctx, caller, view, source: { project: subject }, given: input, at: links.page('issues'), changeAt })}
        </ProjectLayout>
      ),
    }
  },
})

const MAX_CHANGED = 100

/** Changes several issues; each as one would change it alone (WB-124). */
export const issuesChange = form({
  at: 'P/-/issues/bulk_update',
  method: 'POST',
  access: onProjectSignedIn('manage_issue'),
  input: z.object({
    issue_iids: orDefault(list(rowId(), MAX_CHANGED), []),
    update: z.object({
      state_event: opt(oneOfOrBlank(['close', 'reopen'])),
      assignee_username: opt(str()),
      add_labels: opt(commaList()),
      remove_labels: opt(commaList()),
      milestone_id: opt(str()),
    }),
  }),
  on: issuesPage,
  async submit({ ctx, caller, subject, input, view }) {
    const { issue_iids: iids, update } = input
    const { assignee_username, milestone_id, add_labels, remove_labels, state_event } = update
    if (iids.length === 0) throw invalidRecord({ base: ['needs at least one issue: choose some.'] })
    const changes: IssueChanges = {
      state_event,
      ...(add_labels?.length && { add_labels }),
      ...(remove_labels?.length && { remove_labels }),
      ...(milestone_id && { milestone_id: Number(milestone_id) }),
      ...(assignee_username?.trim() && { assignee_ids: await assigneeOf(ctx, assignee_username.trim() === 'none' ? '' : assignee_username) }),
    }
    let changed = 0
    for (const iid of new Set(iids)) {
      const issue = await findIssueFor(ctx, caller, subject, iid)
      if (!issue?.may('update_issue')) continue
      try {
        await updateIssue(ctx, caller, issue, changes)
        changed++
      } catch (error) {
        if (!(error instanceof Failure) || error.kind !== 'not_found') throw error
      }
    }
    return new Redirect(`${within(subject)}${queryOf(view)}`, { notice: `${changed} ${changed === 1 ? 'issue is' : 'issues are'} changed.` })
  },
})

interface RequestList extends Omit<IssueList, 'given' | 'scope' | 'changeAt'> {
  given: z.infer<typeof requestFilters>
  scope: Parameters<typeof requestFilterOf>[1]
}

/** A list of merge requests of several projects. */
async function requestList({ ctx, caller, view, source, given, at, scope }: RequestList) {
  const filter = requestFilterOf(given, scope)
  const states = ['opened', 'merged', 'closed', 'all'] as const
  const [{ items, total }, counts] = await Promise.all([
    listMergeRequests(ctx, caller, source, filter),
    Promise.all(states.map((state) => countMergeRequests(ctx, caller, source, { ...filter, state }))),
  ])
  return (
    <>
      <ListHead
        view={view}
        at={at}
        kind="merge requests"
        state={given.state}
        counts={Object.fromEntries(states.map((state, i) => [state, counts[i] ?? 0]))}
        sort={given.sort}
        search={given.search}
      />
      <Rows empty="There are no such merge requests.">
        {items.map((record) => (
          <RequestRow key={record.request.id} view={view} withProject record={record} />
        ))}
      </Rows>
      <Pager view={view} page={given.page} perPage={PER_PAGE} total={total} />
    </>
  )
}

const groupTitle = (title: string, { group }: GroupSubject) => `${title} · ${group.full_path}`

export const groupIssuesPage = page({
  at: 'G/-/issues',
  access: onGroup('read_group'),
  input: issueFilters,
  async show({ ctx, caller, subject, input, view }) {
    return {
      title: groupTitle('Issues', subject),
      body: (
        <GroupLayout view={view} subject={subject} tab="issues" heading="Issues">
          {
            await issueList({
              ctx,
              caller,
              view,
              source: { group: subject },
              given: input,
              at: groupLinks(view, subject.group.full_path).page('issues'),
            })
          }
        </GroupLayout>
      ),
    }
  },
})

export const groupRequestsPage = page({
  at: 'G/-/merge_requests',
  access: onGroupSignedIn('read_group'),
  input: requestFilters,
  async show({ ctx, caller, subject, input, view }) {
    return {
      title: groupTitle('Merge requests', subject),
      body: (
        <GroupLayout view={view} subject={subject} tab="merge_requests" heading="Merge requests">
          {
            await requestList({
              ctx,
              caller,
              view,
              source: { group: subject },
              given: input,
              at: groupLinks(view, subject.group.full_path).page('merge_requests'),
              scope: 'all',
            })
          }
        </GroupLayout>
      ),
    }
  },
})

/** Links between views of one list. */
const Views = ({ view, label, links }: { view: PageView; label: string; links: [to: string, text: string, isCurrent: boolean][] }) => (
  <nav class="tabs" aria-label={label}>
    {links.map(([to, text, isCurrent]) => (
      <a key={to} href={view.links.prefix + to} {...(isCurrent && { 'aria-current': 'page' })}>
        {text}
      </a>
    ))}
  </nav>
)

const Titled = ({ title, children }: { title: string; children: ComponentChildren }) => (
  <>
    <h1>{title}</h1>
    {children}
  </>
)

export const myIssuesPage = page({
  at: '/dashboard/issues',
  access: signedIn,
  input: issueFilters,
  async show({ ctx, caller, input, view }) {
    // a link that names an assignee or an author asks for theirs, in every project
    const names = input.assignee_id ?? input.assignee_username ?? input.author_id ?? input.author_username
    const scope = names === undefined ? 'assigned_to_me' : 'all'
    const given = issueFilterOf(input, scope).scope
    return {
      title: 'Your issues',
      body: (
        <Titled title="Your issues">
          <Views
            view={view}
            label="Issues"
            links={[
              ['/dashboard/issues', 'Assigned to you', given === 'assigned_to_me'],
              ['/dashboard/issues?scope=created_by_me', 'Opened by you', given === 'created_by_me'],
            ]}
          />
          {await issueList({ ctx, caller, view, source: 'everywhere', given: input, at: `${view.links.prefix}/dashboard/issues`, scope })}
        </Titled>
      ),
    }
  },
})

const REQUEST_VIEWS = [
  ['reviews_for_me', 'To review'],
  ['assigned_to_me', 'Assigned to you'],
  ['created_by_me', 'Opened by you'],
] as const

export const myRequestsPage = page({
  at: '/dashboard/merge_requests',
  access: signedIn,
  input: requestFilters.extend({ scope: opt(oneOfOrBlank(['reviews_for_me', 'assigned_to_me', 'created_by_me', 'all'])) }),
  async show({ ctx, caller, input, view }) {
    const names = input.assignee_id ?? input.assignee_username ?? input.author_id ?? input.author_username
    const scope = input.scope ?? (names !== undefined ? 'all' : input.reviewer_username ? 'all' : 'reviews_for_me')
    return {
      title: 'Your merge requests',
      body: (
        <Titled title="Your merge requests">
          <Views
            view={view}
            label="Merge requests"
            links={REQUEST_VIEWS.map(([name, text]) => [`/dashboard/merge_requests?scope=${name}`, text, name === scope])}
          />
          {await requestList({ ctx, caller, view, source: 'everywhere', given: input, at: `${view.links.prefix}/dashboard/merge_requests`, scope })}
        </Titled>
      ),
    }
  },
})
