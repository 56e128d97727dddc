import type { Context } from '../../context.js'
import { loadOrCreateHostKeys } from '../../lib/crypto/host-keys.js'
import { sshFolder } from './client.js'
import type { SshLimits } from './limits.js'
import { openSshAt } from './reopening.js'
import { type RequestWrapper, serveSocket } from './socket.js'
import { createSocketLocation, type SocketLocation } from './socket-location.js'
import { type SshService, startSshThread } from './thread.js'

export interface SshOptions {
  /** The bundle of `worker.ts`. */
  program: URL
  limits?: SshLimits
  /** The server accepts connections after it resolves. */
  prepared?: Promise<void>
  wrap?: RequestWrapper
}

/** Serves the local socket, and runs the SSH server unless SSH is off. */
export async function startSsh(ctx: Context, options: SshOptions): Promise<SshService> {
  const { dataDir, ssh } = ctx.config
  const hostKeys = ssh.port === null ? [] : await loadOrCreateHostKeys(sshFolder(dataDir))
  const open = (location: SocketLocation) => openAt(location, ctx, hostKeys, options)
  return openSshAt(await createSocketLocation(dataDir), open, { dataDir, log: ctx.log })
}

async function openAt(location: SocketLocation, ctx: Context, hostKeys: string[], options: SshOptions): Promise<SshService> {
  const { ssh } = ctx.config
  const socketServer = await serveSocket(ctx, location.socket, options.wrap)
  const ready = Promise.resolve(options.prepared).then(() => location.publish())
  const { log } = ctx
  const { stopping } = ctx.process
  const thread = await startSshThread(ssh, { ...options, ready, hostKeys, socket: location.socket, log, stopping }).catch(async (error: unknown) => {
    await socketServer.close(0)
    await location.remove()
    throw error
  })
  return {
    async close(wait) {
      await thread.close(wait)
      // requests of the thread have ended, or have timed out
      await socketServer.close(ssh.port === null ? wait : 0)
      await location.remove()
    },
  }
}
