import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { LRUCache } from 'lru-cache'
import type { Logger } from 'pino'
import { FairQueue } from '../../lib/async/fair-queue.js'
import type { Encryption } from '../../lib/crypto/encryption.js'
import { FileCache } from '../../lib/files/file-cache.js'
import { getFrom } from '../../lib/outgoing-get.js'
import { shareOf } from '../../lib/share.js'
import type { TargetRules } from '../../lib/ssrf-guard.js'
import { parseUrl } from '../../lib/url.js'
import type { Links } from '../../links.js'
import type { Settings } from './settings-table.js'

interface Signer {
  encryption: Encryption
  links: Links
}

const PURPOSE = 'external picture'
/** Longer addresses are not proxied: a part of a path has at most 4,096 characters. */
const MAX_ADDRESS = 2_048

function webUrl(address: string): URL | null {
  const url = parseUrl(address.startsWith('//') ? `https:${address}` : address)
  return url && /^https?:$/.test(url.protocol) && url.href.length <= MAX_ADDRESS ? url : null
}

/** Whether a URL is one of this service. */
const isOwn = ({ links }: Signer, { href }: URL) => href.startsWith(`${links.base}/`)

/** The path, without the prefix of the service, at which the proxy has a picture of another site; null if it is none (WB-460). */
export function proxyPath(ctx: Signer, address: string): string | null {
  const url = webUrl(address)
  if (!url || isOwn(ctx, url)) return null
  return `/-/camo/${ctx.encryption.sign(url.href, PURPOSE)}/${Buffer.from(url.href).toString('base64url')}`
}

/** The address that a path of the proxy stands for; null if the path was not made here. */
export function proxiedAddress({ encryption }: Signer, { signature, address }: { signature: string; address: string }): string | null {
  const text = Buffer.from(address, 'base64url').toString()
  return encryption.verify(text, signature, PURPOSE) ? text : null
}

/** Hosts whose pictures browsers load themselves (WB-465, RX-31). */
export const directHosts = ({ external_images: how, external_image_hosts: hosts, asset_proxy_allowlist: allowed }: Settings): string[] =>
  how === 'off' ? [] : [...(how === 'direct' ? hosts : []), ...allowed]

/** Where a page has a picture of an absolute address; null if it is not shown (WB-460, WB-465). */
export function pictureAddress(ctx: Signer, settings: Settings, address: string): string | null {
  const url = webUrl(address)
  if (!url) return null
  if (isOwn(ctx, url)) return url.href.slice(url.origin.length)
  if (directHosts(settings).some((host) => isOf(url.host, host.toLowerCase()))) return url.href
  return settings.external_images === 'proxy' ? ctx.links.prefix + proxyPath(ctx, url.href) : null
}

const isOf = (host: string, allowed: string) => (allowed.startsWith('*') ? host.endsWith(allowed.slice(1)) : host === allowed)

/** Why there is no picture to show. */
class NoPicture extends Error {
  override name = 'NoPicture'
}

export interface Picture {
  type: string
  size: number | null
  stream: Readable
}

const TYPES = new Set(
  ['png', 'jpeg', 'jpg', 'gif', 'webp', 'avif', 'svg+xml', 'x-icon', 'vnd.microsoft.icon', 'bmp', 'x-ms-bmp'].map((name) => `image/${name}`),
)
const MAX_BYTES = 5 * 1024 * 1024
const TIMEOUT_MS = 10_000
const CACHE_BYTES = 256 * 1024 * 1024
/** How long a picture is shown before its server is asked again: badges change. */
const FRESH_MS = 3_600_000
/** How long a server that had no picture is not asked again. */
export const MISSING_MS = 60_000
/** Pictures that are fetched at a time, in all processes; each is held in memory meanwhile. */
const FETCHED = 16
const OF_HOLDER = { running: 8, waiting: 256 }
const REFUSALS = { timeout: 'too many pictures came before', full: 'too many pictures are waiting' }

