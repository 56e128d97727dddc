import { createHash, createPublicKey, verify } from 'node:crypto'
import sshpk from 'sshpk'
import { Fields, inBytes, TOKENS } from './ssh-tokens.js'

/** A signature in the format of `ssh-keygen -Y sign`, SSHSIG. */
export interface SshSignature {
  /** The public key as SSH writes it. */
  key: Buffer
  /** SHA-256 of that, base64 without padding. */
  sha256: string
  /** Whether the key made it, over this text and for this namespace. */
  covers(text: Buffer, namespace: string): boolean
}

const BEGIN = '-----BEGIN SSH SIGNATURE-----'
const END = '-----END SSH SIGNATURE-----'
const MAGIC = Buffer.from('SSHSIG')
const VERSION = 1
/** Sizes of a coordinate, and the hash that goes with each curve. */
const CURVES: Record<string, { bytes: number; hash: string }> = {
  'ecdsa-sha2-nistp256': { bytes: 32, hash: 'sha256' },
  'ecdsa-sha2-nistp384': { bytes: 48, hash: 'sha384' },
  'ecdsa-sha2-nistp521': { bytes: 66, hash: 'sha512' },
}
const RSA_HASHES: Record<string, string> = { 'rsa-sha2-256': 'sha256', 'rsa-sha2-512': 'sha512' }

/** Reads an armored signature; null for anything else. */
export function readSshSignature(armored: string): SshSignature | null {
  const text = armored.trim()
  if (!text.startsWith(BEGIN) || !text.endsWith(END)) return null
  const bytes = Buffer.from(text.slice(BEGIN.length, -END.length), 'base64')
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC) || bytes.length < 10 || bytes.readUInt32BE(MAGIC.length) !== VERSION) return null
  try {
    const fields = new Fields(bytes.subarray(MAGIC.length + 4))
    const [key, named, reserved, hash, signature] = [fields.next(), fields.next(), fields.next(), fields.next().toString('latin1'), fields.next()]
    const covers = (text: Buffer, namespace: string) => {
      if (named.toString('utf8') !== namespace || (hash !== 'sha256' && hash !== 'sha512')) return false
      const digest = createHash(hash).update(text).digest()
      const signed = Buffer.concat([MAGIC, ...[named, reserved, Buffer.from(hash), digest].flatMap(field)])
      try {
        return madeBy(key, signed, new Fields(signature))
      } catch {
        // a key or a number that cannot be read
        return false
      }
    }
    return { key, sha256: createHash('sha256').update(key).digest('base64').replace(/=+$/, ''), covers }
  } catch {
    return null
  }
}

/** A field of SSH's formats, with its length before it. */
function field(bytes: Buffer): Buffer[] {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  return [length, bytes]
}

function madeBy(key: Buffer, text: Buffer, fields: Fields): boolean {
  const type = new Fields(key).next().toString('latin1')
  const algorithm = fields.next().toString('latin1')
  const signature = fields.next()
  const token = Object.hasOwn(TOKENS, type) ? TOKENS[type as keyof typeof TOKENS] : undefined
  if (token) return algorithm === type && token(new Fields(key), text, Buffer.concat([signature, fields.rest]))
  const publicKey = createPublicKey(sshpk.parseKey(key, 'rfc4253').toString('pkcs8'))
  if (type === 'ssh-ed25519') return algorithm === type && verify(null, text, publicKey, signature)
  // no SHA-1
  if (type === 'ssh-rsa') return Object.hasOwn(RSA_HASHES, algorithm) && verify(RSA_HASHES[algorithm], text, publicKey, signature)
  const curve = Object.hasOwn(CURVES, type) ? CURVES[type] : undefined
  if (!curve || algorithm !== type) return false
  const numbers = new Fields(signature)
  const raw = Buffer.concat([inBytes(numbers.next(), curve.bytes), inBytes(numbers.next(), curve.bytes)])
  return verify(curve.hash, text, { key: publicKey, dsaEncoding: 'ieee-p1363' }, raw)
}
