import { mkdir, readlink, rename, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { makeSocketFolder } from '../../lib/files/socket-folder.js'
import { socketLink, sshFolder } from './client.js'

/** The name of the socket in its folder. */
const SOCKET_NAME = 'ssh'

export interface SocketLocation {
  /** The path of the socket. */
  socket: string
  /** Creates the link by which the commands for an OpenSSH server find the socket. */
  publish(): Promise<void>
  remove(): Promise<void>
}

/**
 * Creates a folder for the service's socket, which only the service account can enter. A link in the data folder points
 * to the socket; if several services share the data folder, to that of the last one.
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

/** Replaces the link atomically. */
async function replaceLink(link: string, socket: string): Promise<void> {
  const temporary = `${link}.${process.pid}`
  await rm(temporary, { force: true })
  await symlink(socket, temporary)
  await rename(temporary, link)
}
