import { access, constants, mkdir, readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config.js'
import { ProcessPool } from '../git/process/pool.js'
import { StartFault } from '../lib/start-fault.js'
import { SSH_LIMITS, type SshLimits } from '../transport/ssh/limits.js'

const MIN_GIT_VERSION = [2, 38] as const

/** Throws if there is no suitable git. */
export async function checkGit(): Promise<void> {
  const needed = `git ${MIN_GIT_VERSION.join('.')} or newer is needed`
  const pool = new ProcessPool()
  const version = await pool.run('/', ['--version']).then(
    ({ stdout }) => stdout.toString(),
    () => undefined,
  )
  await pool.close()
  if (version === undefined) throw new StartFault(`${needed}, none was found on PATH`)
  const [, major = '0', minor = '0'] = /^\D*(\d+)\.(\d+)/.exec(version) ?? []
  if (Number(major) > MIN_GIT_VERSION[0] || (Number(major) === MIN_GIT_VERSION[0] && Number(minor) >= MIN_GIT_VERSION[1])) return
  throw new StartFault(`${needed}, this is ${version.trim().replace(/^git version /, 'git ')}`)
}

/** File descriptors needed for connections, git processes and files. */
const MIN_OPEN_FILES = 512

/** Of these, those that connections of clients never take. */
const RESERVED_OPEN_FILES = 256

/** How many files this process may have open at once. */
async function maxOpenFiles(): Promise<number> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '')
  return Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY)
}

/** How many connections of HTTP and of SSH this process may have, so that files are left for its work (SEC-233). */
export async function connectionBudget(): Promise<{ http: number; ssh: number }> {
  const budget = (await maxOpenFiles()) - RESERVED_OPEN_FILES
  const ssh = Math.min(SSH_LIMITS.connections, Math.floor(budget / 4))
  return { http: budget - ssh, ssh }
}

/** The limits of SSH in this process. */
export const sshLimits = async (): Promise<SshLimits> => ({ ...SSH_LIMITS, connections: (await connectionBudget()).ssh })

/** Throws if the limit of open files is too low. */
export async function checkDescriptors(): Promise<void> {
  const limit = await maxOpenFiles()
  if (limit < MIN_OPEN_FILES)
    throw new StartFault(`only ${limit} files may be open at once and ${MIN_OPEN_FILES} are needed: raise the limit (ulimit -n)`)
}

/** Throws if the address cannot be listened on. */
export async function checkAddress({ host, port }: Config): Promise<void> {
  if (port !== 0) await probePort(host, port)
}

/**
 * The configuration with the real port of SSH, a free one for 0. A port that was named and is taken is refused; when
 * the default port is taken, `warn` is called and SSH is off.
 */
export async function resolveSshPort(config: Config, warn: (fault: StartFault) => void): Promise<Config> {
  const { host, port, named } = config.ssh
  if (port === null) return config
  const resolved = await probePort(host, port).catch((error: StartFault) => {
    const fault = new StartFault(error.message.replace('set HOST and PORT', 'set SSH_HOST and SSH_PORT, or SSH_PORT to nothing'))
    if (named) throw fault
    warn(fault)
    return null
  })
  return Object.freeze({ ...config, ssh: Object.freeze({ ...config.ssh, port: resolved }) })
}

/** Throws if the data folder has no instance: a command would create a new, empty one. */
export async function checkInstance(config: Config): Promise<void> {
  const marker = config.databaseUrl === undefined ? 'postgres/server.json' : config.secretKey === undefined ? 'hooks' : '.'
  await access(join(config.dataDir, marker)).catch(() => {
    throw new StartFault(`${config.dataDir} holds no Roost instance: set DATA_DIR to the folder the service was started with`)
  })
}

/** Creates the data folder and the storages; throws if one is not writable. */
export async function checkFolders(config: Config): Promise<void> {
  // As root, Postgres runs under another account, which must be able to enter the data folder.
  const mode = process.getuid?.() === 0 ? 0o711 : 0o700
  await checkFolder('DATA_DIR', config.dataDir, mode)
  for (const path of Object.values(config.storages)) await checkFolder('STORAGES', path, 0o700)
}

async function checkFolder(variable: string, path: string, mode: number): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode })
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    throw new StartFault(`${variable} ${path} cannot be written (${(error as NodeJS.ErrnoException).code})`)
  }
}

/**
 * The configuration with the real address: port 0 becomes a free port, and a missing base URL becomes the address,
 * without port 80.
 */
export async function resolveAddress(config: Config): Promise<Config & { baseUrl: string }> {
  const port = config.port === 0 ? await probePort(config.host, 0) : config.port
  const name = ['0.0.0.0', '::'].includes(config.host) ? 'localhost' : config.host.includes(':') ? `[${config.host}]` : config.host
  return Object.freeze({ ...config, port, baseUrl: config.baseUrl ?? new URL(`http://${name}:${port}`).origin })
}

/** How long a port may stay taken after its process was killed, in milliseconds, and how often it is tried. */
const TAKEN_GRACE_MS = 2_000
const TAKEN_INTERVAL_MS = 100

/**
 * Listens briefly to check the address; resolves with the port. The processes of a service that was killed may hold the
 * port for a moment longer (SEC-235).
 */
async function probePort(host: string, port: number): Promise<number> {
  for (const deadline = performance.now() + TAKEN_GRACE_MS; ; await sleep(TAKEN_INTERVAL_MS)) {
    try {
      return await listenBriefly(host, port)
    } catch (error) {
      const taken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
      if (!taken || performance.now() > deadline) throw cannotListen(host, port, error as NodeJS.ErrnoException)
    }
  }
}

function listenBriefly(host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(port, host, () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}

export const cannotListen = (host: string, port: number, { code }: NodeJS.ErrnoException) =>
  new StartFault(`cannot listen on ${host}:${port} (${code}): set HOST and PORT`)
