// @module-tag long
import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { beforeAll, describe, expect, it } from 'vitest'
import { SSH_LIMITS } from '../../src/transport/ssh/limits.js'
import { testApp } from '../support/app.js'
import { directoryOf, gitProcessesIn } from '../support/clients/git-client.js'
import { aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'
import { type KeyPair, sshClient } from '../support/ssh/ssh.js'

const t = testApp({ SSH_PORT: '0' }, { limits: { ...SSH_LIMITS, login: 4_000, stall: 1_000, connectionsPerAddress: 40, waiting: 30 } })
const client = sshClient(t)

let owner: TestUser
let key: KeyPair
let project: TestProject
beforeAll(async () => {
  owner = await aUser(t.ctx)
  key = await client.stored(owner, client.newKey())
  project = await aProject(t.ctx, { creator: owner, files: { a: 'a' } })
})

const descriptors = () => readdirSync('/proc/self/fd').length
const faults = () => t.logged.filter((line) => /"level":(50|60)/.test(line))

/** Whether people are served: the API, and SSH. */
async function expectServed() {
  await t.api('get', project.path, owner).expect(200)
  await expect.poll(async () => (await client.ssh(key)).code, { timeout: 20_000 }).toBe(0)
  expect(faults()).toEqual([])
}

/** Talks, reads all that comes, and resolves when the service has closed the connection. */
function talk(...said: (Buffer | string)[]): Promise<Buffer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    const socket = connect(client.port(), '127.0.0.1', () => {
      for (const each of said) socket.write(each)
    })
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('error', () => {})
    socket.on('close', () => resolve(Buffer.concat(chunks)))
  })
}

/** A port that passes on what a client says, changed: bytes are flipped, or the connection is cut, after so many. */
async function mangling(work: (port: number) => Promise<unknown>, at: number, how: 'cut' | 'flip' | 'length') {
  const sockets = new Set<Socket>()
  const server = createServer((near) => {
    const far = connect(client.port(), '127.0.0.1')
    let passed = 0
    near.on('data', (chunk: Buffer) => {
      const within = at - passed
      passed += chunk.length
      if (within >= 0 && within < chunk.length) {
        if (how === 'cut') {
          far.end(chunk.subarray(0, within))
          return void near.destroy()
        }
        if (how === 'flip') chunk[within] = (chunk[within] as number) ^ 0xff
        else chunk.fill(0xff, within, Math.min(within + 4, chunk.length))
        // with another length each side may wait for the other
        setTimeout(() => near.destroy(), 500)
      }
      far.write(chunk)
    })
    far.on('data', (chunk: Buffer) => near.write(chunk))
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        near.destroy()
        far.destroy()
      })
    }
  })
  const port = await new Promise<number>((resolve) => server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port)))
  await work(port)
  for (const socket of sockets) socket.destroy()
  await new Promise((resolve) => server.close(resolve))
}

