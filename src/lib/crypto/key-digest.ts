import { createHash } from 'node:crypto'
import { withoutTrailing } from '../text/without-trailing.js'

/** The SHA-256 of a public key in the SSH wire format, base64 without padding, as ssh-keygen prints it. */
export const keyDigest = (key: Buffer): string => withoutTrailing(createHash('sha256').update(key).digest('base64'), '=')
