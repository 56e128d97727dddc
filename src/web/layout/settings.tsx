import type { ComponentChildren } from 'preact'
import type { PageView } from '../page.js'

const PAGES = [
  ['/-/profile', 'Profile'],
  ['/-/profile/account', 'Account'],
  ['/-/profile/password/edit', 'Password'],
  ['/-/profile/two_factor_auth', 'Second factor'],
  ['/-/profile/emails', 'E-mail addresses'],
  ['/-/profile/notifications', 'Notifications'],
  ['/-/profile/keys', 'SSH keys'],
  ['/-/profile/gpg_keys', 'GPG keys'],
  ['/-/profile/personal_access_tokens', 'Access tokens'],
  ['/-/profile/applications', 'Applications'],
  ['/-/profile/active_sessions', 'Sessions'],
] as const

interface Props {
  view: PageView
  /** The address of the page. */
  at: string
  title: string
  children: ComponentChildren
}

interface SidedProps extends Props {
  label: string
  pages: readonly (readonly [path: string, label: string])[]
  /** What the paths are below; nothing if they begin with a slash. */
  below?: string
}

/** A page with others of its kind beside it. */
export const SidedLayout = ({ view, label: name, pages, below, at, title, children }: SidedProps) => (
  <div class="sided">
    <nav class="side" aria-label={name}>
      <ul>
        {pages.map(([path, label]) => (
          <li key={path}>
            <a href={view.links.prefix + (below === undefined ? path : `${below}/${path}`)} {...(path === at && { 'aria-current': 'page' })}>
              {label}
            </a>
          </li>
        ))}
      </ul>
    </nav>
    <section class="content">
      <h1>{title}</h1>
      {children}
    </section>
  </div>
)

/** A page of one's own settings, with the others beside it. */
export const SettingsLayout = (props: Props) => <SidedLayout label="Settings" pages={PAGES} {...props} />
