import { isIP } from 'node:net'
import { isAbsolute } from 'node:path'
import { syncDirectory } from '../../lib/files/durable.js'
import { TooLarge } from '../errors.js'
import { configOptions } from '../process/config-options.js'
import type { ProcessPool } from '../process/pool.js'
import { repositorySize } from '../storage/maintenance.js'
import type { FetchSource } from '../types.js'
import { toleratedFsckConfig } from './fsck-config.js'

export interface FetchLimits {
  /** Maximum size of the repository on disk, checked during the fetch. */
  bytes: number
  /** Maximum size of a single object. */
  objectBytes: number
  /** Milliseconds. */
  deadline: number
  /** Refspecs to fetch besides branches and tags. */
  refspecs?: readonly string[]
  /** Where branches and tags go, such as `refs/roost/upstream`; those that the source has no more are removed there. */
  below?: string | undefined
}

const SIZE_CHECK_INTERVAL_MS = 1_000

/** Options and environment of a git command that talks to a remote repository, and to no other address. */
export function remoteOptions({ url, addresses, authorization, virtualHost }: FetchSource) {
  // a bundle
  if (isAbsolute(url)) return { args: [], env: { GIT_ALLOW_PROTOCOL: 'file' } }
  const { protocol, hostname, port } = new URL(url)
  const number = port || (protocol === 'https:' ? '443' : '80')
  // only names need resolving; curl does not accept an address here
  const name = protocol !== 'git:' && isIP(hostname.replace(/^\[|\]$/g, '')) === 0
  const args = configOptions({
    'http.followRedirects': 'false',
    'http.proxy': '',
    'http.lowSpeedLimit': '1000',
    'http.lowSpeedTime': '60',
    'credential.helper': '',
    'core.askPass': '',
    ...(name && {
      'http.curloptResolve': `${hostname}:${number}:${addresses.map((address) => (address.includes(':') ? `[${address}]` : address)).join(',')}`,
    }),
  })
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

/** The branch that HEAD of a remote repository points at; null if HEAD is detached or the server does not say. */
export async function remoteHead(pool: ProcessPool, directory: string, source: FetchSource, signal: AbortSignal): Promise<string | null> {
  const { args, env } = remoteOptions(source)
  const { stdout } = await pool.run(directory, [...args, 'ls-remote', '--symref', '--', source.url, 'HEAD'], { env, signal, maxBytes: 1_048_576 })
  return /^ref: refs\/heads\/(\S+)\tHEAD$/m.exec(stdout.toString('utf8'))?.[1] ?? null
}

/**
 * Fetches all branches and tags atomically, with the object checks of a push (SEC-87). Existing refs only move
 * fast-forward, unless they go below another prefix. Throws TooLarge, Unavailable or GitFault.
 */
export async function fetchAll(pool: ProcessPool, directory: string, source: FetchSource, limits: FetchLimits, signal: AbortSignal): Promise<void> {
  const { args, env } = remoteOptions(source)
  const tooLarge = new AbortController()
  const sizeCheck = setInterval(async () => {
    if ((await repositorySize(directory)) > limits.bytes) tooLarge.abort(new TooLarge('the repository is too large'))
  }, SIZE_CHECK_INTERVAL_MS)
  try {
    await pool.run(
      directory,
      [
        ...args,
        ...['-c', 'core.fsync=committed,loose-object,reference', '-c', 'core.logAllRefUpdates=false'],
        ...['-c', 'fetch.fsckObjects=true', '-c', 'fetch.unpackLimit=1', '-c', 'core.bigFileThreshold=50m', ...toleratedFsckConfig('fetch')],
        ...['fetch', '--quiet', '--atomic', '--no-tags', '--no-write-fetch-head', '--no-auto-maintenance', '--no-recurse-submodules'],
        ...(limits.below === undefined ? [] : ['--prune']),
        ...['--', source.url, ...refspecsTo(limits.below), ...(limits.refspecs ?? [])],
      ],
      {
        env: { ...env, GIT_ALLOC_LIMIT: `${limits.objectBytes}` },
        signal: AbortSignal.any([signal, tooLarge.signal]),
        deadline: limits.deadline,
      },
    )
  } finally {
    clearInterval(sizeCheck)
  }
  // fetched refs are loose: pack them
  await pool.run(directory, ['-c', 'core.fsync=committed,loose-object,reference', 'pack-refs', '--all'], { deadline: limits.deadline })
  await syncDirectory(directory)
}

const refspecsTo = (below: string | undefined) =>
  below === undefined ? ['refs/heads/*:refs/heads/*', 'refs/tags/*:refs/tags/*'] : [`+refs/heads/*:${below}/heads/*`, `+refs/tags/*:${below}/tags/*`]

const BUNDLE_DEADLINE_MS = 6 * 3_600_000

/** Writes a bundle of all refs into a new file; false if there are none. */
export async function bundle(pool: ProcessPool, directory: string, file: string, signal: AbortSignal): Promise<boolean> {
  const { stdout } = await pool.run(directory, ['for-each-ref', '--count=1'], { signal })
  if (stdout.length === 0) return false
  await pool.run(directory, ['-c', 'core.bigFileThreshold=50m', 'bundle', 'create', '--quiet', file, '--all'], {
    signal,
    deadline: BUNDLE_DEADLINE_MS,
  })
  return true
}
