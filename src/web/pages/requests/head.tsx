import type { MergeRequestSubject } from '../../../access/merge-requests.js'
import { withoutDraftMark } from '../../../rules/draft.js'
import { Badge } from '../../components/list.js'
import type { PageView } from '../../page.js'
import { addressOf } from './address.js'

const STATES = {
  opened: ['Open', 'success'],
  closed: ['Closed', 'danger'],
  merged: ['Merged', 'merged'],
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
  const threads = request.unresolved_discussions_count
  return (
    <>
      <div class="toolbar title-line">
        <h1>
          {request.title} <span class="dim">!{request.iid}</span>
        </h1>
        {subject.may('update_merge_request') && (
          <a class="button last" href={`${at}/edit`}>
            Edit
          </a>
        )}
      </div>
      <p class="dim">
        <Badge kind={STATES[request.state][1]}>{STATES[request.state][0]}</Badge>{' '}
        {isDraft && request.state === 'opened' && <Badge kind="waiting">Draft</Badge>} <code>{request.source_branch}</code> →{' '}
        <code>{request.target_branch}</code>
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
      </p>
      <nav class="tabs" aria-label="Merge request">
        {(
          [
            ['', 'Overview'],
            ['/commits', 'Commits'],
            ['/diffs', `Changes ${request.changes_count}`],
          ] as const
        ).map(([name, label]) => (
          <a key={name} href={at + name} {...(name === tab && { 'aria-current': 'page' })}>
            {label}
          </a>
        ))}
      </nav>
    </>
  )
}
