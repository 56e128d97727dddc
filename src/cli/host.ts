import { access, constants, mkdir } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { Config } from '../config.js'
import { ProcessPool } from '../git/processes.js'
import { StartFault } from '../lib/start-fault.js'

const OLDEST_GIT = [2, 38] as const

/** Refuses a machine without a git that can do what we ask of it. */
export async function checkGit(): Promise<void> {
  const needed = `git ${OLDEST_GIT.join('.')} or newer is needed`
  const pool = new ProcessPool()
  const said = await pool.run('/', ['--version']).then(
    ({ stdout }) => stdout.toString(),
    () => undefined,
  )
  await pool.close()
  if (said === undefined) throw new StartFault(`${needed}, none was found on PATH`)
  const [, major = '0', minor = '0'] = /(\d+)\.(\d+)/.exec(said) ?? []
  if (Number(major) > OLDEST_GIT[0] || (Number(major) === OLDEST_GIT[0] && Number(minor) >= OLDEST_GIT[1])) return
  throw new StartFault(`${needed}, this is ${said.trim().replace(/^git version /, 'git ')}`)
}

/** Makes the data folder and the storages, and refuses those that cannot be written. */
export async function checkFolders(config: Config): Promise<void> {
  // As root the database runs under another account, which passes through the data folder.
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

/** The configuration with the address filled in that is true once it is listened on: port 0 becomes a free port, a missing base URL the address. */
export async function settleAddress(config: Config): Promise<Config & { baseUrl: string }> {
  const port = config.port === 0 ? await freePort(config.host) : config.port
  const name = ['0.0.0.0', '::'].includes(config.host) ? 'localhost' : config.host.includes(':') ? `[${config.host}]` : config.host
  return Object.freeze({ ...config, port, baseUrl: config.baseUrl ?? `http://${name}:${port}` })
}

function freePort(host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', (error) => reject(new StartFault(`cannot listen on ${host}: ${error.message}`)))
    server.listen(0, host, () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}
