import { createHash } from 'node:crypto'
import { conflict } from '../../../failures.js'
import type { Control } from '../../fields.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { LongText } from '../../page-part.js'
import { Hidden, typed } from '../form.js'

/** Identifies what texts were when a form was opened. */
export const versionOf = (...texts: (string | null)[]): string => createHash('sha256').update(JSON.stringify(texts)).digest('hex').slice(0, 32)

/** Refuses a form that was opened before somebody else saved (WB-120). */
export function checkVersion(given: string, ...texts: (string | null)[]): void {
  if (given !== versionOf(...texts)) throw conflict(t('Somebody else has saved this since you opened it'))
}

interface Props extends Control<string | undefined> {
  /** What is saved now. */
  texts: { label: string; text: string | null }[]
}

/**
 * The version of the texts of a form; after somebody else has saved them meanwhile, what they saved, beside what was
 * typed (WB-120).
 */
export function Version({ texts, ...field }: Props) {
  const version = versionOf(...texts.map(({ text }) => text))
  const opened = typed(field.view, field.name)
  return (
    <>
      <Hidden {...field} value={version} />
      {opened !== undefined && opened !== version && (
        <section class="box stale">
          <h2 class="head">{t('Somebody else has saved this meanwhile')}</h2>
          <div class="note">
            <p>{t('Below is what they saved. Your text stands in the form: take over what you need, and save again, which replaces theirs.')}</p>
            {texts.map(({ label, text }) => (
              <div class="field" key={label}>
                <label for={`saved_${label}`}>
                  <Phrase text="{label}, as saved" label={label} />
                </label>
                <textarea id={`saved_${label}`} readOnly rows={Math.min(12, (text ?? '').split('\n', 12).length + 1)}>
                  <LongText text={`\n${text ?? ''}`} />
                </textarea>
              </div>
            ))}
          </div>
        </section>
      )}
    </>
  )
}
