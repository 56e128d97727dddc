import { isIP } from 'node:net'
import { syncDirectory } from '../../lib/files/durable.js'
import { TooLarge } from '../errors.js'
import type { ProcessPool } from '../process/pool.js'
import { repositorySize } from '../storage/maintenance.js'
import type { FetchSource } from '../types.js'
import { tolerated } from './tolerated.js'

export interface FetchLimits {
  /** Of the whole repository, while it arrives. */
  bytes: number
  /** Of a single object. */
  objectBytes: number
  /** Milliseconds. */
  deadline: number
  /** Of what is fetched besides branches and tags. */
  refspecs?: readonly string[]
}

const WATCH = 1_000

function settings({ url, addresses, authorization, virtualHost }: FetchSource) {
  const { protocol, hostname, port } = new URL(url)
  const number = port || (protocol === 'https:' ? '443' : '80')
  // an address needs no resolving, and curl would not accept it as a name here
  const name = protocol !== 'git:' && isIP(hostname.replace(/^\[|\]$/g, '')) === 0
  const args = [
    '-c', 'http.followRedirects=false',
    '-c', 'http.proxy=',
    '-c', 'http.lowSpeedLimit=1000',
    '-c', 'http.lowSpeedTime=60',
    '-c', 'credential.helper=',
    '-c', 'core.askPass=',
    ...(name ? ['-c', `http.curloptResolve=${hostname}:${number}:${addresses.map((address) => (address.includes(':') ? `[${address}]` : address)).join(',')}`] : []),
  ] // biome-ignore format: pairs belong on one line
  const env = {
    GIT_ALLOW_PROTOCOL: protocol.slice(0, -1),
    ...(authorization !== undefined && {
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'http.extraHeader',
      GIT_CONFIG_VALUE_0: `Authorization: ${authorization}`,
    }),
    ...(virtualHost !== undefined && { GIT_OVERRIDE_VIRTUAL_HOST: virtualHost }),
  }
  return { args, env }
}

/** The branch that the HEAD of another server's repository names; null when it names none or does not say. */
export async function remoteHead(pool: ProcessPool, directory: string, source: FetchSource, signal: AbortSignal): Promise<string | null> {
  const { args, env } = settings(source)
  const { stdout } = await pool.run(directory, [...args, 'ls-remote', '--symref', '--', source.url, 'HEAD'], { env, signal, maxBytes: 1_048_576 })
  return /^ref: refs\/heads\/(\S+)\tHEAD$/m.exec(stdout.toString('utf8'))?.[1] ?? null
}

/**
 * Fetches all branches and tags, all of them or none, checked like a push (SEC-87). A ref that exists here only moves
 * forward. Throws TooLarge, Unavailable or GitFault.
 */
export async function fetchAll(pool: ProcessPool, directory: string, source: FetchSource, limits: FetchLimits, signal: AbortSignal): Promise<void> {
  const { args, env } = settings(source)
  const enough = new AbortController()
  const watch = setInterval(async () => {
    if ((await repositorySize(directory)) > limits.bytes) enough.abort(new TooLarge('the repository is too large'))
  }, WATCH)
  try {
    await pool.run(
      directory,
      [
        ...args,
        ...['-c', 'core.fsync=committed,loose-object,reference', '-c', 'core.logAllRefUpdates=false'],
        ...['-c', 'fetch.fsckObjects=true', '-c', 'fetch.unpackLimit=1', '-c', 'core.bigFileThreshold=50m', ...tolerated('fetch')],
        ...['fetch', '--quiet', '--atomic', '--no-tags', '--no-write-fetch-head', '--no-auto-maintenance', '--no-recurse-submodules'],
        ...['--', source.url, 'refs/heads/*:refs/heads/*', 'refs/tags/*:refs/tags/*', ...(limits.refspecs ?? [])],
      ],
      {
        env: { ...env, GIT_ALLOC_LIMIT: `${limits.objectBytes}` },
        signal: AbortSignal.any([signal, enough.signal]),
        deadline: limits.deadline,
      },
    )
  } finally {
    clearInterval(watch)
  }
  // they came as files of one line each, in folders of their own
  await pool.run(directory, ['-c', 'core.fsync=committed,loose-object,reference', 'pack-refs', '--all'], { deadline: limits.deadline })
  await syncDirectory(directory)
}
