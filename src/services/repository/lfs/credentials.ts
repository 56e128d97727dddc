import { fullPathOf, type Project } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { numericId } from '../../../lib/numeric-id.js'

export type LfsOperation = 'download' | 'upload'

/** Validity of a token: long enough for one large object on a slow connection (LF-5). */
const LIFETIME_S = 1_800
const PREFIX = 'lfs.'
const TOKEN = /^lfs\.[\w-]+\.\d+\.(?:download|upload)\.\d+\./
const PURPOSE = 'lfs token'
const PASSWORD_PURPOSE = 'password of an lfs token'

/** Credentials for the LFS routes of one project, in the format of `git-lfs-authenticate`. */
export interface LfsCredentials {
  href: string
  header: { Authorization: string }
  /** Seconds. */
  expires_in: number
  expires_at: string
}

/**
 * The credential that a token is given for: a personal access token, an SSH key or deploy key, or a password, by its
 * digest.
 */
export type LfsSource = { token: number } | { key: number } | { user: number; password: string }

/** What a token allows: one operation with one credential on one project; an upload includes downloads. */
export interface LfsGrant {
  source: LfsSource
  projectId: number
  operation: LfsOperation
  /** When it ends, in seconds since 1970. */
  end: number
}

/** The digest by which a token names a password: it changes whenever a password is set. */
export const passwordDigest = (ctx: Pick<Context, 'encryption'>, user: { id: number; password_hash: string | null }): string =>
  ctx.encryption.sign(`${user.id} ${user.password_hash}`, PASSWORD_PURPOSE)

/**
 * Creates credentials for the LFS routes of a project, with a token valid for half an hour, but not longer than the
 * token that it was requested with (LF-15). The token only names the credential behind it, which is checked again at
 * every use, as is the access of its owner. The caller has checked both for this operation.
 */
export function lfsCredentials(
  ctx: Context,
  { source, end = Number.POSITIVE_INFINITY }: { source: LfsSource; end?: number },
  project: Pick<Project, 'id' | 'path' | 'namespace'>,
  operation: LfsOperation,
): LfsCredentials {
  const now = Math.floor(ctx.now().getTime() / 1_000)
  const expires = Math.min(now + LIFETIME_S, end)
  const claim = `${PREFIX}${nameOf(source)}.${project.id}.${operation}.${expires}`
  const token = `${claim}.${ctx.encryption.sign(claim, PURPOSE)}`
  return {
    href: lfsUrl(ctx, project),
    header: { Authorization: `Basic ${Buffer.from(`lfs:${token}`).toString('base64')}` },
    expires_in: expires - now,
    expires_at: new Date(expires * 1_000).toISOString().replace(/\.\d+Z$/, 'Z'),
  }
}

/** Whether a password has the format of an LFS token. */
export const isLfsToken = (password: string): boolean => TOKEN.test(password)

/** What a token allows; `expired` when it has expired, null when its signature is not valid. */
export function lfsGrant(ctx: Pick<Context, 'encryption' | 'now'>, token: string): LfsGrant | 'expired' | null {
  const dot = token.lastIndexOf('.')
  const claim = token.slice(0, dot)
  if (!ctx.encryption.verify(claim, token.slice(dot + 1), PURPOSE)) return null
  const [, name = '', project = '', operation, expires] = claim.split('.')
  const source = sourceOf(name)
  const projectId = numericId(project)
  if (source === null || projectId === null || (operation !== 'download' && operation !== 'upload')) return null
  const end = Number(expires)
  return end * 1_000 <= ctx.now().getTime() ? 'expired' : { source, projectId, operation, end }
}

/** The URL of the LFS routes of a project. */
export const lfsUrl = (ctx: Pick<Context, 'links'>, project: Pick<Project, 'path' | 'namespace'>): string =>
  `${ctx.links.http(fullPathOf(project))}/info/lfs`

const nameOf = (source: LfsSource) =>
  'token' in source ? `t${source.token}` : 'key' in source ? `k${source.key}` : `p${source.user}-${source.password}`

function sourceOf(name: string): LfsSource | null {
  const [, kind, digits = '', password] = /^([tkp])(\d+)(?:-([\w-]+))?$/.exec(name) ?? []
  const id = numericId(digits)
  if (id === null || (kind === 'p') !== (password !== undefined)) return null
  return kind === 't' ? { token: id } : kind === 'k' ? { key: id } : { user: id, password: password as string }
}
