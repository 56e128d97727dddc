import { access } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Logger } from 'pino'
import { createSocketLocation, type SocketLocation } from './socket-location.js'
import type { SshService } from './thread.js'

/** How often it is checked that the socket is still there, in milliseconds. */
const CHECK_INTERVAL_MS = 2_000

/**
 * Serves SSH at a socket with `open`, and again at another one after something else has removed the socket, which ends
 * the connections (SEC-230). While `isBound` is false there is no socket, because no worker listens at present: then only
 * its folder is looked for.
 */
export async function openSshAt(
  first: SocketLocation,
  open: (location: SocketLocation) => Promise<SshService>,
  { dataDir, log, isBound = () => true }: { dataDir: string; log: Logger; isBound?: () => boolean },
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
  const isThere = (path: string) =>
    access(path).then(
      () => true,
      () => false,
    )
  // in this order: the worker that has bound it may end meanwhile
  const isGone = async () => !(await isThere(dirname(location.socket))) || (!(await isThere(location.socket)) && isBound())
  const check = async () => {
    if (await isGone()) await reopen()
  }
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
