import type { ComponentChildren } from 'preact'
import type { MergeRequestSubject } from '../../../access/merge-requests.js'
import { fullPathOf, type ProjectSubject } from '../../../access/rules.js'
import { withoutDraftMark } from '../../../rules/draft.js'
import { CopyButton } from '../../components/files/code.js'
import { Icon } from '../../components/icon.js'
import { Badge } from '../../components/list.js'
import { plural, t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { projectLinks } from '../../links.js'
import type { PageView } from '../../page.js'
import { addressOf } from './address.js'
import { quoted } from './shell.js'

const states = () =>
  ({
    opened: [t('Open'), 'success', 'git-pull-request'],
    closed: [t('Closed'), 'danger', 'git-pull-request-closed'],
    merged: [t('Merged'), 'merged', 'git-merge'],
  }) as const

export interface HeadProps {
  view: PageView
  subject: MergeRequestSubject
  /** The project of the source branch; null: it is gone, or the reader does not see it. */
  source: ProjectSubject | null
  tab: '' | '/commits' | '/pipelines' | '/diffs' | '/conflicts'
  /** Notes of the reader that are not sent yet. */
  drafts?: number
}

interface BranchProps {
  view: PageView
  /** Null: the branch is no link. */
  project: ProjectSubject | null
  name: string
  id: string
  children?: ComponentChildren
}

const Branch = ({ view, project, name, id, children }: BranchProps) => {
  const shown = (
    <code class="ref">
      {children}
      <span id={id}>{name}</span>
    </code>
  )
  return (
    <>
      {project?.can('download_code') ? <a href={projectLinks(view, fullPathOf(project.project)).tree(name)}>{shown}</a> : shown}{' '}
      <CopyButton of={id} label={t('Copy the name of the branch {name}', { name })} />
    </>
  )
}

/** The commands that check out the source branch in a clone of the project. */
const CheckOut = ({ view, subject, source }: Pick<HeadProps, 'view' | 'subject'> & { source: ProjectSubject }) => {
  const branch = quoted(subject.request.source_branch)
  const commands =
    source.project.id === subject.project.id
      ? `git fetch origin\ngit switch ${branch}`
      : `git fetch ${quoted(view.links.http(fullPathOf(source.project)))} ${branch}\ngit switch -c ${branch} FETCH_HEAD`
  return (
    <details class="menu end">
      <summary class="button">
        {t('Check out')} <Icon name="chevron-down" />
      </summary>
      <div class="items large">
        <p>{t('In a clone of the project:')}</p>
        <pre class="plain" id="check_out">
          {commands}
        </pre>
        <CopyButton of="check_out" label={t('Copy the commands')} />
      </div>
    </details>
  )
}

/** The title of a merge request, its branches and its tabs. */
export function RequestHead({ view, subject, source, tab, drafts = 0 }: HeadProps) {
  const { request } = subject
  const at = view.links.prefix + addressOf(subject)
  const isDraft = withoutDraftMark(request.title) !== request.title
  const [word, kind, icon] = states()[request.state]
  const threads = request.unresolved_discussions_count
  return (
    <>
      <div class="heading">
        <h1>
          {request.title} <span class="dim">!{request.iid}</span>
        </h1>
        <div class="toolbar">
          {source && request.state === 'opened' && <CheckOut view={view} subject={subject} source={source} />}
          {subject.may('update_merge_request') && (
            <a class="button" href={`${at}/edit`}>
              {t('Edit')}
            </a>
          )}
        </div>
      </div>
      <div class="line below dim">
        <Badge kind={kind} icon={icon} large>
          {word}
        </Badge>{' '}
        {isDraft && request.state === 'opened' && (
          <Badge kind="waiting" icon="git-pull-request-draft" large>
            {t('Draft')}
          </Badge>
        )}{' '}
        <span class="line">
          <Phrase
            text="{source} into {target}"
            source={
              <Branch view={view} project={request.state === 'opened' ? source : null} name={request.source_branch} id="source_branch">
                {source && source.project.id !== subject.project.id && `${fullPathOf(source.project)}:`}
              </Branch>
            }
            target={<Branch view={view} project={subject} name={request.target_branch} id="target_branch" />}
          />
        </span>
        {threads > 0 && (
          <>
            {' · '}
            {plural(threads, '1 unresolved thread', '{count} unresolved threads')}
          </>
        )}
        {drafts > 0 && (
          <>
            {' · '}
            <a href={`${at}#review`}>{plural(drafts, '1 comment waits in your review', '{count} comments wait in your review')}</a>
          </>
        )}
      </div>
      <nav class="tabs" aria-label={t('Merge request')}>
        {(
          [
            ['', t('Overview'), 'message-square', request.user_notes_count],
            ['/commits', t('Commits'), 'git-commit-horizontal', null],
            ...(subject.can('read_pipeline') ? ([['/pipelines', t('Pipelines'), 'circle-check', null]] as const) : []),
            ['/diffs', t('Changes'), 'file', request.changes_count],
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
