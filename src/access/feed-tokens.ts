import { eq, sql } from 'drizzle-orm'
import type { Context } from '../context.js'
import { users } from '../db/schema/index.js'
import { statement } from '../db/statement.js'
import { forbidden, unauthenticated } from '../failures.js'
import type { SignedIn } from './actor.js'
import { checkAddress } from './addresses.js'
import { countBadToken, deactivatedText } from './authenticate.js'
import { actorColumns } from './jobs/actor-columns.js'

const PURPOSE = 'feed token'

/** The token that reads feeds as a user, and nothing else (WB-231). */
export const feedTokenFor = ({ encryption }: Pick<Context, 'encryption'>, { id, version }: { id: number; version: number }): string =>
  `${id.toString(36)}-${encryption.sign(`${id} ${version}`, PURPOSE)}`

const selectOwner = statement('owner of a feed token', (db) =>
  db
    .select({ user: actorColumns, version: users.feed_token_version, state: users.state, kind: users.kind, removal: users.removal })
    .from(users)
    .where(eq(users.id, sql.placeholder('id'))),
)

/** The caller with this token; an unknown one is counted against the address, and 401. */
export async function callerOfFeedToken(ctx: Context, token: string, address: string): Promise<SignedIn> {
  const [, id = '', signature = ''] = /^([a-z\d]{1,10})-([\w-]{43})$/.exec(token) ?? []
  const [found] = id === '' ? [] : await selectOwner(ctx.db, null).execute({ id: Number.parseInt(id, 36) })
  if (!found || !ctx.encryption.verify(`${found.user.id} ${found.version}`, signature, PURPOSE)) {
    await countBadToken(ctx, address)
    throw unauthenticated()
  }
  if (found.state === 'deactivated') throw forbidden(deactivatedText(ctx))
  if (found.state !== 'active' || found.kind !== 'human' || found.removal !== null) throw forbidden('User is blocked')
  await checkAddress(ctx, found.user.id, address)
  return { user: found.user, token: { id: 0, kind: 'session', scopes: ['read_api'] } }
}
