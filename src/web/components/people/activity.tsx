import type { ComponentChildren } from 'preact'
import { TARGET_NAMES } from '../../../rules/event-words.js'
import type { EventRecord } from '../../../services/activity/events.js'
import { plural, said, t, text } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { inUrl, type ProjectLinks, projectLinks } from '../../links.js'
import type { PageView } from '../../page.js'
import { shortId } from '../files/code.js'
import { dayText, Time } from '../time.js'
import { Avatar } from './avatar.js'

interface Props {
  view: PageView
  events: EventRecord[]
  /** The full paths of their projects by id; an event of another project does not name it. */
  paths: ReadonlyMap<number, string>
  empty: string
}

/** What people did, by day. */
export function Activity({ view, events, paths, empty }: Props) {
  if (events.length === 0) return <p class="empty">{empty}</p>
  const days = new Map<string, EventRecord[]>()
  for (const record of events) {
    const day = dayText(record.event.created_at)
    days.set(day, [...(days.get(day) ?? []), record])
  }
  return (
    <>
      {[...days].map(([day, ofDay]) => (
        <section key={day}>
          <h2>{day}</h2>
          <ul class="rows activity">
            {ofDay.map((record) => (
              <EventRow key={record.event.id} view={view} record={record} path={paths.get(record.event.project_id)} />
            ))}
          </ul>
        </section>
      ))}
    </>
  )
}

const EventRow = ({ view, record, path }: { view: PageView; record: EventRecord; path: string | undefined }) => {
  const { event, author } = record
  const links = path === undefined ? null : projectLinks(view, path)
  return (
    <li>
      <div class="what">
        <span>
          <a class="person" href={`${view.links.prefix}/${inUrl(author.username)}`}>
            <Avatar view={view} user={author} size="small" /> <strong>{author.name}</strong>
          </a>{' '}
          {sentenceOf(record, links)}
          {links && event.target_type !== 'Project' && (
            <>
              {' '}
              <Phrase text="in {link}" link={<a href={links.home}>{path}</a>} />
            </>
          )}
        </span>
        {event.push?.commit_title && <span class="dim">{event.push.commit_title}</span>}
      </div>
      <div class="actions dim">
        <Time at={event.created_at} />
      </div>
    </li>
  )
}

const Link = ({ to, children }: { to: string | null | undefined; children: ComponentChildren }) =>
  to ? <a href={to}>{children}</a> : <span>{children}</span>

const PAGES: Record<string, string> = { Issue: 'issues', MergeRequest: 'merge_requests' }

/** What happened to the target of an event. */
const EVENT_TEXTS = {
  created: text('opened {target}'),
  updated: text('changed {target}'),
  closed: text('closed {target}'),
  reopened: text('reopened {target}'),
  commented: text('commented on {target}'),
  merged: text('merged {target}'),
  approved: text('approved {target}'),
  joined: text('joined the project {target}'),
  left: text('left the project {target}'),
  destroyed: text('removed {target}'),
  expired: text('is no longer a member: the time was over {target}'),
} as const

/** What a push did to a branch or tag. */
const PUSH_TEXTS = {
  created: { branch: text('pushed a new branch {name}'), tag: text('pushed a new tag {name}') },
  removed: { branch: text('deleted the branch {name}'), tag: text('deleted the tag {name}') },
  pushed: { branch: text('pushed to the branch {name}'), tag: text('pushed to the tag {name}') },
} as const

function sentenceOf(record: EventRecord, links: ProjectLinks | null): ComponentChildren {
  const { event, project, issue, request, milestone, note } = record
  if (event.action === 'pushed') return event.push ? <Push push={event.push} links={links} /> : t('pushed')
  const text = EVENT_TEXTS[event.action]
  if (event.target_type === 'Project') {
    return event.action === 'created' ? (
      <Phrase text="created the project {link}" link={<Link to={links?.home}>{project.name}</Link>} />
    ) : (
      <Phrase text={text} target={null} />
    )
  }
  const type = note ? note.noteable_type : (event.target_type ?? '')
  const iid = (issue ?? request ?? milestone)?.iid ?? record.noteable_iid
  const title = (issue ?? request ?? milestone)?.title ?? record.noteable_title ?? event.target_title
  const at = PAGES[type]
  if (note?.commit_id)
    return (
      <Phrase
        text="commented on commit {link}"
        link={
          <Link to={links && `${links.commit(note.commit_id)}#note_${note.id}`}>
            <code>{shortId(note.commit_id)}</code>
          </Link>
        }
      />
    )
  const to = links && at && iid !== null ? `${links.page(`${at}/${iid}`)}${note ? `#note_${note.id}` : ''}` : undefined
  return (
    <Phrase
      text={text}
      target={
        <Link to={to}>
          {said(TARGET_NAMES[type] ?? '')}
          {iid ?? ''} {title}
        </Link>
      }
    />
  )
}

function Push({ push, links }: { push: NonNullable<EventRecord['event']['push']>; links: ProjectLinks | null }) {
  const { action, ref, ref_type, commit_count: count, commit_from: from, commit_to: to } = push
  const isThere = action !== 'removed'
  return (
    <>
      <Phrase text={PUSH_TEXTS[action][ref_type]} name={<Link to={isThere ? links?.tree(ref) : undefined}>{ref}</Link>} />
      {isThere && count > 0 && to && (
        <>
          {': '}
          <Link to={links && (count > 1 && from ? `${links.page('compare')}/${from}...${to}` : links.commit(to))}>
            {plural(count, '1 commit', '{count} commits')}
          </Link>
        </>
      )}
    </>
  )
}
