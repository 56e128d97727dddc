/** One part of the name of a repository, in lower case: words with `.`, `_`, `__` or hyphens between them. */
const PART = /^[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*$/
const MAX_NAME = 255
/** More than any path of a project with two levels below it. */
const MAX_PARTS = 25

/** Whether a text names a repository of images: parts with slashes between them. */
export function isRepositoryName(name: string): boolean {
  const parts = name.split('/')
  return name.length <= MAX_NAME && parts.length >= 2 && parts.length <= MAX_PARTS && parts.every((part) => PART.test(part))
}

export const isTagName = (name: string): boolean => /^\w[\w.-]{0,127}$/.test(name)

/** The SHA-256 in hex of a digest as clients write it; null for what is none. Other algorithms are not taken. */
export const oidOf = (digest: string): string | null => /^sha256:([0-9a-f]{64})$/.exec(digest)?.[1] ?? null

export const digestOf = (oid: string): string => `sha256:${oid}`
