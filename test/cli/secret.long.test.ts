// @module-tag long
import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call, startService } from '../../bench/kill.mjs'
import { build } from '../../scripts/build.mjs'
import { runProgram, startScript } from '../support/command.js'

const folder = mkdtempSync(join(tmpdir(), 'secret-'))
const [FIRST, SECOND] = ['the first key of more than 32 characters', 'the second key of more than 32 characters']

beforeAll(async () => {
  chmodSync(folder, 0o711)
  await build()
})
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

const roost = (dataDir: string, args: string[], environment: Record<string, string> = {}) =>
  runProgram(process.execPath, [startScript, ...args], { env: { DATA_DIR: dataDir, ...environment } })

/** A service that runs while `work` does. */
async function withService<T>(dataDir: string, environment: Record<string, string>, work: (url: string) => Promise<T>): Promise<T> {
  const service = await startService(dataDir, environment)
  try {
    return await work(service.url)
  } finally {
    await service.end('SIGTERM')
  }
}

/** A stopped service with two encrypted values: a variable, and the registration token of runners of its project. */
async function aStoppedService(name: string, environment: Record<string, string> = {}) {
  const dataDir = join(folder, name)
  await withService(dataDir, environment, async (url) => {
    await call(url, 'POST', '/projects', { name: 'p' })
    expect((await call(url, 'POST', '/projects/1/variables', { key: 'KEY', value: 'kept' }))?.status).toBe(201)
  })
  return dataDir
}
const valueOn = (dataDir: string, environment: Record<string, string> = {}) =>
  withService(dataDir, environment, async (url) => {
    const variables: { key: string; value: string | null }[] = (await call(url, 'GET', '/projects/1/variables'))?.body
    return variables.map(({ key, value }) => ({ key, value }))
  })
const KEPT = [{ key: 'KEY', value: 'kept' }]

describe('a wrong key', () => {
  it('is refused by the start and by commands, and the right one still opens everything (SEC-256)', async () => {
    const dataDir = await aStoppedService('wrong', { ROOST_SECRET_KEY: FIRST })
    const refusal =
      /^roost: the values in the database are encrypted with key (\S{8}), and ROOST_SECRET_KEY is key (?!\1)\S{8}: set ROOST_SECRET_KEY to that one, or leave it unset if /
    for (const command of ['serve', 'doctor', 'backup'])
      expect(
        await roost(dataDir, [command, ...(command === 'backup' ? [join(folder, 'none')] : [])], {
          ROOST_SECRET_KEY: SECOND,
          PORT: '0',
          SSH_PORT: '',
        }),
      ).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(refusal),
      })
    expect((await roost(dataDir, ['doctor'])).stderr).toMatch(/and .*secret\.key is not there: restore it from a backup/)
    expect(existsSync(join(dataDir, 'secret.key'))).toBe(false)
    expect(await valueOn(dataDir, { ROOST_SECRET_KEY: FIRST })).toEqual(KEPT)
  })

  it('can be taken after the right one is lost, and the doctor finds and removes what it does not open (SEC-256)', async () => {
    const dataDir = await aStoppedService('lost')
    rmSync(join(dataDir, 'secret.key'))
    expect((await roost(dataDir, ['user', 'list'])).code).toBe(1)
    expect((await roost(dataDir, ['secret', 'reset'])).stdout).toMatch(
      /^the key of the database is \S{8}, which opens 0 values\n2 values cannot be decrypted: /,
    )
    expect(await valueOn(dataDir)).toEqual([{ key: 'KEY', value: null }])
    expect(await roost(dataDir, ['doctor'])).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^unreadable value: variable KEY of project 1: .*\nunreadable value: registration token of project 1: /),
    })
    expect(await roost(dataDir, ['doctor', '--repair'])).toMatchObject({ code: 0 })
    expect(await valueOn(dataDir)).toEqual([])
  })
})

