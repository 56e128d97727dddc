import type { Waiting } from '../../services/issuables/waiting.js'
import { ActionButton } from '../components/form.js'
import { Icon } from '../components/icon.js'
import { Avatar } from '../components/people/avatar.js'
import { ThemeSwitch } from '../components/theme-switch.js'
import { t } from '../language/language.js'
import type { PageView } from '../page.js'
import { countText } from './tabs.js'

/** The band at the top of every page: the way home, where the page is, and what belongs to the viewer. */
export function Header({ view, waiting }: { view: PageView; waiting: Waiting | null }) {
  const { links, viewer, searchAt, frame } = view
  const searchLabel = searchAt === '/search' ? t('Search') : t('Search this project')
  return (
    <header class="top">
      <nav class="bar" aria-label={t('Main')}>
        <a class="home" href={`${links.prefix}/`}>
          <Icon name="feather" />
          <span>{t('Roost')}</span>
        </a>
        {frame.band && <div class="path">{frame.band.path}</div>}
        <search>
          <form method="get" action={links.prefix + searchAt} class="find">
            <Icon name="search" />
            <input
              name="search"
              type="search"
              placeholder={searchLabel}
              aria-label={searchLabel}
              data-key="/"
              data-finder={`${links.prefix}${searchAt}/suggestions`}
            />
            <kbd>/</kbd>
          </form>
        </search>
        <a class="link narrow-only" href={links.prefix + searchAt} aria-label={searchLabel}>
          <Icon name="search" />
        </a>
        {viewer && waiting && <WaitingLinks view={view} waiting={waiting} />}
        {viewer && <MakeMenu view={view} />}
        {viewer ? (
          <Account view={view} waiting={waiting} />
        ) : (
          <>
            <a class="link" href={`${links.prefix}/explore`}>
              {t('Explore')}
            </a>
            <a class="link" href={`${links.prefix}/users/sign_in`}>
              {t('Sign in')}
            </a>
          </>
        )}
      </nav>
      {frame.band?.tabs}
    </header>
  )
}

/** What waits for the viewer, with the letter that leads there after a `g`. */
const waitingFor = ({ reviews, issues, todos }: Waiting) =>
  [
    ['/dashboard/merge_requests', t('Reviews'), reviews, 'm'],
    ['/dashboard/issues', t('Issues'), issues, 'i'],
    ['/dashboard/todos', t('To-dos'), todos, 't'],
  ] as const

const WaitingLinks = ({ view: { links }, waiting }: { view: PageView; waiting: Waiting }) => (
  <span class="waits">
    {waitingFor(waiting).map(([path, label, count, key]) => (
      <a key={path} href={links.prefix + path} data-go={key}>
        {label} <span class={key === 'm' && count > 0 ? 'count hot' : 'count'}>{countText(count)}</span>
      </a>
    ))}
  </span>
)

/** What can be made from here: first what belongs to the project of the page. */
const MakeMenu = ({ view: { links, frame } }: { view: PageView }) => (
  <details class="menu end wide-only">
    <summary class="button ghost square" aria-label={t('New')}>
      <Icon name="plus" />
    </summary>
    <div class="items">
      {frame.band?.make.map(([label, to]) => (
        <a key={to} href={to}>
          {label}
        </a>
      ))}
      <a href={`${links.prefix}/projects/new`}>{t('New project')}</a>
      <a href={`${links.prefix}/groups/new`}>{t('New group')}</a>
      <a href={`${links.prefix}/-/snippets/new`}>{t('New snippet')}</a>
    </div>
  </details>
)

function Account({ view, waiting }: { view: PageView; waiting: Waiting | null }) {
  const { links, viewer, session } = view
  if (!viewer) return null
  return (
    <details class="menu end">
      <summary aria-label={t('Account of {name}', { name: viewer.name })}>
        <Avatar view={view} user={{ ...viewer, avatar: session?.avatar ?? null }} />
        <Icon name="chevron-down" />
      </summary>
      <div class="items">
        <p>
          <strong>{viewer.name}</strong>
          <br />
          <span class="dim">@{viewer.username}</span>
        </p>
        {waiting &&
          waitingFor(waiting).map(([path, label, count]) => (
            <a key={path} class="narrow-only" href={links.prefix + path}>
              {label} <span class="count">{countText(count)}</span>
            </a>
          ))}
        <a href={`${links.prefix}/explore`}>{t('Explore')}</a>
        <a href={`${links.prefix}/dashboard/snippets`}>{t('Snippets')}</a>
        {viewer.admin && <a href={`${links.prefix}/admin`}>{t('Administration')}</a>}
        {!session?.impersonator && (
          <>
            <a href={`${links.prefix}/-/profile`}>{t('Settings')}</a>
            <a href={`${links.prefix}/-/profile/personal_access_tokens`}>{t('Access tokens')}</a>
          </>
        )}
        <ThemeSwitch view={view} returnTo={view.address} />
        <ActionButton view={view} action="/users/sign_out" label={t('Sign out')} class="plain" />
      </div>
    </details>
  )
}
