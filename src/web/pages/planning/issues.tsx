import type { ComponentChildren } from 'preact'
import { z } from 'zod'
import type { Caller } from '../../../access/actor.js'
import { findIssueFor } from '../../../access/issues.js'
import { fullPathOf, type GroupSubject, onGroup, onGroupSignedIn, onProject, onProjectSignedIn, signedIn } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { oneOfOrBlank, opt } from '../../../http/params.js'
import { labelChoices, MAX_CHOICES, milestoneChoices } from '../../../services/issuables/choices.js'
import { countIssues, listIssues } from '../../../services/issuables/issues/list.js'
import { type IssueChanges, updateIssue } from '../../../services/issuables/issues/update.js'
import type { IssuableSource } from '../../../services/issuables/list.js'
import { requestCsv } from '../../../services/mail/csv.js'
import { Icon } from '../../components/icon.js'
import { BulkForm, bulkUpdate, changeEach, changesIn, chosenIids, chosenIn } from '../../components/issuable/bulk.js'
import { issueFilterOf, issueFilters, ListHead, requestFilters } from '../../components/issuable/filters.js'
import { csvNotice, ListExports } from '../../components/issuable/list-exports.js'
import { requestList } from '../../components/issuable/request-list.js'
import { IssueRow } from '../../components/issuable/rows.js'
import { Pager, Rows } from '../../components/list.js'
import { t } from '../../language/language.js'
import { GroupLayout } from '../../layout/group.js'
import { ProjectLayout } from '../../layout/project.js'
import { groupLinks, homeOfGroup, projectLinks, queryOf } from '../../links.js'
import { form, type PageView, page, Redirect } from '../../page.js'
import { within } from './issue/address.js'

const PER_PAGE = 20

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
  /** Where the list is asked for as a table. */
  csvAt?: string | null
}

/** A list of issues with its states, filters and pages. */
async function issueList({ ctx, caller, view, source, given, at, scope = 'all', changeAt = null, csvAt = null }: IssueList) {
  const filter = issueFilterOf(given, scope)
  const states = ['opened', 'closed', 'all'] as const
  const choices = source !== 'everywhere' && caller.user ? source : null
  const [{ items, total }, counts, labels, milestones] = await Promise.all([
    listIssues(ctx, caller, source, filter),
    Promise.all(states.map((state) => (state === given.state ? null : countIssues(ctx, caller, source, { ...filter, state })))),
    choices ? labelChoices(ctx, choices) : [],
    choices ? milestoneChoices(ctx, choices) : [],
  ])
  const chosen = chosenIn(view, 'issue_iids')
  const rows = (
    <Rows empty={t('There are no such issues.')}>
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
        counts={Object.fromEntries(states.map((state, i) => [state, counts[i] ?? total]))}
        sort={given.sort}
        search={given.search}
        labels={labels.slice(0, MAX_CHOICES)}
        milestones={milestones.slice(0, MAX_CHOICES)}
      />
      {changeAt && items.length > 0 ? (
        <BulkForm view={view} action={changeAt} kind="issues" milestones={milestones.slice(0, MAX_CHOICES)}>
          {rows}
        </BulkForm>
      ) : (
        rows
      )}
      <Pager view={view} page={given.page} perPage={PER_PAGE} total={total} />
      {caller.user && <ListExports view={view} calendar={`${at}.ics`} csv={total > 0 ? csvAt : null} />}
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
    const csvAt = ctx.mail && `${within(subject)}/export_csv${queryOf(view)}`
    return {
      title: `${t('Issues')} · ${fullPathOf(subject.project)}`,
      feed: { title: t('Issues of {fullPath}', { fullPath: fullPathOf(subject.project) }), at: `${within(subject)}.atom${queryOf(view)}` },
      body: (
        <ProjectLayout
          view={view}
          subject={subject}
          tab="issues"
          heading={t('Issues')}
          tools={
            <>
              {view.viewer && (
                <>
                  <a class="button ghost" href={links.page('labels')}>
                    <Icon name="tag" />
                    {t('Labels')}
                  </a>
                  <a class="button ghost" href={links.page('milestones')}>
                    <Icon name="milestone" />
                    {t('Milestones')}
                  </a>
                  <a class="button" href={links.page('boards')}>
                    <Icon name="columns-3" />
                    {t('Board')}
                  </a>
                </>
              )}
              {subject.can('create_issue') && (
                <a class="button primary" href={links.page('issues/new')}>
                  <Icon name="plus" />
                  {t('New issue')}
                </a>
              )}
            </>
          }
        >
          {await issueList({ ctx, caller, view, source: { project: subject }, given: input, at: links.page('issues'), changeAt, csvAt })}
        </ProjectLayout>
      ),
    }
  },
})

