// @module-tag long

import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import ssh2 from 'ssh2'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { call, killRounds, type Service, startService, withToken, workersOf } from '../bench/kill.mjs'
import { build } from '../scripts/build.mjs'
import { repositoryDirectory } from '../src/git/storage/create.js'
import { socketLink } from '../src/transport/ssh/client.js'
import { gitOut, gitRun } from './support/clients/git-client.js'
import { roostOn } from './support/command.js'
import { rounds } from './support/rounds.js'
import { createTestDatabase } from './support/template-database.js'

/** Processes that a process has started, and those that these have. */
function descendantsOf(pid: number): number[] {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
    try {
      parents.set(Number(name), Number(/\) \S+ (\d+)/.exec(readFileSync(`/proc/${name}/stat`, 'latin1'))?.[1]))
    } catch {
      // it has just ended
    }
  const of = (parent: number): number[] => [...parents].filter(([, its]) => its === parent).flatMap(([child]) => [child, ...of(child)])
  return of(pid)
}

const lives = (pid: number) => {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return false
  }
}

/** A path that is removed with the test file. */
function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'workers-'))
  chmodSync(folder, 0o711)
  afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  return folder
}

interface Answer {
  status: number
  text: string
}

beforeAll(async () => {
  await build()
})

describe('a service of two workers', () => {
  const folder = freshFolder()
  const dataDir = join(folder, 'data')
  const METRICS = { authorization: 'Bearer metrics-token-0123456789' }
  const roost = roostOn(dataDir)
  const WORKERS = [1, 2] as const
  let service: Service
  /** A connection to each worker. */
  let agents: http.Agent[]
  let count = 0

  /** A call on one connection, which stays at one worker. */
  const ask = (agent: http.Agent, path: string, options: { method?: string; headers?: Record<string, string>; body?: object } = {}) =>
    new Promise<Answer & { id: string; closes: boolean }>((resolve, reject) => {
      const id = `call-${++count}`
      const { method = 'GET', headers = {}, body } = options
      const sent = { 'x-request-id': id, ...(body && { 'content-type': 'application/json' }), ...headers }
      const request = http.request(`${service.url}${path}`, { agent, method, headers: sent }, (response) => {
        let text = ''
        response.on('data', (chunk) => {
          text += chunk
        })
        const closes = response.headers.connection === 'close'
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text, id, closes }))
      })
      request.once('error', reject)
      request.end(body && JSON.stringify(body))
    })
  const log = (): { worker?: number; reqId?: string; msg: string; pid: number; ended?: number }[] =>
    service
      .log()
      .split('\n')
      .filter((line) => line.startsWith('{') && line.endsWith('}'))
      .map((line) => JSON.parse(line))
  /** The worker that has logged the end of a call. */
  const workerOf = async (id: string) => {
    for (;;) {
      const line = log().find(({ reqId }) => reqId === id)
      if (line) return line.worker as number
      await new Promise(setImmediate)
    }
  }
  /** Connects until each worker has taken a connection. */
  const connectToAll = async () => {
    for (const agent of agents ?? []) agent?.destroy()
    agents = []
    await connectMissing()
  }
  const connectMissing = async () => {
    while (!WORKERS.every((number) => agents[number])) {
      const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
      const number = await workerOf((await ask(agent, '/-/liveness')).id)
      if (agents[number]) agent.destroy()
      else agents[number] = agent
    }
  }
  const through = async (worker: 1 | 2, path: string, options?: Parameters<typeof ask>[2]) => {
    const answer = await ask(agents[worker] as http.Agent, path, options)
    if (answer.closes) {
      delete agents[worker]
      await connectMissing()
    }
    return answer
  }
  const api = (worker: 1 | 2, method: string, path: string, body?: object) =>
    through(worker, `/api/v4${path}`, { method, headers: { 'private-token': 'kill-token-0123456789' }, ...(body && { body }) })
  const metric = async (worker: 1 | 2, name: string) => {
    const { text } = await through(worker, '/-/metrics', { headers: METRICS })
    const line = text.split('\n').find((line) => line.startsWith(`${name} `))
    return line === undefined ? undefined : Number(line.slice(name.length + 1))
  }

  beforeAll(async () => {
    service = await startService(dataDir, {
      ROOST_WORKERS: '2',
      LOG_LEVEL: 'info',
      SSH_PORT: '0',
      METRICS_TOKEN: METRICS.authorization.slice('Bearer '.length),
      ROOST_FAILED_CREDENTIALS: '2',
      ROOST_FAILED_CREDENTIALS_DELAY: '0',
    })
    await connectToAll()
  })
  afterAll(() => service.end())

  it('a token that one worker has revoked is refused by the other at once (SEC-14)', async () => {
    const { text } = await api(1, 'POST', '/users/1/impersonation_tokens', { name: 'short', scopes: ['api'] })
    const { id, token } = JSON.parse(text)
    const use = async (worker: 1 | 2) => (await through(worker, '/api/v4/version', { headers: { 'private-token': token } })).status
    expect([await use(1), await use(2)]).toEqual([200, 200])
    expect((await api(1, 'DELETE', `/users/1/impersonation_tokens/${id}`)).status).toBe(204)
    expect([await use(2), await use(1)]).toEqual([401, 401])
  })

  it('a setting that one worker has changed takes effect in the other (SEC-196)', async () => {
    const git = async (worker: 1 | 2) => (await through(worker, '/root/none.git/info/refs?service=git-upload-pack')).text
    const protocol = (enabled_git_access_protocol: string | null) => api(1, 'PUT', '/application/settings', { enabled_git_access_protocol })
    const made = await api(1, 'POST', '/projects', { path: 'none', visibility: 'public' })
    expect(made.status).toBe(201)
    expect(await git(2)).toContain('git-upload-pack')
    expect((await protocol('ssh')).status).toBe(200)
    await expect.poll(() => git(2), { timeout: 10_000, interval: 50 }).toContain('Git access over HTTP is not allowed')
    expect((await protocol('')).status).toBe(200)
    await expect.poll(() => git(2), { timeout: 10_000, interval: 50 }).toContain('git-upload-pack')
  })

  it('wrong passwords count together (SEC-26)', async () => {
    const grant = async (worker: 1 | 2) => {
      const body = { grant_type: 'password', username: 'unknown', password: 'wrong password' }
      return (await through(worker, '/oauth/token', { method: 'POST', body })).status
    }
    expect([await grant(1), await grant(2), await grant(1), await grant(2)]).toEqual([401, 401, 429, 429])
  })

  it('commits to one branch through both are made in turn: many quick ones do not keep out a slow one (SEC-102, SEC-196)', async () => {
    const { id } = JSON.parse((await api(1, 'POST', '/projects', { path: 'shared' })).text)
    const commit = async (worker: 1 | 2, name: string, files = 1) => {
      const actions = Array.from({ length: files }, (_, n) => ({ action: 'create', file_path: `${name}/${n}`, content: `${name} ${n}` }))
      return (await api(worker, 'POST', `/projects/${id}/repository/commits`, { branch: 'main', commit_message: name, actions })).status
    }
    const statuses = [await commit(2, 'first')]
    let over = false
    const quick = async () => {
      for (let n = 0; !over; n++) statuses.push(await commit(2, `quick ${n}`))
    }
    const slow = async () => {
      for (let n = 0; n < rounds(2, 10); n++) statuses.push(await commit(1, `slow ${n}`, 800))
      over = true
    }
    await Promise.all([quick(), slow()])
    expect(new Set(statuses)).toEqual(new Set([201]))
    const directory = repositoryDirectory(join(dataDir, 'repositories'), { storage: 'default', id, kind: 'project' })
    expect(await gitOut(directory, 'rev-list', '--count', 'main')).toBe(`${statuses.length}`)
  })

  it('the first statuses of a commit, posted to both at the same moment, are all recorded, and one is the latest (ST-16)', async () => {
    const { id } = JSON.parse((await api(1, 'POST', '/projects', { path: 'built', initialize_with_readme: true })).text)
    for (let n = 0; n < rounds(5, 20); n++) {
      const body = { branch: 'main', commit_message: `${n}`, actions: [{ action: 'create', file_path: `${n}`, content: '' }] }
      const { id: sha } = JSON.parse((await api(1, 'POST', `/projects/${id}/repository/commits`, body)).text)
      const post = (worker: 1 | 2) => api(worker, 'POST', `/projects/${id}/statuses/${sha}`, { state: 'success', name: 'ci' })
      const posted = (await Promise.all([post(1), post(2)])).map(({ status, text }) => ({ status, id: JSON.parse(text).id }))
      expect(posted).toEqual([1, 2].map(() => ({ status: 201, id: expect.any(Number) })))
      const list = async (query: string) =>
        JSON.parse((await api(2, 'GET', `/projects/${id}/repository/commits/${sha}/statuses${query}`)).text).map(
          (status: { id: number }) => status.id,
        )
      expect((await list('?all=true')).sort()).toEqual(posted.map(({ id }) => id).sort())
      expect(await list('')).toHaveLength(1)
    }
  })

  it('SSH is served by all for one host key, and commands beside the service work (GS-1)', async () => {
    const pem = ssh2.utils.generateKeyPairSync('ed25519').private
    const parsed = ssh2.utils.parseKey(pem)
    if (parsed instanceof Error) throw parsed
    const key = `${parsed.type} ${parsed.getPublicSSH().toString('base64')} test`
    expect((await api(1, 'POST', '/user/keys', { title: 'a key', key })).status).toBe(201)
    const { ssh_url_to_repo } = JSON.parse((await api(1, 'GET', '/projects/root%2Fnone')).text)
    const connect = () => {
      const client = new ssh2.Client()
      return new Promise<ssh2.Client>((resolve, reject) => {
        client.once('ready', () => resolve(client)).once('error', reject)
        client.connect({ host: '127.0.0.1', port: Number(new URL(ssh_url_to_repo).port), username: 'git', privateKey: pem })
      })
    }
    const connected = () => vi.waitUntil(() => connect().catch(() => null), { timeout: 20_000 })
    let client = await connect()
    const greeting = () =>
      new Promise<string>((resolve, reject) => {
        client.exec('nothing', (error, channel) => {
          if (error) return reject(error)
          let out = ''
          channel.on('data', (text: Buffer) => {
            out += text
          })
          channel.on('close', () => resolve(out))
        })
      })
    try {
      // one connection, whose commands go to whichever worker takes them
      for (let n = 0; n < 4; n++) expect(await greeting()).toBe('Welcome to Roost, @root!\n')
      // another socket is served after something has removed the first (SEC-230)
      const closed = once(client, 'close')
      rmSync(dirname(readlinkSync(socketLink(dataDir))), { recursive: true })
      await closed
      client = await connected()
      for (let n = 0; n < 4; n++) expect(await greeting()).toBe('Welcome to Roost, @root!\n')
    } finally {
      client.end()
    }
    const [doctor, jobs, token] = await Promise.all([roost(['doctor']), roost(['jobs', '--json']), roost(['token', 'create', 'root'])])
    expect(doctor).toEqual({ code: 0, stdout: '0 faults\n', stderr: '' })
    expect(JSON.parse(jobs.stdout)).toMatchObject({ failed: [] })
    const { status } = await through(2, '/api/v4/version', { headers: { 'private-token': token.stdout.trim() } })
    expect(status).toBe(200)
  })

  it('read-only: all workers refuse writes within a second, over HTTP and SSH; reads and jobs go on, and it ends (WB-180)', async () => {
    const made = JSON.parse((await api(1, 'POST', '/projects', { path: 'frozen', visibility: 'public', initialize_with_readme: true })).text)
    const { private: pem, public: key } = ssh2.utils.generateKeyPairSync('ed25519')
    expect((await api(1, 'POST', '/user/keys', { title: 'another key', key })).status).toBe(201)
    const authorization = `Basic ${Buffer.from('root:kill-token-0123456789').toString('base64')}`
    const lfs = { 'content-type': 'application/vnd.git-lfs+json', accept: 'application/vnd.git-lfs+json', authorization }
    const oid = 'a'.repeat(64)
    const at = (worker: 1 | 2, path: string, method = 'GET', headers: object = {}, body?: object) =>
      through(worker, path, { method, headers: { authorization, ...headers }, ...(body && { body }) })
    const WRITES = {
      api: (worker: 1 | 2) => api(worker, 'POST', `/projects/${made.id}/issues`, { title: 'one' }),
      form: (worker: 1 | 2) =>
        at(worker, '/root/frozen/-/issues', 'POST', { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' }, {}),
      push: (worker: 1 | 2) => at(worker, '/root/frozen.git/info/refs?service=git-receive-pack'),
      pack: (worker: 1 | 2) =>
        at(worker, '/root/frozen.git/git-receive-pack', 'POST', { 'content-type': 'application/x-git-receive-pack-request' }, {}),
      batch: (worker: 1 | 2) => at(worker, '/root/frozen.git/info/lfs/objects/batch', 'POST', lfs, { operation: 'upload', objects: [] }),
      object: (worker: 1 | 2) =>
        at(worker, `/root/frozen.git/info/lfs/objects/${oid}`, 'PUT', { ...lfs, 'content-type': 'application/octet-stream' }, {}),
      lock: (worker: 1 | 2) => at(worker, '/root/frozen.git/info/lfs/locks', 'POST', lfs, { path: 'a' }),
    }
    const READS = {
      api: (worker: 1 | 2) => api(worker, 'GET', `/projects/${made.id}`),
      page: (worker: 1 | 2) => at(worker, '/root/frozen', 'GET', { accept: 'text/html' }),
      fetch: (worker: 1 | 2) => at(worker, '/root/frozen.git/info/refs?service=git-upload-pack'),
      batch: (worker: 1 | 2) => at(worker, '/root/frozen.git/info/lfs/objects/batch', 'POST', lfs, { operation: 'download', objects: [] }),
      settings: (worker: 1 | 2) => api(worker, 'GET', '/application/settings'),
    }
    const statuses = async (calls: Record<string, (worker: 1 | 2) => Promise<Answer>>) => {
      const found: Record<string, number[]> = {}
      for (const [name, send] of Object.entries(calls)) found[name] = [(await send(1)).status, (await send(2)).status]
      return found
    }
    const all = (calls: object, status: number) => Object.fromEntries(Object.keys(calls).map((name) => [name, [status, status]]))
    const client = new ssh2.Client()
    const ready = once(client, 'ready')
    client.connect({ host: '127.0.0.1', port: Number(new URL(made.ssh_url_to_repo).port), username: 'git', privateKey: pem })
    await ready
    /** A command over SSH; `answer` sends what follows when something has been answered. */
    const overSsh = (command: string, answer = async (channel: ssh2.ClientChannel) => void channel.end('0000')) =>
      new Promise<{ code: number | null; out: string; error: string }>((resolve, reject) => {
        client.exec(command, (fault, channel) => {
          if (fault) return reject(fault)
          const ended = { code: null as number | null, out: '', error: '' }
          channel.once('data', () => answer(channel).catch(reject))
          channel.on('data', (text: Buffer) => {
            ended.out += text.toString('latin1')
          })
          channel.stderr.on('data', (text: Buffer) => {
            ended.error += text.toString()
          })
          channel.on('exit', (code: number | null) => {
            ended.code = code
          })
          channel.on('close', () => resolve(ended))
        })
      })
    const work = join(folder, 'frozen')
    await gitOut(folder, 'clone', '-q', `${withToken(service.url)}/root/frozen.git`, work)
    await gitOut(work, 'commit', '-q', '--allow-empty', '-m', 'one')
    const push = () => gitRun(work, 'push', '-q', 'origin', 'main')
    try {
      // a push over SSH that has begun before is refused when its pack has arrived
      const head = await gitOut(work, 'rev-parse', 'HEAD')
      const former = await gitOut(work, 'rev-parse', 'HEAD^')
      const pack = join(folder, 'frozen.pack')
      await gitOut(work, 'bundle', 'create', '-q', pack, 'main', '^HEAD^')
      const bundle = readFileSync(pack)
      const late = await overSsh("git-receive-pack 'root/frozen.git'", async (channel) => {
        const line = `${former} ${head} refs/heads/main\0 report-status side-band-64k\n`
        channel.write(`${(line.length + 4).toString(16).padStart(4, '0')}${line}0000`)
        expect((await api(1, 'PUT', '/application/settings', { maintenance_mode: true, maintenance_mode_message: 'Back at noon' })).status).toBe(200)
        const switched = Date.now()
        const accepted = []
        for (let started = Date.now(), status = 0; status !== 503; ) {
          ;[started, status] = [Date.now(), (await WRITES.lock(2)).status]
          if (status !== 503) accepted.push(started)
        }
        expect(accepted.filter((time) => time > switched + 1_000)).toEqual([])
        channel.end(bundle.subarray(bundle.indexOf('\n\nPACK') + 2))
      })
      expect(`${late.out}${late.error}`).toContain('Back at noon')
      expect(JSON.parse((await api(2, 'GET', `/projects/${made.id}/repository/branches/main`)).text).commit.id).toBe(former)
      await expect.poll(() => statuses(WRITES), { timeout: 2_000 }).toEqual(all(WRITES, 503))
      const refused = await WRITES.api(2)
      expect(JSON.parse(refused.text).message).toContain('Back at noon')
      expect(await statuses(READS)).toEqual(all(READS, 200))
      for (let n = 0; n < 4; n++) {
        const answer = await overSsh("git-receive-pack 'root/frozen.git'")
        expect([answer.code, answer.out, answer.error]).toEqual([1, '', expect.stringContaining('Back at noon')])
        expect(await overSsh("git-upload-pack 'root/frozen.git'")).toMatchObject({ code: 0, out: expect.stringContaining(former), error: '' })
      }
      expect(await push()).toMatchObject({ code: 128, err: expect.stringContaining('503') })
      await gitOut(folder, 'clone', '-q', `${withToken(service.url)}/root/frozen.git`, join(folder, 'thawed'))
      const jobs = await roost(['jobs', '--json'])
      expect(JSON.parse(jobs.stdout)).toMatchObject({ failed: [] })
      expect(await roost(['maintenance', 'off'])).toMatchObject({ code: 0, stdout: 'changes are possible\n' })
      await expect.poll(() => statuses({ api: WRITES.api, push: WRITES.push }), { timeout: 2_000 }).toEqual({ api: [201, 201], push: [200, 200] })
      expect(await overSsh("git-receive-pack 'root/frozen.git'")).toMatchObject({ code: 0, error: '' })
      expect(await push()).toMatchObject({ code: 0 })
    } finally {
      client.end()
      await roost(['maintenance', 'off', '--message', ''])
    }
  })

  it('metrics are those of all workers, also after one was killed and replaced; the others go on meanwhile (SEC-195)', async () => {
    const counted = 'roost_request_seconds_count{method="GET",route="/-/liveness",status="200"}'
    const before = (await metric(1, counted)) ?? 0
    for (const worker of [1, 2, 2] as const) await through(worker, '/-/liveness')
    expect([await metric(1, counted), await metric(2, counted)]).toEqual([before + 3, before + 3])
    expect([await metric(1, 'roost_workers{state="ready"}'), await metric(2, 'roost_workers_replaced_total')]).toEqual([2, 0])

    const victim = log().findLast(({ worker, msg }) => worker === 2 && msg === 'request')?.pid as number
    expect(workersOf(service)).toContain(victim)
    process.kill(victim, 'SIGKILL')
    const statuses: number[] = []
    await expect
      .poll(
        async () => {
          statuses.push((await api(1, 'GET', '/user')).status)
          return [await metric(1, 'roost_workers_replaced_total'), await metric(1, 'roost_workers{state="ready"}')]
        },
        { timeout: 20_000, interval: 50 },
      )
      .toEqual([1, 2])
    expect(new Set(statuses)).toEqual(new Set([200]))
    expect(workersOf(service)).toHaveLength(2)
    expect(workersOf(service)).not.toContain(victim)
    await connectToAll()
    expect((await api(2, 'GET', '/user')).status).toBe(200)
    // what the killed one had counted stays
    expect(await metric(2, counted)).toBeGreaterThanOrEqual(before + 3)
  })

  it('a worker that gets SIGTERM ends in order, and is replaced (SEC-195)', async () => {
    const victim = log().findLast(({ worker, msg }) => worker === 1 && msg === 'request')?.pid as number
    process.kill(victim, 'SIGTERM')
    await expect.poll(() => metric(2, 'roost_workers_replaced_total'), { timeout: 10_000, interval: 250 }).toBe(2)
    expect(log().find(({ ended }) => ended === victim)).toMatchObject({ worker: 1, code: 0, signal: null })
    await expect.poll(() => metric(2, 'roost_workers{state="ready"}'), { timeout: 10_000, interval: 250 }).toBe(2)
  })

  it('replaces a worker that cannot start git, while the other can (SEC-231)', async () => {
    await connectToAll()
    const before = (await metric(2, 'roost_workers_replaced_total')) ?? 0
    const victim = log().findLast(({ worker, msg }) => worker === 1 && msg === 'request')?.pid as number
    const spawners = descendantsOf(victim)
    expect(spawners).not.toEqual([])
    for (const spawner of spawners) process.kill(spawner, 'SIGSTOP')
    await expect.poll(() => metric(2, 'roost_workers_replaced_total'), { timeout: 60_000, interval: 250 }).toBe(before + 1)
    for (const spawner of spawners) process.kill(spawner, 'SIGCONT')
    expect(log().find(({ ended }) => ended === victim)).toMatchObject({ worker: 1 })
    await expect.poll(() => metric(2, 'roost_workers{state="ready"}'), { timeout: 20_000, interval: 250 }).toBe(2)
    await connectToAll()
    expect((await through(1, '/-/readiness')).status).toBe(200)
  })

  it('SIGTERM waits for a running request, and leaves no process (SEC-160)', async () => {
    const all = descendantsOf(service.pid)
    expect(all.length).toBeGreaterThan(3)
    const { hostname, port } = new URL(service.url)
    const socket = connect(Number(port), hostname)
    const answer = new Promise<string>((resolve) => {
      let text = ''
      socket.on('data', (data) => {
        text += data.toString()
      })
      socket.on('close', () => resolve(text))
    })
    socket.write('GET /-/readiness HTTP/1.1\r\nHost: roost\r\n')
    // somebody has taken the connection when another one that came later is answered by each
    await connectToAll()
    const before = log().filter(({ msg }) => msg === 'stopping').length
    const ended = service.end('SIGTERM')
    await expect.poll(() => log().filter(({ msg }) => msg === 'stopping')).toHaveLength(before + 3)
    socket.write('Connection: close\r\n\r\n')
    expect(await answer).toMatch(/^HTTP\/1\.1 (200|503) /)
    expect(await ended).toBe(0)
    await expect.poll(() => all.filter(lives), { timeout: 10_000 }).toEqual([])
  })
})

