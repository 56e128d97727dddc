// @module-tag long
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { build } from '../../scripts/build.mjs'
import { roostOn, runProgram, startScript } from '../support/command.js'

/** Every machine has it; the service usually has its own account. */
const nobody = Number(/^nobody:[^:]*:(\d+):/m.exec(readFileSync('/etc/passwd', 'utf8'))?.[1])

const folder = mkdtempSync(join(tmpdir(), 'account-'))
const dataDir = join(folder, 'data')
const backup = join(folder, 'backup')
const roost = roostOn(dataDir)

/** A service that is started by an account; `start` resolves when it is ready, `stop` with its exit code. */
async function startAs(uid: number) {
  // only root may write into the folder that TMPDIR names
  const env = {
    PATH: process.env['PATH'],
    ...(uid === 0 && { TMPDIR: process.env['TMPDIR'] }),
    DATA_DIR: dataDir,
    PORT: '0',
    SSH_PORT: '',
    LOG_LEVEL: 'warn',
  }
  const child = spawn(process.execPath, [startScript], { uid, gid: uid, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let log = ''
  child.stderr.on('data', (text) => {
    log += text
  })
  const exit = once(child, 'exit')
  await Promise.race([once(child.stdout, 'data'), exit.then(([code]) => Promise.reject(new Error(`it ended with ${code}: ${log}`)))])
  return {
    uid: Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]),
    stop: async () => {
      child.kill('SIGTERM')
      return (await exit)[0]
    },
  }
}

/** The users that the files in a folder belong to. */
function ownersOf(path: string, owners = new Set<number>()): number[] {
  const found = lstatSync(path)
  owners.add(found.uid)
  if (found.isDirectory()) for (const name of readdirSync(path)) ownersOf(join(path, name), owners)
  return [...owners]
}

describe.runIf(process.platform === 'linux' && process.getuid?.() === 0)('as root, with the data of an ordinary account', () => {
  beforeAll(async () => {
    chmodSync(folder, 0o711)
    mkdirSync(dataDir, { mode: 0o700 })
    chownSync(dataDir, nobody, nobody)
    await build()
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

  it('a command leaves all files to the account, whether or not the service runs, and a backup is one of its (SEC-255)', async () => {
    const service = await startAs(nobody)
    expect(await roost(['user', 'create', 'ada', '--email', 'ada@example.com', '--json'])).toMatchObject({ code: 0, stderr: '' })
    expect(await service.stop()).toBe(0)
    expect(await roost(['user', 'list', '--search', 'ada'])).toMatchObject({ code: 0, stderr: '' })
    expect(await roost(['backup', backup])).toMatchObject({ code: 0, stderr: '' })
    expect(ownersOf(dataDir)).toEqual([nobody])
    expect(ownersOf(backup)).toEqual([nobody])
    const again = await startAs(nobody)
    expect(await again.stop()).toBe(0)
  })

  it('the service runs as the account (SEC-255)', async () => {
    const service = await startAs(0)
    expect(service.uid).toBe(nobody)
    expect(await service.stop()).toBe(0)
    expect(ownersOf(dataDir)).toEqual([nobody])
  })

  it('restored files belong to the owner of the folder (SEC-255)', async () => {
    rmSync(dataDir, { recursive: true })
    mkdirSync(dataDir, { mode: 0o700 })
    chownSync(dataDir, nobody, nobody)
    expect(await roost(['restore', backup])).toMatchObject({ code: 0, stderr: '' })
    expect(ownersOf(dataDir)).toEqual([nobody])
    expect((await roost(['user', 'list'])).stdout).toMatch(/ada/)
    const service = await startAs(nobody)
    expect(await service.stop()).toBe(0)
  })

  it('a database that another user took away is named with the remedy (SEC-255)', async () => {
    chownSync(join(dataDir, 'postgres/data'), 1, 1)
    const { code, stderr } = await roost(['user', 'list'])
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `roost: cannot read ${dataDir}/postgres/data (EACCES): it belongs to another user; as root: chown -R ${nobody} ${dataDir}/postgres\n`,
    })
    chownSync(join(dataDir, 'postgres/data'), nobody, nobody)
    expect(await roost(['user', 'list'])).toMatchObject({ code: 0, stderr: '' })
  })

  it('without the right to act as another user it says so, and changes nothing (SEC-255)', async () => {
    const args = ['--bounding-set', '-setuid,-setgid', process.execPath, startScript, 'user', 'list']
    const { code, stderr } = await runProgram('setpriv', args, { env: { DATA_DIR: dataDir } })
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/root may not act as another user here \(EPERM\): run this as that user/),
    })
    expect(ownersOf(dataDir)).toEqual([nobody])
  })
})
