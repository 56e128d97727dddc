import { fullPathOf, type Project } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { numericId } from '../../../lib/numeric-id.js'

export type LfsOperation = 'download' | 'upload'

/** Seconds for which a token is valid: long enough for one large object on a slow line (LF-5). */
const LIFETIME = 1_800
const PREFIX = 'lfs.'
const TOKEN = /^lfs\.k?\d+\.\d+\.(?:download|upload)\.\d+\./
const PURPOSE = 'lfs token'

/** What a client needs for the LFS routes of one project, in the form of `git-lfs-authenticate`. */
export interface LfsCredentials {
  href: string
  header: { Authorization: string }
  /** Seconds. */
  expires_in: number
  expires_at: string
}

/** Whose a token is: a user's, or a deploy key's. */
export type LfsHolder = { userId: number } | { deployKey: number }

/** What a token allows: one operation of one holder on one project; an upload includes downloads. */
export interface LfsGrant {
  holder: LfsHolder
  projectId: number
  operation: LfsOperation
}

/**
 * Credentials for the LFS routes of a project, with a token that lasts half an hour. It proves only who asks: what they
 * may do is decided at every use. The caller has checked that they may do this now.
 */
export function lfsCredentials(
  ctx: Context,
  holder: LfsHolder,
  project: Pick<Project, 'id' | 'path' | 'namespace'>,
  operation: LfsOperation,
): LfsCredentials {
  const expires = Math.floor(ctx.now().getTime() / 1_000) + LIFETIME
  const claim = `${PREFIX}${'userId' in holder ? holder.userId : `k${holder.deployKey}`}.${project.id}.${operation}.${expires}`
  const token = `${claim}.${ctx.encryption.sign(claim, PURPOSE)}`
  return {
    href: `${ctx.links.http(fullPathOf(project))}/info/lfs`,
    header: { Authorization: `Basic ${Buffer.from(`lfs:${token}`).toString('base64')}` },
    expires_in: LIFETIME,
    expires_at: new Date(expires * 1_000).toISOString().replace(/\.\d+Z$/, 'Z'),
  }
}

/** Whether a password is meant as such a token. */
export const isLfsToken = (password: string): boolean => TOKEN.test(password)

/** What a token allows; `expired` where it did; null where it was not made here. */
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
