import { and, eq, isNull, sql } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import { SCOPES } from '../../access/scopes.js'
import type { Context } from '../../context.js'
import { inIds } from '../../db/conditions.js'
import { bots, members, tokens, users } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { forbidden, invalidRecord, notFound, refused, unauthenticated } from '../../failures.js'
import { newSecret } from '../../lib/crypto/secret.js'
import { type AuditAction, audit } from '../core/audit.js'
import { createdNow } from '../core/created-now.js'
import { lockName } from '../core/lock-name.js'
import type { Page } from '../core/page.js'
import { insertToken, type NewToken, rotateToken, selectTokens, type Token, type TokenFilter, tokenFaults } from '../identity/tokens.js'
import { insertUser } from '../identity/users.js'
import { checkGrant, lockSource, type MemberSource, recordMembership, sourceColumns } from './members.js'

/** The token of a project or group, with the role of its bot there (PT-1). */
export interface AccessToken {
  token: Token
  access_level: number
}

export interface AccessTokenWithValue extends AccessToken {
  value: string
}

export interface NewAccessToken extends NewToken {
  access_level: number
}

/** What these tokens may be for: not an account, which is a bot's here, and not to act as others (PT-2). */
export const ACCESS_TOKEN_SCOPES = SCOPES.filter((scope) => scope !== 'sudo' && scope !== 'read_user')
/** Maximum number of bots per project or group (SEC-130). */
const MAX_ACCESS_TOKENS = 100

const botOf = ({ kind, id }: MemberSource) => eq(kind === 'project' ? bots.project_id : bots.group_id, id)

const ofSource = (source: MemberSource) =>
  sql`${tokens.user_id} in (select ${bots.user_id} from ${bots} join ${users} on ${users.id} = ${bots.user_id} where ${botOf(source)} and ${users.removal} is null)`

const selectLevels = statement('levels of bots', (db, kind: MemberSource['kind']) =>
  db
    .select({ user_id: members.user_id, access_level: members.access_level })
    .from(members)
    .where(and(eq(kind === 'project' ? members.project_id : members.namespace_id, sql.placeholder('source')), inIds(members.user_id))),
)

async function withLevels(ctx: Context, source: MemberSource, found: Token[]): Promise<AccessToken[]> {
  const rows =
    found.length === 0 ? [] : await selectLevels(ctx.db, source.kind).execute({ source: source.id, ids: found.map((token) => token.user_id) })
  const levels = new Map(rows.map(({ user_id, access_level }) => [user_id, access_level]))
  // the role ends with the term of the token
  return found.map((token) => ({ token, access_level: levels.get(token.user_id) ?? 0 }))
}

/** The tokens of a project or group, also those that are not active any more while their bot is there (PT-4). */
export async function listAccessTokens(ctx: Context, source: MemberSource, filter: TokenFilter): Promise<Page<AccessToken>> {
  const { items, total } = await selectTokens(ctx, ofSource(source), filter)
  return { items: await withLevels(ctx, source, items), total }
}

export async function getAccessToken(ctx: Context, source: MemberSource, id: number): Promise<AccessToken> {
  const rows = await ctx.db.read
    .select()
    .from(tokens)
    .where(and(eq(tokens.id, id), ofSource(source)))
  const [found] = await withLevels(ctx, source, rows)
  if (!found) throw notFound('Access Token')
  return found
}

export const auditAccessToken = (
  ctx: Context,
  tx: Parameters<typeof audit>[1],
  { kind, id, fullPath }: MemberSource,
  action: AuditAction & `access_token_${string}`,
  { token, access_level }: AccessToken,
) =>
  audit(ctx, tx, {
    action,
    target: { type: kind, id, name: fullPath },
    changes: { token_id: token.id, name: token.name, user_id: token.user_id, access_level, scopes: token.scopes, expires_at: token.expires_at },
  })

