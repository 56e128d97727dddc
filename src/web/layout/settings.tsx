import type { ComponentChildren } from 'preact'
import { Icon, type IconName } from '../components/icon.js'
import { t } from '../language/language.js'
import type { PageView } from '../page.js'

const sectionsTexts = (): SideSection[] => [
  [
    t('You'),
    [
      ['/-/profile', t('Profile'), 'user'],
      ['/-/profile/account', t('Account'), 'settings'],
      ['/-/profile/emails', t('E-mail addresses'), 'mail'],
      ['/-/profile/notifications', t('Notifications'), 'bell'],
      ['/-/invites', t('Invitations'), 'users'],
    ],
  ],
  [
    t('Sign-in'),
    [
      ['/-/profile/password/edit', t('Password'), 'lock'],
      ['/-/profile/two_factor_auth', t('Second factor'), 'shield'],
      ['/-/profile/active_sessions', t('Sessions'), 'monitor'],
    ],
  ],
  [
    t('Programs'),
    [
      ['/-/profile/keys', t('SSH keys'), 'key'],
      ['/-/profile/gpg_keys', t('GPG keys'), 'key'],
      ['/-/profile/personal_access_tokens', t('Access tokens'), 'code'],
      ['/-/profile/applications', t('Applications'), 'globe'],
    ],
  ],
]

export type SidePage = readonly [path: string, label: string, icon: IconName]
/** Pages of one kind below their title. */
export type SideSection = readonly [title: string, pages: readonly SidePage[]]

interface Props {
  view: PageView
  /** The address of the page. */
  at: string
  title: string
  children: ComponentChildren
}

interface SidedProps extends Props {
  label: string
  sections: readonly SideSection[]
  /** What the paths are below; nothing if they begin with a slash. */
  below?: string
}

/** A page with others of its kind beside it. */
export const SidedLayout = ({ view, label: name, sections, below, at, title, children }: SidedProps) => (
  <div class="sided">
    <nav class="side" aria-label={name}>
      {sections.map(
        ([section, pages]) =>
          pages.length > 0 && (
            <>
              <h2>{section}</h2>
              <ul>
                {pages.map(([path, label, icon]) => (
                  <li key={path}>
                    <a href={view.links.prefix + (below === undefined ? path : `${below}/${path}`)} {...(path === at && { 'aria-current': 'page' })}>
                      <Icon name={icon} />
                      {label}
                    </a>
                  </li>
                ))}
              </ul>
            </>
          ),
      )}
    </nav>
    <section class="content">
      <h1>{title}</h1>
      {children}
    </section>
  </div>
)

/** A page of one's own settings, with the others beside it. */
export const SettingsLayout = (props: Props) => <SidedLayout label={t('Settings')} sections={sectionsTexts()} {...props} />
