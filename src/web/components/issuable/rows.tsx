import type { IssueRecord } from '../../../services/issuables/issues/list.js'
import type { ColoredRequest } from '../../../services/issuables/merge-requests/reading/label-colors.js'
import { projectLinks } from '../../links.js'
import type { PageView } from '../../page.js'
import { counted } from '../facts.js'
import { Badge, Row } from '../list.js'
import { Avatar } from '../people/avatar.js'
import { Time } from '../time.js'
import { Labels } from './labels.js'

interface Listed {
  view: PageView
  /** Whether the project is named: the list is one of several projects. */
  withProject: boolean
}

const Assignee = ({ view, user }: { view: PageView; user: IssueRecord['assignee'] }) =>
  user && (
    <span title={`Assigned to ${user.name}`}>
      <Avatar view={view} user={user} size={20} />
      <span class="hidden">Assigned to {user.name}</span>
    </span>
  )

/** An issue of a list; `chosen` is the check box for a change of several. */
export function IssueRow({ view, withProject, record, chosen }: Listed & { record: IssueRecord; chosen?: boolean }) {
  const { issue, author, assignee, labels, milestone, path } = record
  const links = projectLinks(view, path)
  const day = view.now.toISOString().slice(0, 10)
  return (
    <Row
      actions={
        <>
          {issue.state === 'closed' && <Badge>closed</Badge>}
          <Assignee view={view} user={assignee} />
          {issue.user_notes_count > 0 && <span class="dim">{counted(issue.user_notes_count, 'note')}</span>}
        </>
      }
    >
      <span class={chosen === undefined ? '' : 'chosen'}>
        {chosen !== undefined && <input type="checkbox" name="issue_iids[]" value={issue.iid} checked={chosen} aria-label={`Choose #${issue.iid}`} />}
        <span>
          <a href={links.page(`issues/${issue.iid}`)} class="title">
            <strong>{issue.title}</strong>
          </a>{' '}
          {issue.confidential && <Badge kind="waiting">confidential</Badge>} <Labels labels={labels} at={links.page('issues')} />
        </span>
      </span>
      <span class="dim">
        {withProject && path}#{issue.iid} · {author.name}, <Time at={issue.created_at} />
        {milestone && ` · ${milestone.title}`}
        {issue.due_date && (
          <span class={issue.state === 'opened' && issue.due_date < day ? 'late' : ''}>
            {' · '}due {issue.due_date}
          </span>
        )}
        {issue.task_count > 0 && ` · ${issue.task_completed_count} of ${counted(issue.task_count, 'task')}`}
      </span>
    </Row>
  )
}

const STATES = { opened: ['open', 'success'], closed: ['closed', 'danger'], merged: ['merged', 'merged'], locked: ['merging', 'waiting'] } as const

/** A merge request of a list; `chosen` is the check box for a change of several. */
export function RequestRow({ view, withProject, record, chosen }: Listed & { record: ColoredRequest; chosen?: boolean }) {
  const { request, author, assignee, reviewer, labels, path } = record
  const links = projectLinks(view, path)
  const [state, kind] = STATES[request.state]
  return (
    <Row
      actions={
        <>
          <Badge kind={kind}>{state}</Badge>
          <Assignee view={view} user={assignee} />
          {request.user_notes_count > 0 && <span class="dim">{counted(request.user_notes_count, 'note')}</span>}
        </>
      }
    >
      <span class={chosen === undefined ? '' : 'chosen'}>
        {chosen !== undefined && <input type="checkbox" name="iids[]" value={request.iid} checked={chosen} aria-label={`Choose !${request.iid}`} />}
        <span>
          <a href={links.page(`merge_requests/${request.iid}`)} class="title">
            <strong>{request.title}</strong>
          </a>{' '}
          <Labels labels={labels} at={links.page('merge_requests')} />
        </span>
      </span>
      <span class="dim">
        {withProject && path}!{request.iid} · {author.name}, <Time at={request.created_at} /> · into {request.target_branch}
        {reviewer && ` · reviewed by ${reviewer.name}`}
      </span>
    </Row>
  )
}
