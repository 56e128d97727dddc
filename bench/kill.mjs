import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import pg from 'pg'
import ssh2 from 'ssh2'
import { browser, prepareWrites, WRITES } from './kill-writes.mjs'

const startScript = fileURLToPath(new URL('../scripts/start.mjs', import.meta.url))
/** The service has its own process group, so it must end with its parent; its workers inherit this option. */
const endWithParent =
  'data:text/javascript,if (process.argv[1].endsWith("start.mjs")) { process.once("disconnect", () => process.kill(process.pid, "SIGKILL")); process.channel.unref() }'
export const TOKEN = 'kill-token-0123456789'
/** Milliseconds after which a call without a response, or a git or service that does not end, is a fault. */
export const PATIENCE = 120_000
const GIT_ENV = {
  PATH: process.env.PATH,
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_TERMINAL_PROMPT: '0',
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.com',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.com',
  LC_ALL: 'C',
}

/**
 * Starts the service in a folder and resolves when it is ready. `end` kills its process group and waits for its end.
 */
export async function startService(dataDir, environment = {}) {
  const child = spawn(process.execPath, ['--v8-pool-size=1', '--import', endWithParent, startScript], {
    detached: true,
    env: {
      PATH: process.env.PATH,
      TMPDIR: process.env.TMPDIR,
      DATA_DIR: dataDir,
      PORT: '0',
      SSH_PORT: '',
      LOG_LEVEL: 'warn',
      ROOST_ADMIN_TOKEN: TOKEN,
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  let out = ''
  let log = ''
  child.stderr.on('data', (text) => {
    log += text
  })
  const ended = new Promise((resolve) => child.once('close', resolve))
  let hasEnded = false
  child.once('exit', () => {
    hasEnded = true
  })
  const url = await new Promise((resolve, reject) => {
    child.stdout.on('data', (text) => {
      out += text
      const ready = /^Roost is ready at (\S+)\n/m.exec(out)?.[1]
      if (ready) resolve(ready)
    })
    void ended.then((code) => reject(new Error(`the service ended with ${code}: ${out.slice(-2000)}${log}`)))
  })
  return {
    url,
    pid: child.pid,
    log: () => out + log,
    hasEnded: () => hasEnded,
    async end(signal = 'SIGKILL') {
      try {
        process.kill(signal === 'SIGKILL' ? -child.pid : child.pid, signal)
      } catch {
        // it has ended already
      }
      // its output stays open while a child process holds it
      const late = sleep(PATIENCE, null, { ref: false }).then(() => {
        throw new Error(`the service, or what it has started, does not end after ${signal}`)
      })
      return Promise.race([ended, late])
    },
  }
}

/** Answers with a status of 5xx other than 503 since the start of this program: there should be none. */
const unexpected = []

/** Fetches a URL: status, headers and body; null if there was no complete response. Throws if there was none at all. */
async function fetched(url, options) {
  const signal = AbortSignal.timeout(PATIENCE)
  try {
    const answer = await fetch(url, { ...options, signal })
    const body = Buffer.from(await answer.arrayBuffer())
    const { status, headers } = answer
    if (status >= 500 && status !== 503)
      unexpected.push(`${options?.method ?? 'GET'} ${new URL(url).pathname}: ${status} ${body.toString().slice(0, 200)}`)
    return { status, headers, body }
  } catch {
    if (signal.aborted) throw new Error(`${options?.method ?? 'GET'} ${url} is not answered`)
    return null
  }
}

/** The status and the JSON body of a response. */
function parsed(answer) {
  if (!answer) return null
  const isJson = answer.headers.get('content-type')?.includes('json') && answer.body.length > 0
  return { status: answer.status, body: isJson ? JSON.parse(answer.body) : null }
}

/** Calls the API: status and body; null if there was no complete response. Throws if there was none at all. */
export const call = async (url, method, path, body) =>
  parsed(
    await fetched(`${url}/api/v4${path}`, {
      method,
      headers: { 'private-token': TOKEN, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    }),
  )

/**
 * GETs a path with retries: the database may still be recovering (503), and a connection to a killed worker stays open
 * until its memory is freed, so that a call on it is lost.
 */
export async function served(url, path) {
  for (let attempt = 1; ; attempt++) {
    const answer = await call(url, 'GET', path)
    if ((answer && answer.status !== 503) || attempt === 20) return answer
    await sleep(500)
  }
}

/** Runs git asynchronously; resolves with its exit code and output. */
export function gitBeside(cwd, args) {
  return new Promise((resolve, reject) => {
    // in its own process group, because its helpers hold its output open
    const child = spawn('git', args, { cwd, env: GIT_ENV, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    let text = ''
    child.stdout.on('data', (chunk) => {
      text += chunk
    })
    child.stderr.on('data', (chunk) => {
      text += chunk
    })
    const late = setTimeout(() => process.kill(-child.pid), PATIENCE)
    child.once('error', reject)
    child.once('close', (code, signal) => {
      clearTimeout(late)
      if (signal === 'SIGTERM') reject(new Error(`git ${args.join(' ')} does not end: ${text}`))
      else resolve({ code, text })
    })
  })
}

function git(cwd, ...args) {
  const { status, stdout, stderr } = spawnSync('git', ['-c', 'safe.directory=*', ...args], { cwd, env: GIT_ENV, encoding: 'utf8' })
  return { ok: status === 0, out: stdout.trim(), text: stdout + stderr }
}

/** The service's URL for Git, with the token. */
export const withToken = (url) => url.replace('//', `//kill:${TOKEN}@`)

export const repositoryOf = (dataDir, id) => join(dataDir, 'repositories', (id % 256).toString(16).padStart(2, '0'), `${id}.git`)

/** Calls the lock API of Git LFS of a project: status and body; null if there was no complete response. */
const locks = async (url, fullPath, path, body) =>
  parsed(
    await fetched(`${url}/${fullPath}.git/info/lfs/locks${path}`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from(`kill:${TOKEN}`).toString('base64')}`,
        accept: 'application/vnd.git-lfs+json',
        'content-type': 'application/vnd.git-lfs+json',
      },
      body: JSON.stringify(body),
    }),
  )

/** The body of an answer that must have this status. */
export const need = (answer, status, what) => {
  if (answer?.status !== status) throw new Error(`${what}: ${answer ? `${answer.status} ${JSON.stringify(answer.body)}` : 'no answer'}`)
  return answer.body
}

/**
 * What a round kills: the service with all its processes, the service alone, its git processes, the spawner, one
 * connection of Postgres, all of Postgres; and, if there are workers, one of them.
 */
export const VICTIMS = ['all', 'service', 'git', 'spawner', 'backend', 'postmaster']

const running = (dataDir) => JSON.parse(readFileSync(join(dataDir, 'postgres/running.json'), 'utf8'))

/** Runs a statement on a new connection and returns the rows. */
export async function rowsOf(server, text, values) {
  const client = new pg.Client(server)
  client.on('error', () => undefined)
  await client.connect()
  try {
    return (await client.query(text, values)).rows
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** The same in the Postgres of a data folder, which may be restarting after a kill. */
export async function query(dataDir, text, values) {
  for (const until = Date.now() + PATIENCE; ; await sleep(100))
    try {
      return await rowsOf(running(dataDir).url, text, values)
    } catch (error) {
      if (Date.now() > until) throw error
    }
}

function killProcess(pid) {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // it has just ended
  }
}

/** The git processes that work in the repositories of this instance. */
export function gitProcesses(dataDir) {
  const storage = realpathSync(join(dataDir, 'repositories'))
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readlinkSync(`/proc/${pid}/cwd`).startsWith(storage)
    } catch {
      return false
    }
  })
}

/** The children of a process that run a program of the service. */
function childrenOf(parent, program) {
  return readdirSync('/proc').filter((pid) => {
    try {
      const of = /^\d+ \(.*\) \S+ (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]
      return Number(of) === parent && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(program)
    } catch {
      return false
    }
  })
}

/** The worker processes of a service. */
export const workersOf = (service) => childrenOf(service.pid, 'main.js').map(Number)

/** The processes that start git: of the service, or of each of its workers. */
const spawnersOf = (service) => [service.pid, ...workersOf(service)].flatMap((pid) => childrenOf(pid, 'spawner.js')).map(Number)

const chosen = (all) => all[Math.floor(Math.random() * all.length)]

/** The process id of Postgres; null while there is none. */
function postmasterIn(home) {
  try {
    return Number(readFileSync(join(home, 'data/postmaster.pid'), 'utf8').split('\n', 1)[0])
  } catch {
    return null
  }
}

/** Kills the git processes that work at present; waits for one for some seconds. */
async function killGit(dataDir) {
  for (let tried = 0, pids = []; pids.length === 0 && tried < 200; tried++) {
    pids = gitProcesses(dataDir)
    for (const pid of pids) killProcess(Number(pid))
    if (pids.length === 0) await sleep(10)
  }
}

/** Kills a victim; true if this ends the service. */
export async function strike(victim, service, dataDir) {
  if (victim === 'all') process.kill(-service.pid, 'SIGKILL')
  else if (victim === 'service') process.kill(service.pid, 'SIGKILL')
  else if (victim === 'git') await killGit(dataDir)
  else if (victim === 'spawner') for (const pid of spawnersOf(service)) killProcess(pid)
  else if (victim === 'worker') killProcess(chosen(workersOf(service)))
  else if (victim === 'postmaster') {
    const { home } = JSON.parse(readFileSync(join(dataDir, 'postgres/server.json'), 'utf8'))
    const killed = postmasterIn(home)
    killProcess(killed)
    // its child processes respond for a moment longer, so that the service seems ready
    for (let tried = 0; tried < 600 && [null, killed].includes(postmasterIn(home)); tried++) await sleep(50)
  } else {
    const pids = await query(dataDir, "select pid from pg_stat_activity where application_name = 'roost' order by random() limit 1")
    for (const { pid } of pids) killProcess(pid)
  }
  return victim === 'all' || victim === 'service'
}

/** Checks in a row, each on its own connection: with several workers, each of them is met. */
const CHECKS_IN_A_ROW = 12

const isReady = ({ url }) =>
  new Promise((resolve) => {
    const request = http.get(new URL('/-/readiness', url), { agent: false, timeout: 5_000 }, (response) => {
      response.resume()
      response.once('end', () => resolve(response.statusCode === 200))
    })
    request.once('timeout', () => request.destroy())
    request.once('error', () => resolve(false))
  })

/** Resolves when all of the service responds again after a part of it was killed. */
export async function answers(service) {
  for (const until = Date.now() + PATIENCE; Date.now() < until && !service.hasEnded(); ) {
    let inRow = 0
    while (inRow < CHECKS_IN_A_ROW && (await isReady(service))) inRow++
    if (inRow === CHECKS_IN_A_ROW) return
    await sleep(50)
  }
  throw new Error(service.hasEnded() ? 'the service has ended' : `the service does not become ready again: ${service.log().slice(-2000)}`)
}

/** Resolves when a command over SSH is answered. */
async function answersBySsh({ url }, { project, key }) {
  for (const until = Date.now() + PATIENCE; Date.now() < until; await sleep(50)) {
    const port = portOfSsh(await served(url, `/projects/${project.id}`))
    if (port && (await greets(port, key))) return
  }
  throw new Error('SSH does not answer again')
}

const portOfSsh = (answer) => answer?.status === 200 && Number(new URL(answer.body.ssh_url_to_repo).port)

const greets = (port, privateKey) =>
  new Promise((resolve) => {
    const client = new ssh2.Client()
    const end = (answered) => {
      resolve(answered)
      client.destroy()
    }
    client.on('error', () => end(false))
    client.on('close', () => end(false))
    client.on('ready', () =>
      client.exec('nothing', (error, channel) => {
        if (error) end(false)
        else channel.on('data', (text) => end(`${text}`.startsWith('Welcome')))
      }),
    )
    client.connect({ host: '127.0.0.1', port, username: 'git', privateKey, readyTimeout: 10_000 })
  })

/** Starts processes that keep cores busy until `end` is called or this process ends. */
export function busyProcesses(count) {
  const program = 'const parent = process.ppid; while (process.ppid === parent) for (let i = 0; i < 1e7; i++);'
  const all = Array.from({ length: count }, () => spawn(process.execPath, ['-e', program], { stdio: 'ignore' }))
  return {
    end() {
      for (const child of all) child.kill('SIGKILL')
    },
  }
}

/** Milliseconds of writing before the kill: the minimum, and the maximum random addition. */
const WRITING = { least: 200, more: 1_300 }

/** Starts the service, again if a start ends, which is a fault. */
export async function startAgain(dataDir, environment, figures) {
  for (let attempt = 1; ; attempt++)
    try {
      return await startService(dataDir, environment)
    } catch (error) {
      figures.endedStarts.push(error.message)
      if (attempt === 5) throw error
    }
}

/** Milliseconds since `start` until something is done. */
const timeUntil = async (start, done) => {
  await done
  return Date.now() - start
}

/**
 * Kills the service or a part of it with SIGKILL at a random moment of writing and checks for lost or undone writes,
 * with the victims in turn, `rounds` times or until `minutes` are over; at the end again after a restart, with the
 * doctor. Resolves with the faults found and the figures.
 */
export async function killRounds(rounds, report, victims = ['all'], { least, more, environment = {}, busy = 0, minutes = Infinity } = WRITING) {
  const folder = mkdtempSync(join(tmpdir(), 'roost-kill-'))
  chmodSync(folder, 0o711)
  const dataDir = join(folder, 'data')
  const figures = { rounds: 0, acknowledged: {}, http: [], ssh: [], endedStarts: [], unexpected, doctor: [] }
  const faults = []
  unexpected.length = 0
  const others = busyProcesses(busy)
  const end = Date.now() + minutes * 60_000
  let service
  try {
    service = await startAgain(dataDir, { ROOST_ADMIN_PASSWORD: PASSWORD, ...environment }, figures)
    const state = await prepare(() => service, { folder, dataDir, bySsh: Boolean(environment.SSH_PORT) })
    for (let round = 1; round <= rounds && Date.now() < end; round++) {
      const victim = victims[(round - 1) % victims.length]
      const found = faults.length
      const fault = (text) => {
        faults.push(`round ${round} (${victim}): ${text}`)
        report(faults.at(-1))
      }
      const { gone, writers } = await write(service, dataDir, state, victim, least + Math.random() * more)
      const before = Date.now()
      if (!gone) await answers(service).catch((error) => fault(error.message))
      if (gone || service.hasEnded()) {
        await service.end()
        service = await startAgain(dataDir, environment, figures)
      }
      const http = Date.now() - before
      figures.http.push(http)
      if (state.key) figures.ssh.push(await timeUntil(before, answersBySsh(service, state)))
      const acknowledged = await writers
      for (const text of await look(service, dataDir, state)) fault(text)
      for (const text of await checked(state.checks.splice(0))) fault(text)
      figures.rounds = round
      const back = state.key ? `HTTP in ${http} ms, SSH in ${figures.ssh.at(-1)} ms` : `in ${http} ms`
      report(
        `round ${round} (${victim}): ${acknowledged} writes acknowledged, back ${back}, ${faults.length === found ? 'nothing lost' : `${faults.length - found} faults`}`,
      )
    }
    await service.end('SIGTERM')
    service = await startAgain(dataDir, environment, figures)
    const fault = (text) => faults.push(`after a restart: ${text}`)
    for (const text of await look(service, dataDir, state, state.ever)) fault(text)
    for (const text of await checked(state.allChecks, true)) fault(text)
    figures.acknowledged = state.acknowledged
    figures.doctor = await settled(service, dataDir)
    faults.push(...figures.doctor, ...figures.endedStarts, ...unexpected)
  } finally {
    others.end()
    await service?.end('SIGTERM')
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
  return { faults, figures }
}

const PASSWORD = 'kill password 0815'

/** Writes of which the values are kept to be checked. */
const noWrites = () => ({
  branches: new Map(),
  locks: new Map(),
  doomed: [],
  made: [],
  merged: [],
  pushed: [],
  moved: [],
  heads: new Map(),
})

/** A project to write into, and what the rounds know of it. */
async function prepare(service, { folder, dataDir, bySsh }) {
  const api = (method, path, body) => call(service().url, method, path, body)
  const project = need(await api('POST', '/projects', { name: 'kill' }), 201, 'a project')
  const commits = `/projects/${project.id}/repository/commits`
  const first = { branch: 'main', commit_message: 'first', actions: [{ action: 'create', file_path: 'first', content: '' }] }
  need(await api('POST', commits, first), 201, 'the first commit')
  const places = ['push-a', 'push-b'].map((branch) => ({ branch, work: join(folder, branch), tried: [] }))
  for (const { branch, work } of places) {
    mkdirSync(work)
    git(work, 'init', '-q', '-b', branch)
    // there is something to push, however early the first kill comes
    git(work, 'commit', '-q', '--allow-empty', '-m', 'start')
  }
  const state = { ...noWrites(), project, commits, places, ever: noWrites(), checks: [], allChecks: [], acknowledged: {}, count: 0 }
  if (bySsh) {
    const { private: key, public: title } = ssh2.utils.generateKeyPairSync('ed25519')
    need(await api('POST', '/user/keys', { title: 'kill', key: title }), 201, 'a key')
    state.key = key
    state.keyFile = join(folder, 'key')
    writeFileSync(state.keyFile, key, { mode: 0o600 })
  }
  const url = () => service().url
  const person = browser(url, fetched)
  const at = `/projects/${project.id}`
  const page = `/${project.path_with_namespace}`
  const to = await person.send('/users/sign_in', '/users/sign_in', { 'user[login]': 'root', 'user[password]': PASSWORD })
  if (!to) throw new Error('the administrator cannot sign in')
  const read = async (path) => (await served(url(), path)) ?? { status: 'not answered' }
  const rows = (text, values) => query(dataDir, text, values)
  const prepared = await prepareWrites({ call: api, project })
  state.writing = { call: api, read, query: rows, fetched, url, person, at, page, token: TOKEN, ...prepared }
  return state
}

/** What is wrong with writes; some are checked at a time. */
async function checked(checks, isEnd = false) {
  const faults = []
  const left = [...checks]
  const next = async () => {
    for (let check = left.shift(); check; check = left.shift()) {
      const fault = await check(isEnd)
      if (fault) faults.push(fault)
    }
  }
  await Promise.all(Array.from({ length: 4 }, next))
  return faults
}

/** The doctor's findings while the service runs. */
export async function examined(service, dataDir) {
  const child = spawn(process.execPath, [startScript, 'doctor'], {
    env: { PATH: process.env.PATH, TMPDIR: process.env.TMPDIR, DATA_DIR: dataDir },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  child.stdout.on('data', (chunk) => {
    text += chunk
  })
  child.stderr.on('data', (chunk) => {
    text += chunk
  })
  const code = await new Promise((resolve) => child.once('close', resolve))
  const failed = service.log().match(/.*background work failed.*/g) ?? []
  // temporary files of killed processes are harmless; the service removes them every hour
  const found = text.split('\n').filter((line) => line.includes(': ') && !/^stale file: .*\/(\.tmp-|tmp_)[^/]*: /.test(line))
  return [...(code === 0 || found.length === 0 ? [] : [`the doctor: ${found.join('; ')}`]), ...failed.map((line) => `the log: ${line.slice(0, 500)}`)]
}

/** Retries for some seconds, until the service has removed leftovers that could belong to a running push. */
async function settled(service, dataDir) {
  for (let attempt = 1; ; attempt++) {
    const faults = await examined(service, dataDir)
    if (attempt === 30 || !faults.some((fault) => /stale file: /.test(fault))) return faults
    await sleep(3_000)
  }
}

/**
 * Writes in every way until the victim is killed, and records acknowledged writes. Returns whether the service ended,
 * and the writers, which resolve with the number of acknowledged writes.
 */
async function write(service, dataDir, state, victim, time) {
  const { project, commits, places } = state
  const until = Date.now() + time
  let total = 0
  const acknowledge = (kind, by = 1) => {
    total += by
    state.acknowledged[kind] = (state.acknowledged[kind] ?? 0) + by
  }
  const on = () => Date.now() < until
  const commit = async (branch) => {
    while (on()) {
      const n = ++state.count
      const action = { action: 'create', file_path: `d${n % 7}/f${n}`, content: `${n}` }
      const answer = await call(service.url, 'POST', commits, { branch, commit_message: `${n}`, start_branch: undefined, actions: [action] })
      if (answer?.status !== 201) continue
      acknowledge('commits')
      state.pushed.push(answer.body.id)
      state.heads.set(branch, [...(state.heads.get(branch) ?? []), answer.body.id])
    }
  }
  const merge = async () => {
    while (on()) {
      const branch = `topic${++state.count}`
      const actions = [{ action: 'create', file_path: `topics/${branch}`, content: branch }]
      const head = await call(service.url, 'POST', commits, { branch, start_branch: 'main', commit_message: branch, actions })
      const sent = { title: branch, source_branch: branch, target_branch: 'main' }
      const made = head?.status === 201 ? await call(service.url, 'POST', `/projects/${project.id}/merge_requests`, sent) : null
      if (made?.status !== 201) continue
      const path = `/projects/${project.id}/merge_requests/${made.body.iid}`
      const answer = await call(service.url, 'PUT', `${path}/merge`)
      acknowledge('branches')
      acknowledge('merge requests')
      if (answer?.status !== 200) continue
      acknowledge('merges')
      state.merged.push({ path, commit: answer.body.merge_commit_sha })
    }
  }
  const push = async (place) => {
    const { work } = place
    while (on()) {
      writeFileSync(join(work, 'file'), `${++state.count}`)
      git(work, 'add', '.')
      git(work, 'commit', '-qm', `${state.count}`)
      const head = git(work, 'rev-parse', 'HEAD').out
      place.tried.push(head)
      const { code } = await pushed(service, state, place)
      if (code !== 0) continue
      place.known = head
      state.moved.push(head)
      acknowledge(state.key && place === places[1] ? 'pushes over SSH' : 'pushes')
    }
  }
  const branch = async () => {
    for (let last; on(); ) {
      const name = `b${++state.count}`
      state.branches.set(name, 'unsure')
      const made = await call(service.url, 'POST', `/projects/${project.id}/repository/branches`, { branch: name, ref: 'main' })
      if (made?.status !== 201) continue
      acknowledge('branches')
      state.branches.set(name, 'there')
      if (last) {
        state.branches.set(last, 'unsure')
        const gone = await call(service.url, 'DELETE', `/projects/${project.id}/repository/branches/${last}`)
        if (gone?.status === 204) state.branches.set(last, 'gone')
      }
      last = name
    }
  }
  const make = async () => {
    while (on()) {
      const n = ++state.count
      const made = await call(service.url, 'POST', '/projects', { name: `made ${n}`, path: `made${n}` })
      if (made?.status !== 201) continue
      const record = { id: made.body.id }
      state.made.push(record)
      const action = { action: 'create', file_path: 'a', content: 'a' }
      const answer = await call(service.url, 'POST', `/projects/${record.id}/repository/commits`, {
        branch: 'trunk',
        commit_message: 'a',
        actions: [action],
      })
      if (answer?.status === 201) record.head = answer.body.id
      acknowledge('projects')
      if (answer?.status === 201) acknowledge('commits')
    }
  }
  const lock = async () => {
    for (let last; on(); ) {
      const path = `locked/${++state.count}`
      const made = await locks(service.url, project.path_with_namespace, '', { path })
      state.locks.set(path, made?.status === 201 ? 'there' : 'unsure')
      if (made?.status !== 201) continue
      acknowledge('locks')
      if (last) {
        state.locks.set(last.path, 'unsure')
        const gone = await locks(service.url, project.path_with_namespace, `/${last.id}/unlock`, {})
        if (gone?.status === 200) state.locks.set(last.path, 'gone')
      }
      last = made.body.lock
    }
  }
  const remove = async () => {
    while (on()) {
      const n = ++state.count
      const made = await call(service.url, 'POST', '/projects', { name: `doomed ${n}`, path: `doomed${n}`, initialize_with_readme: true })
      if (made?.status !== 201) continue
      const record = { id: made.body.id, path: made.body.path_with_namespace, waits: 'unsure' }
      state.doomed.push(record)
      const gone = await call(service.url, 'DELETE', `/projects/${record.id}`)
      if (gone?.status !== 202) continue
      record.waits = true
      acknowledge('projects')
      acknowledge('deletions')
      if (n % 2 === 0) continue
      record.waits = 'unsure'
      const back = await call(service.url, 'POST', `/projects/${record.id}/restore`)
      if (back?.status !== 201) continue
      record.waits = false
      acknowledge('restored projects')
    }
  }
  const others = Object.entries(WRITES).map(async ([kind, one]) => {
    while (on()) {
      const check = await one(state.writing, ++state.count)
      if (!check) continue
      acknowledge(kind)
      state.checks.push(check)
      state.allChecks.push(check)
    }
  })
  // the writers stop at their next call, so the kill interrupts their current ones
  const writers = Promise.all([
    commit('main'),
    commit('main'),
    merge(),
    push(places[0]),
    push(places[1]),
    branch(),
    make(),
    lock(),
    remove(),
    ...others,
  ]).then(() => total)
  await sleep(time)
  return { gone: await strike(victim, service, dataDir), writers }
}

/** Pushes what a place has to its branch, the second place over SSH if it is served; resolves with git's exit code and output. */
async function pushed(service, { project, places, key, keyFile }, place) {
  const refspec = `HEAD:${place.branch}`
  if (!key || place !== places[1]) {
    const run = await gitBeside(place.work, ['push', '-q', `${withToken(service.url)}/${project.path_with_namespace}.git`, refspec])
    const status = /(?:HTTP|error:) (5\d\d)/.exec(run.text)?.[1]
    if (status && status !== '503') unexpected.push(`git push: ${run.text.slice(0, 200)}`)
    return run
  }
  const ssh = `ssh -i ${keyFile} -o BatchMode=yes -o IdentitiesOnly=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR`
  const address = (await call(service.url, 'GET', `/projects/${project.id}`))?.body?.ssh_url_to_repo
  return address ? gitBeside(place.work, ['-c', `core.sshCommand=${ssh}`, 'push', '-q', address, refspec]) : { code: null, text: 'no address' }
}

const TWICE = `select push->>'ref' as ref, push->>'commit_to' as oid, count(*) as times from events where action = 'pushed' and push->>'commit_to' is not null
  group by project_id, push->>'ref', push->>'commit_to' having count(*) > 1`

/** Adds writes to others. */
function remember(writes, others) {
  for (const [name, all] of Object.entries(noWrites()))
    if (Array.isArray(all)) others[name].push(...writes[name])
    else for (const [key, value] of writes[name]) others[name].set(key, value)
}

/** Descriptions of acknowledged writes that are missing or wrong: those of the last round, or others. */
async function look(service, dataDir, state, writes = state) {
  const { project, places } = state
  const { branches, heads, made } = writes
  if (writes === state) remember(state, state.ever)
  const faults = []
  const fault = (text) => faults.push(text)
  const directory = repositoryOf(dataDir, project.id)
  const valueAt = (ref, at = directory) => git(at, 'rev-parse', '-q', '--verify', ref).out

  // checked first: an acknowledged write must never appear undone, even briefly
  for (const { path, commit } of writes.merged.splice(0)) {
    const answer = await served(service.url, path)
    if (answer?.body?.state !== 'merged' || answer.body.merge_commit_sha !== commit) fault(`${path} is ${answer?.status} ${answer?.body?.state}`)
  }
  const untold = async (oids) => {
    const text = "select push->>'commit_to' as oid from events where action = 'pushed' and push->>'commit_to' = any($1::text[])"
    const recorded = new Set((await query(dataDir, text, [oids])).map(({ oid }) => oid))
    for (const oid of oids) if (!recorded.has(oid)) fault(`no event has ${oid}`)
    for (const { ref, oid, times } of await query(dataDir, TWICE)) fault(`${times} events have ${ref} at ${oid}`)
  }
  await untold(writes.pushed.splice(0))

  for (const [branch, ids] of heads) {
    const history = new Set(git(directory, 'rev-list', `refs/heads/${branch}`).out.split('\n'))
    for (const id of ids) if (!history.has(id)) fault(`${branch} has lost ${id}`)
    heads.set(branch, [valueAt(`refs/heads/${branch}`)])
  }
  for (const place of places) {
    const now = valueAt(`refs/heads/${place.branch}`)
    if (now !== (place.known ?? '') && !place.tried.includes(now)) fault(`${place.branch} is at ${now}, not at ${place.known}`)
    if (now !== '') place.known = now
    place.tried = []
  }
  for (const [branch, expected] of branches) {
    const is = valueAt(`refs/heads/${branch}`) === '' ? 'gone' : 'there'
    if (expected !== 'unsure' && is !== expected) fault(`${branch} is ${is}, not ${expected}`)
  }
  branches.clear()
  const fsck = () => git(directory, 'fsck', '--strict', '--full', '--no-dangling')
  let checked = fsck()
  // a pack that disappeared during fsck: a repack finished at the same time
  for (let again = 0; again < 5 && /cannot be accessed|index not opened/.test(checked.text); again++) checked = fsck()
  if (!checked.ok || /error|missing|broken/.test(checked.text)) fault(`fsck: ${checked.text}`)

  // intents are resolved before a start listens, or within seconds by a running service; one of a killed worker whose
  // refs have not moved is dropped after a minute, because the worker might only be stopped (SEC-158)
  const left = async () => (await query(dataDir, 'select * from ref_intents')).length
  const patience = workersOf(service).length > 0 ? 480 : 60
  for (let tried = 0; tried < patience && (await left()) > 0; tried++) await sleep(250)
  if ((await left()) > 0) fault(`${await left()} intents left`)
  // git reports success to its client even if the service dies afterwards
  await untold(writes.moved.splice(0))
  for (const { id, head } of made.splice(0)) {
    const answer = await served(service.url, `/projects/${id}`)
    if (answer?.status !== 200) fault(`project ${id}: ${answer?.status}`)
    const trunk = valueAt('refs/heads/trunk', repositoryOf(dataDir, id))
    if (head && trunk !== head) fault(`project ${id} is at ${trunk}, not at ${head}`)
    const { empty_repo, default_branch } = answer?.body ?? {}
    if (empty_repo !== (trunk === '')) fault(`project ${id}: empty_repo is ${empty_repo}`)
    if (trunk === '') continue
    if (default_branch !== 'trunk') fault(`project ${id}: default_branch is ${default_branch}`)
    if (git(repositoryOf(dataDir, id), 'symbolic-ref', 'HEAD').out !== 'refs/heads/trunk') fault(`project ${id}: HEAD names another branch`)
    const rows = await query(dataDir, 'select name from protected_branches where project_id = $1', [id])
    if (rows.length !== 1 || rows[0].name !== 'trunk') fault(`project ${id}: protected are ${JSON.stringify(rows)}`)
  }

  const held = new Set((await query(dataDir, 'select path from lfs_locks where project_id = $1', [project.id])).map(({ path }) => path))
  for (const [path, expected] of writes.locks) {
    const is = held.has(path) ? 'there' : 'gone'
    if (expected !== 'unsure' && is !== expected) fault(`the lock of ${path} is ${is}, not ${expected}`)
  }
  writes.locks.clear()
  for (const { id, path, waits } of writes.doomed.splice(0)) {
    const answer = await served(service.url, `/projects/${id}?include_pending_delete=true`)
    const is = answer?.status === 200 ? answer.body.marked_for_deletion_at !== null : 'lost'
    if (is === 'lost' || (waits !== 'unsure' && is !== waits)) fault(`project ${id} waits for its deletion: ${is}, not ${waits}`)
    const named = await served(service.url, `/projects/${encodeURIComponent(path)}`)
    if (is === false && named?.body?.id !== id) fault(`project ${id} was restored without its path`)
    if (is === true && named?.status !== 404) fault(`${path} is still taken by project ${named?.body?.id}`)
    if (valueAt('refs/heads/main', repositoryOf(dataDir, id)) === '') fault(`project ${id} has lost its repository`)
  }

  // without manual repair, the next write succeeds everywhere, even if locks were left
  const n = ++state.count
  const next = { branch: 'main', commit_message: 'next', actions: [{ action: 'create', file_path: `next${n}`, content: '' }] }
  const committed = await call(service.url, 'POST', state.commits, next)
  if (committed?.status !== 201) fault(`the next commit: ${committed?.status} ${JSON.stringify(committed?.body)}`)
  for (const place of places) {
    const { code, text } = await pushed(service, state, place)
    if (code === 0) place.known = git(place.work, 'rev-parse', 'HEAD').out
    else fault(`the next push: ${text}`)
  }
  return faults
}

const KILL_HELP = `usage: node bench/kill.mjs [ROUNDS] [VICTIM,…] [--busy PROCESSES] [--minutes MINUTES]
ROOST_WORKERS is the number of workers.
`

/** The longest of some times and their median, in milliseconds. */
const spread = (times) => {
  const sorted = times.toSorted((a, b) => a - b)
  return `at most ${sorted.at(-1) ?? '-'} ms, p50 ${sorted[Math.floor(sorted.length / 2)] ?? '-'} ms`
}

async function main() {
  const options = { busy: { type: 'string', default: '0' }, minutes: { type: 'string', default: 'Infinity' }, help: { type: 'boolean' } }
  const { values, positionals } = parseArgs({ options, allowPositionals: true })
  if (values.help) return void process.stdout.write(KILL_HELP)
  const { ROOST_WORKERS = '1' } = process.env
  const victims = positionals[1]?.split(',') ?? (ROOST_WORKERS === '1' ? VICTIMS : [...VICTIMS, 'worker'])
  const say = (line) => process.stdout.write(`${line}\n`)
  const { faults, figures } = await killRounds(Number(positionals[0] ?? 50), say, victims, {
    ...WRITING,
    environment: { ROOST_WORKERS, SSH_PORT: '0' },
    busy: Number(values.busy),
    minutes: Number(values.minutes),
  })
  for (const fault of faults) say(fault)
  const undone = faults.filter((fault) => fault.includes('undone')).length
  const found = figures.doctor.length + figures.endedStarts.length + figures.unexpected.length
  say(
    `acknowledged: ${Object.entries(figures.acknowledged)
      .map(([kind, count]) => `${count} ${kind}`)
      .join(', ')}`,
  )
  say(`HTTP answers again after ${spread(figures.http)}`)
  say(`SSH answers again after ${spread(figures.ssh)}`)
  say(`lost or wrong ${faults.length - found - undone}, undone ${undone}, 5xx other than 503 ${figures.unexpected.length}`)
  say(`starts that ended ${figures.endedStarts.length}, findings of the doctor ${figures.doctor.length}`)
  say(`${figures.rounds} kills, ${faults.length} faults`)
  process.exitCode = faults.length === 0 ? 0 : 1
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
