import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'

const startScript = fileURLToPath(new URL('../scripts/start.mjs', import.meta.url))
/** The service has its own process group, so it must end with its parent; its workers inherit this option. */
const endWithParent =
  'data:text/javascript,if (process.argv[1].endsWith("start.mjs")) { process.once("disconnect", () => process.kill(process.pid, "SIGKILL")); process.channel.unref() }'
export const TOKEN = 'kill-token-0123456789'
/** Milliseconds after which a call without a response, or a git or service that does not end, is a fault. */
const PATIENCE = 120_000
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

/** Calls the API: status and body; null if there was no complete response. Throws if there was none at all. */
export async function call(url, method, path, body) {
  const signal = AbortSignal.timeout(PATIENCE)
  try {
    const answer = await fetch(`${url}/api/v4${path}`, {
      method,
      signal,
      headers: { 'private-token': TOKEN, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { status: answer.status, body: text === '' ? null : JSON.parse(text) }
  } catch {
    if (signal.aborted) throw new Error(`${method} ${path} is not answered`)
    return null
  }
}

/**
 * GETs a path with retries: the database may still be recovering (503), and a connection to a killed worker stays open
 * until its memory is freed, so that a call on it is lost.
 */
async function served(url, path) {
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
async function locks(url, fullPath, path, body) {
  const signal = AbortSignal.timeout(PATIENCE)
  try {
    const answer = await fetch(`${url}/${fullPath}.git/info/lfs/locks${path}`, {
      method: 'POST',
      signal,
      headers: {
        authorization: `Basic ${Buffer.from(`kill:${TOKEN}`).toString('base64')}`,
        accept: 'application/vnd.git-lfs+json',
        'content-type': 'application/vnd.git-lfs+json',
      },
      body: JSON.stringify(body),
    })
    return { status: answer.status, body: await answer.json() }
  } catch {
    if (signal.aborted) throw new Error(`a lock of ${fullPath} is not answered`)
    return null
  }
}

const need = (answer, status, what) => {
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
async function query(dataDir, text, values) {
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

/** Kills a victim; true if this ends the service. */
async function strike(victim, service, dataDir) {
  if (victim === 'all') process.kill(-service.pid, 'SIGKILL')
  else if (victim === 'service') process.kill(service.pid, 'SIGKILL')
  else if (victim === 'git') for (const pid of gitProcesses(dataDir)) killProcess(Number(pid))
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

/** Waits until all of the service responds again after a part of it was killed. */
async function answers(service) {
  for (let tried = 0, inRow = 0; tried < 2_000; tried++) {
    inRow = (await isReady(service)) ? inRow + 1 : 0
    if (inRow === CHECKS_IN_A_ROW) return
    if (inRow === 0) await sleep(50)
  }
  throw new Error(`the service does not become ready again: ${service.log().slice(-2000)}`)
}

/** Milliseconds of writing before the kill: the minimum, and the maximum random addition. */
const WRITING = { least: 200, more: 1_300 }

/**
 * Kills the service or a part of it with SIGKILL at a random moment of writing and checks for lost or undone writes;
 * `rounds` times, with the victims in turn. Resolves with the faults found.
 */
export async function killRounds(rounds, report, victims = ['all'], { least, more, environment = {} } = WRITING) {
  const folder = mkdtempSync(join(tmpdir(), 'roost-kill-'))
  chmodSync(folder, 0o711)
  const dataDir = join(folder, 'data')
  const faults = []
  let service = await startService(dataDir, environment)
  try {
    const project = need(await call(service.url, 'POST', '/projects', { name: 'kill' }), 201, 'a project')
    const commits = `/projects/${project.id}/repository/commits`
    const first = { branch: 'main', commit_message: 'first', actions: [{ action: 'create', file_path: 'first', content: '' }] }
    need(await call(service.url, 'POST', commits, first), 201, 'the first commit')
    const places = ['push-a', 'push-b'].map((branch) => ({ branch, work: join(folder, branch), tried: [] }))
    for (const { branch, work } of places) {
      mkdirSync(work)
      git(work, 'init', '-q', '-b', branch)
      // there is something to push, however early the first kill comes
      git(work, 'commit', '-q', '--allow-empty', '-m', 'start')
    }
    const state = {
      project,
      commits,
      places,
      branches: new Map(),
      locks: new Map(),
      doomed: [],
      made: [],
      merged: [],
      pushed: [],
      moved: [],
      heads: new Map(),
      count: 0,
    }
    for (let round = 1; round <= rounds; round++) {
      const victim = victims[(round - 1) % victims.length]
      const { acknowledged, gone } = await write(service, dataDir, state, victim, least + Math.random() * more)
      const before = Date.now()
      if (gone) {
        await service.end()
        service = await startService(dataDir, environment)
      } else await answers(service)
      const found = await look(service, dataDir, state)
      faults.push(...found.map((fault) => `round ${round} (${victim}): ${fault}`))
      report(
        `round ${round} (${victim}): ${acknowledged} writes acknowledged, back in ${Date.now() - before} ms, ${found.length === 0 ? 'nothing lost' : found.join('; ')}`,
      )
    }
    faults.push(...(await settled(service, dataDir)))
  } finally {
    await service.end('SIGTERM')
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
  return faults
}

/** The doctor's findings while the service runs. */
async function examined(service, dataDir) {
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
 * Writes in every way until the victim is killed, and records acknowledged writes. Returns their number and whether the
 * service ended.
 */
async function write(service, dataDir, state, victim, time) {
  const { project, commits, places } = state
  const until = Date.now() + time
  let acknowledged = 0
  const on = () => Date.now() < until
  const commit = async (branch) => {
    while (on()) {
      const n = ++state.count
      const action = { action: 'create', file_path: `d${n % 7}/f${n}`, content: `${n}` }
      const answer = await call(service.url, 'POST', commits, { branch, commit_message: `${n}`, start_branch: undefined, actions: [action] })
      if (answer?.status !== 201) continue
      acknowledged++
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
      acknowledged += 2
      if (answer?.status !== 200) continue
      acknowledged++
      state.merged.push({ path, commit: answer.body.merge_commit_sha })
    }
  }
  const push = async (place) => {
    const { branch, work } = place
    while (on()) {
      writeFileSync(join(work, 'file'), `${++state.count}`)
      git(work, 'add', '.')
      git(work, 'commit', '-qm', `${state.count}`)
      const head = git(work, 'rev-parse', 'HEAD').out
      place.tried.push(head)
      const { code } = await gitBeside(work, ['push', '-q', `${withToken(service.url)}/${project.path_with_namespace}.git`, `HEAD:${branch}`])
      if (code !== 0) continue
      place.known = head
      state.moved.push(head)
      acknowledged++
    }
  }
  const branch = async () => {
    for (let last; on(); ) {
      const name = `b${++state.count}`
      state.branches.set(name, 'unsure')
      const made = await call(service.url, 'POST', `/projects/${project.id}/repository/branches`, { branch: name, ref: 'main' })
      if (made?.status !== 201) continue
      acknowledged++
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
      acknowledged += answer?.status === 201 ? 2 : 1
    }
  }
  const lock = async () => {
    for (let last; on(); ) {
      const path = `locked/${++state.count}`
      const made = await locks(service.url, project.path_with_namespace, '', { path })
      state.locks.set(path, made?.status === 201 ? 'there' : 'unsure')
      if (made?.status !== 201) continue
      acknowledged++
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
      acknowledged += 2
      if (n % 2 === 0) continue
      record.waits = 'unsure'
      const back = await call(service.url, 'POST', `/projects/${record.id}/restore`)
      if (back?.status !== 201) continue
      record.waits = false
      acknowledged++
    }
  }
  // the writers stop at their next call, so the kill interrupts their current ones
  const writers = Promise.all([commit('main'), commit('main'), merge(), push(places[0]), push(places[1]), branch(), make(), lock(), remove()])
  await sleep(time)
  const gone = await strike(victim, service, dataDir)
  await writers
  return { acknowledged, gone }
}

const TWICE = `select push->>'ref' as ref, push->>'commit_to' as oid, count(*) as times from events where action = 'pushed' and push->>'commit_to' is not null
  group by project_id, push->>'ref', push->>'commit_to' having count(*) > 1`

/** Descriptions of acknowledged writes that are missing or wrong. */
async function look(service, dataDir, state) {
  const { project, places, branches, heads, made } = state
  const faults = []
  const fault = (text) => faults.push(text)
  const directory = repositoryOf(dataDir, project.id)
  const valueAt = (ref, at = directory) => git(at, 'rev-parse', '-q', '--verify', ref).out

  // checked first: an acknowledged write must never appear undone, even briefly
  for (const { path, commit } of state.merged.splice(0)) {
    const answer = await served(service.url, path)
    if (answer?.body?.state !== 'merged' || answer.body.merge_commit_sha !== commit) fault(`${path} is ${answer?.status} ${answer?.body?.state}`)
  }
  const untold = async (oids) => {
    const text = "select push->>'commit_to' as oid from events where action = 'pushed' and push->>'commit_to' = any($1::text[])"
    const recorded = new Set((await query(dataDir, text, [oids])).map(({ oid }) => oid))
    for (const oid of oids) if (!recorded.has(oid)) fault(`no event has ${oid}`)
    for (const { ref, oid, times } of await query(dataDir, TWICE)) fault(`${times} events have ${ref} at ${oid}`)
  }
  await untold(state.pushed.splice(0))

  for (const [branch, ids] of heads) {
    for (const id of ids) if (!git(directory, 'merge-base', '--is-ancestor', id, `refs/heads/${branch}`).ok) fault(`${branch} has lost ${id}`)
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
  let checked = git(directory, 'fsck', '--strict', '--full', '--no-dangling')
  // a pack that disappeared during fsck: a repack finished at the same time
  if (/cannot be accessed|index not opened/.test(checked.text)) checked = git(directory, 'fsck', '--strict', '--full', '--no-dangling')
  if (!checked.ok || /error|missing|broken/.test(checked.text)) fault(`fsck: ${checked.text}`)

  // intents are resolved before a start listens, or within seconds by a running service; one of a killed worker whose
  // refs have not moved is dropped after a minute, because the worker might only be stopped (SEC-158)
  const left = async () => (await query(dataDir, 'select * from ref_intents')).length
  const patience = workersOf(service).length > 0 ? 480 : 60
  for (let tried = 0; tried < patience && (await left()) > 0; tried++) await sleep(250)
  if ((await left()) > 0) fault(`${await left()} intents left`)
  // git reports success to its client even if the service dies afterwards
  await untold(state.moved.splice(0))
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
  for (const [path, expected] of state.locks) {
    const is = held.has(path) ? 'there' : 'gone'
    if (expected !== 'unsure' && is !== expected) fault(`the lock of ${path} is ${is}, not ${expected}`)
  }
  state.locks.clear()
  for (const { id, path, waits } of state.doomed.splice(0)) {
    const answer = await served(service.url, `/projects/${id}`)
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
    const { code, text } = await gitBeside(place.work, [
      'push',
      `${withToken(service.url)}/${project.path_with_namespace}.git`,
      `HEAD:${place.branch}`,
    ])
    if (code === 0) place.known = git(place.work, 'rev-parse', 'HEAD').out
    else fault(`the next push: ${text}`)
  }
  return faults
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const rounds = Number(process.argv[2] ?? 50)
  const { ROOST_WORKERS = '1' } = process.env
  const victims = process.argv[3]?.split(',') ?? (ROOST_WORKERS === '1' ? VICTIMS : [...VICTIMS, 'worker'])
  const faults = await killRounds(rounds, (line) => process.stdout.write(`${line}\n`), victims, { ...WRITING, environment: { ROOST_WORKERS } })
  for (const fault of faults) process.stdout.write(`${fault}\n`)
  process.stdout.write(`${rounds} kills, ${faults.length} faults\n`)
  process.exitCode = faults.length === 0 ? 0 : 1
}
