import { and, asc, eq } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import { LEVELS } from '../../access/can.js'
import type { Project } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { count } from '../../db/decoded.js'
import { onlyRow } from '../../db/only-row.js'
import { deployTokens, namespaces } from '../../db/schema/index.js'
import { invalidRecord, notFound } from '../../failures.js'
import { digestOf, newSecret } from '../../lib/crypto/secret.js'
import type { Keyset } from '../../lib/keyset.js'
import { lengthOf, tooLong } from '../../rules/path.js'
import { audit } from '../core/audit.js'
import { lockName } from '../core/lock-name.js'
import { afterRow, limits, type Page, type Paging } from '../core/page.js'

export type DeployToken = typeof deployTokens.$inferSelect

/** The project or group that tokens belong to. */
export interface TokenSource {
  kind: 'project' | 'group'
  id: number
  fullPath: string
}

/** Maximum number of tokens per project or group (SEC-130). */
const MAX_DEPLOY_TOKENS = 100
/** The scopes: code, images and packages (PT-11). */
export const DEPLOY_TOKEN_SCOPES = ['read_repository', 'read_registry', 'write_registry', 'read_package_registry', 'write_package_registry']
/** Minimum time between two recorded uses of a token. */
const LAST_USED_INTERVAL_MS = 60_000

const belongsTo = ({ kind, id }: TokenSource) => eq(kind === 'project' ? deployTokens.project_id : deployTokens.group_id, id)

/** The tokens of one source, or of all, ordered by id (DK-8). */
export async function listDeployTokens(ctx: Context, source: TokenSource | null, paging: Paging & Keyset): Promise<Page<DeployToken>> {
  const { limit, offset, ...bounds } = limits(paging)
  const condition = and(source ? belongsTo(source) : undefined, afterRow(deployTokens.id, bounds))
  const [items, total] = await Promise.all([
    ctx.db.read.select().from(deployTokens).where(condition).orderBy(asc(deployTokens.id)).limit(limit).offset(offset),
    ctx.db.read.select({ total: count() }).from(deployTokens).where(condition),
  ])
  return { items, total: total[0]?.total ?? 0 }
}

const missing = () => notFound('DeployToken')

export async function getDeployToken(ctx: Context, source: TokenSource, id: number): Promise<DeployToken> {
  const [row] = await ctx.db.write
    .select()
    .from(deployTokens)
    .where(and(belongsTo(source), eq(deployTokens.id, id)))
  if (!row) throw missing()
  return row
}

export interface NewDeployToken {
  name: string
  username?: string | undefined
  scopes: string[]
  expires_at?: Date | undefined
}

function faultsOf({ name, username, scopes }: NewDeployToken): Record<string, string[]> {
  const faults: Record<string, string[]> = {}
  if (name.trim() === '') faults['name'] = ["can't be blank"]
  else if (lengthOf(name) > 255) faults['name'] = [tooLong(255)]
  if (username !== undefined && !/^[\w.+-]{1,255}$/.test(username)) faults['username'] = ["can contain only letters, digits, '_', '-', '+', and '.'"]
  if (scopes.length === 0) faults['scopes'] = ["can't be blank"]
  else if (new Set(scopes).size < scopes.length || scopes.some((scope) => !DEPLOY_TOKEN_SCOPES.includes(scope)))
    faults['scopes'] = ['can only contain available scopes']
  return faults
}

/** Creates a token and returns it with its value, of which only a digest is stored. */
export async function createDeployToken(
  ctx: Context,
  { user }: SignedIn,
  source: TokenSource,
  given: NewDeployToken,
): Promise<{ token: DeployToken; value: string }> {
  const faults = faultsOf(given)
  if (Object.keys(faults).length > 0) throw invalidRecord(faults)
  const value = newSecret(ctx.random)
  return ctx.db.transaction(async (tx) => {
    await lockName(tx, `deploy tokens of ${source.kind} ${source.id}`)
    if ((await tx.$count(deployTokens, belongsTo(source))) >= MAX_DEPLOY_TOKENS)
      throw invalidRecord({ base: [`there are already ${MAX_DEPLOY_TOKENS} tokens`] })
    const owner = source.kind === 'project' ? { project_id: source.id } : { group_id: source.id }
    const { name, scopes, username = '', expires_at = null } = given
    const values = { ...owner, creator_id: user.id, name, username, scopes, expires_at, digest: digestOf(value), created_at: ctx.now() }
    const token = onlyRow(await tx.insert(deployTokens).values(values).returning())
    if (username === '') {
      token.username = `deploy-token-${token.id}`
      await tx.update(deployTokens).set({ username: token.username }).where(eq(deployTokens.id, token.id))
    }
    const target = { type: source.kind, id: source.id, name: source.fullPath }
    await audit(ctx, tx, { action: 'deploy_token_created', target, changes: { token_id: token.id, name } })
    return { token, value }
  })
}

export async function revokeDeployToken(ctx: Context, source: TokenSource, id: number): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const [token] = await tx
      .delete(deployTokens)
      .where(and(belongsTo(source), eq(deployTokens.id, id)))
      .returning()
    if (!token) throw missing()
    const target = { type: source.kind, id: source.id, name: source.fullPath }
    await audit(ctx, tx, { action: 'deploy_token_revoked', target, changes: { token_id: id, name: token.name } })
  })
}

/** A deploy token presented as a credential. */
export interface PresentedToken {
  username: string
  scopes: string[]
  valid: boolean
  project_id: number | null
  /** Full path of the group whose projects it gives access to. */
  group: string | null
}

/** The token with this value, which may have expired; null when there is none. */
export async function findDeployToken(ctx: Context, value: string): Promise<PresentedToken | null> {
  const [row] = await ctx.db.read
    .select({ token: deployTokens, group: namespaces.full_path })
    .from(deployTokens)
    .leftJoin(namespaces, eq(namespaces.id, deployTokens.group_id))
    .where(eq(deployTokens.digest, digestOf(value)))
  if (!row) return null
  const { token, group } = row
  const now = ctx.now()
  const valid = token.expires_at === null || token.expires_at > now
  if (valid && (!token.last_used_at || now.getTime() - token.last_used_at.getTime() > LAST_USED_INTERVAL_MS))
    ctx.jobs.add('deploy token last used', async () => {
      await ctx.db.write.update(deployTokens).set({ last_used_at: now }).where(eq(deployTokens.id, token.id))
    })
  return { username: token.username, scopes: token.scopes, valid, project_id: token.project_id, group }
}

/** Whether a token is for a project: of it, or of a group that it is in. */
export function coversProject({ project_id, group }: PresentedToken, project: Project): boolean {
  const { full_path } = project.namespace
  return project_id === project.id || (group !== null && (full_path === group || full_path.startsWith(`${group}/`)))
}

/** The access level of a token on a project for Git: that of a reporter, with the scope for it. */
export const levelOfToken = (token: PresentedToken, project: Project): number =>
  token.scopes.includes('read_repository') && coversProject(token, project) ? LEVELS.reporter : 0
