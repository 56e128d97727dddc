import { createHash, createPublicKey, verify } from 'node:crypto'
import sshpk from 'sshpk'
import { keyDigest } from './key-digest.js'
import { Fields, padTo, SECURITY_KEYS } from './ssh-tokens.js'

/** A signature in the SSHSIG format of `ssh-keygen -Y sign`. */
export interface SshSignature {
  /** The public key in SSH encoding. */
  key: Buffer
  /** SHA-256 of the key, base64 without padding. */
  sha256: string
  /** Whether the key signed this text for this namespace. */
  covers(text: Buffer, namespace: string): boolean
}

const BEGIN = '-----BEGIN SSH SIGNATURE-----'
const END = '-----END SSH SIGNATURE-----'
const MAGIC = Buffer.from('SSHSIG')
const VERSION = 1
/** The size of a coordinate and the hash of each curve. */
const CURVES: Record<string, { bytes: number; hash: string }> = {
  'ecdsa-sha2-nistp256': { bytes: 32, hash: 'sha256' },
  'ecdsa-sha2-nistp384': { bytes: 48, hash: 'sha384' },
  'ecdsa-sha2-nistp521': { bytes: 66, hash: 'sha512' },
}
const RSA_HASHES: Record<string, string> = { 'rsa-sha2-256': 'sha256', 'rsa-sha2-512': 'sha512' }

/** Parses an armored signature; null for anything else. */
export function readSshSignature(armored: string): SshSignature | null {
  const text = armored.trim()
  if (!text.startsWith(BEGIN) || !text.endsWith(END)) return null
  const bytes = Buffer.from(text.slice(BEGIN.length, -END.length), 'base64')
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC) || bytes.length < 10 || bytes.readUInt32BE(MAGIC.length) !== VERSION) return null
  try {
    const fields = new Fields(bytes.subarray(MAGIC.length + 4))
    const [key, signedNamespace, reserved, hash, signature] = [
      fields.next(),
      fields.next(),
      fields.next(),
      fields.next().toString('latin1'),
      fields.next(),
    ]
    const covers = (text: Buffer, namespace: string) => {
      if (signedNamespace.toString('utf8') !== namespace || (hash !== 'sha256' && hash !== 'sha512')) return false
      const digest = createHash(hash).update(text).digest()
      const signed = Buffer.concat([MAGIC, ...[signedNamespace, reserved, Buffer.from(hash), digest].flatMap(field)])
      try {
        return isSignedBy(key, signed, new Fields(signature))
      } catch {
        // an unreadable key or number
        return false
      }
    }
    return { key, sha256: keyDigest(key), covers }
  } catch {
    return null
  }
}

/** A field in SSH formats, prefixed with its length. */
function field(bytes: Buffer): Buffer[] {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  return [length, bytes]
}

function isSignedBy(key: Buffer, text: Buffer, fields: Fields): boolean {
  const type = new Fields(key).next().toString('latin1')
  const algorithm = fields.next().toString('latin1')
  const signature = fields.next()
  const token = Object.hasOwn(SECURITY_KEYS, type) ? SECURITY_KEYS[type as keyof typeof SECURITY_KEYS] : undefined
  if (token) return algorithm === type && token(new Fields(key), text, Buffer.concat([signature, fields.rest]))
  const publicKey = createPublicKey(sshpk.parseKey(key, 'rfc4253').toString('pkcs8'))
  if (type === 'ssh-ed25519') return algorithm === type && verify(null, text, publicKey, signature)
  // SHA-1 is not accepted
  if (type === 'ssh-rsa') return Object.hasOwn(RSA_HASHES, algorithm) && verify(RSA_HASHES[algorithm], text, publicKey, signature)
  const curve = Object.hasOwn(CURVES, type) ? CURVES[type] : undefined
  if (!curve || algorithm !== type) return false
  const numbers = new Fields(signature)
  const raw = Buffer.concat([padTo(numbers.next(), curve.bytes), padTo(numbers.next(), curve.bytes)])
  return verify(curve.hash, text, { key: publicKey, dsaEncoding: 'ieee-p1363' }, raw)
}
