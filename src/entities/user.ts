import { z } from 'zod'
import type { View } from './view.js'

/** U-1. */
export const UserRef = z
  .strictObject({ id: z.int(), name: z.string(), username: z.string(), state: z.string(), avatar_url: z.string().nullable(), web_url: z.url() })
  .meta({ id: 'UserBasic' })

export interface UserRefRecord {
  id: number
  name: string
  username: string
  state: string
  avatar: string | null
}

export function presentUserRef(user: UserRefRecord, view: View): z.infer<typeof UserRef> {
  return {
    id: user.id,
    name: user.name,
    username: user.username,
    state: user.state,
    avatar_url: avatarUrl(user, view),
    web_url: view.links.user(user.username),
  }
}

/** The uploaded image, or null; the avatar service of G-83 comes with the setting that switches it. */
function avatarUrl(user: UserRefRecord, view: View): string | null {
  return user.avatar ? `${view.links.base}/uploads/-/system/user/avatar/${user.id}/${user.avatar}` : null
}
