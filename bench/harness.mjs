import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import autocannon from 'autocannon'
import pg from 'pg'
import { generated, git } from './repository.mjs'

export const root = fileURLToPath(new URL('..', import.meta.url))
export const cache = join(root, '.bench')
export const TOKEN = 'bench-token-0123456789'

export const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]

/** Milliseconds that the work took. */
export async function timed(work) {
  const start = performance.now()
  await work()
  return performance.now() - start
}

/** Runs git to its end in a process of its own and gives what it printed. */
export function native(directory, args, { input, env } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn('git', args, { cwd: directory, stdio: ['pipe', 'pipe', 'inherit'], ...(env && { env: { ...process.env, ...env } }) })
    const chunks = []
    child.stdout.on('data', (chunk) => chunks.push(chunk))
    child.on('error', reject)
    child.on('close', (code) => (code === 0 ? resolve(Buffer.concat(chunks)) : reject(new Error(`git ${args[0]} ended with ${code}`))))
    child.stdin.end(input)
  })
}

const agent = new http.Agent({ keepAlive: true, maxSockets: 64 })

/** One call of the API as the administrator; throws on a refusal. JSON comes back parsed, all else as text. */
export function call(url, { method = 'GET', body, headers = {} } = {}) {
  return new Promise((resolve, reject) => {
    const request = http.request(
      url,
      { method, agent, headers: { 'private-token': TOKEN, ...(body && { 'content-type': 'application/json' }), ...headers } },
      (response) => {
        const chunks = []
        response.on('data', (chunk) => chunks.push(chunk))
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          if (response.statusCode >= 300) reject(new Error(`${method} ${url}: ${response.statusCode} ${text.slice(0, 300)}`))
          else resolve(response.headers['content-type'] === 'application/json' ? JSON.parse(text) : text)
        })
      },
    )
    request.on('error', reject)
    request.end(body && JSON.stringify(body))
  })
}

/** Proportional memory in MB of a process. */
export const pss = (pid) => Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0) / 1024
/** Resident memory in MB of a process. */
export const rss = (pid) => Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024

/** Seconds of processor time that a process and its children have used so far. */
function cpuSeconds(pid) {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean)
  return [pid, ...children].reduce((sum, each) => {
    try {
      const fields = readFileSync(`/proc/${each}/stat`, 'utf8')
        .replace(/^.*\) /, '')
        .split(' ')
      // its own and those of its ended children, in hundredths
      return sum + [11, 12, 13, 14].reduce((ticks, at) => ticks + Number(fields[at]), 0) / 100
    } catch {
      return sum
    }
  }, 0)
}

/** The Postgres that serves a data folder, and its own processes. */
export function postgresOf(dataDir) {
  const master = readFileSync(join(dataDir, 'postgres/data/postmaster.pid'), 'utf8').split('\n')[0]
  const children = spawnSync('ps', ['-o', 'pid=', '--ppid', master]).stdout.toString().trim().split(/\s+/)
  return [master, ...children]
}

/** Hundredths of a second of processor time of processes, their ended children included. */
export const ticks = (pids) =>
  pids.reduce((sum, pid) => {
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /, '').split(' ') // biome-ignore format: a chain
      return sum + [11, 12, 13, 14].reduce((all, at) => all + Number(fields[at]), 0)
    } catch {
      return sum
    }
  }, 0)

/** What a part works with: a running service with empty tables, a plain server to compare with, and the rows of the table. */
export class Bench {
  rows = []
  #plain = null
  #plainUrl = null
  #large = null
  #projects = null
  #stopping = false

  constructor({ quick, only = '' }) {
    this.quick = quick
    /** A word of the names of calls to measure; empty: all. */
    this.only = only
    this.rounds = quick ? 7 : 21
    mkdirSync(cache, { recursive: true })
    this.dataDir = mkdtempSync(join(tmpdir(), 'roost-bench-'))
    chmodSync(this.dataDir, 0o711) // as root, Postgres runs under another account and passes through
    this.scratch = mkdtempSync(join(tmpdir(), 'roost-bench-'))
  }

