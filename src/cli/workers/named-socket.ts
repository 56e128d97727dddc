import { setTimeout as sleep } from 'node:timers/promises'
import type { SocketServer } from '../../transport/ssh/socket.js'
import type { ParentLink } from './link.js'

/** How long a worker that cannot bind the SSH socket waits until the parent names another path, in milliseconds. */
const RENAMED_TIMEOUT_MS = 15_000

interface NamedSocketOptions {
  link: ParentLink
  bind: (path: string) => Promise<SocketServer>
  onFault: (fault: unknown) => void
}

/**
 * Serves the SSH socket at the path that the parent names, and at another one when the parent has named that. What
 * removes the socket may do so while this worker starts: it waits for the other path then.
 */
export async function serveNamedSocket({ link, bind, onFault }: NamedSocketOptions): Promise<SocketServer> {
  let path = ''
  let server: SocketServer | undefined
  const follow = async () => {
    while (path !== link.socket) {
      void server?.close(0)
      server = undefined
      path = link.socket
      server = await bind(path)
      await link.send({ type: 'bound', path })
    }
  }
  for (let bound = false; !bound; ) {
    bound = await follow().then(
      () => true,
      async (fault: unknown) => {
        if (!(await isRenamed(link, path))) throw fault
        return false
      },
    )
  }
  let following = Promise.resolve()
  link.onSocket = () => {
    following = following.then(follow).catch(onFault)
  }
  link.onSocket()
  return {
    async close(wait) {
      link.onSocket = () => undefined
      await following
      await server?.close(wait)
    },
  }
}

/** Resolves when the parent has named another path; with false if it does not in time. */
async function isRenamed(link: ParentLink, path: string): Promise<boolean> {
  if (link.socket !== path) return true
  const renamed = new Promise<boolean>((resolve) => {
    link.onSocket = () => resolve(true)
  })
  return Promise.race([renamed, sleep(RENAMED_TIMEOUT_MS, false, { ref: false })])
}
