import type { ComponentChildren } from 'preact'
import { t } from '../language/language.js'
import type { PageView } from '../page.js'
import { Icon, type IconName } from './icon.js'

/** Rows in a box; a sentence if there are none. */
export const Rows = ({ children, empty }: { children: ComponentChildren[]; empty: ComponentChildren }) =>
  children.length > 0 ? <ul class="rows">{children}</ul> : <p class="empty">{empty}</p>

interface RowProps {
  children: ComponentChildren
  /** What can be done with it, at its end. */
  actions?: ComponentChildren
  /** What stands before it: a picture, a state, a box to choose it. */
  before?: ComponentChildren
}

export const Row = ({ children, actions, before }: RowProps) => (
  <li>
    {before}
    <div class="what">{children}</div>
    {actions && <div class="actions">{actions}</div>}
  </li>
)

export type BadgeKind = '' | 'success' | 'danger' | 'waiting' | 'merged' | 'running' | 'outline'

interface BadgeProps {
  children: ComponentChildren
  kind?: BadgeKind
  icon?: IconName
  /** Below the heading of what has this state. */
  large?: boolean
}

export const Badge = ({ children, kind = '', icon, large = false }: BadgeProps) => (
  <span class={`badge ${kind}${large ? ' large' : ''}`}>
    {icon && <Icon name={icon} />}
    {children}
  </span>
)

/** A state in a row: its icon, and its word for those who do not see that. */
export const StateIcon = ({ icon, kind, label }: { icon: IconName; kind: string; label: string }) => (
  <span class={`state ${kind}`} title={label}>
    <Icon name={icon} />
    <span class="hidden">{label}</span>
  </span>
)

/** Rows of cells below the names of their columns. */
export const Table = ({ columns, class: name = 'values', children }: { columns: string[]; class?: string; children: ComponentChildren }) => (
  <div class="scroll">
    <table class={name}>
      <thead>
        <tr>
          {columns.map((column) => (
            <th scope="col" key={column}>
              {column}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </div>
)

interface PagerProps {
  view: PageView
  page: number
  perPage: number
  total: number
  /** False where the total only says whether there is more. */
  counted?: boolean
}

/** Links to the pages around this one. */
export function Pager({ view, page, perPage, total, counted = true }: PagerProps) {
  const last = Math.max(1, Math.ceil(total / perPage))
  if (last === 1 && page === 1) return null
  const to = (number: number) => {
    const [path = '', query = ''] = view.address.split('?', 2)
    const parameters = new URLSearchParams(query)
    parameters.set('page', String(number))
    return `${view.links.prefix}${path}?${parameters}`
  }
  return (
    <nav class="pager" aria-label={t('Pages')}>
      {page > 1 && (
        <a href={to(Math.min(page - 1, last))} rel="prev">
          {t('Previous')}
        </a>
      )}
      <span>{counted ? t('Page {page} of {last}', { page, last }) : t('Page {page}', { page })}</span>
      {page < last && (
        <a href={to(page + 1)} rel="next">
          {t('Next')}
        </a>
      )}
    </nav>
  )
}
