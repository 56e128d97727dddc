import { z } from 'zod'
import { list, opt, str } from '../../../http/params.js'
import { type LabelChoice, MAX_CHOICES } from '../../../services/issuables/choices.js'
import type { Fields } from '../../fields.js'
import { t } from '../../language/language.js'
import type { PageView } from '../../page.js'
import { Field, FilterField, listed } from '../form.js'

/** A label as it is shown; names alone have no colour. */
export type ShownLabel = string | { name: string; color: string }

const nameOf = (label: ShownLabel) => (typeof label === 'string' ? label : label.name)

/** The colour stands beside the name, which keeps the contrast of the page. */
export const LabelTag = ({ label }: { label: ShownLabel }) => (
  <span class="badge label">
    {typeof label !== 'string' && <Dot color={label.color} />}
    {nameOf(label)}
  </span>
)

export const Dot = ({ color }: { color: string }) => (
  <svg class="dot" viewBox="0 0 10 10" aria-hidden="true">
    <circle cx="5" cy="5" r="4.5" fill={color} />
  </svg>
)

/** Labels; `at` is the list that a label leads to. */
export const Labels = ({ labels, at }: { labels: readonly ShownLabel[]; at?: string }) => (
  <>
    {labels.map((label) => (
      <>
        {at === undefined ? (
          <LabelTag key={nameOf(label)} label={label} />
        ) : (
          <a key={nameOf(label)} href={`${at}?${new URLSearchParams({ 'label_name[]': nameOf(label) })}`}>
            <LabelTag label={label} />
          </a>
        )}{' '}
      </>
    ))}
  </>
)

export const labelNames = z.object({ labels: opt(list(str(), 200)), other_labels: opt(str()) })

interface LabelFieldsProps {
  view: PageView
  labels: LabelChoice[]
  chosen: string[]
  fields: Fields<z.infer<typeof labelNames>>
  /** With a field that filters them, where there is a script. */
  filtered?: boolean
}

/** Labels as check boxes: those that are offered, and those that it has beside them. */
export function LabelFields({ view, labels, chosen, fields: f, filtered = false }: LabelFieldsProps) {
  const marked = new Set(listed(view, f.labels.name) ?? chosen)
  const offered = labels.slice(0, MAX_CHOICES)
  const others = chosen.filter((name) => !offered.some((label) => label.name === name))
  return (
    <fieldset>
      <legend class={filtered ? 'hidden' : undefined}>{t('Labels')}</legend>
      {filtered && <FilterField label={t('Filter labels')} />}
      <div class="choices">
        {[...others, ...offered].map((label, i) => {
          const name = typeof label === 'string' ? label : label.name
          return (
            <div class="check" key={name}>
              <input type="checkbox" id={`label_${i}`} name={f.labels.name} value={name} checked={marked.has(name)} />
              <label for={`label_${i}`}>
                <LabelTag label={label} />
              </label>
            </div>
          )
        })}
        {others.length + offered.length === 0 && <p class="dim">{t('There are no labels yet.')}</p>}
      </div>
      {labels.length > MAX_CHOICES && <Field {...f.other_labels} label={t('Other labels')} hint={t('With commas between.')} />}
    </fieldset>
  )
}
