import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'
import { isNetwork } from './lib/networks.js'
import { parseUrl } from './lib/url.js'

/** Why the file of `ROOST_SIGN_ON` is not accepted; the text goes on after the name of the variable. */
export class SignOnFault extends Error {
  override name = 'SignOnFault'
}

const MAX_FILE_BYTES = 1024 * 1024
const MAX_PROVIDERS = 50
const MAX_SECRET = 4_096

const text = (most = 500) => z.string().min(1, 'is empty').max(most, `is longer than ${most} characters`)

/** Part of addresses, and the `provider` of identities. */
const name = z.string().regex(/^[a-z][a-z0-9_]{0,49}$/, 'is not of lower-case letters, digits and _')

/** A secret that stands in the file, in an environment variable or in a file of its own. */
const secretFrom = (environment: NodeJS.ProcessEnv) =>
  z
    .union(
      [text(MAX_SECRET), z.strictObject({ env: text() }), z.strictObject({ file: text() })],
      'is neither a text nor {env: NAME} nor {file: PATH}',
    )
    .transform((given, found) => {
      if (typeof given === 'string') return given
      const value = 'env' in given ? environment[given.env] : readSecret(given.file)
      if (value !== undefined && value !== '' && value.length <= MAX_SECRET) return value
      found.addIssue(
        'env' in given ? `names the environment variable ${given.env}, which is not set` : `names a file that has no secret: ${given.file}`,
      )
      return z.NEVER
    })

function readSecret(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return undefined
  }
}

/** PEM certificates that are trusted beside, or in place of, those of the machine. */
const certificates = text().transform((path, found) => {
  const pem = readSecret(path)
  if (pem?.includes('-----BEGIN CERTIFICATE-----')) return pem
  found.addIssue(`names a file without a PEM certificate: ${path}`)
  return z.NEVER
})

/** How a person who has signed in elsewhere gets an account here. */
const accounts = {
  /** Makes an account for a person who has none. */
  create_accounts: z.boolean().default(false),
  /** Connects a person who has no identity here with the account that has the same confirmed address. */
  link_by_address: z.boolean().default(false),
  /** The provider asks for a second factor: it is not asked for again. */
  second_factor: z.boolean().default(false),
}

/** Names of groups, compared exactly. */
const groups = {
  required: z.array(text()).min(1, 'is empty').optional(),
  administrators: z.array(text()).optional(),
  external: z.array(text()).optional(),
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/

const issuer = z.string().refine((value) => {
  const url = parseUrl(value)
  return url !== null && !/[?#@]/.test(value) && (url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK.test(url.hostname)))
}, 'is not an https URL')

const openidConnect = (environment: NodeJS.ProcessEnv) =>
  z.strictObject({
    name,
    label: text(100).optional(),
    issuer,
    client_id: text(),
    client_secret: secretFrom(environment).optional(),
    /** How the client proves its secret. */
    client_authentication: z.enum(['client_secret_basic', 'client_secret_post']).default('client_secret_basic'),
    scopes: z.array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/, 'is not a scope')).default(['openid', 'profile', 'email']),
    claims: z
      .strictObject({
        username: text().default('preferred_username'),
        name: text().default('name'),
        email: text().default('email'),
        groups: text().default('groups'),
      })
      .prefault({}),
    groups: z.strictObject(groups).prefault({}),
    /** Takes addresses as verified that the provider says nothing about. */
    trust_addresses: z.boolean().default(false),
    end_session: z.boolean().default(false),
    ...accounts,
  })

/** Where the name that was typed stands in a DN or filter. */
const PLACE = '%{username}'
const withPlace = (place: string) => text(2_000).refine((value) => value.includes(place), `does not say where the name goes: ${place}`)

