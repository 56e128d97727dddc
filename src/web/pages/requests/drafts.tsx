import type { DraftNote } from '../../../services/notes/drafts.js'
import { Excerpt, placeIn } from '../../components/discussion.js'
import { ActionButton, FormTag, Submit, TextField } from '../../components/form.js'
import { Badge } from '../../components/list.js'
import type { PageView } from '../../page.js'

interface DraftProps {
  view: PageView
  /** The address of the merge request. */
  at: string
  draft: DraftNote
  back: string | null
  /** Shows the lines that it is about. */
  withLines?: boolean
}

/** A note that waits in the review of its author, who alone sees it. */
export const Draft = ({ view, at, draft, back, withLines = false }: DraftProps) => (
  <div class="box thread draft" id={`draft_${draft.id}`}>
    <div class="head dim">
      <Badge kind="waiting">in your review</Badge>
      <span class="grow">
        {!withLines && draft.position?.line_range && `Lines ${placeIn(draft).slice(1)} `}
        {withLines && draft.position && (
          <code>
            {draft.position.new_path}
            {placeIn(draft)}
          </code>
        )}
        {draft.discussion_id && <a href={`${view.links.prefix}${at}/discussions/${draft.discussion_id}`}>answers a thread</a>}
        {draft.resolve_discussion !== null && ` and ${draft.resolve_discussion ? 'resolves' : 'reopens'} it`}
      </span>
      <ActionButton
        view={view}
        action={`${at}/drafts/${draft.id}`}
        method="DELETE"
        label="Delete draft"
        fields={back ? { back } : {}}
        into={`draft_${draft.id}`}
      />
    </div>
    {withLines && draft.excerpt && <Excerpt note={draft} />}
    <div class="note">
      <pre class="draft-text">{draft.note}</pre>
    </div>
    <details class="reply">
      <summary>Edit draft</summary>
      <FormTag view={view} action={`${at}/drafts/${draft.id}`} method="PUT" attributes={{ 'data-into': `draft_${draft.id}` }}>
        {back && <input type="hidden" name="back" value={back} />}
        <TextField view={view} name="note[note]" within={`draft_${draft.id}`} label="Comment" value={draft.note} rows={4} required />
        <Submit label="Save draft" class="" />
      </FormTag>
    </details>
  </div>
)

/** Sends the drafts of the reader, with a verdict. */
export function ReviewBox({
  view,
  at,
  drafts,
  head,
  mayApprove,
}: {
  view: PageView
  at: string
  drafts: DraftNote[]
  head: string | null
  mayApprove: boolean
}) {
  if (drafts.length === 0) return null
  return (
    <section class="box" id="review">
      <h2 class="head">{drafts.length === 1 ? 'Your review: 1 comment' : `Your review: ${drafts.length} comments`}</h2>
      <div class="note">
        {drafts.map((draft) => (
          <Draft key={draft.id} view={view} at={at} draft={draft} back={null} withLines />
        ))}
        <FormTag view={view} action={`${at}/drafts/publish`} once>
          <input type="hidden" name="sha" value={head ?? ''} />
          <TextField view={view} name="summary" label="Summary of the review" rows={3} />
          <div class="toolbar">
            <Submit label="Send review" />
            {mayApprove && <Submit label="Send review and approve" name="verdict" value="approve" class="" />}
          </div>
        </FormTag>
        <ActionButton view={view} action={`${at}/drafts`} method="DELETE" label="Discard the review" class="danger" />
      </div>
    </section>
  )
}
