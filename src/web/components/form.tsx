import type { ComponentChildren } from 'preact'
import { isBag } from '../../http/form.js'
import type { Upload } from '../../http/uploads.js'
import type { Control } from '../fields.js'
import { said, t } from '../language/language.js'
import type { FormMethod, PageView, Submitted } from '../page.js'
import { LastPart, LongText } from '../page-part.js'
import { Icon, type IconName } from './icon.js'

interface FormProps {
  view: PageView
  /** Without the prefix of the service. */
  action: string
  method?: FormMethod
  files?: boolean
  class?: string
  /** Sent twice, it does its work once (WB-90). */
  once?: boolean
  /** Other attributes, for the script. */
  attributes?: Record<string, string | boolean>
  children: ComponentChildren
}

/** A form, with the hidden fields that each needs. */
export const FormTag = ({ view, action, method = 'POST', files, class: name = 'form', once, attributes, children }: FormProps) => (
  <form method="post" action={view.links.prefix + action} class={name} {...(files && { enctype: 'multipart/form-data' })} {...attributes}>
    {method !== 'POST' && <input type="hidden" name="_method" value={method.toLowerCase()} />}
    <input type="hidden" name="authenticity_token" value={view.formToken()} />
    {once && <input type="hidden" name="form_key" value={view.formKey()} />}
    {children}
  </form>
)

/** What is wrong with a form as a whole, and with fields that no page shows: those that do say it themselves. */
export const FormFaults = ({ view: { submitted } }: { view: PageView }) =>
  submitted && (
    <LastPart>
      <OtherFaults submitted={submitted} />
    </LastPart>
  )

function OtherFaults({ submitted: { message, faults, shown } }: { submitted: Submitted }) {
  const others = Object.entries(faults).filter(([field]) => !shown.has(field))
  const texts = [...(message ? [said(message)] : []), ...others.flatMap(([field, texts]) => texts.map((fault) => `${labelOf(field)} ${said(fault)}`))]
  if (texts.length === 0 && Object.keys(faults).length === 0) return null
  return (
    <div class="flash alert" role="alert">
      {texts.length === 0 ? t('This was not saved: see the fields below.') : texts.map((text) => <p key={text}>{text}</p>)}
    </div>
  )
}

const labelOf = (field: string) => (field === 'base' ? t('This') : said((field.charAt(0).toUpperCase() + field.slice(1)).replace(/_/g, ' ')))

/** The part of a field's name in the last brackets, which is the attribute of the API: `user[login]` → `login`. */
const attributeOf = (name: string) => /\[([a-z_]+)\](?:\[\])?$/.exec(name)?.[1] ?? name

/** The text that was typed into a field of a refused form. */
export function typed({ submitted }: Pick<PageView, 'submitted'>, name: string): string | undefined {
  const value = submittedValue(submitted, name)
  return typeof value === 'string' ? value : undefined
}

/** What was submitted under a name in brackets: `user[login]`. */
function submittedValue(submitted: PageView['submitted'], name: string): unknown {
  let value: unknown = submitted?.values
  for (const part of name.replace(/\]/g, '').split('[')) value = isBag(value) ? value[part] : undefined
  return value
}

const faultsOf = ({ submitted }: PageView, name: string) => submitted?.faults[attributeOf(name)] ?? []
const idOf = (name: string) => name.replace(/\W+/g, '_').replace(/_$/, '')

/** What is typed or chosen as text. */
export type Typed = string | number | Date | Upload | readonly unknown[] | null | undefined

interface FieldProps<T> extends Control<T> {
  label: string
  value?: string | null | undefined
  hint?: ComponentChildren
  autofocus?: boolean
  /** Before the id of the field, where a page has several of the same name. */
  within?: string
}

