import { mkdtemp, readdir, realpath, rm, stat } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Bytes that the path of a socket may have on every system. */
const LONGEST_PATH = 100
/** Milliseconds in which a new folder gets its socket. */
const YOUNG = 60_000

/**
 * Makes a temporary folder of mode 0700 for a Unix socket of that name. Folders of the same prefix whose socket nobody
 * listens on any more, left by services that were killed on this machine, are removed.
 */
export async function makeSocketFolder(prefix: string, socket: string): Promise<string> {
  const temporary = await realpath(tmpdir())
  const length = Buffer.byteLength(temporary) + `/${prefix}-123456/${socket}`.length
  const parent = length <= LONGEST_PATH ? temporary : '/tmp'
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
  // one without a socket may be that of a service which is just starting
  const stale =
    refusal === 'ECONNREFUSED' || (refusal === 'ENOENT' && Date.now() - (await stat(folder).then(({ mtimeMs }) => mtimeMs, Date.now)) > YOUNG)
  if (stale) await rm(folder, { recursive: true, force: true }).catch(() => {}) // another user's
}
