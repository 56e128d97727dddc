import type { NoteRecord } from '../../../services/notes/list.js'
import { digestOf } from '../../../services/notes/write.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { inUrl } from '../../links.js'
import type { PageView } from '../../page.js'
import { LongText } from '../../page-part.js'
import { Editor, EditorForm } from '../editor/editor.js'
import { ActionButton, FormFaults, Hidden, Submit } from '../form.js'
import { Icon, type IconName } from '../icon.js'
import { Prose } from '../markup.js'
import { Avatar } from '../people/avatar.js'
import { Time } from '../time.js'
import { pageWith } from './asked.js'
import { Awards } from './awards.js'
import { changedText } from './fields.js'
import type { DiscussionParts } from './shown.js'
import { SuggestionBox } from './suggestions.js'

const Person = ({ view, record: { author }, pictured = true }: { view: PageView; record: Pick<NoteRecord, 'author'>; pictured?: boolean }) => (
  <a class="person" href={`${view.links.prefix}/${inUrl(author.username)}`}>
    {pictured && <Avatar view={view} user={author} size="small" />} <strong>{author.name}</strong>
  </a>
)

interface NoteProps extends DiscussionParts {
  view: PageView
  record: NoteRecord
  /** Whether the picture of the author stands in the note; otherwise it stands beside it. */
  pictured?: boolean
}

export function Note({ record, pictured = true, ...parts }: NoteProps) {
  const { view, at, back } = parts
  const { note } = record
  if (parts.editing?.note.id === note.id) return <EditForm {...parts} record={parts.editing} />
  const texts = parts.texts.get(note.id) ?? []
  const suggested = parts.suggestions.get(note.id) ?? []
  const to = (name: 'edit_note' | 'react') => `${pageWith(parts, { name, of: note.id })}#note_${note.id}`
  return (
    <article class="note" id={`note_${note.id}`}>
      <p class="dim by">
        <Person view={view} record={record} pictured={pictured} />{' '}
        <a href={`#note_${note.id}`}>
          <Time at={note.created_at} />
        </a>
        {parts.mayEdit(record) && (
          <a
            class="last"
            href={to('edit_note')}
            data-into={`note_${note.id}`}
            aria-label={t('Edit the comment of {name}', { name: record.author.name })}
          >
            {t('Edit')}
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
            <summary>{t('The comment as it is now')}</summary>
            <pre class="plain">
              <LongText text={note.note} />
            </pre>
          </details>
        )}
        <Editor {...f.note.note} within={`edit_${note.id}`} label={t('Edit comment')} value={note.note} autofocus project={project} />
        <div class="toolbar">
          <Submit label={t('Save comment')} />
          <a href={`${view.links.prefix}${back ?? at}#note_${note.id}`} data-into={`note_${note.id}`}>
            {t('Cancel')}
          </a>
        </div>
      </EditorForm>
      <ActionButton
        view={view}
        action={`${at}/notes/${note.id}`}
        method="DELETE"
        label={t('Delete comment')}
        class="danger"
        fields={back ? { back } : {}}
      />
    </article>
  )
}

/** What an event is about, by the words that it begins with. */
const EVENTS: [begin: RegExp, icon: IconName][] = [
  [/^added \d+ commits?\b|^restored|^deleted (?:source )?branch/, 'git-commit-horizontal'],
  [/\bcommit\b/, 'git-commit-horizontal'],
  [/^merged|merge request/, 'git-merge'],
  [/label/, 'tag'],
  [/milestone/, 'milestone'],
  [/^closed/, 'circle-check'],
  [/^reopened|issue/, 'circle-dot'],
  [/^approved/, 'check'],
  [/^(?:un)?assigned|review/, 'user'],
  [/time|due date/, 'clock'],
  [/^locked|^unlocked|confidential|visible/, 'lock'],
]

const iconOf = (text: string): IconName => EVENTS.find(([begin]) => begin.test(text.slice(0, 200)))?.[1] ?? 'pencil'

export const SystemNote = ({ view, record, text }: { view: PageView; record: NoteRecord; text: string }) => (
  <li class="system" id={`note_${record.note.id}`}>
    <span class="mark">
      <Icon name={iconOf(record.note.note)} />
    </span>
    <div class="what">
      <Person view={view} record={record} pictured={false} /> <Prose html={text} />{' '}
      <a class="dim" href={`#note_${record.note.id}`}>
        <Time at={record.note.created_at} />
      </a>
    </div>
  </li>
)
