import { once } from 'node:events'
import { readlink } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { firstLine, type KeyResponse, type SocketRequest } from './frames.js'

/** The folder of host keys and the socket link, in the data folder. */
export const sshFolder = (dataDir: string) => join(dataDir, 'ssh')
export const socketLink = (dataDir: string) => join(sshFolder(dataDir), 'socket')

/** Connects to the service and sends a request. */
export async function openRequest(path: string, question: SocketRequest): Promise<Socket> {
  const socket = connect({ path, allowHalfOpen: true })
  await once(socket, 'connect')
  socket.on('error', () => {}) // close follows
  socket.write(`${JSON.stringify(question)}\n`)
  return socket
}

/** The id of a key that may log in; null if it may not. */
export async function findKeyId(path: string, sha256: string): Promise<number | null> {
  const socket = await openRequest(path, { ask: 'key', sha256 })
  try {
    const line = await firstLine(socket, 1_024)
    return line === null ? null : (JSON.parse(line) as KeyResponse).key
  } finally {
    socket.destroy()
  }
}

/** The path of the service's socket, which the path may link to: socket paths are limited to about 100 bytes. */
export const resolveSocket = (path: string): Promise<string> => readlink(path).catch(() => path)
