// @module-tag long
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadOrCreateHostKeys } from '../../src/lib/crypto/host-keys.js'
import { testApp } from '../support/app.js'
import { commitIn, gitOut, gitRun } from '../support/clients/git-client.js'
import { aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'
import type { Ended } from '../support/spawner.js'
import { type KeyPair, sshClient } from '../support/ssh/ssh.js'
import { sshdProgram } from '../support/ssh/sshd.js'

/** OpenSSH's own programs: needs `ssh` and `/usr/sbin/sshd`, which `.ci/run` installs. */
const t = testApp({ SSH_PORT: '0' })
const client = sshClient(t)

let owner: TestUser
let project: TestProject
let key: KeyPair & { id: number }
beforeAll(async () => {
  owner = await aUser(t.ctx)
  project = await aProject(t.ctx, { creator: owner, files: { 'a.txt': 'one' } })
  key = await client.stored(owner, client.newKey())
  expect(existsSync(sshdProgram()), 'install openssh-server').toBe(true)
})

let count = 0
/** Of an option that is given twice the first counts. */
const options = (pair: KeyPair, more: string[] = []) => [
  ...more,
  ...['-F', '/dev/null', '-i', pair.file, '-o', 'IdentitiesOnly=yes', '-o', 'IdentityAgent=none', '-o', 'BatchMode=yes'],
  ...['-o', 'StrictHostKeyChecking=accept-new', '-o', `UserKnownHostsFile=${join(client.folder, 'known')}`],
]
function ssh(pair: KeyPair, port: number, user: string, command: string[] = [], more: string[] = []): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn('ssh', [...options(pair, more), '-T', '-p', String(port), `${user}@127.0.0.1`, ...command], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const ended: Ended = { code: null, out: '', err: '' }
    child.stdout.on('data', (data: Buffer) => (ended.out += data.toString('latin1')))
    child.stderr.on('data', (data: Buffer) => (ended.err += data.toString()))
    child.once('error', reject)
    child.once('close', (code) => resolve({ ...ended, code }))
  })
}
const git = (cwd: string, pair: KeyPair, args: string[], more: string[] = []) =>
  gitRun(cwd, '-c', `core.sshCommand=ssh ${options(pair, more).join(' ')}`, '-c', 'ssh.variant=ssh', ...args)
const place = () => join(client.folder, `o${++count}`)

/** Everything that people do, on any server. */
async function everyDay(address: string, pair: KeyPair) {
  const path = place()
  const branch = `topic${count}`
  expect(await git(client.folder, pair, ['clone', '-q', address, path])).toMatchObject({ code: 0 })
  await commitIn(path, `f${count}`)
  expect(await git(path, pair, ['push', '-q', 'origin', `HEAD:refs/heads/${branch}`])).toMatchObject({ code: 0 })
  expect(await git(path, pair, ['fetch', '-q'])).toMatchObject({ code: 0 })
  expect(await gitOut(path, 'rev-parse', `origin/${branch}`)).toBe(await gitOut(path, 'rev-parse', 'HEAD'))
  await gitOut(path, 'commit', '-q', '--amend', '-m', 'rewritten')
  expect(await git(path, pair, ['push', '-q', '-f', 'origin', `HEAD:refs/heads/${branch}`])).toMatchObject({ code: 0 })
  await gitOut(path, 'checkout', '-q', '--orphan', 'elsewhere')
  await gitOut(path, 'commit', '-q', '-m', 'elsewhere')
  const refused = await git(path, pair, ['push', '-f', 'origin', 'HEAD:refs/heads/main'])
  expect(refused.err).toContain('remote: You are not allowed to force push code to a protected branch on this project.')
  expect(refused.code).toBe(1)
  expect((await git(client.folder, pair, ['clone', '-q', '--depth=1', address, place()])).code).toBe(0)
  expect((await git(client.folder, pair, ['clone', '-q', '--filter=blob:none', address, place()])).code).toBe(0)
  expect(await git(client.folder, pair, ['archive', `--remote=${address}`, 'main'])).toMatchObject({ code: 0, out: expect.stringContaining('a.txt') })
  const missing = await git(client.folder, pair, ['clone', address.replace(/[^/]*$/, 'nothing.git'), place()])
  expect(missing.err).toContain('The project you were looking for could not be found.')
}

