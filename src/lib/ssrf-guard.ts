import { promises as dns, type LookupAddress } from 'node:dns'
import http from 'node:http'
import https from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { networkInterfaces } from 'node:os'
import ipaddr from 'ipaddr.js'
import { parseUrl } from './url.js'

/** Why a URL given by a user is not called; the message is for that user. */
export class BadTarget extends Error {
  override name = 'BadTarget'
}

/** Resolves a host name to all its addresses. */
export type Resolve = (host: string) => Promise<LookupAddress[]>

export interface TargetRules {
  /** Allowed protocols, such as `http:`. */
  protocols: readonly string[]
  /** Allow addresses of this machine and of private networks. */
  allowLocal: boolean
  /** The URL of this service; its addresses count as of this machine, at its ports (SEC-273). */
  self?: { url: string; port: number }
  /** Accept a host that does not resolve; nothing can be sent to it now. */
  allowUnknownHosts?: boolean
  resolve?: Resolve
}

/** A URL that may be called, with the checked addresses to connect to, even if the name resolves differently later. */
export interface Target {
  /** Without user and password. */
  url: URL
  addresses: LookupAddress[]
  credentials: { user: string; password: string } | null
}

const LOCAL_BLOCKED = 'is blocked: requests to the local network are not allowed'
const SELF_BLOCKED = 'is blocked: requests to this service are not allowed'

/** Metadata services of cloud providers whose addresses look public. */
const METADATA_ADDRESSES = new Set(['168.63.129.16'])

/**
 * Whether an address belongs to the public internet: it is not of this machine, nor in a private, shared, link-local,
 * multicast, documentation or reserved range, and does not embed such an address (SEC-138).
 */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0) return false
  const parsed = ipaddr.process(address)
  if (METADATA_ADDRESSES.has(parsed.toString()) || parsed.range() !== 'unicast') return false
  // only this eighth of IPv6 has been allocated (2000::/3)
  return parsed.kind() === 'ipv4' || (Number(parsed.toByteArray()[0]) & 0xe0) === 0x20
}

const lookup: Resolve = (host) => dns.lookup(host, { all: true, verbatim: true })

/** Parses a URL, resolves its host and checks every address (SEC-64, SEC-138). Throws BadTarget. */
export async function checkTarget(
  text: string,
  { protocols, allowLocal, self, allowUnknownHosts = false, resolve = lookup }: TargetRules,
): Promise<Target> {
  // checked first, because the parser removes these characters
  const url = /[\p{Cc}\s\\]/u.test(text) || !/^[a-z]+:\/\/[^/]/i.test(text) ? null : parseUrl(text)
  if (!url) throw new BadTarget('is not a valid URL')
  if (!protocols.includes(url.protocol)) throw new BadTarget(`is not a URL of ${protocols.map((protocol) => protocol.slice(0, -1)).join(', ')}`)
  const host = hostOf(url)
  const credentials = url.username || url.password ? { user: decodeCredential(url.username), password: decodeCredential(url.password) } : null
  url.username = ''
  url.password = ''
  url.hash = ''
  const family = isIP(host)
  const addresses = family > 0 ? [{ address: host, family }] : await resolveHost(host, resolve, allowUnknownHosts)
  if (!allowLocal && !addresses.every(({ address }) => isPublicAddress(address))) throw new BadTarget(LOCAL_BLOCKED)
  if (!allowLocal && self && (await isSelf(url, host, addresses, { ...self, resolve }))) throw new BadTarget(SELF_BLOCKED)
  return { url, addresses, credentials }
}

const portOf = ({ port, protocol }: URL) => Number(port) || (protocol === 'https:' ? 443 : 80)

/**
 * Whether a target is this service: its host name, an address of that name in place of a name, or an address of this
 * machine, at a port of the service. Other ports may belong to other services, and another name with an address of ours
 * may be another customer of the same proxy.
 */
async function isSelf(
  target: URL,
  host: string,
  addresses: LookupAddress[],
  { url, port, resolve }: { url: string; port: number; resolve: Resolve },
): Promise<boolean> {
  const ownUrl = new URL(url)
  // port 80 redirects to 443, or serves the same
  if (![port, portOf(ownUrl), 80, 443].includes(portOf(target))) return false
  const ownHost = hostOf(ownUrl)
  if (host.replace(/\.$/, '') === ownHost) return true
  const named = isIP(host) && !isIP(ownHost) ? await resolveHost(ownHost, resolve, true) : []
  const local = Object.values(networkInterfaces()).flatMap((list) => list ?? [])
  const own = new Set([ownHost, ...[...named, ...local].map(({ address }) => address)])
  return addresses.some(({ address }) => own.has(address))
}

/**
 * The host to connect to: numbers in any notation become an address, as the URL standard requires for http and system
 * resolvers do for other protocols.
 */
function hostOf(url: URL): string {
  const host = parseUrl(`http://${url.hostname}`)?.hostname.replace(/^\[|\]$/g, '') ?? ''
  if (host === '' || host.length > 253) throw new BadTarget('is not a valid URL')
  return host
}

function decodeCredential(text: string): string {
  try {
    const plain = decodeURIComponent(text)
    if (/\p{Cc}/u.test(plain)) throw new BadTarget('is not a valid URL')
    return plain
  } catch (error) {
    if (error instanceof BadTarget) throw error
    throw new BadTarget('is not a valid URL')
  }
}

async function resolveHost(host: string, resolve: Resolve, unknown: boolean): Promise<LookupAddress[]> {
  const found = await resolve(host).catch(() => [])
  if (found.length === 0 && !unknown) throw new BadTarget('names a host that cannot be found')
  return found
}

export interface Answer {
  status: number
  headers: http.IncomingHttpHeaders
}

export interface FetchHeadersOptions {
  headers?: Record<string, string>
  /** Milliseconds until the connection must be made, and until the headers must have arrived. */
  connectTimeout?: number
  responseTimeout?: number
  signal?: AbortSignal
}

/** A lookup that returns only the checked addresses, whatever the name. */
export const pinnedTo = (addresses: LookupAddress[]): LookupFunction =>
  ((_host, options, done) => {
    const [first] = addresses
    if (options.all) done(null, addresses)
    else done(null, first?.address ?? '', first?.family)
  }) as LookupFunction

/**
 * Sends a GET and reads only the headers of the response. Connects to a checked address and to no other, without a
 * proxy, and follows no redirect (SEC-138 to SEC-140).
 */
export function fetchHeaders(
  { url, addresses }: Target,
  { headers, connectTimeout = 5_000, responseTimeout = 10_000, signal }: FetchHeadersOptions = {},
): Promise<Answer> {
  const { request } = url.protocol === 'https:' ? https : http
  return new Promise((resolve, reject) => {
    const call = request(url, {
      agent: false,
      lookup: pinnedTo(addresses),
      maxHeaderSize: 16_384,
      ...(headers && { headers }),
      ...(signal && { signal }),
    })
    const timeOut = (text: string) => () => call.destroy(new BadTarget(text))
    const connecting = setTimeout(timeOut('does not answer'), connectTimeout)
    const answering = setTimeout(timeOut('does not answer in time'), responseTimeout)
    call.once('socket', (socket) => socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => clearTimeout(connecting)))
    call.once('response', (response) => {
      resolve({ status: response.statusCode ?? 0, headers: response.headers })
      response.on('error', () => undefined)
      response.destroy()
    })
    call.once('error', reject)
    call.once('close', () => {
      clearTimeout(connecting)
      clearTimeout(answering)
    })
    call.end()
  })
}
