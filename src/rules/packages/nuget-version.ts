const VERSION =
  /^(\d{1,10})(?:\.(\d{1,10}))?(?:\.(\d{1,10}))?(?:\.(\d{1,10}))?(?:-([0-9A-Za-z-]{1,64}(?:\.[0-9A-Za-z-]{1,64}){0,15}))?(?:\+[0-9A-Za-z.-]{1,100})?$/
const MAX_NUMBER = 2_147_483_647
const LABEL_DIGITS = 20

/** A version of a NuGet package (PK-82). */
export interface NugetVersion {
  /** As clients ask for it: three numbers, a fourth unless it is 0, the label of a pre-release, and no metadata of a build. */
  version: string
  /** A text whose order by bytes is the order of versions. */
  sort: string
}

/** Reads a version such as `1.2`, `01.2.3.0` or `1.0.0-beta.1+build`; null if it is none. */
export function nugetVersion(text: string): NugetVersion | null {
  const [, major, minor = '0', patch = '0', revision = '0', label] = VERSION.exec(text) ?? []
  if (major === undefined) return null
  const numbers = [major, minor, patch, revision].map(Number)
  if (numbers.some((number) => number > MAX_NUMBER)) return null
  const shown = numbers[3] === 0 ? numbers.slice(0, 3) : numbers
  const padded = numbers.map((number) => String(number).padStart(10, '0')).join('.')
  // `~` comes after all that a label has: a release is newer than what came before it
  const after = label === undefined ? '~' : label.split('.').map(sortOf).join(' ')
  return { version: `${shown.join('.')}${label === undefined ? '' : `-${label}`}`, sort: `${padded} ${after}` }
}

/** Numbers come before words, and in their own order. */
const sortOf = (part: string) =>
  /^\d+$/.test(part) && part.length <= LABEL_DIGITS ? `0${part.padStart(LABEL_DIGITS, '0')}` : `1${part.toLowerCase()}`
