import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseSshKey } from '../../src/lib/crypto/ssh-key.js'

/** Made by ssh-keygen, with what `ssh-keygen -l` says of them. */
const KEYS = JSON.parse(readFileSync(new URL('../support/keys/ssh-keys.json', import.meta.url), 'utf8')) as {
  name: string
  bits: number
  fingerprint: string
  sha256: string
  line: string
}[]
const TYPES: Record<string, string> = { 'ssh-rsa': 'rsa', 'ssh-dss': 'dsa', 'ssh-ed25519': 'ed25519', 'sk-ssh-ed25519@openssh.com': 'ed25519' }

describe('SSH keys (K-10)', () => {
  it.each(KEYS)('$name of $bits bits is read as ssh-keygen reads it', ({ name, bits, fingerprint, sha256, line }) => {
    expect(parseSshKey(line)).toEqual({ type: TYPES[name] ?? 'ecdsa', bits, fingerprint, sha256 })
    expect(parseSshKey(line.split(' ').slice(0, 2).join(' '))?.fingerprint).toBe(fingerprint)
  })

  const [rsa] = KEYS as [(typeof KEYS)[number]]
  const [type, blob] = rsa.line.split(' ') as [string, string]
  const bytes = Buffer.from(blob, 'base64')
  it.each([
    ['nothing', ''],
    ['a type alone', type],
    ['no base64', `${type} !!!!`],
    ['another type than it says', `ssh-ed25519 ${blob}`],
    ['an unknown type', `ssh-foo ${blob}`],
    ['a byte too few', `${type} ${bytes.subarray(0, -1).toString('base64')}`],
    ['a byte too many', `${type} ${Buffer.concat([bytes, Buffer.from([0])]).toString('base64')}`],
    ['a field too many', `${type} ${Buffer.concat([bytes, Buffer.from([0, 0, 0, 1, 7])]).toString('base64')}`],
    ['options before the type (SEC-128)', `command="ls" ${rsa.line}`],
    ['a private key (SEC-128)', '-----BEGIN OPENSSH PRIVATE KEY-----b3BlbnNzaC1rZXktdjEAAAAA-----END OPENSSH PRIVATE KEY-----'],
    ['an object property', `constructor ${blob}`],
  ])('%s is no key', (_, line) => {
    expect(parseSshKey(line)).toBeNull()
  })

  it('never throws', () => {
    fc.assert(
      fc.property(fc.constantFrom(...KEYS), fc.nat(), fc.nat(255), ({ line }, at, byte) => {
        const [name, encoded] = line.split(' ') as [string, string]
        const damaged = Buffer.from(encoded, 'base64')
        damaged[at % damaged.length] = byte
        parseSshKey(`${name} ${damaged.toString('base64')}`)
      }),
    )
  })
})
