import type { ComponentChildren } from 'preact'
import { z } from 'zod'
import type { ProjectSubject } from '../../../access/rules.js'
import * as documented from '../../../http/documented.js'
import type { ParameterBag } from '../../../http/form.js'
import { bool, idList, opt, orDefault, str } from '../../../http/params.js'
import { emojiOf } from '../../../lib/text/emoji.js'
import type { NoteAward } from '../../../services/notes/award-emoji.js'
import type { DiscussionRecord, NoteRecord } from '../../../services/notes/list.js'
import type { Suggestion } from '../../../services/notes/suggestion-records.js'
import { digestOf } from '../../../services/notes/write.js'
import { fieldsOf } from '../../fields.js'
import { inUrl } from '../../links.js'
import type { PageView } from '../../page.js'
import { inChunks, LongText, PagePart } from '../../page-part.js'
import { Unified } from '../diff/diff.js'
import { Editor, EditorForm } from '../editor/editor.js'
import { ActionButton, FormFaults, FormTag, Hidden, Submit, TextField } from '../form.js'
import { Badge } from '../list.js'
import { Prose, Rendered } from '../markup.js'
import { Avatar } from '../people/avatar.js'
import { Time } from '../time.js'

/** A suggestion with the lines that it replaces, where they are known. */
export interface ShownSuggestion {
  suggestion: Suggestion
  before: string[] | null
}

/** What notes show beside their records, and what the reader may do with them. */
export interface DiscussionParts {
  /** The address of what the notes are about, without the prefix of the service. */
  at: string
  /** The project of the texts; null for none. */
  project: ProjectSubject | null
  /** The rendered texts by the ids of the notes; a text with suggestions is in parts, with one between each two. */
  texts: ReadonlyMap<number, string[]>
  awards: ReadonlyMap<number, NoteAward[]>
  suggestions: ReadonlyMap<number, ShownSuggestion[]>
  /** The rows of the lines that a thread was about when it began. */
  excerptRows(excerpt: string): string
  mayWrite: boolean
  mayAward: boolean
  /** Replies can be kept for a review. */
  mayReview: boolean
  mayEdit(record: NoteRecord): boolean
  mayResolve(record: NoteRecord): boolean
  /** Whether suggestions can be applied by the reader. */
  mayApply: boolean
  /** The note whose text is being changed, with its whole text. */
  editing: NoteRecord | null
  /** The note that is given an emoji: it offers several. */
  reacting: number | null
  /** The thread that is answered: only it has the form (WB-340). */
  replying: string | null
  /** The draft of a review whose text is being changed. */
  draft: number | null
  /** Where the forms of notes lead to afterwards, if not to the page of what they are about. */
  back: string | null
  /** The head of the newest version of a merge request: what was written about another one is outdated. */
  head: string | null
}

/** The text of a note, and where the form that changes it leads. */
export const noteText = z.object({ note: z.object({ note: orDefault(documented.filled(), '') }), back: opt(str()) })
export const commentText = noteText.omit({ back: true })
export const replyText = noteText.extend({ how: opt(str()), resolve: opt(bool()) })
export const changedText = noteText.extend({ before: opt(str()) })
export const selectedSuggestions = z.object({ ids: orDefault(idList(), []), commit_message: opt(str()), back: opt(str()) })

interface Props extends DiscussionParts {
  view: PageView
  discussions: DiscussionRecord[]
}

/** Only threads on merge requests can be resolved (DI-9). */
const isResolvable = ({ note }: NoteRecord) => note.noteable_type === 'MergeRequest' && note.type !== null

const isResolved = ({ notes }: DiscussionRecord) => notes.every(({ note }) => note.type === null || note.resolved_at !== null)

export const isUnresolved = (discussion: DiscussionRecord): boolean => {
  const [first] = discussion.notes
  return first !== undefined && isResolvable(first) && !isResolved(discussion)
}

/** Discussions that are rendered without a pause. */
const SHOWN_TOGETHER = 10

