/** A user with their avatar: the name of an uploaded image, or `@` and the digest of the e-mail address. */
export interface AvatarOwner {
  id: number
  avatar: string | null
}

export interface AvatarSources {
  /** The base URL of this service. */
  base: string
  /** The URL of the avatar service, with `%{hash}` in it; null if there are only uploaded and generated images. */
  service: string | null
}

/** The file name of a generated image; no upload has this name. */
export const IDENTICON_FILE = 'identicon.svg'

/** Width and height by default, in pixels. */
export const DEFAULT_AVATAR_SIZE = 80

/** The URL of an avatar image of a user. */
export const imageUrl = (id: number, file: string, base: string) => `${base}/uploads/-/system/user/avatar/${id}/${file}`

/** The URL of an avatar at the avatar service; null if there is no service. */
export function serviceUrl(hash: string, size: number, service: string | null): string | null {
  return service === null ? null : service.replaceAll('%{hash}', hash).replaceAll('%{size}', String(size))
}

/**
 * The avatar URL: that of the uploaded image, else that of the avatar service, else that of a generated image (G-83).
 */
export function avatarUrl({ id, avatar }: AvatarOwner, { base, service }: AvatarSources): string {
  if (avatar && !avatar.startsWith('@')) return imageUrl(id, avatar, base)
  return (avatar && serviceUrl(avatar.slice(1), DEFAULT_AVATAR_SIZE, service)) || imageUrl(id, IDENTICON_FILE, base)
}
