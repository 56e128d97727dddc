import type { ComponentChildren } from 'preact'
import { t } from '../language/language.js'

interface Props {
  /** The address of the list, with the prefix of the service. */
  action: string
  label: string
  value: string | undefined
  /** The parameter of the list. */
  name?: string
  /** Other parameters, which stay. */
  hidden?: Record<string, string>
  /** Where scripts find what to offer while something is typed: `files`, or an address of choices (`choices.tsx`). */
  finder?: string
  /** Further fields. */
  children?: ComponentChildren
}

/** Searches a list: a form that is sent by GET. */
export const SearchForm = ({ action, label, value, name = 'search', hidden = {}, finder, children }: Props) => (
  <search>
    <form method="get" action={action} class="search">
      {Object.entries(hidden).map(([other, text]) => (
        <input key={other} type="hidden" name={other} value={text} />
      ))}
      <input
        name={name}
        type="search"
        value={value ?? ''}
        placeholder={label}
        aria-label={label}
        data-finder={finder}
        {...(finder === 'files' && { autofocus: true, 'data-key': 't', 'data-says': label })}
      />
      {children}
      <button type="submit">{t('Search')}</button>
    </form>
  </search>
)
