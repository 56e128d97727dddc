import type { UserRefRecord } from '../../../services/identity/user-ref.js'
import { SearchForm } from '../../components/search.js'
import { inUrl } from '../../links.js'
import type { PageView } from '../../page.js'

/** Links to the states of a list, and a search. */
export const ListHead = ({ at, states, state, search }: { at: string; states: readonly string[]; state: string; search: string | undefined }) => (
  <>
    <nav class="toolbar" aria-label="State">
      {states.map((name) => (
        <a
          key={name}
          href={`${at}?${new URLSearchParams({ state: name, ...(search && { search }) })}`}
          {...(name === state && { 'aria-current': 'page' })}
        >
          {name.charAt(0).toUpperCase() + name.slice(1)}
        </a>
      ))}
    </nav>
    <SearchForm action={at} label="Search titles and descriptions" value={search} hidden={{ state }} />
  </>
)

export const PersonLink = ({ view, user }: { view: PageView; user: Pick<UserRefRecord, 'username' | 'name'> | null }) =>
  user ? <a href={`${view.links.prefix}/${inUrl(user.username)}`}>{user.name}</a> : <span class="dim">none</span>

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
