import { createHash, createPublicKey, verify as verifySignature } from 'node:crypto'

/**
 * Verifiers for keys on security tokens, which ssh2 does not support. A token signs the hash of its application, a byte
 * of flags, a counter and the hash of the text; flags and counter follow the signature. The first flag tells that the
 * token was touched, which OpenSSH requires too.
 */
export const SECURITY_KEYS = {
  'sk-ssh-ed25519@openssh.com'(key: Fields, text: Buffer, signature: Buffer): boolean {
    key.next()
    const x = key.next()
    const signed = signedData(key.next(), text, signature)
    if (!signed || x.length !== 32) return false
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: x.toString('base64url') }
    return verifySignature(null, signed.text, createPublicKey({ key: jwk, format: 'jwk' }), signed.signature)
  },
  'sk-ecdsa-sha2-nistp256@openssh.com'(key: Fields, text: Buffer, signature: Buffer): boolean {
    key.next()
    key.next()
    const point = key.next()
    const signed = signedData(key.next(), text, signature)
    if (!signed || point.length !== 65 || point[0] !== 4) return false
    const numbers = new Fields(signed.signature)
    const raw = Buffer.concat([padTo(numbers.next(), 32), padTo(numbers.next(), 32)])
    const spki = createPublicKey({ key: Buffer.concat([NISTP256, point]), format: 'der', type: 'spki' })
    return verifySignature('sha256', signed.text, { key: spki, dsaEncoding: 'ieee-p1363' }, raw)
  },
}

/** The DER prefix of a public key on the curve nistp256. */
const NISTP256 = Buffer.from('3059301306072a8648ce3d020106082a8648ce3d030107034200', 'hex')

function signedData(application: Buffer, text: Buffer, signature: Buffer): { text: Buffer; signature: Buffer } | null {
  const at = signature.length - 5
  if (at < 1 || ((signature[at] as number) & 1) === 0) return null
  const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest()
  return { text: Buffer.concat([digest(application), signature.subarray(at), digest(text)]), signature: signature.subarray(0, at) }
}

/** A number in SSH encoding, padded or cut to this many bytes. */
export function padTo(number: Buffer, size: number): Buffer {
  const bytes = number.length > size ? number.subarray(number.length - size) : number
  return Buffer.concat([Buffer.alloc(size - bytes.length), bytes])
}

/** Reads the length-prefixed fields of an SSH format. */
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

  /** The bytes after the fields read so far. */
  get rest(): Buffer {
    return this.bytes.subarray(this.#at)
  }
}