describe("OpenSSH's client against the service", () => {
  it.each(['ed25519', 'ecdsa', 'rsa'] as const)('clones, fetches, pushes and archives with %s keys', async (type) => {
    const pair = await client.stored(owner, client.newKey(type))
    expect(await ssh(pair, client.port(), 'git')).toMatchObject({ code: 0, out: `Welcome to Roost, @${owner.username}!\n` })
    await everyDay(client.url(project.fullPath), pair)
  })

  it('with the other host key, with other ciphers, and exchanging keys all the time', async () => {
    for (const more of [
      ['-o', 'HostKeyAlgorithms=rsa-sha2-512', '-o', `UserKnownHostsFile=${join(client.folder, 'known-rsa')}`],
      ['-o', 'Ciphers=aes256-gcm@openssh.com'],
      ['-o', 'Ciphers=aes128-ctr', '-o', 'MACs=hmac-sha2-512-etm@openssh.com'],
      ['-o', 'KexAlgorithms=ecdh-sha2-nistp521'],
    ])
      expect(await ssh(key, client.port(), 'git', [], more)).toMatchObject({ code: 0 })
    const large = await aProject(t.ctx, { creator: owner, files: { big: 'x'.repeat(100) } })
    const path = place()
    const rekey = ['-o', 'RekeyLimit=256K']
    expect((await git(client.folder, key, ['clone', '-q', client.url(large.fullPath), path])).code).toBe(0)
    writeFileSync(join(path, 'noise'), Buffer.from(Array.from({ length: 4_000_000 }, () => Math.floor(Math.random() * 256))))
    await gitOut(path, 'add', '.')
    await gitOut(path, 'commit', '-qm', 'noise')
    expect(await git(path, key, ['push', '-q', 'origin', 'HEAD:refs/heads/noise'], rekey)).toMatchObject({ code: 0 })
    expect((await git(client.folder, key, ['clone', '-q', '-b', 'noise', client.url(large.fullPath), place()], rekey)).code).toBe(0)
  })

  it('an unknown key, and another user name, are refused', async () => {
    expect(await ssh(client.newKey(), client.port(), 'git')).toMatchObject({
      code: 255,
      err: expect.stringContaining('Permission denied (publickey)'),
    })
    expect(await ssh(key, client.port(), 'root')).toMatchObject({ code: 255, err: expect.stringContaining('Permission denied (publickey)') })
  })

  it('several commands share one connection', async () => {
    const control = join(client.folder, 'control')
    const shared = ['-o', `ControlPath=${control}`, '-o', 'ControlMaster=auto', '-o', 'ControlPersist=20']
    const all = await Promise.all(
      Array.from({ length: 4 }, () => ssh(key, client.port(), 'git', [`git-upload-pack '${project.fullPath}.git' </dev/null`], shared)),
    )
    expect(all.map(({ code }) => code)).toEqual([1, 1, 1, 1]) // a redirection is no part of the one argument
    expect(await ssh(key, client.port(), 'git', [], shared)).toMatchObject({ code: 0 })
    expect(await ssh(key, client.port(), 'git', [], [...shared, '-O', 'exit'])).toMatchObject({ code: 0 })
  })
})

describe('an OpenSSH server with AuthorizedKeysCommand (docs/ssh.md)', () => {
  let sshd: ChildProcess
  let port: number
  let said = ''
  const { username } = userInfo()
  beforeAll(async () => {
    const folder = join(client.folder, 'sshd')
    mkdirSync(folder)
    await loadOrCreateHostKeys(folder)
    const probe = createServer()
    port = await new Promise<number>((resolve) => probe.listen(0, '127.0.0.1', () => resolve((probe.address() as { port: number }).port)))
    await new Promise((resolve) => probe.close(resolve))
    const program = fileURLToPath(new URL('../../scripts/start.mjs', import.meta.url))
    const config = [
      `Port ${port}`,
      'ListenAddress 127.0.0.1',
      `HostKey ${join(folder, 'ssh_host_ed25519_key')}`,
      `PidFile ${join(folder, 'pid')}`,
      'UsePAM no',
      'PasswordAuthentication no',
      'PermitRootLogin forced-commands-only',
      'AuthorizedKeysFile none',
      `AuthorizedKeysCommand /usr/bin/env DATA_DIR=${t.dataDir} ${process.execPath} ${program} ssh keys %u %t %k`,
      `AuthorizedKeysCommandUser ${username}`,
      'AcceptEnv GIT_PROTOCOL',
    ]
    writeFileSync(join(folder, 'config'), `${config.join('\n')}\n`)
    sshd = spawn(sshdProgram(), ['-D', '-e', '-f', join(folder, 'config')], { stdio: ['ignore', 'ignore', 'pipe'] })
    await new Promise<void>((resolve, reject) => {
      sshd.stderr?.on('data', (data: Buffer) => {
        said += data.toString()
        if (said.includes('Server listening')) resolve()
      })
      sshd.once('exit', () => reject(new Error(`sshd ended: ${said}`)))
    })
  })
  afterAll(() => void sshd?.kill())

  it('clones, fetches, pushes and archives through the running service', async () => {
    expect(await ssh(key, port, username), said).toMatchObject({ code: 0, out: `Welcome to Roost, @${owner.username}!\n` })
    await everyDay(`ssh://${username}@127.0.0.1:${port}/${project.fullPath}.git`, key)
  })

  it('refuses another key, and runs nothing else', async () => {
    expect(await ssh(client.newKey(), port, username)).toMatchObject({ code: 255 })
    expect(await ssh(key, port, username, ['cat', '/etc/passwd'])).toMatchObject({ code: 1, err: 'Disallowed command\n' })
    await t.api('delete', `/user/keys/${key.id}`, owner).expect(204)
    expect(await ssh(key, port, username)).toMatchObject({ code: 255 })
  })
})
