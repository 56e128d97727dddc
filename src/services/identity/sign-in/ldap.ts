import { and, asc, eq, gt } from 'drizzle-orm'
import { z } from 'zod'
import type { Context } from '../../../context.js'
import { identities, users } from '../../../db/schema/index.js'
import { Failure, tooMany } from '../../../failures.js'
import { defineJob } from '../../../jobs/kinds.js'
import type { LdapProvider } from '../../../sign-on-config.js'
import { recordRefusal } from '../passwords.js'
import { setDirectoryBlocked } from '../user-state.js'
import { bindService, findByDn, findPerson, withDirectory } from './ldap-directory.js'
import type { Credentials, StartedSession } from './sessions.js'
import { type Profile, signOn } from './sign-on.js'

const MAX_NAME = 255
const MAX_PASSWORD = 1_024

/** Signs in with a name and password of a directory; null if they are wrong (WB-50). 429 after too many guesses. */
export async function signInByDirectory(
  ctx: Context,
  provider: LdapProvider,
  { login, password, remember }: Credentials,
): Promise<StartedSession | null> {
  const address = ctx.origin?.address ?? ''
  const account = `${provider.name} ${login.slice(0, MAX_NAME).toLowerCase()}`
  // one after the other, so that guesses at the same time are counted
  const profile = await ctx.process.mutex.run(`sign-in ${account}`, async () => {
    const wait = await ctx.access.throttle.wait(address, account)
    if (wait > 0) return ctx.access.throttle.refuse(tooMany(wait))
    const found = isPossible(login, password) ? await withDirectory(ctx, provider, (client) => findPerson(client, provider, login, password)) : null
    await (found ? ctx.access.throttle.succeeded(address, account) : ctx.access.throttle.failed(address, account))
    return found
  })
  ctx.monitoring.metrics.login('password', profile ? 'done' : 'refused')
  if (profile) return signOn(ctx, provider, profile, { remembered: remember })
  await recordRefusal(ctx, { login, user: null, address }, `${provider.name}: wrong name or password`)
  return null
}

/** An empty password would open any entry: directories take it for no password at all (RFC 4513, 5.1.2). */
const isPossible = (login: string, password: string) =>
  login !== '' && login.length <= MAX_NAME && !/\p{Cc}/u.test(login) && password !== '' && password.length <= MAX_PASSWORD && !password.includes('\0')

const BATCH = 200

/** Blocks users who have left their directory or its required groups, and unblocks those who are back (WB-52). */
export const directoryCheck = defineJob({
  kind: 'directory users',
  input: z.object({}),
  async run(ctx: Context) {
    // without a search, a directory cannot be asked about people who are not signing in
    for (const provider of ctx.config.signOn.ldap) if (provider.base !== undefined || provider.bind) await checkUsers(ctx, provider)
  },
  priority: 'low',
  slots: 'network',
  every: 3_600_000,
})

const checkUsers = (ctx: Context, provider: LdapProvider) =>
  withDirectory(ctx, provider, async (client) => {
    await bindService(client, provider)
    // a base that is not there says that the configuration is wrong, not that all have left
    if (provider.base !== undefined) await client.search(provider.base, { scope: 'base', attributes: ['1.1'] })
    for (let last = 0; ; ) {
      const batch = await ctx.db.write
        .select({ id: identities.id, dn: identities.extern_uid, user: { id: users.id, username: users.username, state: users.state } })
        .from(identities)
        .innerJoin(users, eq(users.id, identities.user_id))
        .where(and(eq(identities.provider, provider.name), gt(identities.id, last)))
        .orderBy(asc(identities.id))
        .limit(BATCH)
      for (const { dn, user } of batch) {
        if (user.state === 'blocked' || user.state === 'banned') continue
        const gone = !isMember(provider, await findByDn(client, provider, dn))
        if (gone !== (user.state === 'ldap_blocked')) await block(ctx, user, gone)
      }
      last = batch.at(-1)?.id ?? last
      if (batch.length < BATCH) return
    }
  })

const isMember = ({ groups: { required } }: LdapProvider, profile: Profile | null): boolean =>
  profile !== null && (!required || required.some((group) => profile.groups.includes(group)))

async function block(ctx: Context, { id, username }: { id: number; username: string }, blocked: boolean): Promise<void> {
  await setDirectoryBlocked(ctx, id, blocked).catch((error: unknown) => {
    if (!(error instanceof Failure)) throw error
    ctx.log.warn({ user: username }, 'the last administrator has left the directory, and is not blocked')
  })
}
