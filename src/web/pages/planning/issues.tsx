import { z } from 'zod'
import { type IssueSubject, onIssue, onIssueSignedIn } from '../../../access/issues.js'
import { fullPathOf, onProject, onProjectSignedIn, type ProjectSubject } from '../../../access/rules.js'
import { bool, oneOf, opt, orDefault, paging, rowId, searchText, str } from '../../../http/params.js'
import { createIssue } from '../../../services/issuables/issues/create.js'
import { listIssues, loadIssue } from '../../../services/issuables/issues/list.js'
import { updateIssue } from '../../../services/issuables/issues/update.js'
import { listDiscussions } from '../../../services/notes/list.js'
import { aboutIssue } from '../../../services/notes/noteables.js'
import { createIssueWithCommands } from '../../../services/quick-actions/descriptions.js'
import { CommentForm, Discussions } from '../../components/discussion.js'
import { ActionButton, Checkbox, Field, FormFaults, FormTag, Submit, TextField } from '../../components/form.js'
import { Badge, Pager, Row, Rows } from '../../components/list.js'
import { Prose } from '../../components/markup.js'
import { Time } from '../../components/time.js'
import { ProjectLayout } from '../../layout/project.js'
import { inUrl, projectLinks } from '../../links.js'
import { form, page, Redirect } from '../../page.js'
import { noteForms } from './notes.js'
import { Labels, ListHead, PersonLink } from './parts.js'
import { discussionParts, renderText } from './texts.js'

const PER_PAGE = 20
const NOTES_PER_PAGE = 100
const within = (subject: ProjectSubject) => `/${inUrl(fullPathOf(subject.project))}/-/issues`

export const issuesPage = page({
  at: 'P/-/issues',
  access: onProject('read_issue'),
  input: z.object({ state: orDefault(oneOf(['opened', 'closed', 'all']), 'opened'), search: opt(searchText()), page: paging.page }),
  async show({ ctx, caller, subject, input, view }) {
    const { state, search, page: number } = input
    const filter = {
      state,
      search,
      scope: 'all',
      in: ['title', 'description'],
      order_by: 'created_at',
      sort: 'desc',
      with_labels_details: false,
      page: number,
      per_page: PER_PAGE,
    } as const
    const { items, total } = await listIssues(ctx, caller, { project: subject }, { ...filter, in: [...filter.in] })
    const links = projectLinks(view, fullPathOf(subject.project))
    return {
      title: `Issues · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="issues" heading="Issues">
          <div class="toolbar">
            {subject.can('create_issue') && (
              <a class="button last" href={links.page('issues/new')}>
                New issue
              </a>
            )}
          </div>
          <ListHead at={links.page('issues')} states={['opened', 'closed', 'all']} state={state} search={search} />
          <Rows empty="There are no such issues.">
            {items.map(({ issue, author, assignee, labels }) => (
              <Row key={issue.id} actions={issue.state === 'closed' && <Badge>closed</Badge>}>
                <span>
                  <a href={links.page(`issues/${issue.iid}`)} class="title">
                    {issue.title}
                  </a>{' '}
                  {issue.confidential && <Badge kind="waiting">confidential</Badge>}{' '}
                  <Labels labels={labels.map((label) => (typeof label === 'string' ? label : label.name))} />
                </span>
                <span class="dim">
                  #{issue.iid} · {author.name}, <Time at={issue.created_at} />
                  {assignee && ` · assigned to ${assignee.name}`}
                  {issue.user_notes_count > 0 && ` · ${issue.user_notes_count} ${issue.user_notes_count === 1 ? 'comment' : 'comments'}`}
                </span>
              </Row>
            ))}
          </Rows>
          <Pager view={view} page={number} perPage={PER_PAGE} total={total} />
        </ProjectLayout>
      ),
    }
  },
})

const addressOf = (subject: IssueSubject) => `${within(subject)}/${subject.issue.iid}`

export const issuePage = page({
  at: 'P/-/issues/:issue_iid',
  access: onIssue('read_issue'),
  input: z.object({ page: paging.page, edit_note: opt(rowId()) }),
  async show({ ctx, caller, subject, input, view }) {
    const about = aboutIssue(subject)
    const { noteable } = about
    // as in the API, only who is signed in reads the discussion
    const reads = caller.user !== null
    const [record, html, { items: discussions, total }] = await Promise.all([
      loadIssue(ctx, caller, subject.issue.id),
      renderText(ctx, caller, subject, subject.issue.description),
      reads ? listDiscussions(ctx, caller, noteable, { page: input.page, per_page: NOTES_PER_PAGE }) : { items: [], total: 0 },
    ])
    const { issue, author, assignee, milestone } = record
    const at = addressOf(subject)
    const mayWrite = subject.may('create_note')
    return {
      title: `${issue.title} (#${issue.iid}) · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="issues">
          <h1>
            {issue.title} <span class="dim">#{issue.iid}</span>
          </h1>
          <p class="dim">
            <Badge kind={issue.state === 'opened' ? 'success' : ''}>{issue.state === 'opened' ? 'Open' : 'Closed'}</Badge>{' '}
            {issue.confidential && <Badge kind="waiting">confidential</Badge>} opened by <PersonLink view={view} user={author} />{' '}
            <Time at={issue.created_at} />
          </p>
          <div class="with-aside">
            <div>
              {html && (
                <section class="box">
                  <Prose html={html} />
                </section>
              )}
              <h2>Discussion</h2>
              {!reads && (
                <p class="empty">
                  <a href={`${view.links.prefix}/users/sign_in?${new URLSearchParams({ return_to: at })}`}>Sign in</a> to read and to take part.
                </p>
              )}
              <Discussions
                view={view}
                discussions={discussions}
                {...await discussionParts(ctx, caller, about, { at, discussions, edit: input.edit_note })}
              />
              <Pager view={view} page={input.page} perPage={NOTES_PER_PAGE} total={total} />
              {mayWrite && (
                <CommentForm view={view} at={at} mayStartThread={false} hint="Markdown; lines such as /close or /assign me are carried out." />
              )}
              {subject.may('update_issue') && (
                <ActionButton
                  view={view}
                  action={at}
                  method="PUT"
                  label={issue.state === 'opened' ? 'Close issue' : 'Reopen issue'}
                  fields={{ 'issue[state_event]': issue.state === 'opened' ? 'close' : 'reopen' }}
                />
              )}
            </div>
            <aside>
              <h2>Assignee</h2>
              <p>
                <PersonLink view={view} user={assignee} />
              </p>
              <h2>Labels</h2>
              <p>
                {record.labels.length > 0 ? (
                  <Labels labels={record.labels.map((label) => (typeof label === 'string' ? label : label.name))} />
                ) : (
                  <span class="dim">none</span>
                )}
              </p>
              <h2>Milestone</h2>
              <p>{milestone ? milestone.title : <span class="dim">none</span>}</p>
              {issue.due_date && (
                <>
                  <h2>Due</h2>
                  <p>{issue.due_date}</p>
                </>
              )}
            </aside>
          </div>
        </ProjectLayout>
      ),
    }
  },
})

