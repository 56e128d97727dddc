import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSecret, encryptionWith, readSecret } from '../../src/lib/crypto/encryption.js'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'roost-encryption-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('the encryption (SEC-21)', () => {
  const encryption = encryptionWith('a secret of more than thirty-two characters')

  it('opens what it sealed, for the same purpose and under the same key only', () => {
    const sealed = encryption.seal('pässword', 'token')
    expect(encryption.open(sealed, 'token')).toBe('pässword')
    expect(encryption.seal('pässword', 'token')).not.toBe(sealed)
    expect(() => encryption.open(sealed, 'variable')).toThrow()
    expect(() => encryptionWith('another secret of more than 32 characters').open(sealed, 'token')).toThrow()
    const bytes = Buffer.from(sealed, 'base64')
    bytes[bytes.length - 1] = (bytes.at(-1) as number) ^ 1
    expect(() => encryption.open(bytes.toString('base64'), 'token')).toThrow()
  })

  it('makes its key once, readable by its owner alone, also when several start at once', async () => {
    const secrets = await Promise.all(Array.from({ length: 8 }, () => createSecret(join(folder, 'secret.key'))))
    expect(new Set(secrets).size).toBe(1)
    expect(await readSecret(join(folder, 'secret.key'))).toBe(secrets[0])
    expect(await readdir(folder)).toEqual(['secret.key'])
    expect((await stat(join(folder, 'secret.key'))).mode & 0o777).toBe(0o600)
    expect((await readFile(join(folder, 'secret.key'), 'utf8')).trim()).toBe(secrets[0])
  })

  it('refuses an empty key instead of making another', async () => {
    await writeFile(join(folder, 'secret.key'), '')
    await expect(readSecret(join(folder, 'secret.key'))).rejects.toThrow(/holds no key/)
  })
})
