import type { UserRefRecord } from '../../../services/identity/user-ref.js'
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
    <search>
      <form method="get" action={at} class="search">
        <input type="hidden" name="state" value={state} />
        <input
          name="search"
          type="search"
          value={search ?? ''}
          placeholder="Search titles and descriptions"
          aria-label="Search titles and descriptions"
        />
        <button type="submit">Search</button>
      </form>
    </search>
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
