import type { ComponentChildren } from 'preact'
import type { UserRefRecord } from '../../../services/identity/user-ref.js'
import { t } from '../../language/language.js'
import { inUrl } from '../../links.js'
import type { PageView } from '../../page.js'
import { Avatar } from './avatar.js'

export const PersonLink = ({ view, user }: { view: PageView; user: Pick<UserRefRecord, 'username' | 'name'> | null }) =>
  user ? <a href={`${view.links.prefix}/${inUrl(user.username)}`}>{user.name}</a> : <span class="dim">{t('none')}</span>

interface PersonLineProps {
  view: PageView
  user: UserRefRecord | null
  children?: ComponentChildren
}

/** People, each on a line; "none" without any. */
export const PersonLines = ({ view, people }: { view: PageView; people: readonly UserRefRecord[] }) => (
  <>
    {people.map((user) => (
      <PersonLine key={user.id} view={view} user={user} />
    ))}
    {people.length === 0 && <PersonLine view={view} user={null} />}
  </>
)

/** A person with their picture on a line, and what is said of them; "none" where there is none. */
export const PersonLine = ({ view, user, children }: PersonLineProps) => (
  <p class="line">
    {user && <Avatar view={view} user={user} size="small" />}
    <PersonLink view={view} user={user} />
    {children}
  </p>
)
