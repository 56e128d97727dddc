import type { ProjectSubject } from '../../../access/rules.js'
import type { DraftNote } from '../../../services/notes/drafts.js'
import { Excerpt, placeIn, unsent, wasSent } from '../../components/discussion.js'
import { Editor, EditorForm } from '../../components/editor.js'
import { ActionButton, Submit } from '../../components/form.js'
import { Badge } from '../../components/list.js'
import type { PageView } from '../../page.js'

interface DraftProps {
  view: PageView
  /** The address of the merge request. */
  at: string
  draft: DraftNote
  back: string | null
  project: ProjectSubject | null
  /** Shows the lines that it is about. */
  withLines?: boolean
}

/** A note that waits in the review of its author, who alone sees it. */
export const Draft = ({ view: page, at, draft, back, project, withLines = false }: DraftProps) => {
  const view = wasSent(page, ({ draft_id }) => draft_id === String(draft.id)) ? page : unsent(page)
  return (
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
      <details class="reply" open={view.submitted !== null}>
        <summary>Edit draft</summary>
        <EditorForm view={view} action={`${at}/drafts/${draft.id}`} method="PUT" attributes={{ 'data-into': `draft_${draft.id}` }}>
          {back && <input type="hidden" name="back" value={back} />}
          <Editor view={view} name="note[note]" within={`draft_${draft.id}`} label="Comment" value={draft.note} rows={4} required project={project} />
          <Submit label="Save draft" class="" />
        </EditorForm>
      </details>
    </div>
  )
}

/** Sends the drafts of the reader, with a verdict. */
export function ReviewBox({
  view,
  at,
  drafts,
  head,
  mayApprove,
  project,
}: {
  view: PageView
  at: string
  drafts: DraftNote[]
  head: string | null
  mayApprove: boolean
  project: ProjectSubject
}) {
  if (drafts.length === 0) return null
  return (
    <section class="box" id="review">
      <h2 class="head">{drafts.length === 1 ? 'Your review: 1 comment' : `Your review: ${drafts.length} comments`}</h2>
      <div class="note">
        {drafts.map((draft) => (
          <Draft key={draft.id} view={view} at={at} draft={draft} back={null} project={project} withLines />
        ))}
        <EditorForm view={view} action={`${at}/drafts/publish`} once>
          <input type="hidden" name="sha" value={head ?? ''} />
          <Editor view={view} name="summary" within="review" label="Summary of the review" rows={3} project={project} />
          <div class="toolbar">
            <Submit label="Send review" />
            {mayApprove && <Submit label="Send review and approve" name="verdict" value="approve" class="" />}
          </div>
        </EditorForm>
        <ActionButton view={view} action={`${at}/drafts`} method="DELETE" label="Discard the review" class="danger" />
      </div>
    </section>
  )
}
