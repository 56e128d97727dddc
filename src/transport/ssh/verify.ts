import { createHash, createPublicKey, verify as verifySignature } from 'node:crypto'
import ssh2 from 'ssh2'

/** What a client presents to prove that it has a key. */
export interface Proof {
  algorithm: string
  /** The public key as SSH writes it. */
  key: Buffer
  /** What is signed. */
  text: Buffer
  signature: Buffer
  /** Of an RSA signature. */
  hash: string | undefined
}

const PLAIN = new Set(['ssh-ed25519', 'ecdsa-sha2-nistp256', 'ecdsa-sha2-nistp384', 'ecdsa-sha2-nistp521'])

/** The algorithms that OpenSSH 9 accepts: no DSA, and no RSA with SHA-1. */
export const isAccepted = (algorithm: string, hash: string | undefined): boolean =>
  PLAIN.has(algorithm) || Object.hasOwn(TOKENS, algorithm) || (algorithm === 'ssh-rsa' && (hash === 'sha256' || hash === 'sha512'))

/** Whether the signature was made with the key. Throws where one of them cannot be read. */
export function isProof({ algorithm, key, text, signature, hash }: Proof): boolean {
  if (!isAccepted(algorithm, hash)) return false
  const token = TOKENS[algorithm as keyof typeof TOKENS]
  if (token) return token(new Fields(key), text, signature)
  const parsed = ssh2.utils.parseKey(`${algorithm} ${key.toString('base64')}`)
  if (parsed instanceof Error || parsed.type !== algorithm) return false
  return parsed.verify(text, signature, hash) === true
}

/**
 * Keys on security tokens, which ssh2 does not know. A token signs the hash of its application, a byte of flags, a
 * counter and the hash of the text; flags and counter follow the signature. The first flag says that somebody touched
 * the token, which OpenSSH requires too.
 */
const TOKENS = {
  'sk-ssh-ed25519@openssh.com'(key: Fields, text: Buffer, signature: Buffer): boolean {
    key.next()
    const x = key.next()
    const signed = signedByToken(key.next(), text, signature)
    if (!signed || x.length !== 32) return false
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: x.toString('base64url') }
    return verifySignature(null, signed.text, createPublicKey({ key: jwk, format: 'jwk' }), signed.signature)
  },
  'sk-ecdsa-sha2-nistp256@openssh.com'(key: Fields, text: Buffer, signature: Buffer): boolean {
    key.next()
    key.next()
    const point = key.next()
    const signed = signedByToken(key.next(), text, signature)
    if (!signed || point.length !== 65 || point[0] !== 4) return false
    const numbers = new Fields(signed.signature)
    const raw = Buffer.concat([in32(numbers.next()), in32(numbers.next())])
    const spki = createPublicKey({ key: Buffer.concat([NISTP256, point]), format: 'der', type: 'spki' })
    return verifySignature('sha256', signed.text, { key: spki, dsaEncoding: 'ieee-p1363' }, raw)
  },
}

/** What comes before a point of the curve nistp256 in the format of public keys that Node reads. */
const NISTP256 = Buffer.from('3059301306072a8648ce3d020106082a8648ce3d030107034200', 'hex')

function signedByToken(application: Buffer, text: Buffer, signature: Buffer): { text: Buffer; signature: Buffer } | null {
  const at = signature.length - 5
  if (at < 1 || ((signature[at] as number) & 1) === 0) return null
  const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest()
  return { text: Buffer.concat([digest(application), signature.subarray(at), digest(text)]), signature: signature.subarray(0, at) }
}

/** A number of SSH as 32 bytes. */
function in32(number: Buffer): Buffer {
  const bytes = number.length > 32 ? number.subarray(number.length - 32) : number
  return Buffer.concat([Buffer.alloc(32 - bytes.length), bytes])
}

/** The length-prefixed fields of one of SSH's formats. */
class Fields {
  #at = 0
  constructor(readonly bytes: Buffer) {}

  next(): Buffer {
    const from = this.#at + 4
    const to = from + this.bytes.readUInt32BE(this.#at)
    if (to > this.bytes.length) throw new RangeError('a field is cut')
    this.#at = to
    return this.bytes.subarray(from, to)
  }
}
