import type { UserRefRecord } from '../../../services/identity/user-ref.js'
import { inUrl } from '../../links.js'
import type { PageView } from '../../page.js'

export const PersonLink = ({ view, user }: { view: PageView; user: Pick<UserRefRecord, 'username' | 'name'> | null }) =>
  user ? <a href={`${view.links.prefix}/${inUrl(user.username)}`}>{user.name}</a> : <span class="dim">none</span>
