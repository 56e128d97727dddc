import { constants } from 'node:fs'
import { lchown, readdir, readFile, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** Who Postgres runs as; it refuses to be root. */
export interface Account {
  uid: number
  gid: number
  /** Has an entry in /etc/passwd, without which the database cannot be prepared. */
  named: boolean
}

/** Of no account: whoever gets this number can do nothing else on the machine. From the range set aside for services without an entry in /etc/passwd. */
const UNNAMED = 62_578

/** Postgres refuses root, so root hands it to the account made for it, or to nobody. */
export async function accountForPostgres(): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined
  return (await accountNamed('postgres')) ?? { uid: UNNAMED, gid: UNNAMED, named: false }
}

export async function accountNamed(wanted: string): Promise<Account | undefined> {
  const accounts = (await readFile('/etc/passwd', 'utf8').catch(() => '')).split('\n').map((line) => line.split(':'))
  const found = accounts.find(([name]) => name === wanted)
  return found && { uid: Number(found[2]), gid: Number(found[3]), named: true }
}

/** Makes a folder and all in it an account's own. */
export async function give(path: string, account: Account): Promise<void> {
  await lchown(path, account.uid, account.gid)
  for (const entry of await readdir(path, { withFileTypes: true })) {
    const below = join(path, entry.name)
    if (entry.isDirectory()) await give(below, account)
    else await lchown(below, account.uid, account.gid)
  }
}

/** Whether every folder on the way may be passed by the account. */
export async function canEnter(path: string, { uid, gid }: Account): Promise<boolean> {
  for (let folder = path; ; folder = dirname(folder)) {
    const { mode, uid: owner, gid: group } = await stat(folder)
    const bit = owner === uid ? constants.S_IXUSR : group === gid ? constants.S_IXGRP : constants.S_IXOTH
    if ((mode & bit) === 0) return false
    if (folder === dirname(folder)) return true
  }
}

/** The part of a process's options that makes it run as the account. */
export const spawnAs = (account: Account | undefined) => account && { uid: account.uid, gid: account.gid }
