import { createHash, randomBytes } from 'node:crypto'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/** A fresh token value: 20 characters of 64, 120 random bits (G-20, SEC-23). */
export function newSecret(): string {
  let secret = ''
  for (const byte of randomBytes(20)) secret += ALPHABET[byte & 63]
  return secret
}

/** What is stored of a token: its SHA-256 in hex. Looking it up takes the same time whatever the guess (SEC-22). */
export const digestOf = (secret: string) => createHash('sha256').update(secret).digest('hex')
