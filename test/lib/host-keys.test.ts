import { chmod, mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import ssh2 from 'ssh2'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { HOST_KEY_FILES, loadOrCreateHostKeys } from '../../src/lib/crypto/host-keys.js'

describe('host keys (GS-6)', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'roost-keys-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  it('are made once, however many start at the same time, and only their owner reads them', async () => {
    const inside = join(folder, 'ssh')
    const [first, second] = await Promise.all([loadOrCreateHostKeys(inside), loadOrCreateHostKeys(inside)])
    expect(second).toEqual(first)
    await chmod(inside, 0o755)
    expect(await loadOrCreateHostKeys(inside)).toEqual(first)
    expect((await stat(inside)).mode & 0o777).toBe(0o700)
    for (const name of HOST_KEY_FILES) {
      expect((await stat(join(inside, name))).mode & 0o777).toBe(0o600)
      expect(first).toContain(await readFile(join(inside, name), 'utf8'))
    }
  })

  it('are an Ed25519 and an RSA key of 3072 bits that sign', async () => {
    const keys = (await loadOrCreateHostKeys(join(folder, 'ssh'))).map((text) => ssh2.utils.parseKey(text))
    expect(keys.map((key) => (key instanceof Error ? key.message : key.type))).toEqual(['ssh-ed25519', 'ssh-rsa'])
    for (const key of keys) {
      if (key instanceof Error) throw key
      expect(key.verify('text', key.sign('text'))).toBe(true)
      expect(key.verify('other', key.sign('text'))).toBe(false)
    }
    // its modulus and little else
    expect((keys[1] as ssh2.ParsedKey).getPublicSSH().length).toBeGreaterThan(390)
  })
})
