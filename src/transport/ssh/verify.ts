import ssh2 from 'ssh2'
import { Fields, SECURITY_KEYS } from '../../lib/crypto/ssh-tokens.js'

/** A signature that proves possession of a key. */
export interface SignatureProof {
  algorithm: string
  /** The public key in the SSH wire format. */
  key: Buffer
  /** The signed data. */
  text: Buffer
  signature: Buffer
  /** The hash of an RSA signature. */
  hash: string | undefined
}

const STANDARD_ALGORITHMS = new Set(['ssh-ed25519', 'ecdsa-sha2-nistp256', 'ecdsa-sha2-nistp384', 'ecdsa-sha2-nistp521'])

/** The algorithms that OpenSSH 9 accepts: no DSA, and no RSA with SHA-1. */
export const isAccepted = (algorithm: string, hash: string | undefined): boolean =>
  STANDARD_ALGORITHMS.has(algorithm) ||
  Object.hasOwn(SECURITY_KEYS, algorithm) ||
  (algorithm === 'ssh-rsa' && (hash === 'sha256' || hash === 'sha512'))

/** Whether the signature was made with the key. Throws if the key or signature is malformed. */
export function verifyProof({ algorithm, key, text, signature, hash }: SignatureProof): boolean {
  if (!isAccepted(algorithm, hash)) return false
  const verifySkSignature = SECURITY_KEYS[algorithm as keyof typeof SECURITY_KEYS]
  if (verifySkSignature) return verifySkSignature(new Fields(key), text, signature)
  const parsed = ssh2.utils.parseKey(`${algorithm} ${key.toString('base64')}`)
  if (parsed instanceof Error || parsed.type !== algorithm) return false
  return parsed.verify(text, signature, hash) === true
}