/** Creates a token with a bot of its own, which is a member of the project or group and nothing else (PT-1 to PT-3). */
export async function createAccessToken(ctx: Context, caller: SignedIn, source: MemberSource, given: NewAccessToken): Promise<AccessTokenWithValue> {
  if (caller.user.kind === 'bot') throw forbidden('the token of a project or group makes no tokens')
  const { access_level, ...wanted } = given
  const faults = tokenFaults(wanted)
  if (wanted.scopes.some((scope) => !(ACCESS_TOKEN_SCOPES as string[]).includes(scope))) faults['scopes'] ??= ['can only contain available scopes']
  if (Object.keys(faults).length > 0) throw invalidRecord(faults)
  if (access_level > source.level)
    throw refused("400 Bad request - Access level of the token can't be greater the access level of the user who created the token")
  checkGrant(ctx, source, access_level, given.expires_at)
  const value = newSecret(ctx.random)
  return ctx.db.transaction(async (tx) => {
    await lockSource(tx, source)
    await lockName(tx, `access tokens of ${source.kind} ${source.id}`)
    const held = await tx
      .select({ id: bots.user_id })
      .from(bots)
      .innerJoin(users, and(eq(users.id, bots.user_id), isNull(users.removal)))
      .where(botOf(source))
    if (held.length >= MAX_ACCESS_TOKENS) throw invalidRecord({ base: [`there are already ${MAX_ACCESS_TOKENS} tokens`] })
    const username = `${source.kind}_${source.id}_bot_${ctx.random.bytes('token', 16).toString('hex')}`
    const bot = await insertUser(tx, {
      username,
      name: given.name,
      // a reserved domain without mailboxes
      email: `${username}@users.invalid`,
      kind: 'bot',
      // it sees what it is a member of, and what is public
      external: true,
      projects_limit: 0,
      can_create_group: false,
      confirmed_at: ctx.now(),
      ...createdNow(ctx),
    })
    await tx.insert(bots).values({
      user_id: bot.id,
      ...(source.kind === 'project' ? { project_id: source.id } : { group_id: source.id }),
      creator_id: caller.user.id,
    })
    const membership = { user_id: bot.id, access_level, expires_at: given.expires_at ?? null, created_by_id: caller.user.id, ...createdNow(ctx) }
    await tx.insert(members).values({ ...membership, ...sourceColumns(source) })
    await recordMembership(ctx, tx, source, bot.id, 'joined')
    const token = await insertToken(ctx, tx, wanted, { user_id: bot.id, parent_id: null, value })
    await auditAccessToken(ctx, tx, source, 'access_token_created', { token, access_level })
    return { token, access_level, value }
  })
}

/**
 * Replaces a token of the project or group by a new one with the same bot (PT-6). With `self`, that of the call, which
 * needs no role; otherwise the caller's role must be as high as the bot's.
 */
export async function rotateAccessToken(
  ctx: Context,
  caller: SignedIn,
  source: MemberSource,
  id: number | 'self',
  expiresAt: string | undefined,
): Promise<AccessTokenWithValue> {
  const self = id === 'self'
  if (!self && caller.user.kind === 'bot') throw forbidden('the token of a project or group rotates none but itself')
  const [own] = self
    ? await ctx.db.read
        .select()
        .from(tokens)
        .where(and(eq(tokens.id, caller.token.id), ofSource(source)))
    : []
  if (self && !own) throw refused(`This endpoint needs an access token of the ${source.kind}`)
  const [found] = own ? await withLevels(ctx, source, [own]) : [await getAccessToken(ctx, source, Number(id))]
  if (!found) throw unauthenticated()
  if (!self && found.access_level > source.level) throw forbidden()
  if (expiresAt !== undefined && found.access_level > 0) checkGrant(ctx, source, found.access_level, expiresAt)
  const { token, value } = await rotateToken(ctx, caller, found.token, expiresAt)
  await auditAccessToken(ctx, ctx.db.write, source, 'access_token_rotated', { ...found, token })
  return { ...found, token, value }
}
