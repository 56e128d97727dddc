import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ssh2 from 'ssh2'
import { afterAll } from 'vitest'
import type { TestApp } from '../app.js'
import { gitRun } from '../clients/git-client.js'
import type { TestUser } from '../factories.js'
import type { Ended } from '../spawner.js'

const PROGRAM = fileURLToPath(new URL('./ssh-command.mjs', import.meta.url))

/** A key pair: the public key as a line like those of ssh-keygen, and a file with the private key. */
export interface KeyPair {
  line: string
  private: string
  file: string
}

/** A private key. ssh2 cannot parse about one in 256 of the keys that it makes, where it drops a leading zero byte. */
export function ed25519(): string {
  const pem = ssh2.utils.generateKeyPairSync('ed25519').private
  return ssh2.utils.parseKey(pem) instanceof Error ? ed25519() : pem
}

type Session = Ended & { ready: boolean }

/** An SSH client. Its keys and folders are removed after the test file. */
export function sshClient(t: TestApp) {
  const folder = mkdtempSync(join(tmpdir(), 'roost-ssh-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  let count = 0

  const newKey = (type: 'ed25519' | 'ecdsa' | 'rsa' = 'ed25519', bits = 2048): KeyPair => {
    const pem =
      type === 'ed25519'
        ? ed25519()
        : type === 'ecdsa'
          ? (generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey.export({ type: 'sec1', format: 'pem' }) as string)
          : (generateKeyPairSync('rsa', { modulusLength: bits }).privateKey.export({ type: 'pkcs1', format: 'pem' }) as string)
    const parsed = ssh2.utils.parseKey(pem)
    if (parsed instanceof Error) throw parsed
    const file = join(folder, `key${++count}`)
    writeFileSync(file, pem, { mode: 0o600 })
    return { line: `${parsed.type} ${parsed.getPublicSSH().toString('base64')} test`, private: pem, file }
  }

  const stored = async (user: TestUser, pair: KeyPair, body: object = {}) => {
    const { body: key } = await t
      .api('post', '/user/keys', user)
      .send({ title: 'a key', key: pair.line, ...body })
      .expect(201)
    return { ...pair, id: key.id as number }
  }

  const port = () => t.ctx.config.ssh.port as number

  /** Connects and logs in. */
  const connected = (pair: Pick<KeyPair, 'private'>, options: ssh2.ConnectConfig = {}) =>
    new Promise<ssh2.Client>((resolve, reject) => {
      const client = new ssh2.Client()
      client.once('ready', () => resolve(client))
      client.once('error', reject)
      client.once('close', () => reject(new Error('closed')))
      client.on('error', () => {})
      client.connect({ host: '127.0.0.1', port: port(), username: 'git', privateKey: pair.private, ...options })
    })

  /** Runs a command on a connection, or a shell if no command is given. */
  const exec = (client: ssh2.Client, command = '', input?: string | Buffer) =>
    new Promise<Ended>((resolve, reject) => {
      const take = (error: Error | undefined, channel: ssh2.ClientChannel) => {
        if (error) return reject(error)
        const ended: Ended = { code: null, out: '', err: '' }
        channel.on('data', (data: Buffer) => (ended.out += data.toString('latin1')))
        channel.stderr.on('data', (data: Buffer) => (ended.err += data.toString()))
        channel.on('exit', (code: number) => (ended.code = code))
        channel.on('close', () => resolve(ended))
        channel.end(input)
      }
      if (command === '') client.shell(false, take)
      else client.exec(command, take)
    })

  /** Runs one command on a new connection; `ready` says whether the login succeeded. */
  const ssh = async (pair: Pick<KeyPair, 'private'>, command = '', options: ssh2.ConnectConfig = {}): Promise<Session> => {
    let client: ssh2.Client
    try {
      client = await connected(pair, options)
    } catch (error) {
      return { ready: false, code: null, out: '', err: (error as Error).message }
    }
    try {
      return { ready: true, ...(await exec(client, command)) }
    } finally {
      client.end()
    }
  }

  const url = (fullPath: string) => `ssh://git@127.0.0.1:${port()}/${fullPath}.git`
  /** Runs native git, with the client of ssh2 as its `ssh`. */
  const git = (cwd: string, pair: KeyPair, ...args: string[]) =>
    gitRun(cwd, '-c', `core.sshCommand="${process.execPath}" "${PROGRAM}" "${pair.file}"`, '-c', 'ssh.variant=ssh', ...args)

  return { folder, newKey, stored, port, connected, exec, ssh, url, git }
}
