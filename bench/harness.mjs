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

/** The duration of the work in milliseconds. */
export async function timed(work) {
  const start = performance.now()
  await work()
  return performance.now() - start
}

/** Runs git and resolves with its output. */
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

/** Calls the API as the administrator; throws on an error status. Resolves with parsed JSON, or text. */
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

/** CPU seconds used by a process and its children so far. */
function cpuSeconds(pid) {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean)
  return [pid, ...children].reduce((sum, each) => {
    try {
      const fields = readFileSync(`/proc/${each}/stat`, 'utf8')
        .replace(/^.*\) /, '')
        .split(' ')
      // its own and that of its ended children, in hundredths of a second
      return sum + [11, 12, 13, 14].reduce((ticks, at) => ticks + Number(fields[at]), 0) / 100
    } catch {
      return sum
    }
  }, 0)
}

/** The Postgres server of a data folder, and its child processes. */
export function postgresOf(dataDir) {
  const master = readFileSync(join(dataDir, 'postgres/data/postmaster.pid'), 'utf8').split('\n')[0]
  const children = spawnSync('ps', ['-o', 'pid=', '--ppid', master]).stdout.toString().trim().split(/\s+/)
  return [master, ...children]
}

/** CPU time of processes and their ended children, in hundredths of a second. */
export const ticks = (pids) =>
  pids.reduce((sum, pid) => {
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
        .replace(/^.*\) /, '')
        .split(' ')
      return sum + [11, 12, 13, 14].reduce((all, at) => all + Number(fields[at]), 0)
    } catch {
      return sum
    }
  }, 0)

/**
 * The environment of a part: a running service with an empty database, a plain server as the baseline, and the results.
 */
export class Bench {
  rows = []
  #plain = null
  #plainUrl = null
  #large = null
  #projects = null
  #stopping = false

  /** `program` is the built service, by default that of this folder. */
  constructor({ quick, only = '', program = join(root, 'dist/main.js') }) {
    this.quick = quick
    this.program = program
    /** Measures only calls whose names contain this word; '' for all. */
    this.only = only
    this.rounds = quick ? 7 : 21
    mkdirSync(cache, { recursive: true })
    this.dataDir = mkdtempSync(join(tmpdir(), 'roost-bench-'))
    chmodSync(this.dataDir, 0o711) // if started as root, Postgres runs under another account and must traverse the folder
    this.scratch = mkdtempSync(join(tmpdir(), 'roost-bench-'))
  }

  /** Starts the service; resolves with the time until it is ready. */
  start(environment = {}) {
    return new Promise((resolve, reject) => {
      const begun = performance.now()
      const child = spawn(process.execPath, ['--v8-pool-size=1', this.program], {
        env: {
          PATH: process.env.PATH,
          DATA_DIR: this.dataDir,
          PORT: '0',
          SSH_PORT: '0',
          ROOST_ADMIN_TOKEN: TOKEN,
          // webhook receivers of the bench are local
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

  /** Resolves when the background work of earlier calls is done. */
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

  /** Runs SQL in the service's database, to insert many rows quickly; returns the rows. */
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

  /** Opens a connection to the service's database. */
  async connection() {
    const client = new pg.Client(this.databaseUrl)
    await client.connect()
    return client
  }

  /** Stops everything and removes all data. */
  async close() {
    if (this.#stopping) return
    this.#stopping = true
    this.#plain?.kill()
    if (this.child?.exitCode === null) await this.stop()
    rmSync(this.dataDir, { recursive: true, force: true })
    rmSync(this.scratch, { recursive: true, force: true })
  }

  /**
   * Adds a row: ours, theirs, and whether the limit holds. `bar` limits ours/theirs from above, or from below with
   * `atLeast`.
   */
  row(what, ours, theirs, bar, { unit = 'ms', atLeast = false } = {}) {
    const ratio = ours / theirs
    const holds = atLeast ? ratio >= bar : ratio <= bar
    this.rows.push({ what, ours, theirs, ratio, bar, unit, atLeast, holds })
    process.stdout.write(
      `${what}: ${ours.toFixed(1)} ${unit} against ${theirs.toFixed(1)} ${unit}, ratio ${ratio.toFixed(2)}, bar ${atLeast ? '>=' : '<='} ${bar} ${holds ? 'holds' : 'FAILS'}\n`,
    )
  }

  /** Adds a single figure with its own limit. */
  figure(what, value, bar, unit) {
    this.row(what, value, 1, bar, { unit })
  }

  /** Medians of both, measured alternately, so that noise affects both equally. */
  async interleaved(ours, theirs, rounds = this.rounds) {
    const [b, a] = await this.inTurns([theirs, ours], rounds)
    return [a, b]
  }

  /** Medians of several variants, measured alternately; the first run of each is discarded. */
  async inTurns(ways, rounds) {
    const taken = ways.map(() => [])
    for (const way of ways) await way()
    for (let i = 0; i < rounds; i++) for (const [k, way] of ways.entries()) taken[k].push(await timed(way))
    return taken.map(median)
  }

  /** Requests per second with a number of clients. `request` can have a method, headers and a body. */
  async throughput(url, connections, request = {}) {
    const { headers = { 'private-token': TOKEN }, ...rest } = request
    const { requests, non2xx } = await autocannon({ url, connections, duration: this.quick ? 3 : 6, headers, ...rest })
    if (non2xx > 0) throw new Error(`${url}: ${non2xx} answers were refusals`)
    return requests.average
  }

  /** Requests per second of ours and of a constant list with the same elements, measured alternately. */
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

  /** The URL of a bare Fastify; see plain-server.mjs. */
  async plain() {
    if (this.#plainUrl) return this.#plainUrl
    this.#plain = spawn(process.execPath, [join(root, 'bench/plain-server.mjs')], { stdio: ['ignore', 'pipe', 'inherit'] })
    this.#plainUrl = String(await new Promise((resolve) => this.#plain.stdout.once('data', resolve))).trim()
    return this.#plainUrl
  }

  /** Requests per second of ours and of the standard constant list of 20 projects. */
  async againstConstantList(connections, ours) {
    this.#projects ??= (async () => {
      for (let i = 0; i < 24; i++) await this.project(`listed ${i}`, { description: 'One of the projects that the list shows' })
      return call(`${this.api}/projects?per_page=20`)
    })()
    return this.againstConstant(await this.#projects, connections, ours)
  }

  /** Stores a list in the bare Fastify and returns its URL. */
  async constantList(list) {
    const url = `${await this.plain()}/list`
    await call(url, { method: 'POST', body: list })
    return url
  }

  /** The URL for pushes as the administrator. */
  remote(path) {
    return `${this.url.replace('://', `://x:${TOKEN}@`)}/${path}.git`
  }

  project(name, more = {}) {
    return call(`${this.api}/projects`, { method: 'POST', body: { name, ...more } })
  }

  /** The folder of a repository. */
  stored({ id }) {
    return join(this.dataDir, 'repositories', (id % 256).toString(16).padStart(2, '0'), `${id}.git`)
  }

  /** The project `root/large` with 50,000 commits on 5,000 files, pushed once per run. */
  async large() {
    this.#large ??= (async () => {
      const source = generated(cache)
      const project = await this.project('large')
      git(source, ['push', '-q', this.remote('root/large'), 'refs/heads/*:refs/heads/*'])
      const stored = this.stored(project)
      return { project, source, stored }
    })()
    const large = await this.#large
    // each start of the service uses another port
    return { ...large, base: `${this.api}/projects/${large.project.id}/repository` }
  }
}
