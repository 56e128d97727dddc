import { lstat, mkdir, mkdtemp, readdir, realpath, rm, stat } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Bytes that the path of a socket may have on every system. */
const MAX_PATH_BYTES = 100
/** Milliseconds within which a new folder gets its socket, and a bound socket its listener. */
const STARTUP_GRACE_MS = 60_000

/**
 * Creates a temporary folder of mode 0700 for a Unix socket of this name. Folders with the same prefix whose socket has
 * had no listener for a minute, left behind by killed services on this machine, are removed.
 */
export async function makeSocketFolder(prefix: string, socket: string): Promise<string> {
  const temporary = await realpath(tmpdir())
  const length = Buffer.byteLength(temporary) + `/${prefix}-123456/${socket}`.length
  const parent = length <= MAX_PATH_BYTES ? temporary : '/tmp'
  const isOurs = (name: string) => name.startsWith(`${prefix}-`) && /^[A-Za-z0-9]{6}$/.test(name.slice(prefix.length + 1))
  for (const name of await readdir(parent)) if (isOurs(name)) await removeIfStale(join(parent, name), socket)
  return mkdtemp(join(parent, `${prefix}-`))
}

async function removeIfStale(folder: string, socket: string): Promise<void> {
  const refusal = await new Promise<string | undefined>((resolve) => {
    const connection = connect(join(folder, socket), () => {
      connection.destroy()
      resolve(undefined)
    })
    connection.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code))
  })
  if (!isUnreachable(refusal)) return
  // a socket is refused between `bind` and `listen` too: the folder may belong to a service that is just starting
  const changedAt = await stat(folder).then(({ mtimeMs }) => mtimeMs, Date.now)
  if (Date.now() - changedAt > STARTUP_GRACE_MS) await rm(folder, { recursive: true, force: true }).catch(() => {}) // another user's
}

/** Whether connecting to a Unix socket failed because nothing listens there. */
export const isUnreachable = (code: string | undefined) => code === 'ENOENT' || code === 'ECONNREFUSED'

/** Creates a socket's folder again, at the same path, after something else has removed it or the socket in it. */
export async function restoreSocketFolder(folder: string, socket: string): Promise<void> {
  await mkdir(folder, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  const found = await lstat(folder)
  if (!found.isDirectory() || found.uid !== process.getuid?.() || (found.mode & 0o077) !== 0) throw new Error(`${folder} belongs to another user`)
  await rm(join(folder, socket), { force: true })
}
