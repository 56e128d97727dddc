import { createHash } from 'node:crypto'
import { type Purpose, type Random, systemRandom } from './random.js'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/**
 * A new token value: 20 characters, 119 random bits (G-20, SEC-23). The first is a letter, so that no program takes the
 * value for an option.
 */
export function newSecret(random: Random = systemRandom, purpose: Purpose = 'token'): string {
  let secret = ''
  for (const byte of random.bytes(purpose, 20)) secret += ALPHABET[byte & (secret === '' ? 31 : 63)]
  return secret
}

/** The stored digest of a token: its SHA-256 in hex. A lookup takes the same time whatever the guess (SEC-22). */
export const digestOf = (secret: string) => createHash('sha256').update(secret).digest('hex')
