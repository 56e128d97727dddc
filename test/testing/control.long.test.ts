// @module-tag long
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ssh2 from 'ssh2'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { build } from '../../scripts/build.mjs'
import { type Roost, startRoost } from '../../testing/index.mjs'
import { gitRun } from '../support/clients/git-client.js'
import { startEnvironment } from '../support/servers/started-roost.js'
import { ed25519 } from '../support/ssh/ssh.js'

let roost: Roost
beforeAll(async () => {
  await build()
  roost = await startRoost({ ssh: true, world: 'first', env: startEnvironment() })
})
afterAll(() => roost.stop())

const ask = async (method: string, path: string, body?: unknown, address = roost.control) => {
  const headers: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' }
  const sent = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }
  const answer = await fetch(`${address}${path}`, { method, headers, ...sent })
  const text = await answer.text()
  return { status: answer.status, body: text === '' ? null : JSON.parse(text) }
}
const call = async ({ url, token }: { url: string; token: string }, method: string, path: string, body?: object) => {
  const headers = { 'private-token': token, ...(body && { 'content-type': 'application/json' }) }
  const answer = await fetch(`${url}/api/v4${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  const text = await answer.text()
  return { status: answer.status, body: text === '' ? null : JSON.parse(text) }
}

describe('the control channel', () => {
  it('lists, makes and removes worlds', async () => {
    const { url, username, token, password, pid, control } = roost
    const first = { name: 'first', url, username, token, password, pid, control }
    expect(await ask('GET', '/worlds')).toEqual({ status: 200, body: [first] })
    const made = await ask('POST', '/worlds', { name: 'made' })
    expect(made).toMatchObject({ status: 200, body: { name: 'made', pid, control } })
    expect(await ask('POST', '/worlds', { name: 'made' })).toEqual(made)
    expect((await ask('GET', '/worlds')).body).toEqual([first, made.body])
    expect(await ask('DELETE', '/worlds/made')).toEqual({ status: 204, body: null })
    await expect(fetch(made.body.url)).rejects.toThrow()
    expect(await ask('DELETE', '/worlds/made')).toEqual({ status: 404, body: { message: 'there is no world called made' } })
    expect(await ask('DELETE', '/worlds/first')).toMatchObject({ status: 409, body: { message: expect.any(String) } })
  })

  it('concurrent requests for worlds make each once, and worlds are separate', async () => {
    const made = await Promise.all(['a', 'b', 'a'].map((name) => ask('POST', '/worlds', { name })))
    expect(made[0]).toEqual(made[2])
    const [a, b] = made.map(({ body }) => body)
    expect((await call(a, 'POST', '/projects', { name: 'only here' })).status).toBe(201)
    expect((await call(b, 'GET', '/projects')).body).toEqual([])
    expect((await call({ url: b.url, token: a.token }, 'GET', '/user')).status).toBe(401)
    // a reset is that of one world
    await ask('POST', '/worlds/b/reset')
    expect((await call(a, 'GET', '/projects')).body).toHaveLength(1)
    await ask('POST', '/worlds/a/reset')
    expect((await call(a, 'GET', '/projects')).body).toEqual([])
    for (const name of ['a', 'b']) expect((await ask('DELETE', `/worlds/${name}`)).status).toBe(204)
  })

  it.each([
    ['POST', '/worlds', { name: '../x' }, 400],
    ['POST', '/worlds', { name: 'x'.repeat(64) }, 400],
    ['POST', '/worlds', {}, 400],
    ['POST', '/worlds', undefined, 400],
    ['POST', '/worlds', { name: 'x', more: 1 }, 400],
    ['POST', '/worlds', '{"name":', 400],
    ['POST', '/worlds/first/snapshots', { name: '' }, 400],
    ['POST', '/worlds/first/snapshots', { name: 'x'.repeat(201) }, 400],
    ['POST', '/worlds/first/restore', { snapshot: 'none' }, 404],
    ['POST', '/worlds/first/restore', { name: 'none' }, 400],
    ['POST', '/worlds/none/reset', undefined, 404],
    ['POST', '/worlds/none/snapshots', { name: 'x' }, 404],
    ['GET', '/none', undefined, 404],
  ])('refuses %s %s', async (method, path, body, status) => {
    expect(await ask(method, path, body)).toEqual({ status, body: { message: expect.any(String) } })
  })

  it('refuses a body that is too large before it is sent', async () => {
    const status = await new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json', 'content-length': 9 * 1024 ** 2 }
      const sent = request(`${roost.control}/worlds`, { method: 'POST', headers }, (answer) => {
        resolve(answer.statusCode)
        sent.destroy()
      })
      sent.once('error', reject).flushHeaders()
    })
    expect(status).toBe(413)
  })

  it('answers only callers who know its secret', async () => {
    const { origin } = new URL(roost.control)
    for (const path of ['/worlds', '/x/worlds', `/${'0'.repeat(32)}/worlds`])
      expect(await ask('GET', path, undefined, origin)).toEqual({ status: 404, body: { message: '404 Not Found' } })
  })

  it('keeps a bounded number of snapshots of a world', async () => {
    await ask('POST', '/worlds', { name: 'kept' })
    for (let i = 0; i < 64; i++) expect((await ask('POST', '/worlds/kept/snapshots', { name: `${i}` })).status).toBe(204)
    expect(await ask('POST', '/worlds/kept/snapshots', { name: 'one more' })).toMatchObject({ status: 409, body: { message: expect.any(String) } })
    expect((await ask('POST', '/worlds/kept/snapshots', { name: '1' })).status).toBe(204)
    expect((await ask('POST', '/worlds/kept/restore', { snapshot: '0' })).status).toBe(204)
    await ask('DELETE', '/worlds/kept')
  })
})

describe('startRoost with a world', () => {
  it('takes it from the server that ROOST_TEST_CONTROL names, which stop leaves alone', async () => {
    process.env['ROOST_TEST_CONTROL'] = roost.control
    try {
      const taken = await startRoost({ world: 'taken' })
      expect(taken).toMatchObject({ world: 'taken', pid: roost.pid, control: roost.control })
      await call(taken, 'POST', '/projects', { name: 'one' })
      await taken.snapshot('with one')
      await taken.reset()
      expect((await call(taken, 'GET', '/projects')).body).toEqual([])
      await taken.restore('with one')
      expect((await call(taken, 'GET', '/projects')).body).toHaveLength(1)
      await taken.stop()
      const again = await startRoost({ world: 'taken' })
      expect(again.url).toBe(taken.url)
      expect((await call(again, 'GET', '/projects')).body).toHaveLength(1)
      await expect(again.restore('another')).rejects.toThrow('roost: there is no snapshot called another')
      await expect(startRoost({ world: '/' })).rejects.toThrow(/^roost: name: must be /)
      await expect(startRoost({ world: 'x', port: 1 })).rejects.toThrow(TypeError)
    } finally {
      delete process.env['ROOST_TEST_CONTROL']
    }
  })
})

describe('SSH', () => {
  const folder = mkdtempSync(join(tmpdir(), 'roost-ssh-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('serves the state that is, after each change of it', async () => {
    const pem = ed25519()
    const key = ssh2.utils.parseKey(pem) as ssh2.ParsedKey
    writeFileSync(join(folder, 'key'), pem, { mode: 0o600 })
    const program = fileURLToPath(new URL('../support/ssh/ssh-command.mjs', import.meta.url))
    const { body: project } = await call(roost, 'POST', '/projects', { name: 'by ssh', initialize_with_readme: true })
    const remote = () =>
      gitRun(folder, '-c', `core.sshCommand="${process.execPath}" "${program}" "${join(folder, 'key')}"`, 'ls-remote', project.ssh_url_to_repo)
    expect((await remote()).code).not.toBe(0)
    await call(roost, 'POST', '/user/keys', { title: 'a key', key: `${key.type} ${key.getPublicSSH().toString('base64')} test` })
    await roost.snapshot('with a key')
    const before = await remote()
    expect(before).toMatchObject({ code: 0, out: expect.stringContaining('refs/heads/main') })
    await call(roost, 'POST', `/projects/${project.id}/repository/branches`, { branch: 'more', ref: 'main' })
    expect((await remote()).out).toContain('refs/heads/more')
    await roost.restore('with a key')
    expect(await remote()).toEqual(before)
    await roost.reset()
    expect((await remote()).code).not.toBe(0)
    await roost.restore('with a key')
    expect(await remote()).toEqual(before)
  })
})
