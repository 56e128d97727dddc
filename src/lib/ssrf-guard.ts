import { promises as dns, type LookupAddress } from 'node:dns'
import http from 'node:http'
import https from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import ipaddr from 'ipaddr.js'
import { parseUrl } from './url.js'

/** Why an address given by a user is not called; the message is for that user. */
export class BadTarget extends Error {
  override name = 'BadTarget'
}

/** All addresses of a host name. */
export type Resolve = (host: string) => Promise<LookupAddress[]>

export interface TargetRules {
  /** Such as `http:`. */
  protocols: readonly string[]
  /** Also addresses of this machine and of private networks. */
  allowLocal: boolean
  /** Accepts a host without an address, to which nothing can be sent now. */
  unknownHosts?: boolean
  resolve?: Resolve
}

/**
 * A URL that may be called, and the addresses to connect to: those that were checked, whatever the name resolves to a
 * moment later.
 */
export interface Target {
  /** As the standard serialises it, without user and password. */
  url: URL
  addresses: LookupAddress[]
  credentials: { user: string; password: string } | null
}

const LOCAL = 'is blocked: requests to the local network are not allowed'

/** The host of a virtual machine answers there, though the address looks public. */
const METADATA = new Set(['168.63.129.16'])

/**
 * Whether an address belongs to the public internet: not to this machine, to private, shared, link-local, multicast,
 * documentation or reserved ranges, and does not embed such an address (SEC-138).
 */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0) return false
  const parsed = ipaddr.process(address)
  if (METADATA.has(parsed.toString()) || parsed.range() !== 'unicast') return false
  // of IPv6 only this eighth has been allocated
  return parsed.kind() === 'ipv4' || (Number(parsed.toByteArray()[0]) & 0xe0) === 0x20
}

const lookup: Resolve = (host) => dns.lookup(host, { all: true, verbatim: true })

/** Parses a URL, resolves its host and checks every address (SEC-64, SEC-138). Throws BadTarget. */
export async function checkTarget(text: string, { protocols, allowLocal, unknownHosts = false, resolve = lookup }: TargetRules): Promise<Target> {
  // before the parser removes them
  const url = /[\p{Cc}\s\\]/u.test(text) || !/^[a-z]+:\/\/[^/]/i.test(text) ? null : parseUrl(text)
  if (!url) throw new BadTarget('is not a valid URL')
  if (!protocols.includes(url.protocol)) throw new BadTarget(`is not a URL of ${protocols.map((protocol) => protocol.slice(0, -1)).join(', ')}`)
  const host = hostOf(url)
  const credentials = url.username || url.password ? { user: decoded(url.username), password: decoded(url.password) } : null
  url.username = ''
  url.password = ''
  url.hash = ''
  const family = isIP(host)
  const addresses = family > 0 ? [{ address: host, family }] : await named(host, resolve, unknownHosts)
  if (!allowLocal && !addresses.every(({ address }) => isPublicAddress(address))) throw new BadTarget(LOCAL)
  return { url, addresses, credentials }
}

/**
 * The host that is connected to: numbers in any spelling become an address, as the standard demands for http and the
 * system's resolver does for other protocols.
 */
function hostOf(url: URL): string {
  const host = parseUrl(`http://${url.hostname}`)?.hostname.replace(/^\[|\]$/g, '') ?? ''
  if (host === '' || host.length > 253) throw new BadTarget('is not a valid URL')
  return host
}

function decoded(text: string): string {
  try {
    const plain = decodeURIComponent(text)
    if (/\p{Cc}/u.test(plain)) throw new BadTarget('is not a valid URL')
    return plain
  } catch (error) {
    if (error instanceof BadTarget) throw error
    throw new BadTarget('is not a valid URL')
  }
}

async function named(host: string, resolve: Resolve, unknown: boolean): Promise<LookupAddress[]> {
  const found = await resolve(host).catch(() => [])
  if (found.length === 0 && !unknown) throw new BadTarget('names a host that cannot be found')
  return found
}

export interface Answer {
  status: number
  headers: http.IncomingHttpHeaders
}

export interface AskOptions {
  headers?: Record<string, string>
  /** Milliseconds until the connection must be made, and until the headers must have arrived. */
  connectWithin?: number
  answerWithin?: number
  signal?: AbortSignal
}

/** A lookup that knows the checked addresses and no others, whatever the name. */
export const pinnedTo = (addresses: LookupAddress[]): LookupFunction =>
  ((_host, options, done) => {
    const [first] = addresses
    if (options.all) done(null, addresses)
    else done(null, first?.address ?? '', first?.family)
  }) as LookupFunction

/**
 * Sends a GET and reads only the headers. Connects to a checked address and to no other, through no proxy, and follows
 * no redirect (SEC-138 to SEC-140).
 */
export function askHead(
  { url, addresses }: Target,
  { headers, connectWithin = 5_000, answerWithin = 10_000, signal }: AskOptions = {},
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
    const late = (text: string) => () => call.destroy(new BadTarget(text))
    const connecting = setTimeout(late('does not answer'), connectWithin)
    const answering = setTimeout(late('does not answer in time'), answerWithin)
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
