import { z } from 'zod'
import type { View } from '../../http/view.js'
import { avatarUrl, DEFAULT_AVATAR_SIZE, IDENTICON_FILE, imageUrl, serviceUrl } from '../../rules/avatar-url.js'
import type { UserRefRecord } from '../../services/identity/user-ref.js'

/** A reference to a user (U-1). */
export const UserRef = z
  .strictObject({ id: z.int(), name: z.string(), username: z.string(), state: z.string(), avatar_url: z.string(), web_url: z.url() })
  .meta({ id: 'UserBasic', description: 'A user, as others refer to them.' })

const sourcesOf = ({ links, avatarService }: View) => ({ base: links.base, service: avatarService })

export function presentUserRef(user: UserRefRecord, view: View): z.infer<typeof UserRef> {
  return {
    id: user.id,
    name: user.name,
    username: user.username,
    state: user.state,
    avatar_url: avatarUrl(user, sourcesOf(view)),
    web_url: view.links.user(user.username),
  }
}

/**
 * The avatar for an e-mail address, with or without an account (UP-5). The generated image is the same for every
 * address, so it does not reveal whether an account exists.
 */
export function presentAvatar(found: { user: UserRefRecord | null; hash: string }, size: number | undefined, view: View): string {
  const { user, hash } = found
  if (user?.avatar && !user.avatar.startsWith('@')) return avatarUrl(user, sourcesOf(view))
  return serviceUrl(hash, size ?? DEFAULT_AVATAR_SIZE, view.avatarService) ?? imageUrl(0, IDENTICON_FILE, view.links.base)
}