describe('roost secret rotate', () => {
  it('encrypts everything with a new key, from the environment (SEC-258)', async () => {
    const dataDir = await aStoppedService('rotated', { ROOST_SECRET_KEY: FIRST })
    expect((await roost(dataDir, ['secret', 'rotate'], { ROOST_SECRET_KEY: FIRST })).stderr).toMatch(/set ROOST_NEW_SECRET_KEY/)
    const both = { ROOST_SECRET_KEY: FIRST, ROOST_NEW_SECRET_KEY: SECOND }
    expect(await withService(dataDir, both, () => roost(dataDir, ['secret', 'rotate'], both))).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/the service is running/),
    })
    const { code, stdout } = await roost(dataDir, ['secret', 'rotate'], both)
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^2 values are encrypted with key \S{8}: set ROOST_SECRET_KEY to it now\n$/),
    })
    expect((await roost(dataDir, ['user', 'list'], { ROOST_SECRET_KEY: FIRST })).code).toBe(1)
    expect(await valueOn(dataDir, both)).toEqual(KEPT)
    expect(await valueOn(dataDir, { ROOST_SECRET_KEY: SECOND })).toEqual(KEPT)
  })

  it('makes a new secret.key; killed at any moment, one of both keys is taken by itself (SEC-258)', async () => {
    const dataDir = await aStoppedService('file')
    const key = join(dataDir, 'secret.key')
    const before = readFileSync(key, 'utf8')
    // killed after the commit and before the new key has taken its place
    const renamed =
      'data:text/javascript,import fs from "node:fs/promises"; import { syncBuiltinESMExports } from "node:module"; const rename = fs.rename; fs.rename = (from, to) => { if (/secret.key.new$/.test(from)) process.kill(process.pid, "SIGKILL"); return rename(from, to) }; syncBuiltinESMExports()'
    const child = spawn(process.execPath, ['--import', renamed, startScript, 'secret', 'rotate'], {
      env: { PATH: process.env['PATH'], TMPDIR: process.env['TMPDIR'], DATA_DIR: dataDir },
    })
    expect(await new Promise((resolve) => child.once('exit', (_, signal) => resolve(signal)))).toBe('SIGKILL')
    expect([readFileSync(key, 'utf8') === before, existsSync(`${key}.new`)]).toEqual([true, true])
    expect(await valueOn(dataDir)).toEqual(KEPT)
    expect([readFileSync(key, 'utf8') === before, existsSync(`${key}.new`)]).toEqual([false, false])
    // killed before the commit: the same new key is used by the next run
    renameSync(key, `${key}.old`)
    expect((await roost(dataDir, ['secret', 'rotate'])).code).toBe(1)
    renameSync(`${key}.old`, key)
    expect(await roost(dataDir, ['secret', 'rotate'])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^2 values/) })
    expect(await valueOn(dataDir)).toEqual(KEPT)
  })

  it('a backup says which key it needs, and a restore without it writes nothing (SEC-258)', async () => {
    const dataDir = await aStoppedService('saved', { ROOST_SECRET_KEY: FIRST })
    const saved = join(folder, 'backup')
    const { stdout } = await roost(dataDir, ['backup', saved], { ROOST_SECRET_KEY: FIRST })
    const name = /\nits encrypted values need key (\S{8}), which is ROOST_SECRET_KEY and not in it\n$/.exec(stdout)?.[1]
    expect(name).toBeDefined()
    const target = join(folder, 'restored')
    for (const environment of [undefined, { ROOST_SECRET_KEY: SECOND }]) {
      const line = `roost: the backup needs key ${name}, which it does not contain: set ROOST_SECRET_KEY to it\n`
      expect(await roost(target, ['restore', saved], environment)).toEqual({ code: 1, stdout: '', stderr: line })
      expect(existsSync(target)).toBe(false)
    }
    expect(await roost(target, ['restore', saved], { ROOST_SECRET_KEY: FIRST })).toMatchObject({ code: 0, stderr: '' })
    expect(await valueOn(target, { ROOST_SECRET_KEY: FIRST })).toEqual(KEPT)
  })
})
