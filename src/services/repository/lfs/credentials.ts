import { fullPathOf, type Project } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { numericId } from '../../../lib/numeric-id.js'

export type LfsOperation = 'download' | 'upload'

/** Validity of a token: long enough for one large object on a slow connection (LF-5). */
const LIFETIME_S = 1_800
const PREFIX = 'lfs.'
const TOKEN = /^lfs\.k?\d+\.\d+\.(?:download|upload)\.\d+\./
const PURPOSE = 'lfs token'

/** Credentials for the LFS routes of one project, in the format of `git-lfs-authenticate`. */
export interface LfsCredentials {
  href: string
  header: { Authorization: string }
  /** Seconds. */
  expires_in: number
  expires_at: string
}

/** The holder of a token: a user or a deploy key. */
export type LfsHolder = { userId: number } | { deployKey: number }

/** What a token allows: one operation of one holder on one project; an upload includes downloads. */
export interface LfsGrant {
  holder: LfsHolder
  projectId: number
  operation: LfsOperation
}

/**
 * Creates credentials for the LFS routes of a project, with a token valid for half an hour. The token only identifies
 * the holder: their access is checked again at every use. The caller has checked it for this operation.
 */
export function lfsCredentials(
  ctx: Context,
  holder: LfsHolder,
  project: Pick<Project, 'id' | 'path' | 'namespace'>,
  operation: LfsOperation,
): LfsCredentials {
  const expires = Math.floor(ctx.now().getTime() / 1_000) + LIFETIME_S
  const claim = `${PREFIX}${'userId' in holder ? holder.userId : `k${holder.deployKey}`}.${project.id}.${operation}.${expires}`
  const token = `${claim}.${ctx.encryption.sign(claim, PURPOSE)}`
  return {
    href: `${ctx.links.http(fullPathOf(project))}/info/lfs`,
    header: { Authorization: `Basic ${Buffer.from(`lfs:${token}`).toString('base64')}` },
    expires_in: LIFETIME_S,
    expires_at: new Date(expires * 1_000).toISOString().replace(/\.\d+Z$/, 'Z'),
  }
}

/** Whether a password has the format of an LFS token. */
export const isLfsToken = (password: string): boolean => TOKEN.test(password)

/** What a token allows; `expired` when it has expired, null when its signature is not valid. */
export function lfsGrant(ctx: Context, token: string): LfsGrant | 'expired' | null {
  const end = token.lastIndexOf('.')
  const claim = token.slice(0, end)
  if (!ctx.encryption.verify(claim, token.slice(end + 1), PURPOSE)) return null
  const [, who = '', project = '', operation, expires] = claim.split('.')
  const id = numericId(who.replace(/^k/, ''))
  const projectId = numericId(project)
  if (id === null || projectId === null || (operation !== 'download' && operation !== 'upload')) return null
  return Number(expires) * 1_000 <= ctx.now().getTime()
    ? 'expired'
    : { holder: who.startsWith('k') ? { deployKey: id } : { userId: id }, projectId, operation }
}
