import { fullPathOf, type ProjectSubject } from '../../../access/rules.js'
import type { Control } from '../../fields.js'
import { t } from '../../language/language.js'
import { projectLinks } from '../../links.js'
import { LongText } from '../../page-part.js'
import { FormTag, Labelled, type Typed, typed } from '../form.js'
import { Icon } from '../icon.js'
import { Prose } from '../markup.js'

interface Props extends Control<Typed> {
  label: string
  value?: string | null | undefined
  rows?: number
  hint?: string
  autofocus?: boolean
  /** One of several fields of this name on a page: it has no row of tools, and no draft in the browser unless `kept`. */
  within?: string
  kept?: boolean
  /** The project that the text belongs to, for completion and uploads; null for none. */
  project: ProjectSubject | null
  /** Follows what was typed. */
  added?: string | undefined
}

const following = (text: string, added: string | undefined) => (added && text.trim() !== '' ? `${text.trimEnd()}\n\n${added}` : (added ?? text))

/** The buttons of the script: what each puts around or before the marked text. */
const toolsTexts = () =>
  [
    ['**', t('Bold'), 'B'],
    ['_', t('Italic'), 'I'],
    ['`', t('Code'), '<>'],
    ['> ', t('Quote'), '”'],
    ['- ', t('List'), '•'],
    ['- [ ] ', t('Task'), '☐'],
    ['[](url)', t('Link'), '↗'],
  ] as const

/** A text in Markdown, which can be seen before it is saved (WB-121) and to which files are attached (WB-122). */
export function Editor({ view, name, label, value, rows = 8, hint, required, maxlength, autofocus, within, kept = !within, project, added }: Props) {
  const preview = view.submitted?.preview?.field === name ? view.submitted.preview.html : null
  const links = project && projectLinks(view, fullPathOf(project.project))
  return (
    <div class="editor" {...(links && view.viewer && { 'data-complete': links.page('autocomplete_sources') })}>
      <Labelled view={view} name={name} label={label} hint={hint} within={within}>
        {(aria) => (
          <>
            {!within && (
              <div class="tools" role="toolbar" aria-label={t('Format: {label}', { label })} hidden>
                {toolsTexts().map(([mark, title, text]) => (
                  <button key={mark} type="button" data-mark={mark} title={title} aria-label={title}>
                    {text}
                  </button>
                ))}
              </div>
            )}
            <textarea
              name={name}
              rows={rows}
              required={required}
              maxlength={maxlength}
              autofocus={autofocus}
              {...(kept && { 'data-draft': name })}
              {...aria}
            >
              <LongText text={`\n${following(typed(view, name) ?? value ?? '', added)}`} />
            </textarea>
          </>
        )}
      </Labelled>
      <div class="toolbar">
        <button type="submit" name="preview" value={name} formnovalidate>
          {t('Preview')}
        </button>
        {project?.can('upload_file') && (
          <span class="attach">
            <label class="button">
              <Icon name="paperclip" /> {t('Attach a file')}
              <input type="file" name="upload" aria-label={t('Attach a file: {label}', { label })} />
            </label>
            <button type="submit" name="attach" value={name} formnovalidate>
              {t('Attach')}
            </button>
          </span>
        )}
      </div>
      {preview !== null && (
        <section class="box preview" aria-label={t('Preview')}>
          {preview ? <Prose html={preview} /> : <p class="note dim">{t('Nothing to show.')}</p>}
        </section>
      )}
    </div>
  )
}

/** A form with an editor: Enter in a field sends it, and does not preview it. */
export const EditorForm = ({ children, ...form }: Omit<Parameters<typeof FormTag>[0], 'files'>) => (
  <FormTag {...form} files>
    <button type="submit" class="hidden" tabIndex={-1} aria-hidden="true" />
    {children}
  </FormTag>
)
