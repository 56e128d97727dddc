import { asc, eq } from 'drizzle-orm'
import type { Context } from '../../context.js'
import { isUniqueViolation } from '../../db/errors.js'
import { tokens, users } from '../../db/schema/index.js'
import { Failure } from '../../failures.js'
import { digestOf } from '../../lib/crypto/secret.js'
import { initialPassword } from '../identity/initial-password.js'
import { createToken } from '../identity/tokens.js'
import { createUser } from '../identity/users.js'

const BOOTSTRAP_SCOPES = ['api', 'sudo', 'read_repository', 'write_repository']

/**
 * Creates the administrator in an empty database (CR-1), and the configured first token (CR-2). Idempotent, also if two
 * processes run it at once.
 */
export async function bootstrapAdministrator(ctx: Context): Promise<void> {
  const admin = (await firstUser(ctx)) ?? (await createAdministrator(ctx))
  const { token } = ctx.config.admin
  if (token === undefined || !admin?.admin) return
  const known = await ctx.db.write
    .select({ id: tokens.id })
    .from(tokens)
    .where(eq(tokens.digest, digestOf(token)))
  if (known.length > 0) return
  // the operator has chosen it
  await createToken({ ...ctx, mail: null }, admin, { name: 'bootstrap', scopes: BOOTSTRAP_SCOPES }, { value: token }).catch((error: unknown) => {
    if (!isUniqueViolation(error)) throw error
  })
}

const firstUser = async (ctx: Context) =>
  (await ctx.db.write.select({ id: users.id, admin: users.admin }).from(users).orderBy(asc(users.id)).limit(1))[0]

async function createAdministrator(ctx: Context) {
  const { username, email } = ctx.config.admin
  const made = ctx.config.admin.password === undefined ? await initialPassword(ctx) : null
  const password = made?.password ?? ctx.config.admin.password
  try {
    const admin = await createUser(ctx, { username, email, name: 'Administrator', password, admin: true, skip_confirmation: true })
    // the password is not logged; its file is removed at the first sign-in with it (CR-1)
    if (made) ctx.log.info({ username, file: made.path }, "the administrator's password is in a file")
    return admin
  } catch (error) {
    // another process has created the administrator
    if (error instanceof Failure && error.kind === 'conflict') return firstUser(ctx)
    throw error
  }
}
