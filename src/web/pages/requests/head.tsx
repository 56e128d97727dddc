import type { MergeRequestSubject } from '../../../access/merge-requests.js'
import { withoutDraftMark } from '../../../rules/draft.js'
import { Icon } from '../../components/icon.js'
import { Badge } from '../../components/list.js'
import type { PageView } from '../../page.js'
import { addressOf } from './address.js'

const STATES = {
  opened: ['Open', 'success', 'git-pull-request'],
  closed: ['Closed', 'danger', 'git-pull-request-closed'],
  merged: ['Merged', 'merged', 'git-merge'],
} as const

export interface HeadProps {
  view: PageView
  subject: MergeRequestSubject
  tab: '' | '/commits' | '/diffs' | '/conflicts'
  /** Notes of the reader that are not sent yet. */
  drafts?: number
}

/** The title of a merge request, its branches and its tabs. */
export function RequestHead({ view, subject, tab, drafts = 0 }: HeadProps) {
  const { request } = subject
  const at = view.links.prefix + addressOf(subject)
  const isDraft = withoutDraftMark(request.title) !== request.title
  const [word, kind, icon] = STATES[request.state]
  const threads = request.unresolved_discussions_count
  return (
    <>
      <div class="heading">
        <h1>
          {request.title} <span class="dim">!{request.iid}</span>
        </h1>
        {subject.may('update_merge_request') && (
          <a class="button" href={`${at}/edit`}>
            Edit
          </a>
        )}
      </div>
      <div class="line below dim">
        <Badge kind={kind} icon={icon} large>
          {word}
        </Badge>{' '}
        {isDraft && request.state === 'opened' && (
          <Badge kind="waiting" icon="git-pull-request-draft" large>
            Draft
          </Badge>
        )}{' '}
        <code class="ref">{request.source_branch}</code> into <code class="ref">{request.target_branch}</code>
        {threads > 0 && (
          <>
            {' · '}
            {threads === 1 ? '1 unresolved thread' : `${threads} unresolved threads`}
          </>
        )}
        {drafts > 0 && (
          <>
            {' · '}
            <a href={`${at}#review`}>{drafts === 1 ? '1 comment waits in your review' : `${drafts} comments wait in your review`}</a>
          </>
        )}
      </div>
      <nav class="tabs" aria-label="Merge request">
        {(
          [
            ['', 'Overview', 'message-square', request.user_notes_count],
            ['/commits', 'Commits', 'git-commit-horizontal', null],
            ['/diffs', 'Changes', 'file', request.changes_count],
          ] as const
        ).map(([name, label, icon, count]) => (
          <a key={name} href={at + name} {...(name === tab && { 'aria-current': 'page' })}>
            <Icon name={icon} />
            {label} {count ? <span class="count">{count}</span> : null}
          </a>
        ))}
      </nav>
    </>
  )
}
