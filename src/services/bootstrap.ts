import { eq, sql } from 'drizzle-orm'
import type { Context } from '../context.js'
import { tokens, users } from '../db/schema/index.js'
import { digestOf, newSecret } from '../lib/secret.js'
import { createToken } from './tokens.js'
import { createUser } from './users.js'

const BOOTSTRAP_SCOPES = ['api', 'sudo', 'read_repository', 'write_repository']

/** On an empty database: the administrator (CR-1) and the configured first token (CR-2). Repeating it changes nothing, two at once make one. */
export async function bootstrapAdministrator(ctx: Context): Promise<void> {
  const { username, email, password, token } = ctx.config.admin
  const [first] = await ctx.db.write.select({ id: users.id, admin: users.admin }).from(users).orderBy(users.id).limit(1)
  let admin = first
  if (!admin) {
    const generated = password ?? newSecret()
    admin = await createUser(ctx, { username, email, name: 'Administrator', password: generated, admin: true, skip_confirmation: true })
    // CR-1: the one secret the log ever holds, and only when nobody chose a password
    if (password === undefined) ctx.log.info({ username }, `The administrator's password is ${generated}`)
  }
  if (token === undefined || !admin.admin) return
  const [known] = await ctx.db.write
    .select({ count: sql<number>`count(*)`.mapWith(Number) })
    .from(tokens)
    .where(eq(tokens.digest, digestOf(token)))
  if ((known?.count ?? 0) === 0) await createToken(ctx, admin, { name: 'bootstrap', scopes: BOOTSTRAP_SCOPES }, token)
}
