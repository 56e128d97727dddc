import { existsSync, readlinkSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import { build } from '../../scripts/build.mjs'
import type { Context } from '../../src/context.js'
import { socketLink } from '../../src/transport/ssh/client.js'
import { startSsh } from '../../src/transport/ssh/server.js'
import { testApp } from '../support/app.js'

const t = testApp()
const withSsh = (ssh: Partial<Context['config']['ssh']>): Context =>
  Object.assign(Object.create(t.ctx), { config: { ...t.ctx.config, ssh: { ...t.ctx.config.ssh, host: '127.0.0.1', ...ssh } } })
const start = async (ssh: Partial<Context['config']['ssh']>) => startSsh(withSsh(ssh), { program: new URL('ssh.js', pathToFileURL(await build())) })
const hostKey = () => existsSync(join(t.dataDir, 'ssh', 'ssh_host_ed25519_key'))

/** A port that nothing listens on. */
async function freePort(): Promise<AddressInfo> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return address
}

/** What a server says first; empty without a listener. */
const banner = (port: number) =>
  new Promise<string>((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => resolve(''))
    socket.once('data', (chunk) => {
      resolve(chunk.toString())
      socket.destroy()
    })
  })

it('with SSH off no host keys are made (GS-6, GS-8)', async () => {
  const ssh = await start({ port: null })
  await ssh.close(1_000)
  expect(hostKey()).toBe(false)
})

it('a default port that is taken at the last moment is a warning, and is tried again; a configured one ends the start (GS-8)', async () => {
  const holder = createServer()
  await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve))
  const { port } = holder.address() as AddressInfo
  await expect(start({ port, named: true })).rejects.toThrow(`cannot listen for SSH on 127.0.0.1:${port} (EADDRINUSE)`)
  const ssh = await start({ port, named: false })
  try {
    expect(t.logged.filter((line) => line.includes('SSH is not served yet'))).toHaveLength(1)
    await new Promise((resolve) => holder.close(resolve))
    await expect.poll(() => banner(port), { timeout: 20_000 }).toContain('SSH-2.0-Roost')
    expect(hostKey()).toBe(true)
  } finally {
    await ssh.close(1_000)
  }
})

it('starts again when something has removed its socket (SEC-230)', async () => {
  const { port } = await freePort()
  const ssh = await start({ port, named: true })
  try {
    const socket = readlinkSync(socketLink(t.dataDir))
    rmSync(dirname(socket), { recursive: true })
    await expect.poll(() => readlinkSync(socketLink(t.dataDir)), { timeout: 20_000 }).not.toBe(socket)
    await expect.poll(() => banner(port), { timeout: 20_000 }).toContain('SSH-2.0-Roost')
    expect(existsSync(readlinkSync(socketLink(t.dataDir)))).toBe(true)
  } finally {
    await ssh.close(1_000)
  }
})
