import { refused } from '../../failures.js'

/** The identifier of a record, as the original writes it: `gid://gitlab/Project/1` (GQL-5). */
export const globalId = (type: string, id: number | string): string => `gid://gitlab/${type}/${id}`

const PREFIX = 'gid://gitlab/'
const LARGEST = 2_147_483_647

/** The id in a global id of one of these types, or in one of digits alone; 400 for anything else. */
export function idFrom(given: string, ...types: string[]): number {
  const slash = given.lastIndexOf('/')
  const type = given.startsWith(PREFIX) ? given.slice(PREFIX.length, slash) : null
  const digits = given.slice(slash + 1)
  if (!/^\d{1,18}$/.test(digits) || (type === null && slash >= 0)) throw refused(`"${given.slice(0, 100)}" is not a valid global id`)
  if (type !== null && !types.includes(type)) throw refused(`"${given.slice(0, 100)}" does not represent an instance of ${types[0]}`)
  // no row has the id 0
  return Number(digits) <= LARGEST ? Number(digits) : 0
}
