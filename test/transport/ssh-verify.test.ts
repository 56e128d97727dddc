import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import ssh2 from 'ssh2'
import { describe, expect, it } from 'vitest'
import { isAccepted, verifyProof } from '../../src/transport/ssh/verify.js'
import { ed25519 as anEd25519 } from '../support/ssh/ssh.js'

const field = (content: Buffer | string) => {
  const bytes = Buffer.from(content)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}
const digest = (content: Buffer | string) => createHash('sha256').update(content).digest()
const text = Buffer.from('what the client signs')
const TOUCHED = Buffer.from([1, 0, 0, 0, 7])
const UNTOUCHED = Buffer.from([0, 0, 0, 0, 8])

/** What a security token signs, and how its answer arrives. */
const ofToken = (application: string, state: Buffer) => Buffer.concat([digest(application), state, digest(text)])
const jwkBytes = (key: KeyObject, name: 'x' | 'y') => Buffer.from(key.export({ format: 'jwk' })[name] as string, 'base64url')

describe('signatures of keys on security tokens', () => {
  const ed25519 = generateKeyPairSync('ed25519')
  const name = 'sk-ssh-ed25519@openssh.com'
  const key = Buffer.concat([field(name), field(jwkBytes(ed25519.publicKey, 'x')), field('ssh:')])
  const signed = (state: Buffer, application = 'ssh:') => Buffer.concat([sign(null, ofToken(application, state), ed25519.privateKey), state])
  const judged = (signature: Buffer, over = text) => verifyProof({ algorithm: name, key, text: over, signature, hash: undefined })

  it('Ed25519: for this text, this application, and a token that was touched', () => {
    expect(judged(signed(TOUCHED))).toBe(true)
    expect(judged(signed(UNTOUCHED))).toBe(false)
    expect(judged(signed(TOUCHED, 'other:'))).toBe(false)
    expect(judged(signed(TOUCHED), Buffer.from('another text'))).toBe(false)
    const flagged = Buffer.concat([signed(UNTOUCHED).subarray(0, -5), TOUCHED])
    expect(judged(flagged)).toBe(false)
    expect(judged(Buffer.alloc(3))).toBe(false)
  })

  it('ECDSA: the same', () => {
    const pair = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
    const algorithm = 'sk-ecdsa-sha2-nistp256@openssh.com'
    const point = Buffer.concat([Buffer.from([4]), jwkBytes(pair.publicKey, 'x'), jwkBytes(pair.publicKey, 'y')])
    const blob = Buffer.concat([field(algorithm), field('nistp256'), field(point), field('ssh:')])
    const raw = sign('sha256', ofToken('ssh:', TOUCHED), { key: pair.privateKey, dsaEncoding: 'ieee-p1363' })
    const signature = Buffer.concat([field(Buffer.concat([Buffer.alloc(1), raw.subarray(0, 32)])), field(raw.subarray(32)), TOUCHED])
    expect(verifyProof({ algorithm, key: blob, text, signature, hash: undefined })).toBe(true)
    expect(verifyProof({ algorithm, key: blob, text: Buffer.from('another text'), signature, hash: undefined })).toBe(false)
    expect(() => verifyProof({ algorithm, key: blob.subarray(0, 60), text, signature, hash: undefined })).toThrow(RangeError)
  })
})

describe('signatures of other keys', () => {
  it('are those of the key that is named, by an algorithm that OpenSSH 9 accepts', () => {
    const one = ssh2.utils.parseKey(anEd25519()) as ssh2.ParsedKey
    const other = ssh2.utils.parseKey(anEd25519()) as ssh2.ParsedKey
    const judged = (key: ssh2.ParsedKey, algorithm: string) =>
      verifyProof({ algorithm, key: key.getPublicSSH(), text, signature: one.sign(text) as unknown as Buffer, hash: undefined })
    expect(judged(one, 'ssh-ed25519')).toBe(true)
    expect(judged(other, 'ssh-ed25519')).toBe(false)
    expect(judged(one, 'ecdsa-sha2-nistp256')).toBe(false)
    expect(isAccepted('ssh-rsa', 'sha256')).toBe(true)
    for (const [algorithm, hash] of [
      ['ssh-rsa', undefined],
      ['ssh-rsa', 'sha1'],
      ['ssh-dss', undefined],
      ['constructor', undefined],
    ] as const)
      expect(isAccepted(algorithm, hash)).toBe(false)
  })
})
