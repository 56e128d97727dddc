import { once } from 'node:events'
import { readlink } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { firstLine, type KeyResponse, type SocketRequest } from './frames.js'

/** The folder of host keys and of the socket, in the data folder. */
export const sshFolder = (dataDir: string) => join(dataDir, 'ssh')
export const socketLink = (dataDir: string) => join(sshFolder(dataDir), 'socket')

/** A connection to the service, on which a question has been sent. */
export async function openRequest(path: string, question: SocketRequest): Promise<Socket> {
  const socket = connect({ path, allowHalfOpen: true })
  await once(socket, 'connect')
  socket.on('error', () => {}) // its close says enough
  socket.write(`${JSON.stringify(question)}\n`)
  return socket
}

/** The row of a key that somebody may log in with; null otherwise. */
export async function findKeyId(path: string, sha256: string): Promise<number | null> {
  const socket = await openRequest(path, { ask: 'key', sha256 })
  try {
    const line = await firstLine(socket, 1_024)
    return line === null ? null : (JSON.parse(line) as KeyResponse).key
  } finally {
    socket.destroy()
  }
}

/** Where the service's socket is: its path may be a link, because that of a socket has a hundred bytes only. */
export const resolveSocket = (path: string): Promise<string> => readlink(path).catch(() => path)