/** Discussions in their order: comments, threads with their replies, and what happened in between. */
export function Discussions({ discussions, ...parts }: Props) {
  const open = discussions.filter(isUnresolved)
  const next = new Map(open.map(({ id }, i) => [id, open[(i + 1) % open.length]?.id ?? id]))
  return (
    <ol class="discussion">
      {inChunks(discussions, SHOWN_TOGETHER).map((chunk) => (
        <PagePart key={chunk[0]?.id}>
          {chunk.map((discussion) => (
            <Listed key={discussion.id} {...parts} discussion={discussion} next={open.length > 1 ? next.get(discussion.id) : undefined} />
          ))}
        </PagePart>
      ))}
    </ol>
  )
}

function Listed(props: ThreadProps) {
  const { discussion, texts, view } = props
  const [first] = discussion.notes
  if (!first) return null
  if (first.note.system) return <SystemNote view={view} record={first} text={texts.get(first.note.id)?.join('') ?? ''} />
  return (
    <li class="box thread" id={`discussion_${discussion.id}`}>
      <Thread {...props} />
    </li>
  )
}

interface ThreadProps extends DiscussionParts {
  view: PageView
  discussion: DiscussionRecord
  /** The next thread that is not resolved. */
  next?: string | undefined
  /** It is shown under its line, so it does not show that. */
  inPlace?: boolean
}

/** The notes of a thread, and the forms to answer and to resolve it. */
export function Thread({ discussion, next, inPlace = false, ...parts }: ThreadProps) {
  const { view, at, back } = parts
  const { id, notes } = discussion
  const first = notes[0] as NoteRecord
  const resolvable = isResolvable(first)
  const resolved = isResolved(discussion)
  const content = (
    <>
      {!inPlace && <Excerpt {...parts} note={first.note} />}
      {notes.map((record) => (
        <Note key={record.note.id} {...parts} record={record} />
      ))}
      {first.note.type !== null && parts.mayWrite && <Reply {...parts} discussion={discussion} />}
    </>
  )
  return (
    <>
      {(first.note.position !== null || resolvable) && (
        <div class="head dim">
          <span class="grow">
            {first.note.position && !inPlace && <PositionLink {...parts} discussion={discussion} />}{' '}
            {first.note.position?.line_range && inPlace && `Lines ${placeIn(first.note).slice(1)} `}
            {first.note.position?.position_type === 'image' && inPlace && `Point${placeIn(first.note).slice(3)} `}
            {resolvable && <Badge kind={resolved ? 'success' : 'waiting'}>{resolved ? 'resolved' : 'unresolved'}</Badge>}
          </span>
          {next && <a href={`#discussion_${next}`}>Next unresolved</a>}
          {resolvable && parts.mayResolve(first) && (
            <ActionButton
              view={view}
              action={`${at}/discussions/${id}/resolve`}
              label={resolved ? 'Reopen thread' : 'Resolve thread'}
              fields={{ resolved: String(!resolved), ...(back && { back }) }}
              into={`discussion_${id}`}
            />
          )}
        </div>
      )}
      {resolvable && resolved ? (
        <details class="resolved" open={isAnswered({ ...parts, discussion }) || notes.some(({ note }) => note.id === parts.editing?.note.id)}>
          <summary>
            {notes.length === 1 ? '1 comment' : `${notes.length} comments`}
            {first.resolved_by && `, resolved by ${first.resolved_by.name}`}
          </summary>
          {content}
        </details>
      ) : (
        content
      )}
    </>
  )
}

/** The lines or the point of a file that a note is about, behind the name of the file. */
export function placeIn({ position, line }: Pick<NoteRecord['note'], 'position' | 'line'>): string {
  if (position?.position_type === 'image') return ` at ${position.x}, ${position.y}`
  if (line === null) return ''
  const { start } = position?.line_range ?? {}
  return `:${start ? `${start.new_line ?? start.old_line}–` : ''}${line}`
}

/** Where a thread is, as a link to the changes of the version that it was written for. */
function PositionLink({ view, at, head, discussion: { id, notes } }: ThreadProps) {
  const { position, path, line } = (notes[0] as NoteRecord).note
  if (!position) return null
  const text = (
    <code>
      {path ?? position.new_path}
      {placeIn({ position, line })}
    </code>
  )
  if (head === null) return text
  return (
    <>
      <a href={`${view.links.prefix}${at}/discussions/${id}`}>{text}</a> {position.head_sha !== head && <Badge>an earlier version</Badge>}
    </>
  )
}

