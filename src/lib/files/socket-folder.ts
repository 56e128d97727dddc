import { mkdtemp, readdir, realpath, rm, stat } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Bytes that the path of a socket may have on every system. */
const MAX_PATH_BYTES = 100
/** Milliseconds within which a new folder gets its socket. */
const STARTUP_GRACE_MS = 60_000

/**
 * Creates a temporary folder of mode 0700 for a Unix socket of this name. Folders with the same prefix whose socket has
 * no listener, left behind by killed services on this machine, are removed.
 */
export async function makeSocketFolder(prefix: string, socket: string): Promise<string> {
  const temporary = await realpath(tmpdir())
  const length = Buffer.byteLength(temporary) + `/${prefix}-123456/${socket}`.length
  const parent = length <= MAX_PATH_BYTES ? temporary : '/tmp'
  const folder = new RegExp(`^${prefix}-[A-Za-z0-9]{6}$`)
  for (const name of await readdir(parent)) if (folder.test(name)) await removeIfStale(join(parent, name), socket)
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
  // a folder without a socket may belong to a service that is just starting
  const stale =
    refusal === 'ECONNREFUSED' ||
    (refusal === 'ENOENT' && Date.now() - (await stat(folder).then(({ mtimeMs }) => mtimeMs, Date.now)) > STARTUP_GRACE_MS)
  if (stale) await rm(folder, { recursive: true, force: true }).catch(() => {}) // another user's
}
