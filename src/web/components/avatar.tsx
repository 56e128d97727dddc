import { avatarUrl } from '../../rules/avatar-url.js'
import type { PageView } from '../page.js'

/** The picture of a user; the name stands beside it or in a label around it. */
export const Avatar = ({ view, user, size = 24 }: { view: PageView; user: { id: number; avatar: string | null }; size?: number }) => (
  <img
    class="avatar"
    src={avatarUrl(user, { base: view.links.prefix, service: view.avatarService })}
    alt=""
    width={size}
    height={size}
    loading="lazy"
  />
)