/** The lines that a thread was about when it began. */
export const Excerpt = ({ excerptRows, note: { excerpt } }: Pick<DiscussionParts, 'excerptRows'> & { note: Pick<NoteRecord['note'], 'excerpt'> }) =>
  excerpt === null || excerpt === '' ? null : (
    <div class="diff excerpt">
      <Rendered class="lines" rows={excerptRows(excerpt)} />
    </div>
  )

type Asked = { name: 'edit_note' | 'edit_draft' | 'react' | 'reply'; of: number | string }

/** The page with one of the forms that stand on it only when they are asked for (WB-340); null: without them. */
export function pageWith({ view, at, back }: Pick<ThreadProps, 'view' | 'at' | 'back'>, form: Asked | null): string {
  // a form that was refused has the address that it was sent to
  const [path = '', query = ''] = (back ?? (view.submitted ? at : view.address)).split('?', 2)
  const parameters = new URLSearchParams(query)
  for (const each of ['edit_note', 'edit_draft', 'react', 'reply']) parameters.delete(each)
  const number = view.submitted?.values['page']
  if (typeof number === 'string') parameters.set('page', number)
  if (form) parameters.set(form.name, String(form.of))
  return `${view.links.prefix}${path}${parameters.size > 0 ? `?${parameters}` : ''}`
}

const isAnswered = ({ view, replying, discussion: { id } }: ThreadProps) =>
  replying === id || wasSent(view, (values) => values['discussion_id'] === id)

function Reply(props: ThreadProps) {
  const { view: page, at, project, back, discussion, mayReview, mayResolve } = props
  const part = `reply_${discussion.id}`
  if (!isAnswered(props))
    return (
      <p class="reply" id={part}>
        <a href={`${pageWith(props, { name: 'reply', of: discussion.id })}#discussion_${discussion.id}`} data-into={part}>
          Reply
        </a>
      </p>
    )
  const view = wasSent(page, (values) => values['discussion_id'] === discussion.id) ? page : unsent(page)
  const first = discussion.notes[0] as NoteRecord
  const number = page.submitted?.values['page'] ?? new URLSearchParams(page.address.split('?')[1]).get('page')
  const f = fieldsOf(view, replyText)
  return (
    <div class="reply" id={part}>
      <EditorForm view={view} action={`${at}/discussions/${discussion.id}/notes`} once attributes={{ 'data-into': `discussion_${discussion.id}` }}>
        {back && <Hidden {...f.back} value={back} />}
        {typeof number === 'string' && !back && <input type="hidden" name="page" value={number} />}
        <Editor {...f.note.note} within={`reply_${first.note.id}`} label="Reply" rows={3} autofocus kept project={project} />
        {mayReview && mayResolve(first) && (
          <div class="check">
            <input type="checkbox" id={`resolve_${first.note.id}`} name={f.resolve.name} value={isResolved(discussion) ? 'false' : 'true'} />
            <label for={`resolve_${first.note.id}`}>{isResolved(discussion) ? 'Reopen the thread' : 'Resolve the thread'}</label>
          </div>
        )}
        <div class="toolbar">
          <Submit label="Reply" class="" />
          {mayReview && <Submit label="Add to review" name={f.how.name} value="review" class="" />}
          <a href={`${pageWith(props, null)}#discussion_${discussion.id}`} data-into={part}>
            Cancel
          </a>
        </div>
      </EditorForm>
    </div>
  )
}

const Person = ({ view, record: { author } }: { view: PageView; record: Pick<NoteRecord, 'author'> }) => (
  <a class="person" href={`${view.links.prefix}/${inUrl(author.username)}`}>
    <Avatar view={view} user={author} size={20} /> <strong>{author.name}</strong>
  </a>
)

