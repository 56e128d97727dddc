import type { ComponentChildren } from 'preact'
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
      <select name="issuable_template" aria-label="Template">
        <option value="">No template</option>
        <Options choices={names.map((name) => ({ value: name, label: name }))} chosen={chosen} />
      </select>
      <button type="submit">Use template</button>
    </form>
  )
