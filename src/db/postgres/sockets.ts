import { chown, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Account, canEnter } from './account.js'

export async function makeSocketFolder(account: Account | undefined): Promise<string> {
  const temporary = await realpath(tmpdir())
  // a socket's path has at most 107 bytes, and the account of Postgres must reach it
  const fits = temporary.length <= 70 && (!account || (await canEnter(temporary, account)))
  const sockets = await mkdtemp(join(fits ? temporary : '/tmp', 'roost-'))
  if (account) await chown(sockets, account.uid, account.gid)
  return sockets
}

export async function clearSockets(sockets: string | undefined): Promise<void> {
  if (sockets && /\/roost-[A-Za-z0-9]{6}$/.test(sockets)) await rm(sockets, { recursive: true, force: true })
}