const ldap = (environment: NodeJS.ProcessEnv) =>
  z
    .strictObject({
      name,
      label: text(100).optional(),
      url: z.string().refine((value) => {
        const url = parseUrl(value)
        return url !== null && /^ldaps?:$/.test(url.protocol) && url.hostname !== '' && !/[?#@]/.test(value) && /^\/?$/.test(url.pathname)
      }, 'is not of the form ldaps://host or ldap://host:port'),
      start_tls: z.boolean().default(false),
      ca: certificates.optional(),
      user_dn: withPlace(PLACE).optional(),
      bind: z.strictObject({ dn: text(2_000), password: secretFrom(environment) }).optional(),
      base: text(2_000).optional(),
      filter: withPlace(PLACE).default(`(uid=${PLACE})`),
      attributes: z.strictObject({ username: text().default('uid'), name: text().default('cn'), email: text().default('mail') }).prefault({}),
      groups: z
        .strictObject({
          ...groups,
          base: text(2_000).optional(),
          filter: withPlace('%{dn}').default('(member=%{dn})'),
          attribute: text().default('cn'),
        })
        .prefault({}),
      ...accounts,
    })
    .refine(({ user_dn, base }) => (user_dn === undefined) !== (base === undefined), 'needs either user_dn or base')
    .refine(({ start_tls, url }) => !start_tls || url.startsWith('ldap:'), 'has start_tls and an ldaps URL')

const header = z.strictObject({
  name: name.default('header'),
  label: text(100).optional(),
  username: z.string().regex(/^[A-Za-z0-9-]{1,100}$/, 'is not the name of a header'),
  email: z
    .string()
    .regex(/^[A-Za-z0-9-]{1,100}$/, 'is not the name of a header')
    .optional(),
  from: z.array(z.string().refine(isNetwork, 'is not an address or network')).min(1, 'is empty'),
  ...accounts,
})

const schemaOf = (environment: NodeJS.ProcessEnv) =>
  z.strictObject({
    openid_connect: z.array(openidConnect(environment)).max(MAX_PROVIDERS, 'has too many providers').default([]),
    ldap: z.array(ldap(environment)).max(MAX_PROVIDERS, 'has too many providers').default([]),
    header: header.optional(),
  })

/** Providers that people may sign in with. */
export type SignOnConfig = z.output<ReturnType<typeof schemaOf>>
export type OpenidProvider = SignOnConfig['openid_connect'][number]
export type LdapProvider = SignOnConfig['ldap'][number]
export type HeaderProvider = NonNullable<SignOnConfig['header']>
export type Provider = OpenidProvider | LdapProvider | HeaderProvider

/** Without a file there are no providers. */
export const NO_SIGN_ON: SignOnConfig = { openid_connect: [], ldap: [] }

/** Reads the file of `ROOST_SIGN_ON`. Throws SignOnFault with the first fault (WB-40). */
export function readSignOn(path: string, environment: NodeJS.ProcessEnv): SignOnConfig {
  const parsed = schemaOf(environment).safeParse(readYaml(path) ?? {})
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw new SignOnFault(`(${path}): ${placeOf(issue?.path ?? [])}${issue?.message}`)
  }
  const { openid_connect, ldap, header } = parsed.data
  const names = [...openid_connect, ...ldap, ...(header ? [header] : [])].map((one) => one.name)
  const twice = names.find((one, i) => names.indexOf(one) !== i)
  if (twice !== undefined) throw new SignOnFault(`(${path}): the name ${twice} is there twice`)
  return parsed.data
}

const placeOf = (path: PropertyKey[]) => (path.length === 0 ? '' : `${path.map(String).join('.')} `)

function readYaml(path: string): unknown {
  let content: string
  try {
    content = readFileSync(path, 'utf8')
  } catch {
    throw new SignOnFault(`names a file that cannot be read: ${path}`)
  }
  if (Buffer.byteLength(content) > MAX_FILE_BYTES) throw new SignOnFault(`names a file of more than ${MAX_FILE_BYTES} bytes: ${path}`)
  try {
    return parse(content, { maxAliasCount: 100 })
  } catch (error) {
    throw new SignOnFault(`names a file that is not YAML: ${path}: ${error instanceof Error ? error.message.split('\n', 1)[0] : ''}`)
  }
}
