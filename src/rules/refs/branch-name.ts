import { checkRefName } from '../../lib/ref-name.js'

/**
 * Why a new branch cannot have this name (BR-15, SEC-83); null if it can. Existing branches with other names stay
 * readable.
 */
export function branchNameFault(name: string): string | null {
  if (name === '' || name === 'HEAD' || name === '@' || name.startsWith('-') || name.startsWith('refs/')) return 'is reserved'
  if (/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/i.test(name)) return 'looks like an object id'
  if (Buffer.byteLength(name) > 244) return 'is too long'
  return checkRefName(`refs/heads/${name}`) ? null : 'is not a name Git accepts'
}
