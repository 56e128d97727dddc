import type { DiscussionRecord, NoteRecord } from '../../services/notes/list.js'
import { inUrl } from '../links.js'
import type { PageView } from '../page.js'
import { Avatar } from './avatar.js'
import { ActionButton, FormTag, Submit, TextField } from './form.js'
import { Badge } from './list.js'
import { Prose } from './markup.js'
import { Time } from './time.js'

/** The rendered texts of notes, by their ids. */
export type NoteTexts = ReadonlyMap<number, string>

interface Props {
  view: PageView
  discussions: DiscussionRecord[]
  texts: NoteTexts
  /** Where a reply is sent to, for those who may write. */
  replyTo: ((discussion: string) => string) | null
  /** Where a thread is resolved, for those who may. */
  resolveAt?: ((discussion: string) => string) | null
}

/** Only threads on merge requests can be resolved (DI-9). */
const isResolvable = ({ note }: NoteRecord) => note.noteable_type === 'MergeRequest' && note.type !== null

/** Discussions in their order: comments, threads with their replies, and what happened in between. */
export const Discussions = ({ view, discussions, texts, replyTo, resolveAt = null }: Props) => (
  <ol class="discussion">
    {discussions.map(({ id, notes }) => {
      const [first] = notes
      if (!first) return null
      if (first.note.system) return <SystemNote key={id} view={view} record={first} text={texts.get(first.note.id) ?? ''} />
      const isThread = first.note.type !== null
      const isResolved = notes.every(({ note }) => note.type === null || note.resolved_at !== null)
      return (
        <li key={id} class="box" id={`discussion_${id}`}>
          {(first.note.path !== null || isResolvable(first)) && (
            <div class="head dim">
              <span class="grow">
                {first.note.path && (
                  <code>
                    {first.note.path}
                    {first.note.line === null ? '' : `:${first.note.line}`}
                  </code>
                )}{' '}
                {isResolvable(first) && <Badge kind={isResolved ? 'success' : 'waiting'}>{isResolved ? 'resolved' : 'unresolved'}</Badge>}
              </span>
              {isResolvable(first) && resolveAt && (
                <ActionButton
                  view={view}
                  action={resolveAt(id)}
                  label={isResolved ? 'Reopen thread' : 'Resolve thread'}
                  fields={{ resolved: String(!isResolved) }}
                />
              )}
            </div>
          )}
          {notes.map((record) => (
            <Note key={record.note.id} view={view} record={record} text={texts.get(record.note.id) ?? ''} />
          ))}
          {isThread && replyTo && (
            <details class="reply">
              <summary>Reply</summary>
              <FormTag view={view} action={replyTo(id)}>
                <TextField view={view} name="note[note]" within={`reply_${first.note.id}`} label="Reply" rows={3} required />
                <Submit label="Reply" class="" />
              </FormTag>
            </details>
          )}
        </li>
      )
    })}
  </ol>
)

const Person = ({ view, record: { author } }: { view: PageView; record: NoteRecord }) => (
  <a class="person" href={`${view.links.prefix}/${inUrl(author.username)}`}>
    <Avatar view={view} user={author} size={20} /> <strong>{author.name}</strong>
  </a>
)

const Note = ({ view, record, text }: { view: PageView; record: NoteRecord; text: string }) => (
  <article class="note" id={`note_${record.note.id}`}>
    <p class="dim">
      <Person view={view} record={record} />{' '}
      <a href={`#note_${record.note.id}`}>
        <Time at={record.note.created_at} />
      </a>
    </p>
    <Prose html={text} />
  </article>
)

const SystemNote = ({ view, record, text }: { view: PageView; record: NoteRecord; text: string }) => (
  <li class="system" id={`note_${record.note.id}`}>
    <Person view={view} record={record} /> <Prose html={text} />
    <a class="dim" href={`#note_${record.note.id}`}>
      <Time at={record.note.created_at} />
    </a>
  </li>
)