describe('when all workers are killed at once', () => {
  const dataDir = join(freshFolder(), 'data')
  let service: Service
  let connection: ssh2.Client
  const greeting = () =>
    new Promise<string>((resolve) => {
      connection.exec('nothing', (error, channel) => {
        if (error) return resolve(String(error))
        let out = ''
        channel.on('data', (text: Buffer) => {
          out += text
        })
        channel.on('close', () => resolve(out))
      })
    })
  const connectBySsh = async (port: number, privateKey: string) => {
    const client = new ssh2.Client()
    const ready = once(client, 'ready')
    client.on('error', () => undefined)
    client.connect({ host: '127.0.0.1', port, username: 'git', privateKey })
    await ready
    return client
  }
  const { private: pem, public: key } = ssh2.utils.generateKeyPairSync('ed25519')
  let port: number
  const killAll = async () => {
    const killed = workersOf(service)
    for (const pid of killed) process.kill(pid, 'SIGKILL')
    await expect.poll(() => killed.filter(lives)).toEqual([])
  }
  const areServed = () => expect.poll(async () => (await call(service.url, 'GET', '/version'))?.status, { timeout: 30_000 }).toBe(200)

  beforeAll(async () => {
    service = await startService(dataDir, { ROOST_WORKERS: '2', SSH_PORT: '0' })
    expect((await call(service.url, 'POST', '/user/keys', { title: 'a key', key }))?.status).toBe(201)
    const made = await call(service.url, 'POST', '/projects', { path: 'one' })
    port = Number(new URL(made?.body.ssh_url_to_repo).port)
    connection = await connectBySsh(port, pem)
  })
  afterAll(async () => {
    connection?.end()
    await service.end()
  })

  it('their successors serve the same socket of SSH: connections stay open (SEC-315)', async () => {
    const socket = readlinkSync(socketLink(dataDir))
    for (let round = 0; round < rounds(3, 10); round++) {
      await killAll()
      await areServed()
      await expect.poll(greeting, { timeout: 30_000 }).toBe('Welcome to Roost, @root!\n')
    }
    expect(readlinkSync(socketLink(dataDir))).toBe(socket)
    expect(service.log()).not.toMatch(/the socket of SSH was removed|a worker cannot start/)
  })

  it('workers that start while something removes the socket bind the next one (SEC-230, SEC-315)', async () => {
    const closed = once(connection, 'close')
    const socket = readlinkSync(socketLink(dataDir))
    await killAll()
    rmSync(dirname(socket), { recursive: true })
    await areServed()
    await closed
    connection = await vi.waitUntil(() => connectBySsh(port, pem).catch(() => null), { timeout: 30_000 })
    await expect.poll(greeting, { timeout: 30_000 }).toBe('Welcome to Roost, @root!\n')
    expect(service.log()).not.toContain('a worker cannot start')
  })
})

