import { bytesOfPath, hasBytes } from './text/byte-path.js'

/**
 * Why a path cannot name a file of a commit: it is blank, a `..` leads out of the tree, or Git or some file system
 * would reject it.
 */
export type PathFault = 'blank' | 'traversal' | 'invalid'

/** A path that is longer is not examined: it is invalid, whatever it has. */
const MAX_EXAMINED = 16_384

/** Removes leading slashes and resolves `.` and `x/..` (C-38). Other problems are left to checkPath. */
export function normalisePath(path: string): string {
  if (path.length > MAX_EXAMINED) return path
  const parts: string[] = []
  for (const part of path.replace(/^\/+/, '').split('/')) {
    const last = parts.at(-1)
    if (part === '.') continue
    if (part === '..' && last && last !== '..') parts.pop()
    else parts.push(part)
  }
  return parts.join('/')
}

/** What is wrong with a normalised path; null if every Git and every file system accepts it (SEC-92, SEC-93). */
export function checkPath(path: string): PathFault | null {
  if (path.trim() === '') return 'blank'
  if (path.length > MAX_EXAMINED) return 'invalid'
  const parts = path.split('/')
  if (parts.some(isParentReference)) return 'traversal'
  if (parts.length > 128 || byteLength(path) > 4096 || !isWellFormed(path) || /\p{Cc}/u.test(path)) return 'invalid'
  return parts.every((part) => part !== '' && part !== '.' && byteLength(part) <= 255 && !namesGitDirectory(part)) ? null : 'invalid'
}

/**
 * Whether a name refers to the parent folder, here or on systems where backslashes separate folders and trailing spaces
 * are ignored.
 */
const isParentReference = (name: string) => name.split('\\').some((piece) => /^\.\. *$/.test(piece))

/**
 * Whether some file system would treat the name as the repository's own directory; as in Git, each piece after a
 * backslash counts too.
 */
export function namesGitDirectory(name: string): boolean {
  return foldsTo(name, '.git') || name.split('\\').some((piece) => /^(?:\.git|git~1)[. ]*(?::|$)/i.test(piece))
}

/**
 * Whether some file system would treat the name as a file that Git reads from a tree, and whose content `git fsck`
 * therefore checks.
 */
export function namesGitFile(name: string): boolean {
  const pieces = name.replace(IGNORED_BY_HFS, '').split('\\')
  return pieces.some((piece) => /^(?:\.git(?:modules|attributes)|gi.*~\d)/i.test(piece))
}

/** Characters that HFS+ ignores when it compares names; the list is that of Git. */
const IGNORED_BY_HFS = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g

function foldsTo(name: string, folded: string) {
  return name.replace(IGNORED_BY_HFS, '').replace(/[A-Z]/g, (letter) => letter.toLowerCase()) === folded
}

const byteLength = (path: string) => (hasBytes(path) ? bytesOfPath(path).length : Buffer.byteLength(path))

/** Whether a path is text; a surrogate may stand for a byte of it, see `byte-path.ts`. */
function isWellFormed(path: string) {
  return !/(?![\udc80-\udcff])\p{Surrogate}/u.test(path)
}
