import { z } from 'zod'
import type { View } from '../view.js'

/** U-1. */
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

/** G-83: the uploaded image, else what the avatar service has under the digest of the address, else one that is drawn. */
function avatarUrl({ id, avatar }: UserRefRecord, view: View): string {
  if (avatar && !avatar.startsWith('@')) return imageUrl(id, avatar, view)
  return (avatar && serviceUrl(avatar.slice(1), USUAL_SIZE, view)) || imageUrl(id, DRAWN, view)
}

const imageUrl = (id: number, file: string, { links }: View) => `${links.base}/uploads/-/system/user/avatar/${id}/${file}`

/** The file name of the image that is drawn of an id; no upload is called so. */
export const DRAWN = 'identicon.svg'

/** Pixels of each side, where nobody asks for another number. */
const USUAL_SIZE = 80

/** What the avatar service has under a digest; null while there is no service. */
function serviceUrl(hash: string, size: number, { avatarService }: View): string | null {
  if (avatarService === null) return null
  return avatarService.replaceAll('%{hash}', hash).replaceAll('%{size}', String(size))
}

/** UP-5: the image behind an address, whoever has it. What is drawn is the same for every address, so it does not tell whether somebody has it. */
export function presentAvatar(found: { user: UserRefRecord | null; hash: string }, size: number | undefined, view: View): string {
  const { user, hash } = found
  if (user?.avatar && !user.avatar.startsWith('@')) return avatarUrl(user, view)
  return serviceUrl(hash, size ?? USUAL_SIZE, view) ?? imageUrl(0, DRAWN, view)
}
