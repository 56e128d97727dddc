import { lengthOf } from './path.js'

/** How addresses are stored and compared (U-23, K-17). */
export const normaliseEmail = (text: string) => text.trim().toLowerCase()

/**
 * What is wrong with a normalised address: it must have one `@` with text on both sides, no white space, and at most
 * 254 characters. Null if it is valid.
 */
export function emailFault(email: string): string | null {
  if (email === '') return "can't be blank"
  return /^[^\s@]+@[^\s@]+$/.test(email) && lengthOf(email) <= 254 ? null : 'is invalid'
}
