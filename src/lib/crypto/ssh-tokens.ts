import { createHash, createPublicKey, verify as verifySignature } from 'node:crypto'

/**
 * Keys on security tokens, which ssh2 does not know. A token signs the hash of its application, a byte of flags, a
 * counter and the hash of the text; flags and counter follow the signature. The first flag says that somebody touched
 * the token, which OpenSSH requires too.
 */
export const TOKENS = {
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
    const raw = Buffer.concat([inBytes(numbers.next(), 32), inBytes(numbers.next(), 32)])
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

/** A number of SSH in so many bytes. */
export function inBytes(number: Buffer, size: number): Buffer {
  const bytes = number.length > size ? number.subarray(number.length - size) : number
  return Buffer.concat([Buffer.alloc(size - bytes.length), bytes])
}

/** The length-prefixed fields of one of SSH's formats. */
export class Fields {
  #at = 0
  constructor(readonly bytes: Buffer) {}

  next(): Buffer {
    const from = this.#at + 4
    const to = from + this.bytes.readUInt32BE(this.#at)
    if (to > this.bytes.length) throw new RangeError('a field is cut')
    this.#at = to
    return this.bytes.subarray(from, to)
  }

  /** What follows the fields read so far. */
  get rest(): Buffer {
    return this.bytes.subarray(this.#at)
  }
}
