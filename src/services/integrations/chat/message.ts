import { wholeEnd } from '../../../lib/text/whole-end.js'
import { type Commit, isEndWanted, isGone, isNewRef, nameOfRef, type Payload, type PipelinePayload, type PushPayload } from '../payload.js'

/** A piece of a line: a text, or a link. */
export type Piece = string | { text: string; href: string }

/** What a chat shows of an event. */
export interface ChatMessage {
  /** The property with the channel is `<channel>_channel`. */
  channel: 'push' | 'tag_push' | 'issue' | 'confidential_issue' | 'merge_request' | 'note' | 'confidential_note' | 'pipeline' | 'wiki_page'
  project: { text: string; href: string }
  author: { name: string; avatar: string | null }
  line: Piece[]
  /** Below the line. */
  details: Piece[][]
  /** Markdown that somebody wrote, below the line. */
  text: string
  mood: 'neutral' | 'good' | 'bad'
}

/** Commits and jobs that a message names. */
const MAX_SHOWN = 20
const MAX_JOBS = 10
/** Characters of a text of somebody that a message shows. */
const MAX_TEXT = 2_000

/** The message about an event; null if chats get none about it (SV-8). */
export function messageOf(payload: Payload, brokenOnly: boolean): ChatMessage | null {
  const { project } = payload
  const place = { text: `${project.namespace} / ${project.name}`, href: project.web_url }
  const common = { project: place, details: [], text: '', mood: 'neutral' as const }
  if ('ref' in payload) {
    const author = { name: payload.user_name ?? 'Somebody', avatar: payload.user_avatar }
    return { ...common, channel: payload.object_kind, author, ...pushed(payload, author.name, place) }
  }
  const author = { name: payload.user?.name ?? 'Somebody', avatar: payload.user?.avatar_url ?? null }
  const by = { ...common, author }
  switch (payload.object_kind) {
    case 'issue':
    case 'merge_request': {
      const { action, state, iid, title, url, description } = payload.object_attributes
      if (action === 'update') return null
      const isIssue = payload.object_kind === 'issue'
      const done = DONE[action] ?? state
      const link = { text: `${isIssue ? '#' : '!'}${iid} ${title}`, href: url }
      const channel = isIssue ? (payload.event_type === 'confidential_issue' ? 'confidential_issue' : 'issue') : 'merge_request'
      const line = ['[', place, `] ${isIssue ? 'Issue' : 'Merge request'} `, link, ` ${done} by ${author.name}`]
      return { ...by, channel, line, text: action === 'open' ? shortened(description ?? '') : '' }
    }
    case 'note': {
      const about = notedOf(payload)
      const line = [`${author.name} `, { text: 'commented', href: payload.object_attributes.url }, ` on ${about} in `, place]
      const channel = payload.event_type === 'confidential_note' ? 'confidential_note' : 'note'
      return { ...by, channel, line, text: shortened(payload.object_attributes.note) }
    }
    case 'pipeline':
      return isEndWanted(payload, brokenOnly) ? { ...by, channel: 'pipeline', ...ended(payload, author.name, place) } : null
    case 'wiki_page': {
      const { title, url, action, message } = payload.object_attributes
      const page = action === 'delete' ? title : { text: title, href: url }
      const line = [`${author.name} ${{ create: 'created', delete: 'deleted' }[action] ?? 'edited'} the wiki page `, page, ' in ', place]
      return { ...by, channel: 'wiki_page', line, text: shortened(message) }
    }
  }
}

const DONE: Record<string, string> = {
  open: 'opened',
  close: 'closed',
  reopen: 'reopened',
  merge: 'merged',
  approved: 'approved',
  unapproved: 'unapproved',
}

function pushed(payload: PushPayload, who: string, place: ChatMessage['project']): Pick<ChatMessage, 'line' | 'details'> {
  const { project, commits, before, after, total_commits_count } = payload
  const isTag = payload.object_kind === 'tag_push'
  const name = nameOfRef(payload)
  const path = name.split('/').map(encodeURIComponent).join('/')
  const ref = { text: name, href: `${project.web_url}/-/${isTag ? 'tags' : 'commits'}/${path}` }
  const kind = isTag ? 'tag' : 'branch'
  if (isGone(payload)) return { line: [`${who} removed ${kind} ${name} from `, place], details: [] }
  if (isNewRef(payload)) return { line: [`${who} pushed new ${kind} `, ref, ' to ', place], details: [] }
  const compare = { text: 'Compare changes', href: `${project.web_url}/-/compare/${before}...${after}` }
  const more = total_commits_count - commits.length
  return {
    line: [`${who} pushed to ${kind} `, ref, ' of ', place, ' (', compare, ')'],
    details: [...commits.slice(-MAX_SHOWN).map(commitLine), ...(more > 0 ? [[`and ${more} more`]] : [])],
  }
}

const commitLine = ({ id, url, title, author }: Commit): Piece[] => [{ text: id.slice(0, 8), href: url }, `: ${title} - ${author.name}`]

function notedOf({ issue, merge_request, commit, snippet }: Extract<Payload, { object_kind: 'note' }>): string {
  if (issue) return `issue #${issue.iid} ${issue.title}`
  if (merge_request) return `merge request !${merge_request.iid} ${merge_request.title}`
  if (commit) return `commit ${commit.id.slice(0, 8)} ${commit.title}`
  return `snippet $${snippet?.id} ${snippet?.title}`
}

/** Jobs of a pipeline that made it fail, the first ones. */
export const failedJobs = ({ builds }: PipelinePayload) =>
  builds.filter(({ status, allow_failure }) => status === 'failed' && !allow_failure).slice(0, MAX_JOBS)

function ended(payload: PipelinePayload, who: string, place: ChatMessage['project']): Pick<ChatMessage, 'line' | 'details' | 'mood'> {
  const { id, ref, tag, status, duration, url } = payload.object_attributes
  const branch = { text: ref, href: `${payload.project.web_url}/-/${tag ? 'tags' : 'commits'}/${ref.split('/').map(encodeURIComponent).join('/')}` }
  const took = duration === null ? '' : ` in ${durationOf(duration)}`
  const end = ` by ${who} ${status === 'success' ? 'has passed' : 'has failed'}${took}`
  const failed = failedJobs(payload)
  const jobs = failed.flatMap((job, i): Piece[] => [
    ...(i > 0 ? [', '] : []),
    { text: job.name, href: `${payload.project.web_url}/-/jobs/${job.id}` },
  ])
  return {
    line: [place, ': Pipeline ', { text: `#${id}`, href: url }, ` of ${tag ? 'tag' : 'branch'} `, branch, end],
    details: [...(payload.commit ? [['Commit ', ...commitLine(payload.commit)]] : []), ...(failed.length > 0 ? [['Failed: ', ...jobs]] : [])],
    mood: status === 'success' ? 'good' : 'bad',
  }
}

const durationOf = (seconds: number) => {
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
  return [...(h > 0 ? [`${h} h`] : []), ...(m > 0 ? [`${m} min`] : []), ...(s > 0 || seconds === 0 ? [`${s} s`] : [])].join(' ')
}

const shortened = (text: string) => (text.length > MAX_TEXT ? `${text.slice(0, wholeEnd(text, MAX_TEXT))}…` : text)
