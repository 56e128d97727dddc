import type { Client, Entry } from 'ldapts'
import type { Context } from '../../../context.js'
import { Unavailable } from '../../../lib/unavailable.js'
import { parseUrl } from '../../../lib/url.js'
import type { LdapProvider } from '../../../sign-on-config.js'
import { cleanProfile, notReached, type Profile } from './sign-on.js'

const CONNECT_TIMEOUT_MS = 5_000
const TIMEOUT_MS = 10_000
/** Entries that are read of the groups of a person. */
const MAX_GROUPS = 1_000

const library = () => import('ldapts')

/**
 * Runs work with a connection to a directory, and closes it. Whatever goes wrong there is Unavailable; `work` itself
 * handles what it expects.
 */
export async function withDirectory<T>(ctx: Context, provider: LdapProvider, work: (client: Client) => Promise<T>): Promise<T> {
  const { Client: Connection } = await library()
  const { url, ca, start_tls } = provider
  const host = (parseUrl(url)?.hostname ?? '').replace(/^\[|\]$/g, '')
  const tlsOptions = { host, ...(ca !== undefined && { ca }) }
  const client = new Connection({
    url: url.replace(/\/$/, ''),
    timeout: TIMEOUT_MS,
    connectTimeout: CONNECT_TIMEOUT_MS,
    ...(url.startsWith('ldaps:') && { tlsOptions }),
  })
  try {
    if (start_tls) await client.startTLS({ ...tlsOptions })
    return await work(client)
  } catch (error) {
    throw error instanceof Unavailable ? error : notReached(ctx, provider, error)
  } finally {
    await client.unbind().catch(() => undefined)
  }
}

/** A text in a filter, in which it means itself (RFC 4515). */
const inFilter = (text: string): string => text.replace(/[\\*()\0]/g, (char) => `\\${char.charCodeAt(0).toString(16).padStart(2, '0')}`)

/** A text as a value in a DN, in which it means itself (RFC 4514). */
const inDn = (text: string): string => text.replace(/[\\,+"<>;=#]/g, '\\$&').replace(/^ | $/g, '\\ ')

/** Whether the password opens the entry; `false` also for one that does not exist. */
async function bind(client: Client, dn: string, password: string): Promise<boolean> {
  const { InvalidCredentialsError, InvalidDNSyntaxError, NoSuchObjectError } = await library()
  try {
    await client.bind(dn, password)
    return true
  } catch (error) {
    if (error instanceof InvalidCredentialsError || error instanceof NoSuchObjectError || error instanceof InvalidDNSyntaxError) return false
    throw error
  }
}

/** Binds with the account of the service, if there is one. */
export async function bindService(client: Client, { bind: own }: LdapProvider): Promise<void> {
  if (own) await client.bind(own.dn, own.password)
}

/** Who signs in with a name and password; null if they are wrong. */
export async function findPerson(client: Client, provider: LdapProvider, username: string, password: string): Promise<Profile | null> {
  const { base, user_dn, filter } = provider
  if (user_dn !== undefined) {
    const dn = user_dn.replaceAll('%{username}', () => inDn(username))
    if (!(await bind(client, dn, password))) return null
    const entry = await readEntry(client, provider, dn, inFilter(username))
    return entry && profileOf(client, provider, entry)
  }
  await bindService(client, provider)
  const { searchEntries } = await client.search(base ?? '', {
    scope: 'sub',
    filter: filter.replaceAll('%{username}', () => inFilter(username)),
    attributes: Object.values(provider.attributes),
    sizeLimit: 2,
  })
  const [entry] = searchEntries
  if (!entry || searchEntries.length > 1) return null
  // groups are read with the rights of the service, before it becomes the person
  const profile = await profileOf(client, provider, entry)
  return (await bind(client, entry.dn, password)) ? profile : null
}

/** The entry of a person, if it is still there and the filter has it for this name; null otherwise. */
async function readEntry(client: Client, { filter, attributes }: LdapProvider, dn: string, username: string): Promise<Entry | null> {
  const { NoSuchObjectError } = await library()
  try {
    const { searchEntries } = await client.search(dn, {
      scope: 'base',
      filter: filter.replaceAll('%{username}', () => username),
      attributes: Object.values(attributes),
    })
    return searchEntries[0] ?? null
  } catch (error) {
    if (error instanceof NoSuchObjectError) return null
    throw error
  }
}

/** The person with a DN, whatever the name; null if they have left. */
export async function findByDn(client: Client, provider: LdapProvider, dn: string): Promise<Profile | null> {
  const entry = await readEntry(client, provider, dn, '*')
  return entry && profileOf(client, provider, entry)
}

const first = (value: Entry[string] | undefined): string => {
  const [one] = [value ?? []].flat()
  return one === undefined ? '' : String(one)
}

/** The value of an attribute, whose name is in any case. */
function attributeOf(entry: Entry, attribute: string): string {
  const name = Object.keys(entry).find((key) => key.toLowerCase() === attribute.toLowerCase())
  return name === undefined ? '' : first(entry[name])
}

async function profileOf(client: Client, provider: LdapProvider, entry: Entry): Promise<Profile> {
  const { attributes } = provider
  return cleanProfile({
    uid: entry.dn.toLowerCase(),
    username: attributeOf(entry, attributes.username),
    name: attributeOf(entry, attributes.name),
    email: attributeOf(entry, attributes.email),
    // the directory is the company's own
    verified: true,
    groups: await groupsOf(client, provider, entry.dn),
  })
}

/** The groups of a person, by name; none are asked for where none matter. */
async function groupsOf(client: Client, { groups }: LdapProvider, dn: string): Promise<string[]> {
  if (groups.base === undefined) return []
  const { searchEntries } = await client.search(groups.base, {
    scope: 'sub',
    filter: groups.filter.replaceAll('%{dn}', () => inFilter(dn)),
    attributes: [groups.attribute],
    sizeLimit: MAX_GROUPS,
  })
  return searchEntries.map((entry) => attributeOf(entry, groups.attribute)).filter((name) => name !== '')
}