it('kill -9 of the parent ends its workers and all they have started (SEC-195)', async () => {
  const dataDir = join(freshFolder(), 'data')
  const service = await startService(dataDir, { ROOST_WORKERS: '2' })
  try {
    const { body } = (await call(service.url, 'POST', '/projects', { path: 'one', initialize_with_readme: true })) ?? {}
    await gitOut(realpathSync(join(dataDir, '..')), 'clone', '-q', `${withToken(service.url)}/${body.path_with_namespace}.git`, 'work')
    const all = descendantsOf(service.pid)
    expect(all.length).toBeGreaterThan(5)
    process.kill(service.pid, 'SIGKILL')
    await expect.poll(() => all.filter(lives), { timeout: 10_000 }).toEqual([])
  } finally {
    await service.end()
  }
})

it.each([1, 2])('what Node warns of is a line of the log in each process, with %i workers', async (workers) => {
  const database = await createTestDatabase()
  const warning = 'setTimeout(()=>process.emitWarning(`unusual`),2000).unref()'
  const environment = { DATABASE_URL: database.url, ROOST_WORKERS: String(workers), NODE_OPTIONS: `--import=data:text/javascript,${warning}` }
  const service = await startService(join(freshFolder(), 'data'), environment)
  try {
    const said = () =>
      service
        .log()
        .trim()
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line))
    const line = { level: 40, msg: 'a warning of Node', err: { message: 'unusual', name: 'Warning' } }
    await expect.poll(said, { timeout: 10_000 }).toMatchObject(Array(workers === 1 ? 1 : 1 + workers).fill(line))
  } finally {
    await service.end('SIGTERM')
    await database.drop()
  }
})