interface InputProps extends Omit<FieldProps<Typed>, 'type'> {
  type?: 'text' | 'email' | 'password' | 'url' | 'date' | 'number' | 'file' | 'search'
  autocomplete?: string
  inputmode?: 'numeric' | 'text'
  accept?: string
  /** The id of a list of suggestions. */
  list?: string
}

/** A label, the field below it, a hint, and what is wrong with it. */
export function Field({ view, name, label, value, hint, within, type = 'text', ...rest }: InputProps) {
  const shown = type === 'password' || type === 'file' ? undefined : (typed(view, name) ?? value ?? '')
  return (
    <Labelled view={view} name={name} label={label} hint={hint} within={within}>
      {(aria) => <input name={name} type={type} value={shown} spellcheck={false} {...rest} {...aria} />}
    </Labelled>
  )
}

/** A field of several lines. */
export function TextField({
  view,
  name,
  label,
  value,
  hint,
  within,
  type: _,
  rows = 6,
  attributes,
  ...rest
}: FieldProps<Typed> & { rows?: number; class?: string; spellcheck?: boolean; attributes?: Record<string, string | boolean> }) {
  return (
    <Labelled view={view} name={name} label={label} hint={hint} within={within}>
      {(aria) => (
        <textarea name={name} rows={rows} {...rest} {...attributes} {...aria}>
          {/* browsers drop the first line break */}
          <LongText text={`\n${typed(view, name) ?? value ?? ''}`} />
        </textarea>
      )}
    </Labelled>
  )
}

/** What the page does not show, but sends. */
export const Hidden = ({ name, value }: Control & { value: string | number }) => <input type="hidden" name={name} value={value} />

/** A field that leaves the choices below it that have what is typed; the script shows it. */
export const FilterField = ({ label }: { label: string }) => <input type="search" data-filter aria-label={label} placeholder={label} hidden />

export interface Choice {
  value: string
  label: string
}

/** The options of a choice. */
export const Options = ({ choices, chosen }: { choices: readonly Choice[]; chosen: string | null | undefined }) => (
  <>
    {choices.map(({ value, label }) => (
      <option key={value} value={value} selected={value === chosen}>
        {label}
      </option>
    ))}
  </>
)

/** Suggestions for the fields that have this list. */
export const DataList = ({ id, values }: { id: string; values: readonly string[] }) => (
  <datalist id={id}>
    {values.map((value) => (
      <option key={value} value={value} />
    ))}
  </datalist>
)

/** One of several values. */
export function SelectField({ view, name, label, value, hint, choices }: FieldProps<unknown> & { choices: readonly Choice[] }) {
  const chosen = typed(view, name) ?? value
  return (
    <Labelled view={view} name={name} label={label} hint={hint}>
      {(aria) => (
        <select name={name} {...aria}>
          <Options choices={choices} chosen={chosen} />
        </select>
      )}
    </Labelled>
  )
}

/** One of a few values, all of which are seen, each with what it means. */
export function RadioFields({ view, name, label, value, choices }: FieldProps<unknown> & { choices: readonly (Choice & { hint?: string })[] }) {
  const chosen = typed(view, name) ?? value
  return (
    <fieldset class="radios">
      <legend>{label}</legend>
      {choices.map((choice) => (
        <div class="check" key={choice.value}>
          <input type="radio" id={`${idOf(name)}_${choice.value}`} name={name} value={choice.value} checked={choice.value === chosen} />
          <label for={`${idOf(name)}_${choice.value}`}>{choice.label}</label>
          {choice.hint && <p class="hint">{choice.hint}</p>}
        </div>
      ))}
      <Faults view={view} name={name} label={label} />
    </fieldset>
  )
}

interface LabelledProps extends Pick<FieldProps<unknown>, 'view' | 'name' | 'label' | 'hint'> {
  within?: string | undefined
  children: (aria: Record<string, string>) => ComponentChildren
}

