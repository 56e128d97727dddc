import { asc, eq } from 'drizzle-orm'
import type { Context } from '../context.js'
import { isUniqueViolation } from '../db/client.js'
import { tokens, users } from '../db/schema/index.js'
import { Failure } from '../failures.js'
import { digestOf, newSecret } from '../lib/secret.js'
import { createToken } from './tokens.js'
import { createUser } from './users.js'

const BOOTSTRAP_SCOPES = ['api', 'sudo', 'read_repository', 'write_repository']

/** On an empty database: the administrator (CR-1) and the configured first token (CR-2). Repeating it changes nothing, two at once make one. */
export async function bootstrapAdministrator(ctx: Context): Promise<void> {
  const admin = (await firstUser(ctx)) ?? (await createAdministrator(ctx))
  const { token } = ctx.config.admin
  if (token === undefined || !admin?.admin) return
  const known = await ctx.db.write
    .select({ id: tokens.id })
    .from(tokens)
    .where(eq(tokens.digest, digestOf(token)))
  if (known.length > 0) return
  await createToken(ctx, admin, { name: 'bootstrap', scopes: BOOTSTRAP_SCOPES }, token).catch((error: unknown) => {
    if (!isUniqueViolation(error)) throw error
  })
}

const firstUser = async (ctx: Context) =>
  (await ctx.db.write.select({ id: users.id, admin: users.admin }).from(users).orderBy(asc(users.id)).limit(1))[0]

async function createAdministrator(ctx: Context) {
  const { username, email, password } = ctx.config.admin
  const generated = password ?? newSecret()
  try {
    const admin = await createUser(ctx, { username, email, name: 'Administrator', password: generated, admin: true, skip_confirmation: true })
    // CR-1: the one secret the log ever holds, and only when nobody chose a password
    if (password === undefined) ctx.log.info({ username }, `The administrator's password is ${generated}`)
    return admin
  } catch (error) {
    // another start was quicker
    if (error instanceof Failure && error.kind === 'conflict') return firstUser(ctx)
    throw error
  }
}
