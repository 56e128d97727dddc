import { mkdir, readlink, rename, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { makeSocketFolder } from '../../lib/files/socket-folder.js'
import { socketIn, sshFolder } from './client.js'

/** Its name in its folder. */
const SOCKET = 'ssh'

export interface SshPlace {
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
export async function makeSshPlace(dataDir: string): Promise<SshPlace> {
  await mkdir(sshFolder(dataDir), { recursive: true, mode: 0o700 })
  const link = socketIn(dataDir)
  const folder = await makeSocketFolder('roost-ssh-socket', SOCKET)
  const socket = join(folder, SOCKET)
  return {
    socket,
    publish: () => pointAt(link, socket),
    async remove() {
      if ((await readlink(link).catch(() => null)) === socket) await rm(link, { force: true })
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Makes the link lead to the socket, in one step. */
async function pointAt(link: string, socket: string): Promise<void> {
  const aside = `${link}.${process.pid}`
  await rm(aside, { force: true })
  await symlink(socket, aside)
  await rename(aside, link)
}