describe('a start with several workers', () => {
  it('a worker whose connection to the database fails connects again (SEC-317)', async () => {
    const database = await createTestDatabase()
    const url = new URL(database.url)
    const postgres = `${url.searchParams.get('host')}/.s.PGSQL.${url.port || 5432}`
    let connections = 0
    const relay = createServer((client) => {
      client.on('error', () => client.destroy())
      // the parent and the first worker, which prepares the database, take the first four
      if (++connections > 4 && connections < 30) return client.destroy()
      const server = connect(postgres)
      server.on('error', () => client.destroy())
      server.once('close', () => client.destroy())
      client.once('close', () => server.destroy())
      client.pipe(server).pipe(client)
    })
    await once(relay.listen(0, '127.0.0.1'), 'listening')
    url.searchParams.delete('host')
    url.host = `127.0.0.1:${(relay.address() as AddressInfo).port}`
    const service = await startService(join(freshFolder(), 'data'), { DATABASE_URL: url.href, ROOST_WORKERS: '2', LOG_LEVEL: 'error' })
    try {
      expect(connections).toBeGreaterThan(30)
      expect(service.log()).not.toContain('a worker has ended and is replaced')
      expect((await call(service.url, 'GET', '/version'))?.status).toBe(200)
    } finally {
      await service.end('SIGTERM')
      relay.close()
      await database.drop()
    }
  })

  it('serves with the workers that can start, whatever becomes of others (SEC-316)', async () => {
    const database = await createTestDatabase()
    const refuse = 'data:text/javascript,import%20cluster%20from%20%22node:cluster%22;if(cluster.worker&&cluster.worker.id>1)process.exit(3)'
    const service = await startService(join(freshFolder(), 'data'), {
      DATABASE_URL: database.url,
      ROOST_WORKERS: '2',
      NODE_OPTIONS: `--import=${refuse}`,
    })
    try {
      expect((await call(service.url, 'GET', '/version'))?.status).toBe(200)
      expect(service.log().match(/a worker has ended and is replaced/g)?.length).toBeGreaterThanOrEqual(5)
    } finally {
      await service.end('SIGTERM')
      await database.drop()
    }
  })

  it.each([
    ['a fault of a worker', { ROOST_WORKERS: '3' }, /^roost: \S+secret\.key holds no key: [^\n]+\n$/],
    [
      'a database with too few connections',
      { ROOST_WORKERS: '64' },
      /^roost: ROOST_WORKERS=64 and ROOST_DATABASE_POOL=8 need 840 connections and the database allows \d+: [^\n]+\n$/,
    ],
    ['a bad number', { ROOST_WORKERS: '0' }, /^roost: ROOST_WORKERS is not between 1 and 64\n$/],
    ['a word', { ROOST_WORKERS: 'many' }, /^roost: ROOST_WORKERS is neither a number nor auto\n$/],
  ])('ends with one line for %s', async (_, environment, line) => {
    const database = await createTestDatabase()
    const dataDir = join(freshFolder(), 'data')
    mkdirSync(dataDir)
    writeFileSync(join(dataDir, 'secret.key'), 'short')
    try {
      const fault = await startService(dataDir, { DATABASE_URL: database.url, LOG_LEVEL: 'silent', ...environment }).catch((error: Error) => error)
      expect(fault).toBeInstanceOf(Error)
      expect((fault as Error).message.replace('the service ended with 1: ', '')).toMatch(line)
    } finally {
      await database.drop()
    }
  })
})

it(
  'kill -9 of workers in the middle of writes loses nothing that was acknowledged, and doubles nothing (SEC-157, SEC-195)',
  async () => {
    const lines: string[] = []
    const amount = rounds(1, 2)
    const writing = { least: 200, more: rounds(500, 1_000), environment: { ROOST_WORKERS: '2' } }
    expect(await killRounds(amount, (line) => lines.push(line), ['worker'], writing)).toMatchObject({ faults: [] })
    expect(lines).toHaveLength(amount)
  },
  rounds(120_000, 600_000),
)