/** Has the list mailed as a table, with its filters (RX-35). */
export const issuesExport = form({
  at: 'P/-/issues/export_csv',
  access: onProjectSignedIn('read_issue'),
  input: issueFilters,
  async submit({ ctx, caller, subject, input, view }) {
    const total = await requestCsv(ctx, caller, subject, { kind: 'issues', filter: issueFilterOf(input, 'all') })
    return new Redirect(`${within(subject)}${queryOf(view)}`, { notice: csvNotice(total, 'issues') })
  },
})

/** Changes several issues; each as if it were changed alone (WB-124). */
export const issuesChange = form({
  at: 'P/-/issues/bulk_update',
  access: onProjectSignedIn('manage_issue'),
  input: z.object({ issue_iids: chosenIids, update: bulkUpdate.omit({ reviewer_username: true }) }),
  on: issuesPage,
  async submit({ ctx, caller, subject, input: { issue_iids: iids, update }, view }) {
    const changes: IssueChanges = await changesIn(ctx, 'issue', { iids, update })
    const notice = await changeEach(iids, 'issue', async (iid) => {
      const issue = await findIssueFor(ctx, caller, subject, iid)
      if (!issue?.may('update_issue')) return false
      await updateIssue(ctx, caller, issue, changes)
      return true
    })
    return new Redirect(`${within(subject)}${queryOf(view)}`, { notice })
  },
})

const groupTitle = (title: string, { group }: GroupSubject) => `${title} · ${group.full_path}`

export const groupIssuesPage = page({
  at: 'G/-/issues',
  access: onGroup('read_group'),
  input: issueFilters,
  async show({ ctx, caller, subject, input, view }) {
    return {
      title: groupTitle(t('Issues'), subject),
      feed: { title: t('Issues of {fullPath}', { fullPath: subject.group.full_path }), at: `${homeOfGroup(subject)}/-/issues.atom${queryOf(view)}` },
      body: (
        <GroupLayout
          view={view}
          subject={subject}
          tab="issues"
          heading={t('Issues')}
          tools={
            view.viewer && (
              <a class="button" href={groupLinks(view, subject.group.full_path).page('boards')}>
                <Icon name="columns-3" />
                {t('Board')}
              </a>
            )
          }
        >
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
      title: groupTitle(t('Merge requests'), subject),
      body: (
        <GroupLayout view={view} subject={subject} tab="merge_requests" heading={t('Merge requests')}>
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
  ownerOnly: false,
  input: issueFilters,
  async show({ ctx, caller, input, view }) {
    // a link that names an assignee or an author asks for theirs, in every project
    const names = input.assignee_id ?? input.assignee_username ?? input.author_id ?? input.author_username
    const scope = names === undefined ? 'assigned_to_me' : 'all'
    const given = issueFilterOf(input, scope).scope
    return {
      title: t('Your issues'),
      body: (
        <Titled title={t('Your issues')}>
          <Views
            view={view}
            label={t('Issues')}
            links={[
              ['/dashboard/issues', t('Assigned to you'), given === 'assigned_to_me'],
              ['/dashboard/issues?scope=created_by_me', t('Opened by you'), given === 'created_by_me'],
            ]}
          />
          {await issueList({ ctx, caller, view, source: 'everywhere', given: input, at: `${view.links.prefix}/dashboard/issues`, scope })}
        </Titled>
      ),
    }
  },
})

const requestViews = () =>
  [
    ['reviews_for_me', t('To review')],
    ['assigned_to_me', t('Assigned to you')],
    ['created_by_me', t('Opened by you')],
  ] as const

export const myRequestsPage = page({
  at: '/dashboard/merge_requests',
  access: signedIn,
  ownerOnly: false,
  input: requestFilters.extend({ scope: opt(oneOfOrBlank(['reviews_for_me', 'assigned_to_me', 'created_by_me', 'all'])) }),
  async show({ ctx, caller, input, view }) {
    const names = input.assignee_id ?? input.assignee_username ?? input.author_id ?? input.author_username
    const scope = input.scope ?? (names !== undefined ? 'all' : input.reviewer_username ? 'all' : 'reviews_for_me')
    return {
      title: t('Your merge requests'),
      body: (
        <Titled title={t('Your merge requests')}>
          <Views
            view={view}
            label={t('Merge requests')}
            links={requestViews().map(([name, text]) => [`/dashboard/merge_requests?scope=${name}`, text, name === scope])}
          />
          {await requestList({ ctx, caller, view, source: 'everywhere', given: input, at: `${view.links.prefix}/dashboard/merge_requests`, scope })}
        </Titled>
      ),
    }
  },
})
