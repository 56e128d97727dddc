import { createHash } from 'node:crypto'
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
  email: string
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

/** The uploaded image, else the avatar service's picture of the address, else null (G-83). */
function avatarUrl(user: UserRefRecord, view: View): string | null {
  if (user.avatar) return `${view.links.base}/uploads/-/system/user/avatar/${user.id}/${user.avatar}`
  if (!view.avatarService) return null
  return `${view.avatarService}/${createHash('md5').update(user.email.trim().toLowerCase()).digest('hex')}?s=80&d=identicon`
}
