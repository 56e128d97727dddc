import type { DiscussionRecord, NoteRecord } from '../../../services/notes/list.js'
import { fieldsOf } from '../../fields.js'
import { plural, t } from '../../language/language.js'
import type { PageView } from '../../page.js'
import { Editor, EditorForm } from '../editor/editor.js'
import { ActionButton, Hidden, Submit } from '../form.js'
import { Badge } from '../list.js'
import { Rendered } from '../markup.js'
import { pageWith, unsent, wasSent } from './asked.js'
import { replyText } from './fields.js'
import { Note } from './note.js'
import type { DiscussionParts } from './shown.js'

/** Only threads on merge requests can be resolved (DI-9). */
const isResolvable = ({ note }: NoteRecord) => note.noteable_type === 'MergeRequest' && note.type !== null

const isResolved = ({ notes }: DiscussionRecord) => notes.every(({ note }) => note.type === null || note.resolved_at !== null)

export const isUnresolved = (discussion: DiscussionRecord): boolean => {
  const [first] = discussion.notes
  return first !== undefined && isResolvable(first) && !isResolved(discussion)
}

export interface ThreadProps extends DiscussionParts {
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
      {notes.map((record, i) => (
        <Note key={record.note.id} {...parts} record={record} pictured={inPlace || i > 0} />
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
            {first.note.position?.line_range && inPlace && `${t('Lines {placeIn}', { placeIn: placeIn(first.note).slice(1) })} `}
            {first.note.position?.position_type === 'image' && inPlace && `${t('Point{placeIn}', { placeIn: placeIn(first.note).slice(3) })} `}
            {resolvable && <Badge kind={resolved ? 'success' : 'waiting'}>{resolved ? t('resolved') : t('unresolved')}</Badge>}
          </span>
          {next && <a href={`#discussion_${next}`}>{t('Next unresolved')}</a>}
          {resolvable && parts.mayResolve(first) && (
            <ActionButton
              view={view}
              action={`${at}/discussions/${id}/resolve`}
              label={resolved ? t('Unresolve thread') : t('Resolve thread')}
              fields={{ resolved: String(!resolved), ...(back && { back }) }}
              into={`discussion_${id}`}
            />
          )}
        </div>
      )}
      {resolvable && resolved ? (
        <details class="resolved" open={isAnswered({ ...parts, discussion }) || notes.some(({ note }) => note.id === parts.editing?.note.id)}>
          <summary>
            {plural(notes.length, '1 comment', '{count} comments')}
            {first.resolved_by && t(', resolved by {name}', { name: first.resolved_by.name })}
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
  if (position?.position_type === 'image') return ` ${t('at {x}, {y}', { x: position.x ?? 0, y: position.y ?? 0 })}`
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
      <a href={`${view.links.prefix}${at}/discussions/${id}`}>{text}</a> {position.head_sha !== head && <Badge>{t('an earlier version')}</Badge>}
    </>
  )
}

/** The lines that a thread was about when it began. */
export const Excerpt = ({ excerpts, note: { id } }: Pick<DiscussionParts, 'excerpts'> & { note: Pick<NoteRecord['note'], 'id'> }) => {
  const rows = excerpts.get(id)
  return rows ? (
    <div class="diff excerpt">
      <Rendered class="lines" rows={rows} />
    </div>
  ) : null
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
          {t('Reply')}
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
        <Editor {...f.note.note} within={`reply_${first.note.id}`} label={t('Reply')} rows={3} autofocus kept project={project} />
        {mayReview && mayResolve(first) && (
          <div class="check">
            <input type="checkbox" id={`resolve_${first.note.id}`} name={f.resolve.name} value={isResolved(discussion) ? 'false' : 'true'} />
            <label for={`resolve_${first.note.id}`}>{isResolved(discussion) ? t('Unresolve thread') : t('Resolve thread')}</label>
          </div>
        )}
        <div class="toolbar">
          <Submit label={t('Reply')} class="" />
          {mayReview && <Submit label={t('Add to review')} name={f.how.name} value="review" class="" />}
          <a href={`${pageWith(props, null)}#discussion_${discussion.id}`} data-into={part}>
            {t('Cancel')}
          </a>
        </div>
      </EditorForm>
    </div>
  )
}