  /** Starts the service; settles when it says it is ready, with how long that took. */
  start(environment = {}) {
    return new Promise((resolve, reject) => {
      const begun = performance.now()
      const child = spawn(process.execPath, ['--v8-pool-size=1', join(root, 'dist/main.js')], {
        env: {
          PATH: process.env.PATH,
          DATA_DIR: this.dataDir,
          PORT: '0',
          SSH_PORT: '0',
          ROOST_ADMIN_TOKEN: TOKEN,
          // hooks of the bench end here
          ROOST_ALLOW_LOCAL_REQUESTS: 'true',
          LOG_LEVEL: 'warn',
          TMPDIR: tmpdir(),
          ...environment,
        },
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      child.stdout.on('data', (chunk) => {
        const url = /ready at (\S+)/.exec(String(chunk))?.[1]
        if (!url) return
        Object.assign(this, { child, url, api: `${url}/api/v4` })
        resolve(performance.now() - begun)
      })
      child.on('exit', (code) => reject(new Error(`the service ended with ${code}`)))
    })
  }

  /** Settles when what earlier calls left to be done in the background is done. */
  async quiet() {
    for (let waited = 0; waited < 120; waited++) {
      const before = cpuSeconds(this.child.pid)
      await new Promise((resolve) => setTimeout(resolve, 1_000))
      if (Math.abs(cpuSeconds(this.child.pid) - before) < 0.05) return
    }
  }

  stop() {
    return new Promise((resolve) => this.child.once('exit', resolve).kill('SIGTERM'))
  }

  /** Runs SQL in the service's database, for more rows than calls could make in time; gives the rows. */
  async sql(text, values) {
    const client = await this.connection()
    try {
      return (await client.query(text, values)).rows
    } finally {
      await client.end()
    }
  }

  get databaseUrl() {
    return JSON.parse(readFileSync(join(this.dataDir, 'postgres/running.json'), 'utf8')).url
  }

  /** A connection of one's own to the service's database. */
  async connection() {
    const client = new pg.Client(this.databaseUrl)
    await client.connect()
    return client
  }

  /** Ends everything and leaves nothing behind. */
  async close() {
    if (this.#stopping) return
    this.#stopping = true
    this.#plain?.kill()
    if (this.child?.exitCode === null) await this.stop()
    rmSync(this.dataDir, { recursive: true, force: true })
    rmSync(this.scratch, { recursive: true, force: true })
  }

  /** One line of the table: ours against theirs, and whether the bar holds. `bar` bounds ours/theirs from above, or from below with `atLeast`. */
  row(what, ours, theirs, bar, { unit = 'ms', atLeast = false } = {}) {
    const ratio = ours / theirs
    const holds = atLeast ? ratio >= bar : ratio <= bar
    this.rows.push({ what, ours, theirs, ratio, bar, unit, atLeast, holds })
    process.stdout.write(
      `${what}: ${ours.toFixed(1)} ${unit} against ${theirs.toFixed(1)} ${unit}, ratio ${ratio.toFixed(2)}, bar ${atLeast ? '>=' : '<='} ${bar} ${holds ? 'holds' : 'FAILS'}\n`,
    )
  }

  /** A figure with a bar of its own. */
  figure(what, value, bar, unit) {
    this.row(what, value, 1, bar, { unit })
  }

  /** Medians of both, measured in turns, so that noise hits both alike. */
  async interleaved(ours, theirs, rounds = this.rounds) {
    const [b, a] = await this.inTurns([theirs, ours], rounds)
    return [a, b]
  }

  /** The medians of several ways, each run in its turn; the first run of each does not count. */
  async inTurns(ways, rounds) {
    const taken = ways.map(() => [])
    for (const way of ways) await way()
    for (let i = 0; i < rounds; i++) for (const [k, way] of ways.entries()) taken[k].push(await timed(way))
    return taken.map(median)
  }

  /** Requests a second of so many clients. `request` may hold a method, headers and a body. */
  async throughput(url, connections, request = {}) {
    const { headers = { 'private-token': TOKEN }, ...rest } = request
    const { requests, non2xx } = await autocannon({ url, connections, duration: this.quick ? 3 : 6, headers, ...rest })
    if (non2xx > 0) throw new Error(`${url}: ${non2xx} answers were refusals`)
    return requests.average
  }

  /** Requests a second of ours and of the constant list that holds the same elements, in turns. */
  async againstConstant(list, connections, ours) {
    const constantUrl = await this.constantList(list)
    const [mine, constant] = [[], []]
    for (let i = 0; i < 3; i++) {
      constant.push(await this.throughput(constantUrl, connections))
      mine.push(await ours())
    }
    return [median(mine), median(constant)]
  }

  get plainPid() {
    return this.#plain.pid
  }

  /** The address of a bare Fastify, for what it offers see plain-server.mjs. */
  async plain() {
    if (this.#plainUrl) return this.#plainUrl
    this.#plain = spawn(process.execPath, [join(root, 'bench/plain-server.mjs')], { stdio: ['ignore', 'pipe', 'inherit'] })
    this.#plainUrl = String(await new Promise((resolve) => this.#plain.stdout.once('data', resolve))).trim()
    return this.#plainUrl
  }

  /** Requests a second of ours and of the list that all bars mean by the constant list: 20 projects. */
  async againstConstantList(connections, ours) {
    this.#projects ??= (async () => {
      for (let i = 0; i < 24; i++) await this.project(`listed ${i}`, { description: 'One of the projects that the list shows' })
      return call(`${this.api}/projects?per_page=20`)
    })()
    return this.againstConstant(await this.#projects, connections, ours)
  }

  /** Gives the bare Fastify a list to send and tells where. */
  async constantList(list) {
    const url = `${await this.plain()}/list`
    await call(url, { method: 'POST', body: list })
    return url
  }

  /** Where to push as the administrator. */
  remote(path) {
    return `${this.url.replace('://', `://x:${TOKEN}@`)}/${path}.git`
  }

  project(name, more = {}) {
    return call(`${this.api}/projects`, { method: 'POST', body: { name, ...more } })
  }

  /** The repository's folder. */
  stored({ id }) {
    return join(this.dataDir, 'repositories', (id % 256).toString(16).padStart(2, '0'), `${id}.git`)
  }

  /** The project `root/large` with 50,000 commits on 5,000 files, pushed once a run. */
  async large() {
    this.#large ??= (async () => {
      const source = generated(cache)
      const project = await this.project('large')
      git(source, ['push', '-q', this.remote('root/large'), 'refs/heads/*:refs/heads/*'])
      const stored = this.stored(project)
      return { project, source, stored }
    })()
    const large = await this.#large
    // each start of the service has a port of its own
    return { ...large, base: `${this.api}/projects/${large.project.id}/repository` }
  }
}