/**
 * Fetches pictures of other sites, and keeps them on disk: a file is the type, a line end, and the bytes; its folder is
 * the digest of the address, and its name the period of FRESH_MS in which it was fetched.
 */
export class ExternalPictures {
  readonly #files: FileCache
  readonly #turns: FairQueue
  readonly #missing = new LRUCache<string, true>({ max: 10_000, ttl: MISSING_MS })

  constructor(
    private readonly root: string,
    processes: number,
    private readonly source: { log: Logger; now(): Date; rules: TargetRules },
  ) {
    this.#files = new FileCache(root, CACHE_BYTES, processes)
    this.#turns = new FairQueue({ running: shareOf(FETCHED, processes), waiting: 1_024, wait: 15_000, refusals: REFUSALS })
    this.#files.sweep().catch((fault: unknown) => source.log.error({ err: fault }, 'the cache of pictures could not be swept'))
  }

  close = () => this.#files.close()

  /** The picture of an address, fetched once for all readers; null if there is none (WB-461 to WB-464). */
  async open(address: string, { holder, signal }: { holder: string; signal: AbortSignal }): Promise<Picture | null> {
    const folder = createHash('sha256').update(address).digest('hex')
    if (this.#missing.has(folder)) return null
    const name = `${folder}/${Math.floor(this.source.now().getTime() / FRESH_MS)}`
    try {
      const { size, stream } = await this.#files.read(name, (stop) => this.#make(address, { folder, holder, signal: stop }), signal)
      const type = await takeType(stream)
      return { type, size: size === null ? null : size - type.length - 1, stream }
    } catch (error) {
      if (error instanceof NoPicture) return null
      throw error
    }
  }

  async #make(address: string, { folder, holder, signal }: { folder: string; holder: string; signal: AbortSignal }): Promise<Readable> {
    const release = await this.#turns.acquire({ holder: { key: holder, ...OF_HOLDER } }, signal)
    try {
      const file = await fetchPicture(address, this.source.rules, AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])).catch(
        async (error: unknown) => {
          signal.throwIfAborted()
          this.source.log.debug({ err: error, address }, 'a picture could not be fetched')
          return this.#former(folder)
        },
      )
      if (file === null) {
        this.#missing.set(folder, true)
        throw new NoPicture(address)
      }
      // in place of those of former periods
      await this.#files.drop(folder)
      return Readable.from([file], { objectMode: false })
    } finally {
      release()
    }
  }

  /** The last file of former periods: shown while the server does not answer. */
  async #former(folder: string): Promise<Buffer | null> {
    const periods = await readdir(join(this.root, folder)).catch(() => [])
    const last = Math.max(...periods.map(Number))
    return periods.length === 0 ? null : readFile(join(this.root, folder, String(last))).catch(() => null)
  }
}

/** Reads the line with the type from the beginning of a file. */
async function takeType(stream: Readable): Promise<string> {
  await once(stream, 'readable')
  const start = stream.read() as Buffer
  const end = start.indexOf('\n')
  stream.unshift(start.subarray(end + 1))
  return start.toString('latin1', 0, end)
}

/** Fetches a file as the cache has it. */
const fetchPicture = (address: string, rules: TargetRules, signal: AbortSignal): Promise<Buffer> =>
  getFrom(address, rules, { accept: 'image/*', signal }, readPicture)

async function readPicture(response: IncomingMessage): Promise<Buffer> {
  const { statusCode, headers } = response
  const type = (headers['content-type'] ?? '').split(';', 1).join('').trim().toLowerCase()
  if (statusCode !== 200) throw new NoPicture(`the server answers ${statusCode}`)
  if (!TYPES.has(type)) throw new NoPicture(`it is ${type}`)
  if ((headers['content-encoding'] ?? 'identity') !== 'identity') throw new NoPicture('it is compressed')
  const chunks: Buffer[] = [Buffer.from(`${type}\n`)]
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_BYTES) throw new NoPicture('it is too large')
    chunks.push(chunk)
  }
  if (bytes === 0) throw new NoPicture('it is empty')
  return Buffer.concat(chunks)
}