/** A label above what is labelled, a hint, and what is wrong with it. */
export function Labelled({ view, name, label, hint, within, children }: LabelledProps) {
  const id = within ? `${within}_${idOf(name)}` : idOf(name)
  const faults = faultsOf(view, name)
  const described = [...(faults.length > 0 ? [`${id}_fault`] : []), ...(hint ? [`${id}_hint`] : [])]
  const aria = { id, ...(described.length > 0 && { 'aria-describedby': described.join(' ') }), ...(faults.length > 0 && { 'aria-invalid': 'true' }) }
  return (
    <div class={faults.length > 0 ? 'field wrong' : 'field'}>
      <label for={id}>{label}</label>
      {children(aria)}
      <Faults view={view} name={name} label={label} id={`${id}_fault`} />
      {hint && (
        <p class="hint" id={`${id}_hint`}>
          {hint}
        </p>
      )}
    </div>
  )
}

/** What is wrong with a field, for a page that makes the field itself. */
export function Faults({ view, name, label, id }: Pick<FieldProps<unknown>, 'view' | 'name' | 'label'> & { id?: string }) {
  const faults = faultsOf(view, name)
  if (faults.length === 0) return null
  view.submitted?.shown.add(attributeOf(name))
  return (
    <p class="fault" id={id}>
      {faults.map((fault) => `${label} ${said(fault.replace(/\.$/, ''))}.`).join(' ')}
    </p>
  )
}

interface CheckboxProps extends Omit<FieldProps<boolean | string | readonly unknown[] | undefined>, 'value' | 'autofocus'> {
  checked?: boolean
  /** Sent if it is checked; nothing is sent if it is not. */
  value?: string
}

export function Checkbox({ view, name, label, hint, checked = false, value = '1' }: CheckboxProps) {
  const id = `${idOf(name)}_${value}`
  const list = name.endsWith('[]')
  const isChecked = view.submitted ? (list ? (listed(view, name) ?? []).includes(value) : typed(view, name) === value) : checked
  return (
    <div class="check">
      <input type="checkbox" id={id} name={name} value={value} checked={isChecked} />
      <label for={id}>{label}</label>
      {hint && <p class="hint">{hint}</p>}
    </div>
  )
}

/** The values that were chosen for a name that ends in `[]`; null if none were. */
export function listed({ submitted }: PageView, name: string): string[] | null {
  const value = submittedValue(submitted, name.slice(0, -2))
  return Array.isArray(value) ? value.map(String) : null
}

export const Submit = ({ label, name, value, class: look = 'primary' }: { label: string; name?: string; value?: string; class?: string }) => (
  <button type="submit" class={look} {...(name && { name, value })}>
    {label}
  </button>
)

interface ActionProps {
  view: PageView
  action: string
  method?: FormMethod
  label: string
  icon?: IconName
  class?: string
  /** Says which of several equal buttons this is, to those who cannot see what it stands beside. */
  what?: string
  /** Hidden fields. */
  fields?: Record<string, string>
  /** The id of the element that the script replaces by its new state, in place of a new page. */
  into?: string
}

/** A button that does something at once: a form of its own, as a link must change nothing. */
export const ActionButton = ({ view, action, method = 'POST', label, icon, class: look = '', what, fields = {}, into }: ActionProps) => (
  <FormTag view={view} action={action} method={method} class="action" {...(into && { attributes: { 'data-into': into } })}>
    {Object.entries(fields).map(([name, value]) => (
      <input type="hidden" key={name} name={name} value={value} />
    ))}
    <button type="submit" class={look} {...(what && { 'aria-label': `${label} ${what}` })}>
      {icon && <Icon name={icon} />}
      {label}
    </button>
  </FormTag>
)

/** A value that is shown to be copied; the script shows the button. */
export const Copied = ({ id, label, value }: { id: string; label?: string; value: string }) => (
  <p class="copied">
    <input class="code" id={id} value={value} readonly aria-label={label} />
    <button type="button" class="copy" data-copy={id} hidden>
      {t('Copy')}
    </button>
  </p>
)
