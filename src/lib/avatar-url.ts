/** Whose image is asked for, with the name of an uploaded one, or `@` and the digest of the address. */
export interface Pictured {
  id: number
  avatar: string | null
}

export interface AvatarSources {
  /** The address of this service. */
  base: string
  /** A URL with `%{hash}` in it; null: there are only uploaded and generated images. */
  service: string | null
}

/** The file name of a generated image; no upload has this name. */
export const DRAWN = 'identicon.svg'

/** Pixels of each side by default. */
export const USUAL_SIZE = 80

/** The URL of an image of a user. */
export const imageUrl = (id: number, file: string, base: string) => `${base}/uploads/-/system/user/avatar/${id}/${file}`

/** The URL of the avatar service for a digest; null while there is no service. */
export function serviceUrl(hash: string, size: number, service: string | null): string | null {
  return service === null ? null : service.replaceAll('%{hash}', hash).replaceAll('%{size}', String(size))
}

/**
 * The avatar URL: the uploaded image, otherwise that of the avatar service under the digest of the address, otherwise a
 * generated one (G-83).
 */
export function avatarUrl({ id, avatar }: Pictured, { base, service }: AvatarSources): string {
  if (avatar && !avatar.startsWith('@')) return imageUrl(id, avatar, base)
  return (avatar && serviceUrl(avatar.slice(1), USUAL_SIZE, service)) || imageUrl(id, DRAWN, base)
}
