import { mkdir, readlink, rename, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { makeSocketFolder } from '../../lib/files/socket-folder.js'
import { socketLink, sshFolder } from './client.js'

/** Its name in its folder. */
const SOCKET_NAME = 'ssh'

export interface SocketLocation {
  /** The path of the socket. */
  socket: string
  /** Lets the commands for an OpenSSH server find it: from now on somebody listens. */
  publish(): Promise<void>
  remove(): Promise<void>
}

/**
 * A place for the service's socket, which only its own account reaches. A link in the data folder leads there; where
 * several services share a data folder, it is that of the last one.
 */
export async function createSocketLocation(dataDir: string): Promise<SocketLocation> {
  await mkdir(sshFolder(dataDir), { recursive: true, mode: 0o700 })
  const link = socketLink(dataDir)
  const folder = await makeSocketFolder('roost-ssh-socket', SOCKET_NAME)
  const socket = join(folder, SOCKET_NAME)
  return {
    socket,
    publish: () => replaceLink(link, socket),
    async remove() {
      if ((await readlink(link).catch(() => null)) === socket) await rm(link, { force: true })
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Makes the link lead to the socket, in one step. */
async function replaceLink(link: string, socket: string): Promise<void> {
  const temporary = `${link}.${process.pid}`
  await rm(temporary, { force: true })
  await symlink(socket, temporary)
  await rename(temporary, link)
}