function Note({ record, ...parts }: DiscussionParts & { view: PageView; record: NoteRecord }) {
  const { view, at, back } = parts
  const { note } = record
  if (parts.editing?.note.id === note.id) return <EditForm {...parts} record={parts.editing} />
  const texts = parts.texts.get(note.id) ?? []
  const suggested = parts.suggestions.get(note.id) ?? []
  const to = (name: 'edit_note' | 'react') => `${pageWith(parts, { name, of: note.id })}#note_${note.id}`
  return (
    <article class="note" id={`note_${note.id}`}>
      <p class="dim by">
        <Person view={view} record={record} />{' '}
        <a href={`#note_${note.id}`}>
          <Time at={note.created_at} />
        </a>
        {parts.mayEdit(record) && (
          <a class="last" href={to('edit_note')} data-into={`note_${note.id}`} aria-label={`Edit the comment of ${record.author.name}`}>
            Edit
          </a>
        )}
      </p>
      {texts.map((html, i) => (
        <>
          {html && <Prose key={i} html={html} />}
          {i < texts.length - 1 && suggested[i] && <SuggestionBox {...parts} shown={suggested[i]} />}
        </>
      ))}
      <Awards
        view={view}
        action={`${at}/notes/${note.id}/toggle_award_emoji`}
        awards={parts.awards.get(note.id) ?? []}
        mayAward={parts.mayAward}
        back={back}
        into={`note_${note.id}`}
        more={parts.reacting === note.id ? null : to('react')}
      />
    </article>
  )
}

const characterOf = (name: string) => emojiOf(name) ?? `:${name}:`

const OFFERED = ['thumbsup', 'thumbsdown', 'smile', 'tada', 'confused', 'heart', 'rocket', 'eyes']

interface AwardsProps extends Pick<DiscussionParts, 'mayAward' | 'back'> {
  view: PageView
  action: string
  awards: Omit<NoteAward, 'note'>[]
  /** The id of the element that the script replaces. */
  into: string
  /** The page that offers emoji; null: this is it. */
  more: string | null
}

/** The emoji on something, each of which gives or takes back that of the reader. */
export function Awards({ view, action, awards, mayAward, back, into, more }: AwardsProps) {
  const title = ({ people, count, name }: Omit<NoteAward, 'note'>) =>
    `${people.join(', ')}${count > people.length ? ` and ${count - people.length} more` : ''}: ${name.replaceAll('_', ' ')}`
  if (!mayAward)
    return awards.length === 0 ? null : (
      <p class="awards">
        {awards.map((award) => (
          <span key={award.name} class="badge" title={title(award)}>
            {characterOf(award.name)} {award.count}
          </span>
        ))}
      </p>
    )
  const others = OFFERED.filter((name) => !awards.some((award) => award.name === name))
  const offer = more !== null && (
    <a href={more} data-into={into} aria-label="React">
      ☺
    </a>
  )
  if (offer && awards.length === 0) return <p class="awards">{offer}</p>
  return (
    <FormTag view={view} action={action} class="awards" attributes={{ 'data-into': into }}>
      {back && <input type="hidden" name="back" value={back} />}
      {awards.map((award) => (
        <button key={award.name} type="submit" name="name" value={award.name} title={title(award)} {...(award.mine && { 'aria-pressed': 'true' })}>
          {characterOf(award.name)} {award.count}
        </button>
      ))}
      {offer ||
        others.map((name) => (
          <button key={name} type="submit" name="name" value={name} aria-label={name.replaceAll('_', ' ')}>
            {characterOf(name)}
          </button>
        ))}
    </FormTag>
  )
}

/** The form that changes a note; what another has written meanwhile is shown beside what was typed (WB-91). */
function EditForm({ view, at, project, back, record: { note } }: DiscussionParts & { view: PageView; record: NoteRecord }) {
  const conflict = view.submitted !== null && !view.submitted.preview
  const f = fieldsOf(view, changedText)
  return (
    <article class="note" id={`note_${note.id}`}>
      <EditorForm view={view} action={`${at}/notes/${note.id}`} method="PUT" attributes={{ 'data-into': `note_${note.id}` }}>
        <FormFaults view={view} />
        {back && <Hidden {...f.back} value={back} />}
        <input type="hidden" name="edit_note" value={note.id} />
        <Hidden {...f.before} value={digestOf(note.note)} />
        {conflict && (
          <details open>
            <summary>The comment as it is now</summary>
            <pre class="plain">
              <LongText text={note.note} />
            </pre>
          </details>
        )}
        <Editor {...f.note.note} within={`edit_${note.id}`} label="Edit comment" value={note.note} autofocus project={project} />
        <div class="toolbar">
          <Submit label="Save comment" />
          <a href={`${view.links.prefix}${back ?? at}#note_${note.id}`} data-into={`note_${note.id}`}>
            Cancel
          </a>
        </div>
      </EditorForm>
      <ActionButton
        view={view}
        action={`${at}/notes/${note.id}`}
        method="DELETE"
        label="Delete comment"
        class="danger"
        fields={back ? { back } : {}}
      />
    </article>
  )
}

