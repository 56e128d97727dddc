import { LEVELS } from '../access/can.js'
import type { Context } from '../context.js'
import type { SshLogin } from '../services/identity/ssh-logins.js'
import { deployKeyAccess } from '../services/projects/deploy-keys.js'
import type { GitCaller } from './admission.js'

/** The caller whom an SSH key identifies. */
export const keyCaller = (ctx: Context, login: SshLogin): GitCaller =>
  login.deploy ? deployKeyCaller(ctx, login) : { user: login.user, reads: true, writes: true, source: { key: login.key.id } }

/** A deploy key can read the projects it is enabled for, and with `can_push` write to them as a maintainer (DK-7). */
function deployKeyCaller(ctx: Context, { key, user }: Pick<SshLogin, 'key' | 'user'>): GitCaller {
  const level: GitCaller['level'] = async ({ id }) => {
    const reach = await deployKeyAccess(ctx, key.id, id)
    return reach === null ? 0 : reach.can_push && user ? LEVELS.maintainer : LEVELS.reporter
  }
  return { user, reads: true, writes: user !== null, level, source: { key: key.id } }
}
