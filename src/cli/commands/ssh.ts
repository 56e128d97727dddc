import { once } from 'node:events'
import type { Command } from 'commander'
import { readConfig, readSshRequest } from '../../config.js'
import { keyDigest } from '../../lib/crypto/key-digest.js'
import { StartFault } from '../../lib/start-fault.js'
import { findKeyId, openRequest, resolveSocket, socketLink } from '../../transport/ssh/client.js'
import { FRAME, frames } from '../../transport/ssh/frames.js'
import { id } from '../numbers.js'

export function sshCommands(program: Command): void {
  const ssh = program
    .command('ssh')
    .summary('for an OpenSSH server')
    .description('For an OpenSSH server that serves the stored keys, see docs/ssh.md.')
    .helpCommand(false)
  ssh
    .command('keys')
    .description('Answer the AuthorizedKeysCommand of an OpenSSH server: %u %t %k.')
    .argument('<user>')
    .argument('<type>', 'of the key')
    .argument('<key>', 'in base64')
    .action(answerKeys)
  ssh
    .command('serve')
    .description('Run what a client asks for, as the forced command of a key.')
    .argument('<key-id>', 'the id of the key', id)
    .action(serveKey)
}

/** Disables forwarding, terminals and `~/.ssh/rc`; only the forced command runs. */
const KEY_OPTIONS = 'restrict'

const serviceUnreachable = ({ code }: NodeJS.ErrnoException) =>
  new StartFault(`the service cannot be reached (${code}): is it running with this DATA_DIR?`)

/**
 * Implements the AuthorizedKeysCommand of an OpenSSH server: prints the offered key with `roost ssh serve` as its
 * forced command, or nothing if the key is unknown.
 */
async function answerKeys(_user: string, type: string, blob: string): Promise<void> {
  const config = readConfig()
  if (!/^[\w@.-]+$/.test(type) || !/^[A-Za-z0-9+/]+=*$/.test(blob)) return
  const sha256 = keyDigest(Buffer.from(blob, 'base64'))
  const key = await findKeyId(await resolveSocket(socketLink(config.dataDir)), sha256).catch((error: NodeJS.ErrnoException) => {
    throw serviceUnreachable(error)
  })
  if (key === null) return
  // sshd does not pass on the environment of this process
  const command = ['/usr/bin/env', `DATA_DIR=${config.dataDir}`, process.execPath, process.argv[1] ?? '', 'ssh', 'serve', String(key)].map(quoted)
  process.stdout.write(`command="${command.join(' ').replace(/["\\]/g, '\\$&')}",${KEY_OPTIONS} ${type} ${blob}\n`)
}

/** Quotes a word for the shell that the OpenSSH server runs the command with. */
const quoted = (word: string) => (/^[\w./=:-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)

/** The forced command of a key: connects its streams to the service, which does the work. */
async function serveKey(key: number): Promise<void> {
  const config = readConfig()
  const { command, address, protocol } = readSshRequest()
  const question = { ask: 'run' as const, key, command, address, ...(protocol && { protocol }) }
  const service = await openRequest(await resolveSocket(socketLink(config.dataDir)), question).catch((error: NodeJS.ErrnoException) => {
    throw serviceUnreachable(error)
  })
  process.stdin.on('error', () => {})
  process.stdin.pipe(service)
  // a disconnected client ends the command
  process.stdout.on('error', () => service.destroy())
  let code = 1
  for await (const { type, content } of frames(service)) {
    if (type === FRAME.exit) code = content[0] ?? 1
    else {
      const target = type === FRAME.out ? process.stdout : process.stderr
      if (!target.write(content)) await Promise.race([once(target, 'drain'), once(service, 'close')])
    }
  }
  process.exitCode = code
  process.stdin.destroy()
}
