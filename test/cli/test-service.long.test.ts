// @module-tag long
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { build } from '../../scripts/build.mjs'
import { type Roost, startRoost } from '../../testing/index.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const cache = mkdtempSync(join(tmpdir(), 'roost-cache-'))
const env = { XDG_CACHE_HOME: cache, TMPDIR: process.env['TMPDIR'] ?? tmpdir() }

beforeAll(async () => {
  await build()
})
afterAll(() => rmSync(cache, { recursive: true, force: true }))

const get = async ({ url, token }: Roost, path: string) => {
  const answer = await fetch(`${url}/api/v4${path}`, { headers: { 'private-token': token } })
  return { status: answer.status, body: await answer.json() }
}
const isGone = async (url: string) =>
  fetch(url).then(
    () => false,
    () => true,
  )
const lives = (pid: number) => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

it('serves at the address of its line, beside another one, and both leave nothing', async () => {
  const first = await startRoost({ env })
  // this one is started from the cache that the first has made
  const second = await startRoost({
    env: { ...env, ROOST_VERSION: '10.8.0', DATA_DIR: '/nowhere', DATABASE_URL: 'postgresql://unknown@127.0.0.1:1/none' },
  })
  try {
    expect(await get(first, '/user')).toMatchObject({ status: 200, body: { username: first.username, is_admin: true } })
    expect((await get(second, '/version')).body).toMatchObject({ version: '10.8.0' })
    const made = await fetch(`${first.url}/api/v4/projects`, {
      method: 'POST',
      headers: { 'private-token': first.token },
      body: new URLSearchParams({ name: 'one' }),
    })
    expect(made.status).toBe(201)
    expect((await get(second, '/projects')).body).toEqual([])
    const body = new URLSearchParams({ grant_type: 'password', username: second.username, password: second.password })
    expect((await fetch(`${second.url}/oauth/token`, { method: 'POST', body })).status).toBe(200)
  } finally {
    await Promise.all([first.stop(), second.stop()])
  }
  expect([await isGone(first.url), await isGone(second.url)]).toEqual([true, true])
  expect([lives(first.pid), lives(second.pid)]).toEqual([false, false])
})

it('ends with the process that started it, also when that is killed', async () => {
  const script = `import { startRoost } from ${JSON.stringify(join(root, 'testing/index.mjs'))}
    const { url, pid } = await startRoost()
    console.log(JSON.stringify({ url, pid }))
    setInterval(() => {}, 1_000)`
  const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const { url, pid } = await new Promise<{ url: string; pid: number }>((resolve) =>
    parent.stdout.once('data', (text) => resolve(JSON.parse(String(text)))),
  )
  expect(await isGone(url)).toBe(false)
  parent.kill('SIGKILL')
  await expect.poll(() => lives(pid), { timeout: 20_000 }).toBe(false)
  expect(await isGone(url)).toBe(true)
})

it('says why it does not start', async () => {
  await expect(startRoost({ env: { ...env, ROOST_VERSION: 'new' } })).rejects.toThrow(/^roost test ended with 1: roost: ROOST_VERSION /)
})
