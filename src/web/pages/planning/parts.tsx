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

export const Labels = ({ labels }: { labels: string[] }) => (
  <>
    {labels.map((label) => (
      <>
        <span key={label} class="badge">
          {label}
        </span>{' '}
      </>
    ))}
  </>
)
