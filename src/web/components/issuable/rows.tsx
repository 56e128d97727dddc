import { listed } from '../../../rules/texts/listed.js'
import type { IssueRecord } from '../../../services/issuables/issues/list.js'
import type { ColoredRequest } from '../../../services/issuables/merge-requests/reading/label-colors.js'
import { plural, t, text } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { projectLinks } from '../../links.js'
import type { PageView } from '../../page.js'
import { Icon } from '../icon.js'
import { Badge, Row, StateIcon } from '../list.js'
import { Faces } from '../people/faces.js'
import { Time } from '../time.js'
import { Labels } from './labels.js'

interface Listed {
  view: PageView
  /** Whether the project is named: the list is one of several projects. */
  withProject: boolean
}

/** An issue of a list; `chosen` is the check box for a change of several. */
export function IssueRow({ view, withProject, record, chosen }: Listed & { record: IssueRecord; chosen?: boolean }) {
  const { issue, author, assignees, labels, milestone, path } = record
  const links = projectLinks(view, path)
  const day = view.now.toISOString().slice(0, 10)
  return (
    <Row
      actions={
        <>
          <Faces view={view} people={assignees} as={t('Assigned to')} />
          <Notes count={issue.user_notes_count} />
        </>
      }
      before={
        <>
          {chosen !== undefined && (
            <input type="checkbox" name="issue_iids[]" value={issue.iid} checked={chosen} aria-label={t('Choose #{iid}', { iid: issue.iid })} />
          )}
          {issue.state === 'closed' ? (
            <StateIcon icon="circle-check" kind="merged" label={t('closed')} />
          ) : (
            <StateIcon icon="circle-dot" kind="success" label={t('open')} />
          )}
        </>
      }
    >
      <span>
        <a href={links.page(`issues/${issue.iid}`)} class="title">
          <strong>{issue.title}</strong>
        </a>{' '}
        {issue.confidential && <Badge kind="waiting">{t('confidential')}</Badge>} <Labels labels={labels} at={links.page('issues')} />
      </span>
      <span class="dim">
        {withProject && path}#{issue.iid} · {author.name}, <Time at={issue.created_at} />
        {milestone && ` · ${milestone.title}`}
        {issue.due_date && (
          <span class={issue.state === 'opened' && issue.due_date < day ? 'late' : ''}>
            {' · '}
            <Phrase text="due {dueDate}" dueDate={issue.due_date} />
          </span>
        )}
        {issue.task_count > 0 &&
          ` · ${plural(issue.task_count, '{done} of {count} task', '{done} of {count} tasks', { done: issue.task_completed_count })}`}
      </span>
    </Row>
  )
}

/** How many comments there are, in a column of its own. */
const Notes = ({ count }: { count: number }) => (
  <span class="notes dim">
    {count > 0 && (
      <>
        <Icon name="message-square" /> {count}
        <span class="hidden"> {plural(count, 'note', 'notes')}</span>
      </>
    )}
  </span>
)

const STATES = {
  opened: [text('open'), 'success', 'git-pull-request'],
  closed: [text('closed'), 'danger', 'git-pull-request-closed'],
  merged: [text('merged'), 'merged', 'git-merge'],
  locked: [text('merging'), 'waiting', 'git-merge'],
} as const

/** A merge request of a list; `chosen` is the check box for a change of several. */
export function RequestRow({ view, withProject, record, chosen }: Listed & { record: ColoredRequest; chosen?: boolean }) {
  const { request, author, assignees, reviewers, labels, path } = record
  const links = projectLinks(view, path)
  const [state, kind, icon] = STATES[request.state]
  return (
    <Row
      actions={
        <>
          <Faces view={view} people={assignees} as={t('Assigned to')} />
          <Notes count={request.user_notes_count} />
        </>
      }
      before={
        <>
          {chosen !== undefined && (
            <input type="checkbox" name="iids[]" value={request.iid} checked={chosen} aria-label={t('Choose !{iid}', { iid: request.iid })} />
          )}
          <StateIcon icon={icon} kind={kind} label={t(state)} />
        </>
      }
    >
      <span>
        <a href={links.page(`merge_requests/${request.iid}`)} class="title">
          <strong>{request.title}</strong>
        </a>{' '}
        <Labels labels={labels} at={links.page('merge_requests')} />
      </span>
      <span class="dim">
        {withProject && path}!{request.iid}
        {' · '}
        {author.name}
        {', '}
        <Time at={request.created_at} />
        {' · '}
        <Phrase text="into {targetBranch}" targetBranch={<span class="ref">{request.target_branch}</span>} />
        {reviewers.length > 0 && ` · ${t('reviewed by {names}', { names: listed(reviewers.map(({ name }) => name)) })}`}
      </span>
    </Row>
  )
}
