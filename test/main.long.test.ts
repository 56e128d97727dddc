// @module-tag long
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import http from 'node:http'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { build } from '../scripts/build.mjs'
import { findEmbeddedPostgres } from '../src/db/postgres/index.js'
import { startScript } from './support/command.js'
import { oneIn, rounds } from './support/rounds.js'

/** In its own process group the service would outlive an interrupted run of the tests. */
const endWithParent = 'data:text/javascript,process.once("disconnect", () => process.kill(process.pid, "SIGKILL")); process.channel.unref()'

describe('roost', () => {
  let parent: string
  let dataDir: string
  /** A data folder of a service that has been started and stopped; it was moved here, so copies do not refer to it. */
  let used: string
  const running = new Set<ChildProcess>()

  beforeAll(async () => {
    await build()
    const folder = await mkdtemp(join(tmpdir(), 'used-'))
    await chmod(folder, 0o711)
    dataDir = join(folder, 'data')
    const service = roost()
    await service.ready
    service.child.kill('SIGTERM')
    expect((await service.ended).code).toBe(0)
    used = join(folder, 'used')
    await rename(dataDir, used)
  })
  afterAll(() => rm(join(used, '..'), { recursive: true, force: true }))
  beforeEach(async () => {
    parent = await mkdtemp(join(tmpdir(), 'main-'))
    await chmod(parent, 0o711)
    dataDir = join(parent, 'data')
  })
  afterEach(async () => {
    await Promise.all([...running].map((child) => new Promise((resolve) => child.once('exit', resolve).kill('SIGTERM'))))
    await rm(parent, { recursive: true, force: true })
  })

  /** Spares tests that are not about the first start the preparation of a database. */
  const useData = () => promisify(execFile)('cp', ['-a', used, dataDir])

  /** `openFiles`: how many files it may have open. */
  function roost(args: string[] = [], environment: NodeJS.ProcessEnv = {}, openFiles?: number) {
    const limit = openFiles === undefined ? '' : `ulimit -n ${openFiles}; `
    const child = spawn('/bin/sh', ['-c', `${limit}exec "$0" "$@"`, process.execPath, '--import', endWithParent, startScript, ...args], {
      detached: true,
      env: {
        PATH: process.env['PATH'],
        TMPDIR: process.env['TMPDIR'],
        DATA_DIR: dataDir,
        PORT: '0',
        SSH_PORT: '',
        LOG_LEVEL: 'warn',
        ...environment,
      },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    running.add(child)
    const output = { stdout: '', stderr: '' }
    child.stdout?.on('data', (data: Buffer) => {
      output.stdout += data.toString()
    })
    child.stderr?.on('data', (data: Buffer) => {
      output.stderr += data.toString()
    })
    const ended = new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) =>
      child.once('close', (code) => {
        running.delete(child)
        resolve({ code, ...output })
      }),
    )
    const ready = new Promise<string>((resolve, reject) => {
      child.stdout?.on('data', () => {
        const url = /^Roost is ready at (\S+)\n/m.exec(output.stdout)?.[1]
        if (url !== undefined) resolve(url)
      })
      void ended.then(({ code, stderr }) => reject(new Error(`ended with ${code}: ${stderr}`)))
    })
    ready.catch(() => undefined)
    return { child, ended, ready, pid: child.pid as number }
  }

  it('becomes ready, refuses a second start, gives tokens, ends with 0 on SIGTERM (SEC-160)', async () => {
    const service = roost()
    const url = await service.ready
    expect((await fetch(`${url}/-/readiness`)).status).toBe(200)

    const second = await roost().ended
    expect(second).toMatchObject({ code: 1, stdout: '' })
    expect(second.stderr).toMatch(/^roost: [^\n]+ is in use by process \d+: Roost is running there already\n$/)

    const token = await roost(['token', 'create', 'root', '--name', 'ci', '--scopes', 'api,read_user', '--expires-at', '2199-01-31']).ended
    expect(token).toMatchObject({ code: 0 })
    expect(token.stdout).toMatch(/^\S+\n$/)

    service.child.kill('SIGTERM')
    const { code, stdout } = await service.ended
    expect(code).toBe(0)
    expect(stdout).toBe(`Roost is ready at ${url}\nSign in as root.\nThe password is in ${join(dataDir, 'initial-admin-password')}\n`)

    // The same without a running service, which starts the database for a moment.
    expect(await roost(['token', 'create', 'root']).ended).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\S+\n$/) })
  })

  it('runs the doctor, also with --repair, and backups beside a running service', async () => {
    await useData()
    const service = roost()
    const url = await service.ready
    const token = (await roost(['token', 'create', 'root', '--scopes', 'api']).ended).stdout.trim()
    const headers = { 'private-token': token, 'content-type': 'application/json' }
    const made = await fetch(`${url}/api/v4/projects`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ name: 'patient', initialize_with_readme: true }),
    })
    const { id } = (await made.json()) as { id: number }
    expect(await roost(['doctor']).ended).toEqual({ code: 0, stdout: '0 faults\n', stderr: '' })
    const head = join(dataDir, 'repositories', id.toString(16).padStart(2, '0'), `${id}.git`, 'refs/tags/broken')
    await writeFile(head, `${'1'.repeat(40)}\n`)
    const found = `broken ref: project ${id}: refs/tags/broken is at ${'1'.repeat(40)}, which is not there\n`
    expect(await roost(['doctor']).ended).toEqual({ code: 1, stdout: `${found}1 faults\n`, stderr: '' })
    expect(await roost(['doctor', '--repair']).ended).toEqual({ code: 0, stdout: `${found}  removed\n1 faults, 1 of them repaired\n`, stderr: '' })
    expect((await roost(['doctor', '--cure']).ended).code).toBe(2)

    const saved = join(parent, 'saved')
    expect(await roost(['backup', saved]).ended).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^1 repositories and all rows are in .*\nits encrypted values need key \S{8}, which is in it\n$/),
    })
    service.child.kill('SIGTERM')
    await service.ended
    const elsewhere = { DATA_DIR: join(parent, 'restored') }
    expect(await roost(['backup', '--verify', saved], elsewhere).ended).toEqual({ code: 0, stdout: `${saved} is whole\n`, stderr: '' })
    await rename(join(saved, 'secret.key'), join(parent, 'kept.key'))
    const missing = 'missing: secret.key\n'
    expect(await roost(['backup', '--verify', saved], elsewhere).ended).toEqual({ code: 1, stdout: `${missing}1 faults\n`, stderr: '' })
    const refusal = `roost: ${saved} is damaged, nothing is restored:\n  ${missing}`
    expect(await roost(['restore', saved], elsewhere).ended).toEqual({ code: 1, stdout: '', stderr: refusal })
    expect(existsSync(elsewhere.DATA_DIR)).toBe(false)
    await rename(join(parent, 'kept.key'), join(saved, 'secret.key'))
    const restored = await roost(['restore', saved], elsewhere).ended
    expect(restored).toMatchObject({ code: 0, stdout: expect.stringMatching(/^1 repositories and all rows are as they were at \S+\n0 faults\n$/) })
    const back = await fetch(`${await roost([], elsewhere).ready}/api/v4/projects/${id}/repository/branches`, { headers })
    expect([back.status, await back.json()]).toEqual([200, [expect.objectContaining({ name: 'main' })]])
  })

  it('knows the errors of its database after it was built: of equal users at once one is made', async () => {
    const token = 'a-token-of-the-administrator'
    const url = await roost([], { ROOST_ADMIN_TOKEN: token }).ready
    const user = { name: 'One', username: 'one', email: 'one@example.com', password: 'password1' }
    const create = () => fetch(`${url}/api/v4/users`, { method: 'POST', headers: { 'private-token': token }, body: new URLSearchParams(user) })
    const statuses = (await Promise.all(Array.from({ length: 50 }, create))).map(({ status }) => status)
    expect(statuses.sort()).toEqual([201, ...Array(49).fill(409)])
  })

  it.each(
    oneIn(3, [
      ['npm start', 'npm', ['start'], 'SIGTERM'],
      ['npm start, killed', 'npm', ['start'], 'SIGKILL'],
      ['a shell with one command', 'sh', ['-c', 'npm start'], 'SIGTERM'],
      ['a shell with several commands', 'bash', ['-c', 'true && npm start; true'], 'SIGTERM'],
      ['a shell with several commands, killed', 'bash', ['-c', 'true && npm start; true'], 'SIGKILL'],
      ['timeout', 'timeout', ['600', 'npm', 'start'], 'SIGTERM'],
      ['a terminal that closes', 'npm', ['start'], 'SIGHUP'],
    ] as const),
  )('ends with its folder and port free when %s gets the signal that a supervisor sends (SEC-160)', async (_, program, args, signal) => {
    await useData()
    const environment = {
      PATH: process.env['PATH'],
      TMPDIR: process.env['TMPDIR'],
      HOME: parent,
      DATA_DIR: dataDir,
      PORT: '0',
      SSH_PORT: '',
      LOG_LEVEL: 'warn',
    }
    const child = spawn(program, args, { cwd: fileURLToPath(new URL('..', import.meta.url)), env: environment, stdio: ['ignore', 'pipe', 'ignore'] })
    let said = ''
    const url = await new Promise<string>((resolve, reject) => {
      child.stdout.on('data', (data: Buffer) => {
        said += data.toString()
        const ready = /^Roost is ready at (\S+)$/m.exec(said)?.[1]
        if (ready) resolve(ready)
      })
      child.once('exit', (code) => reject(new Error(`ended with ${code}: ${said}`)))
    })
    const [holder = ''] = (await readFile(join(dataDir, 'postgres/lock'), 'utf8')).split(' ')
    child.kill(signal)
    const isGone = () => {
      try {
        process.kill(Number(holder), 0)
        return false
      } catch {
        return true
      }
    }
    await expect.poll(isGone, { timeout: 15_000, interval: 100 }).toBe(true)
    expect(existsSync(join(dataDir, 'postgres/lock'))).toBe(false)
    await expect(fetch(url)).rejects.toThrow()
  })

  it('refuses commands on a folder that no service has been started with, and makes nothing there', async () => {
    for (const args of [['token', 'create', 'root'], ['doctor'], ['audit', '--since', '2020-01-01'], ['backup', join(parent, 'saved')]]) {
      const { code, stdout, stderr } = await roost(args).ended
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toBe(`roost: ${dataDir} holds no Roost instance: set DATA_DIR to the folder the service was started with\n`)
    }
    expect(await readdir(parent)).toEqual([])
  })

  it.each(['serve', 'token create', 'user create', 'audit', 'doctor', 'jobs', 'backup', 'restore', 'completion', 'version'])(
    '%s --help says how it is called and what it does, and so does help before it',
    async (command) => {
      const { code, stdout, stderr } = await roost([...command.split(' '), '--help']).ended
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout).toMatch(new RegExp(`^Usage: roost ${command} [^\\n]*\\n\\n[A-Z][^\\n]+\\n`))
      expect(await roost(['help', ...command.split(' ')]).ended).toEqual({ code, stdout, stderr })
    },
  )

  it('jobs shows failed jobs, and retries them (SEC-186)', async () => {
    await useData()
    expect(await roost(['jobs', '--retry', '1']).ended).toEqual({ code: 1, stdout: '', stderr: 'roost: there is no failed job 1\n' })
    expect(await roost(['jobs', '--retry', 'one']).ended).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("It is neither an id nor 'all'."),
    })
    const service = roost()
    await service.ready
    const url = await findEmbeddedPostgres(join(dataDir, 'postgres'))
    const client = new pg.Client(url)
    await client.connect()
    const { rows } = await client.query(`insert into jobs (kind, payload, attempts, last_error, failed_at)
      values ('rebase', '{"merge_request": 7}', 12, 'Error: no' || chr(10) || 'good', now()) returning id`)
    const [{ id }] = rows
    const shown = await roost(['jobs']).ended
    expect(shown).toMatchObject({ code: 0, stderr: '' })
    expect(shown.stdout).toMatch(/^kind +waiting +later +running +failed +delay\n/)
    expect(shown.stdout).toMatch(/^rebase +0 +0 +0 +1 +0s$/m)
    expect(shown.stdout).toMatch(new RegExp(`\nfailed job ${id}: rebase {"merge_request":7}, 12 attempts, at \\S+Z\n  Error: no good\n$`))
    const { kinds, failed } = JSON.parse((await roost(['jobs', '--json']).ended).stdout)
    expect(kinds).toContainEqual({ kind: 'rebase', waiting: 0, later: 0, running: 0, failed: 1, delay: 0 })
    expect(failed).toMatchObject([{ id: Number(id), kind: 'rebase', attempts: 12, error: 'Error: no\ngood' }])
    expect(await roost(['jobs', '--retry', 'all']).ended).toEqual({ code: 0, stdout: '1 jobs are tried again\n', stderr: '' })
    // the service does it: there is no such merge request, so nothing is left to do
    await expect.poll(async () => (await client.query('select from jobs where id = $1', [id])).rowCount, { timeout: 10_000 }).toBe(0)
    await client.end()
  })

  it('prints what a service refuses as words, not as JSON', async () => {
    await useData()
    const service = roost()
    await service.ready
    const { code, stderr } = await roost(['token', 'create', 'no-such-user']).ended
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'roost: User Not Found\n' })
  })

  it('finishes a running request before it ends (SEC-160)', async () => {
    await useData()
    const service = roost()
    const { hostname, port } = new URL(await service.ready)
    // A request whose second half comes after the signal.
    const socket = connect(Number(port), hostname)
    const answer = new Promise<string>((resolve) => {
      let text = ''
      socket.on('data', (data) => {
        text += data.toString()
      })
      socket.on('close', () => resolve(text))
    })
    socket.write('GET /-/readiness HTTP/1.1\r\nHost: roost\r\n')
    await new Promise((resolve) => setTimeout(resolve, 200))
    service.child.kill('SIGTERM')
    await new Promise((resolve) => setTimeout(resolve, 200))
    socket.write('Connection: close\r\n\r\n')
    expect(await answer).toMatch(/^HTTP\/1\.1 (200|503) /)
    expect((await service.ended).code).toBe(0)
  })

  it('starts again after kill -9 of its whole group', async () => {
    for (let round = 0; round < rounds(1, 3); round++) {
      const service = roost()
      expect((await fetch(`${await service.ready}/-/readiness`)).status).toBe(200)
      process.kill(-service.pid, 'SIGKILL')
      await service.ended
    }
    await roost().ready
  })

  it('ends with 0 on a signal while it starts (SEC-160)', async () => {
    const service = roost()
    await expect.poll(() => existsSync(join(dataDir, 'postgres/lock')), { timeout: 10_000, interval: 5 }).toBe(true)
    service.child.kill('SIGINT')
    const { code, stdout, stderr } = await service.ended
    expect({ code, stdout, stderr }).toMatchObject({ code: 0, stdout: '', stderr: '' })
  })

  const freePort = async () => {
    const other = createServer()
    const port = await new Promise<number>((resolve) => other.listen(0, '127.0.0.1', () => resolve((other.address() as { port: number }).port)))
    await new Promise((resolve) => other.close(resolve))
    return port
  }
  /** What a server says first; its refusal where there is none. */
  const greeting = (port: number) =>
    new Promise<string>((resolve) => {
      const socket = connect(port, '127.0.0.1')
      socket.once('data', (data) => {
        resolve(data.toString())
        socket.destroy()
      })
      socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''))
    })

  it('serves SSH until it ends, however that is, and keeps its host keys (GS-6)', async () => {
    await useData()
    const port = await freePort()
    const hostKeys = () => Promise.all(['ssh_host_ed25519_key', 'ssh_host_rsa_key'].map((name) => readFile(join(dataDir, 'ssh', name), 'utf8')))
    const service = roost([], { SSH_PORT: String(port) })
    await service.ready
    expect(await greeting(port)).toBe('SSH-2.0-Roost\r\n')
    const keys = await hostKeys()
    process.kill(service.pid, 'SIGKILL')
    await service.ended
    expect(await greeting(port)).toBe('ECONNREFUSED')
    const again = roost([], { SSH_PORT: String(port) })
    await again.ready
    expect(await greeting(port)).toBe('SSH-2.0-Roost\r\n')
    expect(await hostKeys()).toEqual(keys)
    again.child.kill('SIGTERM')
    expect((await again.ended).code).toBe(0)
    expect(await greeting(port)).toBe('ECONNREFUSED')
  })

  it('a port for SSH that was named must be free; without the default one it serves all else (GS-8)', async () => {
    await useData()
    const other = createServer()
    const port = await new Promise<number>((resolve) => other.listen(0, '127.0.0.1', () => resolve((other.address() as { port: number }).port)))
    const { code, stderr } = await roost([], { SSH_PORT: String(port) }).ended
    await new Promise((resolve) => other.close(resolve))
    const line = `roost: cannot listen on 127.0.0.1:${port} (EADDRINUSE): set SSH_HOST and SSH_PORT, or SSH_PORT to nothing\n`
    expect({ code, stderr }).toEqual({ code: 1, stderr: line })
    // taken by this test, unless somebody else has it already
    const usual = createServer()
    await new Promise((resolve) => usual.once('error', resolve).listen(2222, '127.0.0.1', () => resolve(null)))
    const service = roost([], { SSH_PORT: undefined })
    expect((await fetch(`${await service.ready}/-/readiness`)).status).toBe(200)
    service.child.kill('SIGTERM')
    expect((await service.ended).stderr).toContain('SSH is off: cannot listen on 127.0.0.1:2222 (EADDRINUSE)')
    await new Promise((resolve) => usual.close(resolve))
  })

  it.each([
    ['a bad variable', { PORT: 'http' }, /^roost: PORT is not a whole number\n$/],
    ['a data folder it cannot make', { DATA_DIR: '/dev/null/data' }, /^roost: DATA_DIR \/dev\/null\/data cannot be written \(ENOTDIR\)\n$/],
    ['a storage it cannot make', { STORAGES: 'default=/dev/null/x' }, /^roost: STORAGES \/dev\/null\/x cannot be written \(ENOTDIR\)\n$/],
    ['a database that does not answer', { DATABASE_URL: 'postgresql://roost@127.0.0.1:1/x' }, /^roost: cannot reach the database: [^\n]+\n$/],
    ['a machine without git', { PATH: '/nonexistent' }, /^roost: git 2\.38 or newer is needed, none was found on PATH\n$/],
  ])('says in one line what is wrong with %s', async (_, environment, line) => {
    const { code, stdout, stderr } = await roost([], environment).ended
    expect(stderr).toMatch(line)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  })

  it('works while more connections than it may have files open begin requests and do not end them (SEC-233)', async () => {
    await useData()
    const service = roost([], { ROOST_ADMIN_TOKEN: 'main-token-0123456789' }, 520)
    const url = await service.ready
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    const call = (method: string, path: string, body = '') =>
      new Promise<number | undefined>((resolve, reject) => {
        const headers = { 'private-token': 'main-token-0123456789', 'content-type': 'application/json' }
        const request = http.request(`${url}/api/v4${path}`, { agent, method, headers }, (response) => {
          response.resume().once('end', () => resolve(response.statusCode))
        })
        request.once('error', reject).end(body)
      })
    expect(await call('POST', '/projects', '{"path":"one","initialize_with_readme":true}')).toBe(201)
    const { hostname, port } = new URL(url)
    let closed = 0
    const sockets = Array.from({ length: 505 }, () => {
      const socket = connect(Number(port), hostname)
        .on('error', () => undefined)
        .resume()
      socket.once('close', () => closed++)
      socket.write('GET / HTTP/1.1\r\n')
      return socket
    })
    // those above the limit are closed unanswered, the others after their time
    await expect.poll(() => closed, { timeout: 20_000 }).toBeGreaterThanOrEqual(505 - 264)
    const statuses = new Set<number | undefined>()
    // an idle connection may be closed to make room, and a new one finds none
    while (closed < sockets.length) {
      statuses.add(await call('GET', '/projects/root%2Fone/repository/files/README.md?ref=main').catch(() => undefined))
      await sleep(20)
    }
    statuses.add(await call('GET', '/projects/root%2Fone/repository/tree'))
    expect([...statuses].filter((status) => status !== undefined)).toEqual([200])
    agent.destroy()
    service.child.kill('SIGTERM')
    expect((await service.ended).stderr).not.toMatch(/storage|EMFILE|files are open/)
  })

  it('refuses an old git', async () => {
    await mkdir(join(parent, 'bin'))
    await writeFile(join(parent, 'bin/git'), '#!/bin/sh\necho git version 2.30.2\n', { mode: 0o755 })
    const { code, stderr } = await roost([], { PATH: `${parent}/bin:/usr/bin:/bin` }).ended
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'roost: git 2.38 or newer is needed, this is git 2.30.2\n' })
  })

  it('refuses a port that is taken, and leaves the data folder free', async () => {
    await useData()
    const other = createServer()
    const port = await new Promise<number>((resolve) => other.listen(0, '127.0.0.1', () => resolve((other.address() as { port: number }).port)))
    const { code, stderr } = await roost([], { PORT: String(port) }).ended
    expect({ code, stderr }).toEqual({ code: 1, stderr: `roost: cannot listen on 127.0.0.1:${port} (EADDRINUSE): set HOST and PORT\n` })
    await new Promise((resolve) => other.close(resolve))
    await roost().ready
  })

  it.each([
    [['fly'], /^roost: unknown command 'fly'\nroost: see 'roost --help'\n$/],
    [['token', 'make'], /^roost: unknown command 'make'\nroost: see 'roost token --help'\n$/],
    [['serve', 'quickly'], /^roost: too many arguments for 'serve'/],
    [['doctor', '--cure'], /^roost: unknown option '--cure'\nroost: see 'roost doctor --help'\n$/],
    [['backup', 'a', 'b'], /^roost: too many arguments for 'backup'/],
    [['backup', 'a', '--verify', '--without-lfs'], /^roost: option '--verify' cannot be used with option '--without-lfs'/],
    [['audit', '--since'], /^roost: option '--since <moment>' argument missing/],
    [['token', 'create'], /^roost: missing required argument 'username'/],
    [['token', 'create', 'root', '--expires-at', '2199-02-30'], /It is not a date \(YYYY-MM-DD\)\.\n/],
    [['token', 'create', 'root', '--nope'], /^roost: unknown option '--nope'/],
    [['completion', 'fish'], /Allowed choices are bash, zsh\.\n/],
  ])('refuses %j', async (args, line) => {
    const { code, stdout, stderr } = await roost(args).ended
    expect(stderr).toMatch(line)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  })
})
