import type { VNode } from 'preact'
import type { Commit } from '../../../git/types.js'
import type { Steps } from '../../../lib/async/slices.js'
import { hasHidden } from '../../../lib/text/hidden-characters.js'
import type { PipelineState } from '../../../rules/pipeline-states.js'
import type { UserRefRecord } from '../../../services/identity/user-ref.js'
import { availableArchives } from '../../../services/repository/archive.js'
import { t, text } from '../../language/language.js'
import type { ProjectLinks } from '../../links.js'
import { inUrl } from '../../links.js'
import type { PageView } from '../../page.js'
import { inChunks, PagePart } from '../../page-part.js'
import { Icon, type IconName } from '../icon.js'
import { Badge, type BadgeKind, StateIcon } from '../list.js'
import { CodeCell } from '../markup.js'
import { Avatar } from '../people/avatar.js'

/** The ways from the root of a repository to a path. */
interface PathProps {
  links: ProjectLinks
  /** What the root is called. */
  project: string
  revision: string
  path: string
  last?: 'blob' | 'tree'
}

export function PathLinks({ links, project, revision, path, last }: PathProps) {
  const parts = path.split('/').filter(Boolean)
  return (
    <nav class="crumbs" aria-label={t('Path')}>
      <a href={links.tree(revision)}>{project}</a>
      {parts.map((part, i) => {
        const to = parts.slice(0, i + 1).join('/')
        return i === parts.length - 1 && last ? (
          <strong key={to}>{part}</strong>
        ) : (
          <a key={to} href={links.tree(revision, to)}>
            {part}
          </a>
        )
      })}
    </nav>
  )
}

const STATES = {
  created: [text('created'), '', 'circle-dashed'],
  pending: [text('pending'), 'waiting', 'clock'],
  running: [text('running'), 'running', 'loader-circle'],
  success: [text('passed'), 'success', 'circle-check'],
  failed: [text('failed'), 'danger', 'circle-x'],
  canceled: [text('canceled'), '', 'circle-slash'],
  skipped: [text('skipped'), '', 'circle-slash'],
  manual: [text('manual'), '', 'circle-dot'],
  scheduled: [text('delayed'), '', 'clock'],
  waiting_for_resource: [text('waiting'), 'waiting', 'clock'],
  preparing: [text('preparing'), 'waiting', 'clock'],
} as const satisfies Record<PipelineState, readonly [string, BadgeKind, IconName]>

/** The state of a pipeline or of one of its statuses. */
export function PipelineBadge({ state }: { state: PipelineState | undefined }) {
  if (state === undefined) return null
  const [word, kind, icon] = STATES[state]
  return (
    <Badge kind={kind} icon={icon}>
      {t(word)}
    </Badge>
  )
}

/** The same in a row of a list. */
export function PipelineIcon({ state, of = 'CI' }: { state: PipelineState | undefined; of?: string }) {
  if (state === undefined) return null
  const [word, kind, icon] = STATES[state]
  return <StateIcon icon={icon} kind={kind || 'dim'} label={`${of} ${t(word)}`} />
}

/** The author of a commit: a user, if the address is known, or the name in the commit. */
export function Author({ view, commit, users }: { view: PageView; commit: Commit; users: Map<string, UserRefRecord> }) {
  const user = users.get(commit.author.email.toLowerCase())
  if (!user) return <span class="cut">{commit.author.name || commit.author.email}</span>
  return (
    <a class="person" href={`${view.links.prefix}/${inUrl(user.username)}`}>
      <Avatar view={view} user={user} size="small" /> {user.name}
    </a>
  )
}

/** A button that copies the text of an element, or what is at an address; scripts show it where it works. */
export const CopyButton = ({ label, of, from }: { label: string; of?: string; from?: string }) => (
  <button type="button" class="copy" data-copy={of} data-copy-from={from} aria-label={label} title={label} hidden>
    <Icon name="copy" />
  </button>
)

export const shortId = (oid: string) => oid.slice(0, 8)

/** The files of a revision as archives, in every format that this machine can make. */
interface ArchiveProps {
  links: ProjectLinks
  project: { path: string }
  revision: string
  /** What this machine can make; a list finds it out once. */
  formats?: ReturnType<typeof availableArchives>
}

export const ArchiveLinks = ({ links, project, revision, formats = availableArchives() }: ArchiveProps) => (
  <>
    {formats.map((format, i) => (
      <>
        {i > 0 && ' · '}
        <a key={format} href={links.archive(revision, `${project.path}-${revision.replace(/\//g, '-')}.${format}`)} rel="nofollow">
          {format}
        </a>
      </>
    ))}
  </>
)

/** Whether lines of a file have hidden characters (WB-395). */
export function* anyHidden(lines: string[]): Steps<boolean> {
  for (const [i, line] of lines.entries()) {
    if (i % ROWS === ROWS - 1) yield
    if (hasHidden(line, i === 0)) return true
  }
  return false
}

/** Rows that are rendered at once. */
const ROWS = 200

/** A table with a row for each line, rendered in parts (WB-341). */
export const LineTable = ({ lines, class: name, row }: { lines: string[]; class: string; row: (line: string, i: number) => VNode }) => (
  <table class={name}>
    <tbody>
      {inChunks(lines, ROWS).map((chunk, n) => (
        <PagePart key={n}>
          <LineRows lines={chunk} from={n * ROWS} row={row} />
        </PagePart>
      ))}
    </tbody>
  </table>
)

const LineRows = ({ lines, from, row }: { lines: string[]; from: number; row: (line: string, i: number) => VNode }) => (
  <>{lines.map((line, i) => row(line, from + i))}</>
)

/** Numbered lines; a number is a link to its line. */
export const Lines = ({ lines, marked }: { lines: string[]; marked: string[] | null }) => (
  <LineTable
    lines={lines}
    class="lines"
    row={(line, i) => (
      <tr id={`L${i + 1}`} key={i + 1}>
        <td class="number">
          <a href={`#L${i + 1}`}>{i + 1}</a>
        </td>
        <CodeCell id={`LC${i + 1}`} line={line} html={marked?.[i]} isFirst={i === 0} />
      </tr>
    )}
  />
)
