import { z } from 'zod'
import type { View } from '../view.js'

/** A reference to a user (U-1). */
export const UserRef = z
  .strictObject({ id: z.int(), name: z.string(), username: z.string(), state: z.string(), avatar_url: z.string(), web_url: z.url() })
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

/**
 * The avatar URL: the uploaded image, otherwise that of the avatar service under the digest of the address, otherwise a
 * generated one (G-83).
 */
function avatarUrl({ id, avatar }: UserRefRecord, view: View): string {
  if (avatar && !avatar.startsWith('@')) return imageUrl(id, avatar, view)
  return (avatar && serviceUrl(avatar.slice(1), USUAL_SIZE, view)) || imageUrl(id, DRAWN, view)
}

const imageUrl = (id: number, file: string, { links }: View) => `${links.base}/uploads/-/system/user/avatar/${id}/${file}`

/** The file name of a generated image; no upload has this name. */
export const DRAWN = 'identicon.svg'

/** Pixels of each side by default. */
const USUAL_SIZE = 80

/** The URL of the avatar service for a digest; null while there is no service. */
function serviceUrl(hash: string, size: number, { avatarService }: View): string | null {
  if (avatarService === null) return null
  return avatarService.replaceAll('%{hash}', hash).replaceAll('%{size}', String(size))
}

/**
 * The avatar of an e-mail address, whoever has it (UP-5). The generated one is the same for every address, so it does
 * not tell whether anybody has it.
 */
export function presentAvatar(found: { user: UserRefRecord | null; hash: string }, size: number | undefined, view: View): string {
  const { user, hash } = found
  if (user?.avatar && !user.avatar.startsWith('@')) return avatarUrl(user, view)
  return serviceUrl(hash, size ?? USUAL_SIZE, view) ?? imageUrl(0, DRAWN, view)
}
