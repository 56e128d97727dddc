import { access } from 'node:fs/promises'
import type { Logger } from 'pino'
import { createSocketLocation, type SocketLocation } from './socket-location.js'
import type { SshService } from './thread.js'

/** How often it is checked that the socket is still there, in milliseconds. */
const CHECK_INTERVAL_MS = 2_000

/**
 * Serves SSH at a socket with `open`, and again at another one after something else has removed the socket, which ends
 * the connections (SEC-230).
 */
export async function openSshAt(
  first: SocketLocation,
  open: (location: SocketLocation) => Promise<SshService>,
  { dataDir, log }: { dataDir: string; log: Logger },
): Promise<SshService> {
  let location = first
  let service = await open(location)
  const reopen = async () => {
    log.error({ socket: location.socket }, 'the socket of SSH was removed; SSH is started again')
    await service.close(0)
    location = await createSocketLocation(dataDir)
    service = await open(location)
  }
  let checked = Promise.resolve()
  const check = () => access(location.socket).catch(reopen)
  const timer = setInterval(() => {
    checked = checked.then(check).catch((error: unknown) => log.error({ err: error }, 'SSH is not served'))
  }, CHECK_INTERVAL_MS).unref()
  return {
    async close(wait) {
      clearInterval(timer)
      await checked
      await service.close(wait)
    },
  }
}
