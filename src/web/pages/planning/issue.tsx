import type { ComponentChildren } from 'preact'
import { z } from 'zod'
import type { SignedIn } from '../../../access/actor.js'
import { type IssueSubject, onIssue, onIssueSignedIn } from '../../../access/issues.js'
import { pathNumber } from '../../../access/path-number.js'
import { fullPathOf, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { invalidRecord, nullOnFailure } from '../../../failures.js'
import * as documented from '../../../http/documented.js'
import { bool, clearableDate, oneOf, opt, orDefault, paging, str } from '../../../http/params.js'
import { withoutAround } from '../../../lib/text/without-trailing.js'
import { humanDuration } from '../../../rules/duration.js'
import { issueBranchName } from '../../../rules/issue-branch.js'
import { referencesIn, withTask } from '../../../rules/references.js'
import { resolveIssues } from '../../../services/activity/referenced-issues.js'
import { findVisibleProject } from '../../../services/identity/acting-users.js'
import { MAX_CHOICES } from '../../../services/issuables/choices.js'
import { type IssueRecord, loadIssue } from '../../../services/issuables/issues/list.js'
import { moveIssue } from '../../../services/issuables/issues/move.js'
import { addIssueTodo, listParticipants, subscribeToIssue } from '../../../services/issuables/issues/participation.js'
import { deleteIssue } from '../../../services/issuables/issues/remove.js'
import { closeAsDuplicate, updateIssue } from '../../../services/issuables/issues/update.js'
import { listRelated } from '../../../services/issuables/merge-requests/reading/of-issue.js'
import { createMergeRequest } from '../../../services/issuables/merge-requests/writing/create.js'
import { addSpentTime, resetEstimate, resetSpentTime, setEstimate, type TimedTarget } from '../../../services/issuables/time-tracking.js'
import { listAwards } from '../../../services/notes/award-emoji.js'
import { listDiscussions } from '../../../services/notes/list.js'
import { aboutIssue } from '../../../services/notes/noteables.js'
import { updateIssueWithCommands } from '../../../services/quick-actions/descriptions.js'
import { createBranch } from '../../../services/repository/branches.js'
import { CommentForm, Discussions } from '../../components/discussion/discussion.js'
import { noteForms, reactionForm } from '../../components/discussion/forms.js'
import { discussionInput, discussionParts } from '../../components/discussion/load.js'
import { Reactions } from '../../components/discussion/reactions.js'
import { Editor, EditorForm } from '../../components/editor/editor.js'
import { checkVersion, Version, versionOf } from '../../components/editor/version.js'
import { ActionButton, Checkbox, Field, FormFaults, FormTag, SelectField, Submit } from '../../components/form.js'
import { assigneeOf, type Choices, choicesFor, Suggestions } from '../../components/issuable/choices.js'
import { LabelFields, Labels, labelNames } from '../../components/issuable/labels.js'
import { withTaskButtons } from '../../components/issuable/tasks.js'
import { Badge, Pager } from '../../components/list.js'
import { Prose } from '../../components/markup.js'
import { Avatar } from '../../components/people/avatar.js'
import { PersonLink } from '../../components/people/person-link.js'
import { renderText } from '../../components/render-text.js'
import { Time } from '../../components/time.js'
import { type Fields, fieldsOf } from '../../fields.js'
import { ProjectLayout } from '../../layout/project.js'
import { homeOfProject, inUrl, projectLinks } from '../../links.js'
import { form, type PageView, page, Redirect } from '../../page.js'

const NOTES_PER_PAGE = 100
const MAX_SHOWN = 20
export const within = (subject: ProjectSubject) => `${homeOfProject(subject)}/-/issues`
const addressOf = (subject: IssueSubject) => `${within(subject)}/${subject.issue.iid}`

export const issuePage = page({
  at: 'P/-/issues/:issue_iid',
  access: onIssue('read_issue'),
  input: z.object({ page: paging.page, ...discussionInput }),
  async show({ ctx, caller, subject, input, view }) {
    const about = aboutIssue(subject)
    const { noteable } = about
    // as in the API, only who is signed in reads the discussion
    const reader = caller.user ? caller : null
    const shown = { page: 1, per_page: MAX_SHOWN }
    const none = { items: [], total: 0 }
    const [record, html, { items: discussions, total }, awards, related, participants, choices] = await Promise.all([
      loadIssue(ctx, caller, subject.issue.id),
      renderText(ctx, caller, subject, subject.issue.description),
      reader ? listDiscussions(ctx, caller, noteable, { page: input.page, per_page: NOTES_PER_PAGE }) : none,
      listAwards(ctx, { type: 'Issue', id: subject.issue.id, noteable }, { page: 1, per_page: 100 }),
      reader ? listRelated(ctx, caller, subject, shown) : none,
      listParticipants(ctx, subject, shown),
      reader && subject.may('update_issue') && subject.can('manage_issue') ? choicesFor(ctx, subject) : null,
    ])
    const { issue, author } = record
    const at = addressOf(subject)
    const mayUpdate = reader !== null && subject.may('update_issue')
    const ticked = mayUpdate && html ? withTaskButtons(html, issue.task_count) : null
    return {
      title: `${issue.title} (#${issue.iid}) · ${fullPathOf(subject.project)}`,
      card: { text: issue.description },
      body: (
        <ProjectLayout view={view} subject={subject} tab="issues">
          <div class="heading">
            <h1>
              {issue.title} <span class="dim">#{issue.iid}</span>
            </h1>
            {mayUpdate && (
              <a class="button" href={`${view.links.prefix}${at}/edit`}>
                Edit
              </a>
            )}
          </div>
          <p class="dim">
            <Badge kind={issue.state === 'opened' ? 'success' : ''}>{issue.state === 'opened' ? 'Open' : 'Closed'}</Badge>{' '}
            {issue.confidential && <Badge kind="waiting">confidential</Badge>} {issue.discussion_locked && <Badge>locked</Badge>} opened by{' '}
            <PersonLink view={view} user={author} />, <Time at={issue.created_at} />
            {issue.task_count > 0 && ` · ${issue.task_completed_count} of ${issue.task_count} tasks done`}
          </p>
          <FormFaults view={view} />
          <div class="with-aside">
            <div>
              {html && (
                <section class="box">
                  {ticked === null ? (
                    <Prose html={html} />
                  ) : (
                    <FormTag view={view} action={`${at}/tasks`} class="tasks">
                      <input type="hidden" name="version" value={versionOf(issue.description)} />
                      <Prose html={ticked} />
                    </FormTag>
                  )}
                </section>
              )}
              <Reactions view={view} awards={awards.items} toggleAt={reader && subject.can('award_emoji') ? `${at}/toggle_award_emoji` : null} />
              <RelatedRequests view={view} subject={subject} related={related.items} mayCreate={reader !== null && mayBranch(subject)} />
              <h2>Discussion</h2>
              {!reader && (
                <p class="empty">
                  <a href={`${view.links.prefix}/users/sign_in?${new URLSearchParams({ return_to: at })}`}>Sign in</a> to read and to take part.
                </p>
              )}
              <Discussions
                view={view}
                discussions={discussions}
                {...(await discussionParts(ctx, caller, about, { at, discussions, asked: input }))}
              />
              <Pager view={view} page={input.page} perPage={NOTES_PER_PAGE} total={total} />
              {reader && subject.may('create_note') && (
                <CommentForm
                  view={view}
                  at={at}
                  project={subject}
                  discussions={discussions}
                  hint="Markdown; lines such as /close or /assign me are carried out."
                />
              )}
              {mayUpdate && (
                <ActionButton
                  view={view}
                  action={at}
                  method="PUT"
                  label={issue.state === 'opened' ? 'Close issue' : 'Reopen issue'}
                  fields={{ [fieldsOf(view, texts).issue.state_event.name]: issue.state === 'opened' ? 'close' : 'reopen' }}
                />
              )}
            </div>
            <aside>
              <Attributes view={view} subject={subject} record={record} choices={choices} mayUpdate={mayUpdate} />
              <TimeTracking view={view} subject={subject} mayUpdate={mayUpdate} />
              <h2>Participants</h2>
              <p class="people">
                {participants.items.map((user) => (
                  <a key={user.id} href={`${view.links.prefix}/${inUrl(user.username)}`} title={user.name}>
                    <Avatar view={view} user={user} size={24} />
                    <span class="hidden">{user.name}</span>
                  </a>
                ))}
                {participants.total > MAX_SHOWN && <span class="dim"> and {participants.total - MAX_SHOWN} more</span>}
              </p>
              {reader && (
                <div class="toolbar">
                  <ActionButton
                    view={view}
                    action={`${at}/toggle_subscription`}
                    label={record.subscribed ? 'Unsubscribe' : 'Subscribe'}
                    fields={{ subscribed: String(!record.subscribed) }}
                  />
                  <ActionButton view={view} action={`${at}/todo`} label="Add a to-do" />
                </div>
              )}
              {reader && <MoreActions view={view} subject={subject} mayUpdate={mayUpdate} />}
            </aside>
          </div>
        </ProjectLayout>
      ),
    }
  },
})

const Part = ({ title, children }: { title: string; children: ComponentChildren }) => (
  <>
    <h2>{title}</h2>
    {children}
  </>
)

interface AttributesProps {
  view: PageView
  subject: IssueSubject
  record: IssueRecord
  choices: Choices | null
  mayUpdate: boolean
}

const attributes = z.object({
  // nothing is sent of boxes that are not checked
  issue: z
    .object({
      assignee_username: opt(str()),
      ...labelNames.shape,
      milestone_id: opt(str()),
      due_date: clearableDate().optional(),
      confidential: orDefault(bool(), false),
      discussion_locked: orDefault(bool(), false),
    })
    .optional(),
})

function Attributes({ view, subject, record, choices, mayUpdate }: AttributesProps) {
  const { issue, assignee, milestone, milestone_path } = record
  const links = projectLinks(view, fullPathOf(subject.project))
  const names = record.labels.map((label) => (typeof label === 'string' ? label : label.name))
  const colors = new Map(choices?.labels.map(({ name, color }) => [name, color]))
  const shown = names.map((name) => ({ name, color: colors.get(name) })).map(({ name, color }) => (color ? { name, color } : name))
  const milestoneAt = milestone_path ? `${view.links.prefix}/groups/${inUrl(milestone_path)}/-/milestones` : links.page('milestones')
  const none = <span class="dim">none</span>
  const f = fieldsOf(view, attributes).issue
  return (
    <>
      <Part title="Assignee">
        <p>
          <PersonLink view={view} user={assignee} />
        </p>
      </Part>
      <Part title="Labels">
        <p>{names.length > 0 ? <Labels labels={shown} at={links.page('issues')} /> : none}</p>
      </Part>
      <Part title="Milestone">
        <p>{milestone ? view.viewer ? <a href={`${milestoneAt}/${milestone.iid}`}>{milestone.title}</a> : milestone.title : none}</p>
      </Part>
      <Part title="Due">
        <p>{issue.due_date ?? none}</p>
      </Part>
      {mayUpdate && (
        <details class="box attributes" open={view.submitted?.values['attributes'] !== undefined}>
          <summary class="head">Change these</summary>
          <FormTag view={view} action={`${addressOf(subject)}/attributes`} class="form note">
            <input type="hidden" name="attributes" value="1" />
            {choices && <ChoiceFields view={view} fields={f} record={record} choices={choices} names={names} />}
            <Checkbox {...f.confidential} label="Confidential" checked={issue.confidential} />
            {choices && <Checkbox {...f.discussion_locked} label="Only members may comment" checked={issue.discussion_locked === true} />}
            <Submit label="Save" class="" />
          </FormTag>
        </details>
      )}
    </>
  )
}

interface ChoiceFieldsProps {
  view: PageView
  fields: Fields<z.infer<typeof attributes>>['issue']
  record: IssueRecord
  choices: Choices
  names: string[]
}

function ChoiceFields({ view, fields: f, record, choices, names }: ChoiceFieldsProps) {
  const { issue, assignee, milestone } = record
  const milestones = choices.milestones.slice(0, MAX_CHOICES)
  return (
    <>
      <Field {...f.assignee_username} label="Assignee" value={assignee?.username} hint="A username; empty for nobody." list="people" />
      <Suggestions members={choices.members} />
      <LabelFields view={view} labels={choices.labels} chosen={names} fields={f} />
      <SelectField
        {...f.milestone_id}
        label="Milestone"
        value={String(milestone?.id ?? 0)}
        choices={[
          { value: '0', label: 'None' },
          ...(milestone && !milestones.some(({ id }) => id === milestone.id) ? [{ value: String(milestone.id), label: milestone.title }] : []),
          ...milestones.map(({ id, title }) => ({ value: String(id), label: title })),
        ]}
      />
      <Field {...f.due_date} label="Due date" value={issue.due_date} />
    </>
  )
}

const timeSpent = z.object({ what: oneOf(['spent', 'estimate', 'reset_spent', 'reset_estimate']), duration: orDefault(documented.filled(), '') })

function TimeTracking({ view, subject, mayUpdate }: { view: PageView; subject: IssueSubject; mayUpdate: boolean }) {
  const { time_estimate: estimate, total_time_spent: spent } = subject.issue
  const at = addressOf(subject)
  if (!mayUpdate && estimate === 0 && spent === 0) return null
  const f = fieldsOf(view, timeSpent)
  return (
    <Part title="Time">
      <p>
        {spent > 0 ? `${humanDuration(spent)} spent` : 'Nothing spent'}
        {estimate > 0 && ` of ${humanDuration(estimate)}`}
      </p>
      {estimate > 0 && (
        <progress max={estimate} value={Math.min(spent, estimate)} aria-label="Time spent">
          {Math.round((spent / estimate) * 100)} %
        </progress>
      )}
      {mayUpdate && (
        <details class="box attributes" open={view.submitted?.values['duration'] !== undefined}>
          <summary class="head">Track time</summary>
          <div class="note">
            <FormTag view={view} action={`${at}/time`}>
              <Field {...f.duration} label="Time" hint="Such as 1h 30m; -30m takes away." />
              <div class="toolbar">
                <Submit label="Add spent time" name={f.what.name} value="spent" class="" />
                <Submit label="Set estimate" name={f.what.name} value="estimate" class="" />
              </div>
            </FormTag>
            <div class="toolbar">
              {spent > 0 && <ActionButton view={view} action={`${at}/time`} label="Reset spent time" fields={{ what: 'reset_spent' }} />}
              {estimate > 0 && <ActionButton view={view} action={`${at}/time`} label="Remove estimate" fields={{ what: 'reset_estimate' }} />}
            </div>
          </div>
        </details>
      )}
    </Part>
  )
}

const mayBranch = (subject: IssueSubject) =>
  subject.issue.state === 'opened' && subject.can('create_branch') && subject.can('create_merge_request') && !subject.project.empty_repo

interface RelatedProps {
  view: PageView
  subject: IssueSubject
  related: Awaited<ReturnType<typeof listRelated>>['items']
  mayCreate: boolean
}

const newRequest = z.object({ branch_name: orDefault(documented.filled(), ''), ref: orDefault(documented.filled(), '') })

function RelatedRequests({ view, subject, related, mayCreate }: RelatedProps) {
  if (related.length === 0 && !mayCreate) return null
  const { issue, project } = subject
  const f = fieldsOf(view, newRequest)
  return (
    <section>
      <h2>Merge requests</h2>
      {related.length > 0 && (
        <ul class="rows">
          {related.map(({ request, path }) => (
            <li key={request.id}>
              <div class="what">
                <span>
                  <a href={projectLinks(view, path).page(`merge_requests/${request.iid}`)}>{request.title}</a>{' '}
                  <span class="dim">
                    {path === fullPathOf(project) ? '' : path}!{request.iid}
                  </span>
                </span>
              </div>
              <Badge kind={request.state === 'opened' ? 'success' : request.state === 'merged' ? 'merged' : 'danger'}>{request.state}</Badge>
            </li>
          ))}
        </ul>
      )}
      {mayCreate && (
        <details class="box" open={view.submitted?.values['branch_name'] !== undefined}>
          <summary class="head">Create a merge request for this issue</summary>
          <FormTag view={view} action={`${addressOf(subject)}/create_merge_request`} class="form note">
            <div class="columns">
              <Field {...f.branch_name} label="New branch" value={issueBranchName(project.issue_branch_template, issue)} />
              <Field {...f.ref} label="From" value={project.default_branch} />
            </div>
            <Submit label="Create branch and merge request" class="" />
          </FormTag>
        </details>
      )}
    </section>
  )
}

const duplicate = z.object({ duplicate_of: orDefault(documented.filled(), '') })
const moved = z.object({ to_project: orDefault(documented.filled(), '') })

function MoreActions({ view, subject, mayUpdate }: { view: PageView; subject: IssueSubject; mayUpdate: boolean }) {
  const at = addressOf(subject)
  const { issue } = subject
  const mayMove = subject.may('move_issue') && issue.moved_to_id === null
  const mayDelete = subject.may('admin_issue')
  if (!mayMove && !mayUpdate && !mayDelete) return null
  const { duplicate_of } = fieldsOf(view, duplicate)
  const { to_project } = fieldsOf(view, moved)
  return (
    <details class="box attributes" open={['to_project', 'duplicate_of'].some((name) => view.submitted?.values[name] !== undefined)}>
      <summary class="head">More</summary>
      <div class="note">
        {mayUpdate && issue.state === 'opened' && (
          <FormTag view={view} action={`${at}/duplicate`}>
            <Field {...duplicate_of} label="Duplicate of" hint="Such as #12 or group/project#12." />
            <Submit label="Close as duplicate" class="" />
          </FormTag>
        )}
        {mayMove && (
          <FormTag view={view} action={`${at}/move`}>
            <Field {...to_project} label="Move to the project" hint="Its path, such as group/project." />
            <Submit label="Move issue" class="" />
          </FormTag>
        )}
        {mayDelete && <ActionButton view={view} action={at} method="DELETE" label="Delete issue" class="danger" />}
      </div>
    </details>
  )
}

const commented = { at: issuePage.at, access: onIssueSignedIn, on: issuePage, about: aboutIssue, addressOf }
export const issueNotes = [...noteForms(commented), reactionForm(commented)]

const texts = z.object({
  version: opt(str()),
  issue: z.object({ state_event: opt(oneOf(['close', 'reopen'])), title: opt(documented.title()), description: opt(str()) }),
})

export const editIssuePage = page({
  at: 'P/-/issues/:issue_iid/edit',
  access: onIssueSignedIn('update_issue'),
  async show({ subject, view }) {
    const { issue } = subject
    const f = fieldsOf(view, texts)
    return {
      title: `Edit #${issue.iid} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="issues">
          <h1>Edit #{issue.iid}</h1>
          <EditorForm view={view} action={addressOf(subject)} method="PUT">
            <FormFaults view={view} />
            <Version
              {...f.version}
              texts={[
                { label: 'Title', text: issue.title },
                { label: 'Description', text: issue.description },
              ]}
            />
            <Field {...f.issue.title} label="Title" value={issue.title} />
            <Editor {...f.issue.description} label="Description" value={issue.description} rows={14} hint="Markdown." project={subject} />
            <Submit label="Save changes" />
          </EditorForm>
        </ProjectLayout>
      ),
    }
  },
})

export const issueChange = form({
  at: 'P/-/issues/:issue_iid',
  method: 'PUT',
  files: true,
  access: onIssueSignedIn('update_issue'),
  input: texts,
  on: editIssuePage,
  async submit({ ctx, caller, subject, input: { issue, version } }) {
    const { state_event } = issue
    const check =
      version === undefined ? undefined : (before: { title: string; description: string }) => checkVersion(version, before.title, before.description)
    await updateIssueWithCommands(ctx, caller, subject, { ...issue, check })
    const notice = state_event === undefined ? 'The issue is changed.' : state_event === 'close' ? 'The issue is closed.' : 'The issue is open again.'
    return new Redirect(addressOf(subject), { notice })
  },
})

export const issueAttributes = form({
  at: 'P/-/issues/:issue_iid/attributes',
  access: onIssueSignedIn('update_issue'),
  input: attributes,
  on: issuePage,
  async submit({ ctx, caller, subject, input: { issue } }) {
    const { assignee_username, labels = [], other_labels = '', milestone_id, ...rest } = issue ?? { confidential: false, discussion_locked: false }
    const manages = subject.can('manage_issue')
    await updateIssue(ctx, caller, subject, {
      ...(manages ? rest : { confidential: rest.confidential }),
      ...(manages && { labels: [...labels, other_labels] }),
      ...(manages && milestone_id !== undefined && { milestone_id: pathNumber(milestone_id) ?? 0 }),
      ...(manages && assignee_username !== undefined && { assignee_ids: await assigneeOf(ctx, assignee_username) }),
    })
    const seen = await nullOnFailure(
      onIssueSignedIn('read_issue').find(ctx, caller, { id: fullPathOf(subject.project), issue_iid: String(subject.issue.iid) }),
    )
    return new Redirect(seen ? addressOf(subject) : within(subject), { notice: 'The issue is changed.' })
  },
})

const targetOf = ({ issue: { id, project_id } }: IssueSubject): TimedTarget => ({ type: 'Issue', id, project_id })

export const issueTime = form({
  at: 'P/-/issues/:issue_iid/time',
  access: onIssueSignedIn('update_issue'),
  input: timeSpent,
  on: issuePage,
  async submit({ ctx, caller, subject, input: { what, duration } }) {
    const [target, by] = [targetOf(subject), caller.user.id]
    try {
      if (what === 'spent') await addSpentTime(ctx, target, by, duration)
      else if (what === 'estimate') await setEstimate(ctx, target, by, duration)
      else await (what === 'reset_spent' ? resetSpentTime : resetEstimate)(ctx, target, by)
    } catch (error) {
      throw withFieldOf(error)
    }
    return new Redirect(addressOf(subject), { notice: 'The time is saved.' })
  },
})

/** The fault of a duration, beside the one field for it. */
function withFieldOf(error: unknown): unknown {
  const message = (error as { body?: { message?: Record<string, string[]> } }).body?.message
  const fault = message?.['time_spent'] ?? message?.['time_estimate']
  return fault ? invalidRecord({ duration: fault }) : error
}

/** A click on a task of the description (WB-126). */
export const issueTasks = form({
  at: 'P/-/issues/:issue_iid/tasks',
  access: onIssueSignedIn('update_issue'),
  input: z.object({ task: str(), version: orDefault(str(), '') }),
  on: issuePage,
  async submit({ ctx, caller, subject, input: { task, version } }) {
    const { issue } = subject
    checkVersion(version, issue.description)
    const [number = '', state] = task.split(':')
    const description = await withTask(ctx.cpu.slices, issue.description, Number(number), state === '1')
    if (description === null) throw invalidRecord({ base: ['has no such task'] })
    await updateIssue(ctx, caller, subject, { description, check: (before) => checkVersion(version, before.description) })
    return new Redirect(addressOf(subject))
  },
})

export const issueSubscription = form({
  at: 'P/-/issues/:issue_iid/toggle_subscription',
  access: onIssueSignedIn('read_issue'),
  input: z.object({ subscribed: orDefault(bool(), true) }),
  on: issuePage,
  async submit({ ctx, caller, subject, input: { subscribed } }) {
    await subscribeToIssue(ctx, caller, subject, subscribed)
    return new Redirect(addressOf(subject), { notice: subscribed ? 'You get mails about this issue.' : 'You get no more mails about this issue.' })
  },
})

export const issueTodo = form({
  at: 'P/-/issues/:issue_iid/todo',
  access: onIssueSignedIn('read_issue'),
  on: issuePage,
  async submit({ ctx, caller, subject }) {
    const todo = await addIssueTodo(ctx, caller, subject)
    return new Redirect(addressOf(subject), { notice: todo ? 'It is in your to-do list.' : 'It is in your to-do list already.' })
  },
})

export const issueRequest = form({
  at: 'P/-/issues/:issue_iid/create_merge_request',
  access: onIssueSignedIn('read_issue'),
  input: newRequest,
  on: issuePage,
  async submit({ ctx, caller, subject, input }) {
    if (!mayBranch(subject)) throw invalidRecord({ base: ['cannot get a merge request'] })
    const { issue, project } = subject
    const branch = input.branch_name.trim()
    await createBranch(ctx, subject, caller, { branch, ref: input.ref.trim() || project.default_branch })
    const title = issue.confidential ? `Draft: Resolve #${issue.iid}` : `Draft: Resolve "${issue.title}"`.slice(0, 255)
    const given = {
      title,
      description: `Closes #${issue.iid}`,
      source_branch: branch,
      target_branch: project.default_branch,
      assignee_ids: [caller.user.id],
    }
    const made = await createMergeRequest(ctx, caller, subject, given)
    return new Redirect(`/${inUrl(fullPathOf(project))}/-/merge_requests/${made.request.iid}`, {
      notice: `The branch ${branch} and a draft of a merge request are made.`,
    })
  },
})

export const issueDuplicate = form({
  at: 'P/-/issues/:issue_iid/duplicate',
  access: onIssueSignedIn('update_issue'),
  input: duplicate,
  on: issuePage,
  async submit({ ctx, caller, subject, input }) {
    const other = await issueNamed(ctx, caller, subject, input.duplicate_of)
    if (!other || other.issue.id === subject.issue.id) throw invalidRecord({ duplicate_of: ['is no other issue that you can see'] })
    await closeAsDuplicate(ctx, caller, subject, other)
    return new Redirect(addressOf(subject), { notice: 'The issue is closed as a duplicate.' })
  },
})

async function issueNamed(ctx: Context, caller: SignedIn, subject: IssueSubject, text: string): Promise<IssueSubject | null> {
  const named = /^\d{1,9}$/.test(text.trim()) ? `#${text.trim()}` : text
  const references = (await referencesIn(ctx.cpu.slices, named.slice(0, 1_000), ctx.links.base)).flatMap((each) =>
    each.kind === 'issue' && 'number' in each ? [each] : [],
  )
  const [other] = await resolveIssues(ctx, caller, subject, references.slice(0, 1))
  return other ?? null
}

export const issueMove = form({
  at: 'P/-/issues/:issue_iid/move',
  access: onIssueSignedIn('move_issue', 'Issue'),
  input: moved,
  on: issuePage,
  async submit({ ctx, caller, subject, input }) {
    const to = await findVisibleProject(ctx, caller, withoutAround(input.to_project.trim(), '/'))
    if (!to) throw invalidRecord({ to_project: ['is no project that you can see'] })
    const { issue, path } = await moveIssue(ctx, caller, subject, to.project.id)
    return new Redirect(`/${inUrl(path)}/-/issues/${issue.iid}`, { notice: 'The issue is moved here.' })
  },
})

export const issueRemoval = form({
  at: 'P/-/issues/:issue_iid',
  method: 'DELETE',
  access: onIssueSignedIn('admin_issue', 'Issue'),
  async submit({ ctx, subject }) {
    await deleteIssue(ctx, subject)
    return new Redirect(within(subject), { notice: `The issue #${subject.issue.iid} is deleted.` })
  },
})
