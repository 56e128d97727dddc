import { z } from 'zod'
import { oneOf, orDefault, str } from '../../../http/params.js'
import type { DraftNote } from '../../../services/notes/drafts.js'
import { pageWith, unsent, wasSent } from '../../components/discussion/asked.js'
import { noteText } from '../../components/discussion/fields.js'
import type { DiscussionParts } from '../../components/discussion/shown.js'
import { DraftSuggestion } from '../../components/discussion/suggestions.js'
import { Excerpt, placeIn } from '../../components/discussion/thread.js'
import { Editor, EditorForm } from '../../components/editor/editor.js'
import { ActionButton, Hidden, RadioFields, Submit } from '../../components/form.js'
import { Badge } from '../../components/list.js'
import { Prose } from '../../components/markup.js'
import { fieldsOf } from '../../fields.js'
import { plural, t } from '../../language/language.js'
import type { PageView } from '../../page.js'

interface DraftProps {
  view: PageView
  parts: DiscussionParts
  draft: DraftNote
  /** Shows the lines that it is about. */
  withLines?: boolean
}

/** A note that waits in the review of its author, who alone sees it. */
export const Draft = ({ view, parts, draft, withLines = false }: DraftProps) => {
  const { at, back } = parts
  const part = `draft_${draft.id}`
  const isSent = wasSent(view, ({ draft_id }) => draft_id === String(draft.id))
  const isChanged = isSent || parts.draft === draft.id
  return (
    <div class="box thread draft" id={part}>
      <div class="head dim">
        <Badge kind="waiting">{t('in your review')}</Badge>
        <span class="grow">
          {!withLines && draft.position?.line_range && `${t('Lines {placeIn}', { placeIn: placeIn(draft).slice(1) })} `}
          {withLines && draft.position && (
            <code>
              {draft.position.new_path}
              {placeIn(draft)}
            </code>
          )}
          {draft.discussion_id && <a href={`${view.links.prefix}${at}/discussions/${draft.discussion_id}`}>{t('answers a thread')}</a>}
          {draft.resolve_discussion !== null && ` ${draft.resolve_discussion ? t('and resolves it') : t('and reopens it')}`}
        </span>
        {!isChanged && (
          <a href={`${pageWith({ view, at, back }, { name: 'edit_draft', of: draft.id })}#${part}`} data-into={part}>
            {t('Edit draft')}
          </a>
        )}
        <ActionButton
          view={view}
          action={`${at}/drafts/${draft.id}`}
          method="DELETE"
          label={t('Delete draft')}
          fields={back ? { back } : {}}
          into={part}
        />
      </div>
      {withLines && <Excerpt {...parts} note={draft} />}
      {isChanged ? (
        <DraftForm view={isSent ? view : unsent(view)} parts={parts} draft={draft} cancel={`${pageWith({ view, at, back }, null)}#${part}`} />
      ) : (
        <div class="note">
          {parts.draftTexts
            .get(draft.id)
            ?.map((part) => (typeof part === 'string' ? part && <Prose key={part} html={part} /> : <DraftSuggestion key={part.rows} {...part} />))}
        </div>
      )}
    </div>
  )
}

const DraftForm = ({ view, parts: { at, back, project }, draft, cancel }: DraftProps & { cancel: string }) => {
  const f = fieldsOf(view, noteText)
  return (
    <div class="note">
      <EditorForm view={view} action={`${at}/drafts/${draft.id}`} method="PUT" attributes={{ 'data-into': `draft_${draft.id}` }}>
        {back && <Hidden {...f.back} value={back} />}
        <Editor {...f.note.note} within={`draft_${draft.id}`} label={t('Comment')} value={draft.note} rows={4} autofocus project={project} />
        <div class="toolbar">
          <Submit label={t('Save draft')} class="" />
          <a href={cancel} data-into={`draft_${draft.id}`}>
            {t('Cancel')}
          </a>
        </div>
      </EditorForm>
    </div>
  )
}

export const review = z.object({
  summary: orDefault(str(), ''),
  verdict: orDefault(oneOf(['comment', 'approve', 'request_changes']), 'comment'),
  sha: orDefault(str(), ''),
})

const verdicts = () => [
  { value: 'comment', label: t('Comment'), hint: t('Says something without a verdict.') },
  { value: 'approve', label: t('Approve'), hint: t('The changes can be merged.') },
  { value: 'request_changes', label: t('Request changes'), hint: t('Something should change before they are merged.') },
]

/** Sends the drafts of the reader with a verdict, or a verdict alone (WB-600). */
export function ReviewBox({
  view,
  parts,
  drafts,
  mayApprove,
}: Omit<DraftProps, 'draft'> & {
  drafts: DraftNote[]
  mayApprove: boolean
}) {
  const { at, head, project } = parts
  const f = fieldsOf(view, review)
  const isSent = wasSent(view, ({ verdict }) => verdict !== undefined)
  const here = isSent ? view : unsent(view)
  return (
    <details class="box" id="review" open={drafts.length > 0 || isSent}>
      <summary class="head">
        <h2>{drafts.length === 0 ? t('Submit a review') : plural(drafts.length, 'Your review: 1 comment', 'Your review: {count} comments')}</h2>
      </summary>
      <div class="note">
        {drafts.map((draft) => (
          <Draft key={draft.id} view={view} parts={parts} draft={draft} withLines />
        ))}
        <EditorForm view={here} action={`${at}/drafts/publish`} once>
          <Hidden {...f.sha} value={head ?? ''} />
          <Editor {...f.summary} view={here} within="review" label={t('Summary of the review')} rows={3} project={project} />
          {mayApprove ? (
            <RadioFields {...f.verdict} view={here} label={t('Verdict')} value="comment" choices={verdicts()} />
          ) : (
            <Hidden {...f.verdict} value="comment" />
          )}
          <Submit label={t('Submit review')} />
        </EditorForm>
        {drafts.length > 0 && <ActionButton view={view} action={`${at}/drafts`} method="DELETE" label={t('Discard review')} class="danger" />}
      </div>
    </details>
  )
}
