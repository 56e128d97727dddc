import { type MergeRequestSubject, onMergeRequest } from '../../../access/merge-requests.js'
import { fullPathOf, type ProjectSubject } from '../../../access/rules.js'
import { withoutDraftMark } from '../../../rules/draft.js'
import { Badge } from '../../components/list.js'
import { homeOfProject } from '../../links.js'
import type { PageView } from '../../page.js'

/** The address of one merge request. */
export const AT = 'P/-/merge_requests/:merge_request_iid'
export const read = onMergeRequest('read_merge_request')

export const within = (subject: ProjectSubject) => `${homeOfProject(subject)}/-/merge_requests`
export const addressOf = (subject: MergeRequestSubject) => `${within(subject)}/${subject.request.iid}`

/** Whether a rebase is offered: the source branch is behind, there are no conflicts, and none is going on (WB-414). */
export const mayRebase = ({ state, behind_target, merge_status, rebase_user_id }: MergeRequestSubject['request'], unrelated: boolean): boolean =>
  state === 'opened' && behind_target && (unrelated || merge_status !== 'cannot_be_merged') && rebase_user_id === null

export const STATES = {
  opened: ['Open', 'success'],
  closed: ['Closed', 'danger'],
  merged: ['Merged', 'merged'],
} as const

interface HeadProps {
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

/** A word of a shell. */
const quoted = (text: string) => (/^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)

/** Resolves conflicts in a clone of the source project. */
export function MergeCommands({ view, subject, unrelated = false }: Pick<HeadProps, 'view' | 'subject'> & { unrelated?: boolean }) {
  const { request, project } = subject
  const [source, target] = [request.source_branch, request.target_branch].map(quoted)
  const command = unrelated ? 'git merge --allow-unrelated-histories' : 'git merge'
  const merge =
    request.source_project_id === request.project_id
      ? `${command} origin/${target}`
      : `git fetch ${quoted(view.links.http(fullPathOf(project)))} ${target}\n${command} FETCH_HEAD`
  return (
    <pre class="plain">
      {`git fetch origin\ngit switch ${source}\n${merge}\n# resolve the conflicts in the files that git names\ngit add --all\ngit commit\ngit push origin ${source}`}
    </pre>
  )
}
