import { z } from 'zod'
import type { FileDiff } from '../../../../git/types.js'
import * as documented from '../../../../http/documented.js'
import { oneOf, opt, orDefault } from '../../../../http/params.js'
import { positionParameters } from '../../../../http/position.js'
import { fenceFor } from '../../../../lib/fence.js'
import type { ShownChanges } from '../../../../services/issuables/merge-requests/reading/contents.js'
import { baseShaOf } from '../../../../services/notes/positions.js'
import { fileAnchor, type Line, linesOf } from '../../../components/diff/diff.js'
import { Editor, EditorForm } from '../../../components/editor/editor.js'
import { Field, FormFaults, Hidden, Submit, typed } from '../../../components/form.js'
import { fieldsOf } from '../../../fields.js'
import { t } from '../../../language/language.js'
import { Phrase } from '../../../language/phrase.js'
import { keyOf } from '../places.js'
import { changesInput, withQuery } from './address.js'
import type { Shown } from './load.js'

const shaFields = ({ version }: ShownChanges) => ({
  base_sha: version ? baseShaOf(version) : '',
  start_sha: version?.start_commit_sha ?? '',
  head_sha: version?.head_commit_sha ?? '',
})

/** The lines from the first of a range to this one, as far as the diff has them after the change. */
const linesUpTo = (file: FileDiff, line: Line, from: number | undefined): string[] =>
  linesOf(file.diff)
    .filter(({ new: now }) => now !== null && now >= Math.min(from ?? now, line.new ?? 0) && now <= (line.new ?? 0))
    .slice(-MAX_SUGGESTED)
    .map(({ text }) => text)

/** The most lines that a suggestion replaces. */
const MAX_SUGGESTED = 100

/** What a comment on a line has beside its place in the list of changes. */
export const lineText = z.object({
  note: z.object({ note: orDefault(documented.filled(), '') }),
  from: changesInput.shape.from,
  position: positionParameters.omit({ line_range: true }),
  how: opt(oneOf(['review', 'now'])),
})

/** The form of a new comment on a line, or on the file as a whole. */
export function NewComment({ shown, file, line }: { shown: Shown; file: FileDiff; line: Line | null }) {
  const { view, changes, at, kept, input, parts } = shown
  const anchor = fileAnchor(file.new_path)
  const here = { ...kept, on: anchor, line: line ? keyOf(line) : 'file' }
  const range: Record<string, string> = input.from === undefined ? {} : { from: String(input.from) }
  const place = shown.lineMapping ? shown.lineMapping(file, line) : { file, line }
  const position = {
    ...shaFields(changes),
    position_type: line ? 'text' : 'file',
    old_path: place?.file.old_path ?? file.old_path,
    new_path: file.new_path,
    old_line: String(place?.line?.old ?? ''),
    new_line: String(place?.line?.new ?? ''),
  }
  const suggested = line?.new ? linesUpTo(file, line, input.from ?? line.new) : []
  const fence = fenceFor(suggested.join('\n'))
  const isSuggesting = typed(view, 'show') === 'suggestion' && suggested.length > 0
  const suggestion = isSuggesting ? `${fence}suggestion:-${suggested.length - 1}+0\n${suggested.join('\n')}\n${fence}\n` : undefined
  const size = line ? null : shown.size
  const f = fieldsOf(view, lineText)
  return (
    <div class="box thread" id="comment">
      <EditorForm view={view} action={`${parts.at}/discussions`} once>
        <FormFaults view={view} />
        {(Object.keys(position) as (keyof typeof position)[]).map((name) => (
          <Hidden key={name} {...f.position[name]} value={position[name]} />
        ))}
        {Object.entries(here).map(([name, value]) => (
          <input key={name} type="hidden" name={name} value={value} />
        ))}
        <Editor
          {...f.note.note}
          within="new"
          label={line ? t('Comment on line {line}', { line: line.new ?? line.old ?? '' }) : t('Comment on {newPath}', { newPath: file.new_path })}
          added={suggestion}
          rows={4}
          autofocus
          project={parts.project}
        />
        {line && place?.line?.new === line.new && (
          <details open={input.from !== undefined}>
            <summary>{t('Several lines')}</summary>
            <Field
              {...f.from}
              within="new"
              label={t('From line')}
              value={range['from']}
              hint={t('Empty: about this line alone. With shift and a click on another line, about all between them.')}
            />
          </details>
        )}
        {size && (
          <fieldset>
            <legend>
              <Phrase text="Where in the picture ({size}); empty: about the file" size={`${size.width} × ${size.height}`} />
            </legend>
            <Hidden {...f.position.width} value={size.width} />
            <Hidden {...f.position.height} value={size.height} />
            <div class="toolbar">
              <Field {...f.position.x} within="new" label={t('From the left')} />
              <Field {...f.position.y} within="new" label={t('From the top')} />
            </div>
            <p>{t('Or write the comment, and choose the point here:')}</p>
            <div class="choosing">
              <input type="image" name="point" src={shown.pictureAt(file)} alt={t('Comment at a point of the picture')} />
            </div>
          </fieldset>
        )}
        <div class="toolbar">
          <Submit label={t('Add to review')} name={f.how.name} value="review" />
          <Submit label={t('Add comment now')} name={f.how.name} value="now" class="" />
          {line?.new && (
            <button type="submit" name="show" value="suggestion" formnovalidate>
              {t('Suggest a change')}
            </button>
          )}
          <a href={`${withQuery(view.links.prefix + at, kept)}#${line ? `${anchor}_${keyOf(line)}` : anchor}`} data-remove="comment">
            {t('Cancel')}
          </a>
        </div>
      </EditorForm>
    </div>
  )
}