export const issueNotes = noteForms({
  at: issuePage.at,
  access: onIssueSignedIn,
  on: issuePage,
  about: aboutIssue,
  addressOf,
})

export const issueState = form({
  at: 'P/-/issues/:issue_iid',
  method: 'PUT',
  access: onIssueSignedIn('update_issue'),
  input: z.object({ issue: z.object({ state_event: oneOf(['close', 'reopen']) }) }),
  on: issuePage,
  async submit({ ctx, caller, subject, input }) {
    await updateIssue(ctx, caller, subject, input.issue)
    return new Redirect(addressOf(subject), { notice: input.issue.state_event === 'close' ? 'The issue is closed.' : 'The issue is open again.' })
  },
})

export const newIssuePage = page({
  at: 'P/-/issues/new',
  access: onProjectSignedIn('create_issue'),
  input: z.object({ issue: z.object({ title: opt(str()), description: opt(str()) }).optional() }),
  async show({ subject, input, view }) {
    return {
      title: `New issue · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="issues">
          <h1>New issue</h1>
          <FormTag view={view} action={within(subject)}>
            <FormFaults view={view} fields={['title', 'description']} />
            <Field view={view} name="issue[title]" label="Title" value={input.issue?.title} required autofocus />
            <TextField view={view} name="issue[description]" label="Description" value={input.issue?.description} rows={10} hint="Markdown." />
            <Checkbox
              view={view}
              name="issue[confidential]"
              label="Confidential"
              hint="Only members from Reporter on, the author and the assignee see it."
            />
            <Submit label="Create issue" />
          </FormTag>
        </ProjectLayout>
      ),
    }
  },
})

export const newIssueForm = form({
  at: 'P/-/issues',
  method: 'POST',
  access: onProjectSignedIn('create_issue'),
  input: z.object({ issue: z.object({ title: orDefault(str(), ''), description: opt(str()), confidential: orDefault(bool(), false) }) }),
  on: newIssuePage,
  async submit({ ctx, caller, subject, input }) {
    const made = await createIssueWithCommands(ctx, caller, subject, input.issue, (given) => createIssue(ctx, caller, subject, given))
    return new Redirect(`${within(subject)}/${made.issue.iid}`, { notice: 'The issue is created.' })
  },
})
