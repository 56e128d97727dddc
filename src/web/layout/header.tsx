import { Avatar } from '../components/avatar.js'
import { ActionButton } from '../components/form.js'
import { Icon } from '../components/icon.js'
import type { PageView } from '../page.js'

/** The top of every page: the way home, and what belongs to the viewer. */
export function Header({ view }: { view: PageView }) {
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
            <input name="search" type="search" placeholder={searchLabel} aria-label={searchLabel} data-key="/" />
          </form>
        </search>
        <a href={`${links.prefix}/explore`}>Explore</a>
        {viewer ? <Account view={view} /> : <a href={`${links.prefix}/users/sign_in`}>Sign in</a>}
      </nav>
    </header>
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
        <a href={`${links.prefix}/-/profile`}>Settings</a>
        <a href={`${links.prefix}/-/profile/personal_access_tokens`}>Access tokens</a>
        <ActionButton view={view} action="/users/sign_out" label="Sign out" class="plain" />
      </div>
    </details>
  )
}