describe('hostile conversations over SSH', () => {
  it('random bytes, before and after the greeting', { timeout: 1_200_000 }, async () => {
    for (let round = 0; round < 400; round++)
      await Promise.all([talk(randomBytes(200), '\n', randomBytes(5_000)), talk('SSH-2.0-x\r\n', randomBytes(100_000))])
    await expectServed()
  })

  it('an endless greeting, lengths that are none, and packets in the wrong order', {
    timeout: 1_200_000,
  }, async () => {
    const packet = (payload: Buffer, length = payload.length + 5) => {
      const head = Buffer.alloc(5)
      head.writeUInt32BE(length)
      head[4] = 4
      return Buffer.concat([head, payload, Buffer.alloc(4)])
    }
    const hello = 'SSH-2.0-x\r\n'
    for (let round = 0; round < 40; round++)
      await Promise.all([
        talk(Buffer.alloc(3_000_000, 'a')),
        talk(Buffer.alloc(2_000_000, 'line\r\n')),
        talk(hello, packet(randomBytes(30), 0xffffffff)),
        talk(hello, packet(randomBytes(30), 0)),
        talk(hello, packet(Buffer.from([50, 0, 0, 0, 3]))), // somebody who logs in before keys are exchanged
        talk(hello, packet(Buffer.from([20]))),
        talk('SSH-1.5-old\r\n'),
      ])
    await expectServed()
  })

  it('real sessions, cut or changed anywhere', { timeout: 1_200_000 }, async () => {
    const before = descriptors()
    const sessions = new Map<boolean, number>()
    for (let seed = 1; seed <= 90; seed++) {
      const how = (['cut', 'flip', 'length'] as const)[seed % 3] as 'cut'
      await mangling(
        async (port) => {
          const command = client.ssh(key, `git-upload-pack '${project.fullPath}.git'`, { port })
          const ready = await command.then(
            (ended) => ended.ready,
            () => true, // cut after the login
          )
          sessions.set(ready, (sessions.get(ready) ?? 0) + 1)
        },
        1 + ((seed * 997) % 2_600),
        how,
      )
    }
    // some are cut before the login, and some after it
    expect([...sessions.values()].every((many) => many > 0) && sessions.size).toBe(2)
    await expectServed()
    await expect.poll(descriptors, { timeout: 20_000 }).toBeLessThanOrEqual(before + 5)
  })

  it('many open connections: those beyond the limit are closed, and silent ones after a while', async () => {
    const before = descriptors()
    const open = Array.from({ length: 1_000 }, () => talk())
    await t.api('get', project.path, owner).expect(200)
    await Promise.all(open)
    await expectServed()
    await expect.poll(descriptors, { timeout: 20_000 }).toBeLessThanOrEqual(before + 5)
  })

  /** Asks for a fetch, and wants nothing: what the service says until it ends it. */
  const asked = async (meanwhile: () => void = () => {}) => {
    const session = await client.connected(key)
    const ended = await new Promise<{ out: string; err: string; code: number | null }>((resolve, reject) =>
      session.exec(`git-upload-pack '${project.fullPath}.git'`, (error, channel) => {
        if (error) return reject(error)
        const said = { out: '', err: '', code: null as number | null }
        channel.once('data', meanwhile)
        channel.on('data', (data: Buffer) => (said.out += data.toString()))
        channel.stderr.on('data', (data: Buffer) => (said.err += data.toString()))
        channel.on('exit', (code: number) => (said.code = code))
        channel.on('close', () => resolve(said))
      }),
    )
    session.end()
    expect(ended.out).toContain('refs/heads/main')
    return ended
  }
  const gits = () => gitProcessesIn(directoryOf(t, project.id))

  it('ends a fetch in which both sides are silent, and its git (GS-7)', async () => {
    expect(await asked()).toMatchObject({ code: 1 })
    await expect.poll(gits).toEqual([])
    await expectServed()
  })

  it('a fetch whose git is killed says so', async () => {
    const ended = await asked(() => {
      for (const pid of gits()) process.kill(Number(pid), 'SIGKILL')
    })
    expect(ended).toMatchObject({ code: 1, err: 'git upload-pack was killed. Please try again.\n' })
    await expectServed()
  })

  it('a client that offers key after key is cut off', async () => {
    const stranger = client.newKey()
    const parsed = (await import('ssh2')).default.utils.parseKey(stranger.private)
    if (parsed instanceof Error) throw parsed
    let offered = 0
    await client
      .connected(stranger, {
        // the same key as often as it is asked for one
        authHandler: (_left: unknown, _partial: unknown, next: (given: object) => void) => {
          offered++
          next({ type: 'publickey', username: 'git', key: parsed })
        },
      } as never)
      .then(
        () => expect.fail('somebody unknown was let in'),
        () => {},
      )
    expect(offered).toBeLessThanOrEqual(SSH_LIMITS.attempts + 2)
  })

  it('more channels than a connection may have are refused, and neither forwarding nor subsystems are offered', async () => {
    const session = await client.connected(key)
    const opened = await Promise.all(
      Array.from(
        { length: SSH_LIMITS.channels + 5 },
        () => new Promise<boolean>((resolve) => session.exec(`git-upload-pack '${project.fullPath}.git'`, (error) => resolve(!error))),
      ),
    )
    expect(opened.filter(Boolean).length).toBe(SSH_LIMITS.channels)
    session.end()
    const other = await client.connected(key)
    const refused = (start: (done: (error: Error | undefined) => void) => void) =>
      new Promise((resolve) => start((error) => resolve(error !== undefined)))
    expect(await refused((done) => other.forwardOut('127.0.0.1', 1, '127.0.0.1', 22, (error) => done(error)))).toBe(true)
    expect(await refused((done) => other.forwardIn('127.0.0.1', 0, (error) => done(error)))).toBe(true)
    expect(await refused((done) => other.subsys('sftp', (error) => done(error)))).toBe(true)
    expect(await refused((done) => other.sftp((error) => done(error)))).toBe(true)
    other.end()
    await expectServed()
  })
})
