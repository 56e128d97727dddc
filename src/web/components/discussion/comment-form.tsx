import type { ComponentChildren } from 'preact'
import type { ProjectSubject } from '../../../access/rules.js'
import type { ParameterBag } from '../../../http/form.js'
import type { DiscussionRecord } from '../../../services/notes/list.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import type { PageView } from '../../page.js'
import { Editor, EditorForm } from '../editor/editor.js'
import { FormFaults, Submit } from '../form.js'
import { unsent, wasSent } from './asked.js'
import { commentText } from './fields.js'

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
      <Editor {...f.note.note} label={t('Comment')} rows={5} hint={hint} project={project} />
      {children}
      <Submit label={t('Comment')} />
    </EditorForm>
  )
}
