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
  /** The name of an uploaded image, or `@` and the digest of the address. */
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

/** G-83: the uploaded image, else what the avatar service has under the digest of the address, else null. */
function avatarUrl({ id, avatar }: UserRefRecord, view: View): string | null {
  if (avatar === null) return null
  if (!avatar.startsWith('@')) return `${view.links.base}/uploads/-/system/user/avatar/${id}/${avatar}`
  return serviceUrl(avatar.slice(1), USUAL_SIZE, view)
}

/** Pixels of each side, where nobody asks for another number. */
const USUAL_SIZE = 80

/** What the avatar service has under a digest; null while there is no service. */
function serviceUrl(hash: string, size: number, { avatarService }: View): string | null {
  if (avatarService === null) return null
  return avatarService.replaceAll('%{hash}', hash).replaceAll('%{size}', String(size))
}

/** UP-5: the image behind an address, whoever has it. */
export function presentAvatar(found: { user: UserRefRecord | null; hash: string }, size: number | undefined, view: View): string | null {
  const { user, hash } = found
  return user?.avatar && !user.avatar.startsWith('@') ? avatarUrl(user, view) : serviceUrl(hash, size ?? USUAL_SIZE, view)
}
