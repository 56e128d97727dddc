import type { ComponentChildren } from 'preact'
import { t } from '../../language/language.js'
import { Options } from '../form.js'

/** The choice of a template, with the other parameters of the page. */
export const TemplateForm = ({
  action,
  names,
  chosen,
  children,
}: {
  action: string
  names: string[]
  chosen: string
  children?: ComponentChildren
}) =>
  names.length > 0 && (
    <form method="get" action={action} class="search">
      {children}
      <select name="issuable_template" aria-label={t('Template')}>
        <option value="">{t('No template')}</option>
        <Options choices={names.map((name) => ({ value: name, label: name }))} chosen={chosen} />
      </select>
      <button type="submit">{t('Use template')}</button>
    </form>
  )
