import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { StartFault } from '../start-fault.js'

/**
 * Encrypts values that can be shown again but must not be readable in the database (SEC-21); the key is stored
 * elsewhere.
 */
export interface Encryption {
  /**
   * AES-256-GCM with a random nonce; `purpose` is authenticated, so that the value can be decrypted only for the same
   * purpose.
   */
  seal(text: string, purpose: string): string
  /** Decrypts; throws if the value was encrypted under another key or for another purpose. */
  open(sealed: string, purpose: string): string
  /** Signs a text for a purpose: HMAC-SHA256 with a separate key, in base64url. */
  sign(text: string, purpose: string): string
  /** Whether a signature is that of a text, compared in constant time. */
  verify(text: string, signature: string, purpose: string): boolean
}

const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Encryption with a key derived from this secret, which has 32 characters or more. */
export function encryptionWith(secret: string): Encryption {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'roost vault', 32))
  const signingKey = Buffer.from(hkdfSync('sha256', secret, '', 'roost signatures', 32))
  const signed = (text: string, purpose: string) => createHmac('sha256', signingKey).update(`${purpose}\0${text}`).digest()
  return {
    seal(text, purpose) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(purpose))
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64')
    },
    open(sealed, purpose) {
      const bytes = Buffer.from(sealed, 'base64')
      const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
      decipher.setAAD(Buffer.from(purpose)).setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
      return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString('utf8')
    },
    sign: (text, purpose) => signed(text, purpose).toString('base64url'),
    verify(text, signature, purpose) {
      const expected = signed(text, purpose)
      const given = Buffer.from(signature, 'base64url')
      return given.length === expected.length && timingSafeEqual(given, expected)
    },
  }
}

/** The secret in a file; null if there is no file. */
export async function readSecret(file: string): Promise<string | null> {
  const secret = await readFile(file, 'utf8').then((text) => text.trim(), absent)
  if (secret !== null && secret.length < 32) throw new StartFault(`${file} holds no key: restore it from a backup`)
  return secret
}

/** Writes a new secret into a file, and returns it; if several processes do so at once, all get the same. */
export async function createSecret(file: string): Promise<string> {
  const temporary = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`
  await mkdir(dirname(file), { recursive: true })
  await writeFile(temporary, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600, flush: true })
  await link(temporary, file).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  await rm(temporary)
  return (await readSecret(file)) as string
}

function absent(error: NodeJS.ErrnoException): null {
  if (error.code !== 'ENOENT') throw error
  return null
}
