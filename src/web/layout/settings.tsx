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

/** A page of one's own settings, with the others beside it. */
export const SettingsLayout = ({ view, at, title, children }: Props) => (
  <div class="sided">
    <nav class="side" aria-label="Settings">
      <ul>
        {PAGES.map(([path, label]) => (
          <li key={path}>
            <a href={view.links.prefix + path} {...(path === at && { 'aria-current': 'page' })}>
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