function SuggestionBox({ view, at, back, mayApply, shown: { suggestion, before } }: DiscussionParts & { view: PageView; shown: ShownSuggestion }) {
  const added = suggestion.content === '' ? [] : suggestion.content.replace(/\n$/, '').split('\n')
  const line = (kind: 'removed' | 'added') => (text: string) => ({ kind, old: null, new: null, text })
  const applied = suggestion.applied_at !== null
  return (
    <div class="box suggestion">
      <div class="head dim">
        <span class="grow">Suggested change</span>
        {applied && <Badge kind="success">applied</Badge>}
        {!applied && mayApply && (
          <>
            <div class="check">
              <input
                type="checkbox"
                form="suggestions"
                id={`suggestion_${suggestion.id}`}
                name={fieldsOf(view, selectedSuggestions).ids.name}
                value={suggestion.id}
              />
              <label for={`suggestion_${suggestion.id}`}>Select</label>
            </div>
            <ActionButton
              view={view}
              action={`${at}/suggestions`}
              label="Apply suggestion"
              fields={{ 'ids[]': String(suggestion.id), ...(back && { back }) }}
            />
          </>
        )}
      </div>
      <div class="diff">
        <PagePart>
          <Unified of="This suggestion" lines={[...(applied ? [] : (before ?? []).map(line('removed'))), ...added.map(line('added'))]} />
        </PagePart>
      </div>
    </div>
  )
}

/** The form that applies the suggestions which are selected on the page, as one commit. */
export function SelectedSuggestions({ view, at, back, mayApply, suggestions }: DiscussionParts & { view: PageView }) {
  const open = [...suggestions.values()].flat().filter(({ suggestion }) => suggestion.applied_at === null)
  if (!mayApply || open.length < 2) return null
  const f = fieldsOf(view, selectedSuggestions)
  return (
    <FormTag view={view} action={`${at}/suggestions`} attributes={{ id: 'suggestions' }}>
      {back && <Hidden {...f.back} value={back} />}
      <details>
        <summary>Apply the selected suggestions as one commit</summary>
        <TextField {...f.commit_message} label="Message of the commit" rows={2} hint="Empty: the template of the project." />
        <Submit label="Apply selected suggestions" class="" />
      </details>
    </FormTag>
  )
}

const SystemNote = ({ view, record, text }: { view: PageView; record: NoteRecord; text: string }) => (
  <li class="system" id={`note_${record.note.id}`}>
    <Person view={view} record={record} /> <Prose html={text} />
    <a class="dim" href={`#note_${record.note.id}`}>
      <Time at={record.note.created_at} />
    </a>
  </li>
)

/** Whether it was this form that was refused: many forms of a page have fields of the same name. */
export const wasSent = ({ submitted }: PageView, isThis: (values: ParameterBag) => boolean) => submitted !== null && isThis(submitted.values)

export const unsent = (view: PageView): PageView => ({ ...view, submitted: null })

interface CommentProps {
  view: PageView
  at: string
  project: ProjectSubject
  hint: string
  /** The threads of the page: an answer to another one, which is gone, is kept here. */
  discussions: DiscussionRecord[]
  /** The drafts of the page, likewise. */
  drafts?: { id: number }[]
  children?: ComponentChildren
}

/** The form of a new comment; `children` are its further fields. */
export function CommentForm({ view: page, at, project, hint, discussions, drafts = [], children }: CommentProps) {
  const isOwn = ({ edit_note, discussion_id, draft_id }: ParameterBag) =>
    edit_note === undefined && !discussions.some(({ id }) => id === discussion_id) && !drafts.some(({ id }) => String(id) === draft_id)
  const view = wasSent(page, isOwn) ? page : unsent(page)
  const f = fieldsOf(view, commentText)
  return (
    <EditorForm view={view} action={`${at}/notes`} once>
      <FormFaults view={view} />
      <Editor {...f.note.note} label="Comment" rows={5} hint={hint} project={project} />
      {children}
      <Submit label="Comment" />
    </EditorForm>
  )
}
