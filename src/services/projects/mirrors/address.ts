import type { Context } from '../../../context.js'
import type { mirrors } from '../../../db/schema/index.js'
import { GitFault, TooLarge } from '../../../git/errors.js'
import type { FetchSource, RejectedRef } from '../../../git/types.js'
import { BadTarget, checkTarget } from '../../../lib/ssrf-guard.js'
import { isUnavailable } from '../../../lib/unavailable.js'
import { maskCredentials, parseUrl } from '../../../lib/url.js'
import { tooLong } from '../../../rules/path.js'
import { unsealed } from '../../core/unsealed.js'

export type Mirror = typeof mirrors.$inferSelect

const PROTOCOLS = ['http:', 'https:']
const MAX_URL = 2_048
const MAX_ERROR = 2_000
/** Rejected refs that an error names. */
const MAX_NAMED_REFS = 20

const rulesOf = ({ config }: Pick<Context, 'config'>) => ({ protocols: PROTOCOLS, allowLocal: config.allowLocalRequests })

export const mirrorPurpose = (projectId: number) => `mirror of project ${projectId}`

/** How the address of a mirror is stored (PM-2). Throws BadTarget. */
export async function storedAddress(ctx: Context, projectId: number, given: string): Promise<{ url: string; sealed_url: string | null }> {
  const text = given.trim()
  if (text.length > MAX_URL) throw new BadTarget(tooLong(MAX_URL))
  // a host that does not resolve now may do so later; it is checked again before each update
  const { credentials } = await checkTarget(text, { ...rulesOf(ctx), allowUnknownHosts: true })
  if (/[?#]/.test(text)) throw new BadTarget('is not the address of a Git repository')
  return credentials
    ? { url: maskCredentials(text), sealed_url: ctx.encryption.seal(text, mirrorPurpose(projectId)) }
    : { url: text, sealed_url: null }
}

/** A remote repository with what must never be shown of its address. */
export interface Remote {
  source: FetchSource
  secrets: string[]
}

/** Resolves and checks the address of a mirror (PM-5). Throws BadTarget. */
export async function remoteOf(ctx: Context, { project_id, url, sealed_url }: Mirror): Promise<Remote> {
  const address = sealed_url === null ? url : unsealed(ctx, sealed_url, mirrorPurpose(project_id))
  if (address === null) throw new BadTarget('cannot be decrypted any more: set it again')
  const target = await checkTarget(address, rulesOf(ctx))
  const { credentials } = target
  const basic = credentials && Buffer.from(`${credentials.user}:${credentials.password}`).toString('base64')
  const written = parseUrl(address)
  // a token may stand alone, as the user
  const words = credentials?.password ? [credentials.password, written?.password ?? ''] : [credentials?.user ?? '', written?.username ?? '']
  const secrets = basic === null ? [] : [basic, ...words]
  return {
    source: {
      url: target.url.href,
      addresses: target.addresses.map((each) => each.address),
      ...(basic !== null && { authorization: `Basic ${basic}` }),
    },
    // longer ones first: a short one may be a part of them
    secrets: [...new Set(secrets)].filter((secret) => secret !== '').sort((a, b) => b.length - a.length),
  }
}

/** What kept an update from being complete; its text is for the maintainers of the project. */
export class Incomplete extends Error {
  override name = 'Incomplete'
}

/** Names refs that a repository has not accepted, with the reasons. */
export function rejectedText(rejected: RejectedRef[]): string {
  const named = rejected.slice(0, MAX_NAMED_REFS).map(({ name, reason }) => `${name}: ${reason}`)
  return [...named, ...(rejected.length > named.length ? [`and ${rejected.length - named.length} more`] : [])].join('\n')
}

const FAULTS: [RegExp, (found: RegExpExecArray) => string][] = [
  [/^fatal: (Authentication failed|could not read (Username|Password)) for /m, () => 'The server asks for another user and password.'],
  [/^fatal: repository '.*' not found/m, () => 'There is no repository at this address.'],
  [/^fatal: unable to access '.*': (.*)/m, ([, reason]) => `The address cannot be accessed: ${reason}`],
  [/^error: RPC failed; (.*)/m, ([, reason]) => `The connection failed: ${reason}`],
]

/** The text of an error for maintainers: git's own lines can have paths of this service, so only known ones are shown (PM-7). */
export function errorText(error: unknown, secrets: string[]): string {
  return clean(reasonOf(error), secrets)
}

function reasonOf(error: unknown): string {
  if (error instanceof Incomplete) return error.message
  if (error instanceof BadTarget) return `The address ${error.message}`
  if (error instanceof TooLarge) return `It is beyond a limit: ${error.message}`
  if (isUnavailable(error)) return 'The update did not end in time'
  if (!(error instanceof GitFault)) return 'The server could not do it'
  const remote = [...error.stderr.matchAll(/^remote: (.*)$/gm)].map(([, line = '']) => line.trim()).filter((line) => line !== '')
  const known = FAULTS.flatMap(([pattern, text]) => {
    const found = pattern.exec(error.stderr)
    return found ? [text(found)] : []
  })
  const lines = [...known.slice(0, 1), ...remote]
  return lines.length > 0 ? lines.join('\n') : 'Git could not do it: is it the address of a repository?'
}

/** Without secrets and control characters, and not longer than an error may be. */
function clean(text: string, secrets: string[]): string {
  const shown = secrets.reduce((left, secret) => left.replaceAll(secret, '*****'), text.slice(0, MAX_ERROR * 4))
  return shown.replace(/[^\P{Cc}\n]/gu, '').slice(0, MAX_ERROR)
}
