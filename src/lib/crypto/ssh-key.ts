import { createHash } from 'node:crypto'
import sshpk from 'sshpk'
import { withoutTrailing } from '../text/without-trailing.js'
import { keyDigest } from './key-digest.js'

/** The key types that settings distinguish; keys on security tokens (`sk-`) count as the type of their algorithm. */
export type SshKeyType = 'rsa' | 'dsa' | 'ecdsa' | 'ed25519'

export interface SshKey {
  type: SshKeyType
  /** Size of the modulus, the prime or the curve, in bits (K-10). */
  bits: number
  /** MD5 of the key's bytes, as pairs of hex digits with colons. */
  fingerprint: string
  /** SHA-256 of the same bytes, base64 without padding, as ssh-keygen prints it. */
  sha256: string
}

const ALGORITHMS: Record<string, { type: SshKeyType; security?: { algorithm: string; fields: number } }> = {
  'ssh-rsa': { type: 'rsa' },
  'ssh-dss': { type: 'dsa' },
  'ecdsa-sha2-nistp256': { type: 'ecdsa' },
  'ecdsa-sha2-nistp384': { type: 'ecdsa' },
  'ecdsa-sha2-nistp521': { type: 'ecdsa' },
  'ssh-ed25519': { type: 'ed25519' },
  'sk-ecdsa-sha2-nistp256@openssh.com': { type: 'ecdsa', security: { algorithm: 'ecdsa-sha2-nistp256', fields: 2 } },
  'sk-ssh-ed25519@openssh.com': { type: 'ed25519', security: { algorithm: 'ssh-ed25519', fields: 1 } },
}

/**
 * Parses a public key line, `type base64 comment`; null for anything else, including lines with options and private
 * keys (SEC-128).
 */
export function parseSshKey(line: string): SshKey | null {
  const [name = '', encoded = ''] = line.split(/[ \t]+/, 2)
  const algorithm = Object.hasOwn(ALGORITHMS, name) ? ALGORITHMS[name] : undefined
  const bytes = Buffer.from(encoded, 'base64')
  if (!algorithm || withoutTrailing(bytes.toString('base64'), '=') !== withoutTrailing(encoded, '=')) return null
  const fields = fieldsOf(bytes)
  if (fields?.[0]?.toString('latin1') !== name) return null
  const { type, security } = algorithm
  // a key on a security token is the key of its algorithm, followed by the name of an application
  if (security && fields.length !== security.fields + 2) return null
  const plain = security ? joined([Buffer.from(security.algorithm), ...fields.slice(1, -1)]) : bytes
  try {
    const key = sshpk.parseKey(plain, 'rfc4253')
    if (key.type !== type) return null
    return {
      type,
      bits: type === 'rsa' || type === 'dsa' ? bitsOf(fields[type === 'rsa' ? 2 : 1] as Buffer) : key.size,
      fingerprint: createHash('md5').update(bytes).digest('hex').match(/../g)?.join(':') as string,
      sha256: keyDigest(bytes),
    }
  } catch {
    return null
  }
}

/** The length-prefixed fields of a key; null unless they fill it exactly. */
function fieldsOf(bytes: Buffer): Buffer[] | null {
  const fields: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    if (at + 4 > bytes.length) return null
    const end = at + 4 + bytes.readUInt32BE(at)
    if (end > bytes.length) return null
    fields.push(bytes.subarray(at + 4, end))
    at = end
  }
  return fields
}

const joined = (fields: Buffer[]) =>
  Buffer.concat(
    fields.flatMap((field) => {
      const length = Buffer.alloc(4)
      length.writeUInt32BE(field.length)
      return [length, field]
    }),
  )

/** The size of a number in SSH encoding, in bits: big-endian, with a leading zero byte if the highest bit is set. */
function bitsOf(number: Buffer): number {
  const hex = number.toString('hex').replace(/^0+/, '')
  return hex === '' ? 0 : (hex.length - 1) * 4 + (32 - Math.clz32(Number.parseInt(hex[0] as string, 16)))
}
