import type { Context } from '../../context.js'
import { loadOrCreateHostKeys } from '../../lib/crypto/host-keys.js'
import { sshFolder } from './client.js'
import type { SshLimits } from './limits.js'
import { makeSshPlace } from './place.js'
import { type Around, answerOnSocket } from './socket.js'
import { type SshService, startSshThread } from './thread.js'

export interface SshSetting {
  /** The bundle of `worker.ts`. */
  program: URL
  limits?: SshLimits
  /** Nobody is let in before it resolves. */
  prepared?: Promise<void>
  around?: Around
}

/** Answers on the local socket, and, unless SSH is off, runs the SSH server. */
export async function startSsh(ctx: Context, setting: SshSetting): Promise<SshService> {
  const { dataDir, ssh } = ctx.config
  const hostKeys = ssh.port === null ? [] : await loadOrCreateHostKeys(sshFolder(dataDir))
  const place = await makeSshPlace(dataDir)
  const answers = await answerOnSocket(ctx, place.socket, setting.around)
  const ready = Promise.resolve(setting.prepared).then(() => place.publish())
  const { log, stopping } = ctx
  const thread = await startSshThread(ssh, { ...setting, ready, hostKeys, socket: place.socket, log, stopping }).catch(async (error: unknown) => {
    await answers.close(0)
    await place.remove()
    throw error
  })
  return {
    async close(wait) {
      await thread.close(wait)
      // what the thread had asked for has ended, or is late
      await answers.close(ssh.port === null ? wait : 0)
      await place.remove()
    },
  }
}
