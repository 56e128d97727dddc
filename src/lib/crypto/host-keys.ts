import { generateKeyPair, type KeyObject, randomBytes } from 'node:crypto'
import { chmod, link, mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { syncDirectory, writeNewFile } from '../files/durable.js'

const generate = promisify(generateKeyPair)

/** The files of the host keys, and how each is generated, in formats that OpenSSH reads too. */
const GENERATORS: Record<string, () => Promise<string>> = {
  ssh_host_ed25519_key: async () => opensshEd25519((await generate('ed25519')).privateKey),
  ssh_host_rsa_key: async () => (await generate('rsa', { modulusLength: 3072 })).privateKey.export({ type: 'pkcs1', format: 'pem' }) as string,
}

export const HOST_KEY_FILES = Object.keys(GENERATORS)

/**
 * The private host keys in this folder, created at the first start (GS-6); several processes that start at once get the
 * same.
 */
export async function loadOrCreateHostKeys(folder: string): Promise<string[]> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await chmod(folder, 0o700)
  return Promise.all(Object.entries(GENERATORS).map(([name, generateKey]) => loadOrCreateHostKey(folder, name, generateKey)))
}

async function loadOrCreateHostKey(folder: string, name: string, generateKey: () => Promise<string>): Promise<string> {
  const file = join(folder, name)
  const known = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  if (known !== undefined) return known
  const temporary = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`
  await writeNewFile(temporary, await generateKey(), 0o600)
  await link(temporary, file).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  await rm(temporary)
  await syncDirectory(folder)
  return readFile(file, 'utf8')
}

/** A field in SSH formats, prefixed with its length in four bytes. */
function field(content: Buffer | string): Buffer {
  const bytes = Buffer.from(content)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}

/**
 * The unencrypted OpenSSH format `openssh-key-v1`, the only one for Ed25519 that OpenSSH reads; Node cannot write it.
 */
function opensshEd25519(key: KeyObject): string {
  const { d = '', x = '' } = key.export({ format: 'jwk' })
  const publicBytes = Buffer.from(x, 'base64url')
  const seed = Buffer.from(d, 'base64url')
  const check = randomBytes(4)
  const secret = Buffer.concat([check, check, field('ssh-ed25519'), field(publicBytes), field(Buffer.concat([seed, publicBytes])), field('')])
  // padded to a multiple of eight bytes with 1, 2, 3 and so on
  const padding = Buffer.from([1, 2, 3, 4, 5, 6, 7].slice(0, (8 - (secret.length % 8)) % 8))
  const bytes = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    field('none'),
    field('none'),
    field(''),
    Buffer.from([0, 0, 0, 1]),
    field(Buffer.concat([field('ssh-ed25519'), field(publicBytes)])),
    field(Buffer.concat([secret, padding])),
  ])
  const lines = bytes.toString('base64').match(/.{1,70}/g) as string[]
  return ['-----BEGIN OPENSSH PRIVATE KEY-----', ...lines, '-----END OPENSSH PRIVATE KEY-----', ''].join('\n')
}
