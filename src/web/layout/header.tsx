import { MAX_COUNTED, type Waiting } from '../../services/issuables/waiting.js'
import { ActionButton } from '../components/form.js'
import { Icon } from '../components/icon.js'
import { Avatar } from '../components/people/avatar.js'
import type { PageView } from '../page.js'

/** The top of every page: the way home, and what belongs to the viewer. */
export function Header({ view, waiting }: { view: PageView; waiting: Waiting | null }) {
  const { links, viewer, searchAt } = view
  const searchLabel = searchAt === '/search' ? 'Search' : 'Search this project'
  return (
    <header class="top">
      <nav class="bar" aria-label="Main">
        <a class="home" href={`${links.prefix}/`}>
          Roost
        </a>
        <search class="grow">
          <form method="get" action={links.prefix + searchAt} class="find">
            <input
              name="search"
              type="search"
              placeholder={searchLabel}
              aria-label={searchLabel}
              data-key="/"
              data-finder={`${links.prefix}${searchAt}/suggestions`}
            />
          </form>
        </search>
        <a href={`${links.prefix}/explore`}>Explore</a>
        {viewer && waiting && <WaitingLinks view={view} waiting={waiting} />}
        {viewer ? <Account view={view} /> : <a href={`${links.prefix}/users/sign_in`}>Sign in</a>}
      </nav>
    </header>
  )
}

const countText = (count: number) => (count > MAX_COUNTED ? `${MAX_COUNTED}+` : String(count))

/** What waits for the viewer, with the letter that leads there after a `g`. */
function WaitingLinks({ view: { links }, waiting }: { view: PageView; waiting: Waiting }) {
  const all = [
    ['/dashboard/merge_requests', 'Reviews', waiting.reviews, 'm'],
    ['/dashboard/issues', 'Issues', waiting.issues, 'i'],
    ['/dashboard/todos', 'To-dos', waiting.todos, 't'],
  ] as const
  return (
    <span class="waits">
      {all.map(([path, label, count, key]) => (
        <a key={path} href={links.prefix + path} data-go={key}>
          {label} <span class="count">{countText(count)}</span>
        </a>
      ))}
    </span>
  )
}

function Account({ view }: { view: PageView }) {
  const { links, viewer, session } = view
  if (!viewer) return null
  return (
    <details class="menu end">
      <summary aria-label={`Account of ${viewer.name}`}>
        <Avatar view={view} user={{ ...viewer, avatar: session?.avatar ?? null }} size={24} />
        <Icon name="chevron-down" />
      </summary>
      <div class="items">
        <p>
          <strong>{viewer.name}</strong>
          <br />
          <span class="dim">@{viewer.username}</span>
        </p>
        <a href={`${links.prefix}/explore`}>Explore</a>
        {viewer.admin && <a href={`${links.prefix}/admin`}>Administration</a>}
        {!session?.impersonator && (
          <>
            <a href={`${links.prefix}/-/profile`}>Settings</a>
            <a href={`${links.prefix}/-/profile/personal_access_tokens`}>Access tokens</a>
          </>
        )}
        <a href={`${links.prefix}/dashboard/snippets`}>Snippets</a>
        <ActionButton view={view} action="/users/sign_out" label="Sign out" class="plain" />
      </div>
    </details>
  )
}
