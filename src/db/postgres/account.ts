import { constants, lchownSync, readdirSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** The account that Postgres runs as, because it refuses to run as root. */
export interface Account {
  uid: number
  gid: number
  /** Whether it has an entry in /etc/passwd; initdb needs one. */
  named: boolean
}

/**
 * A user id without an account, from the range for services without an entry in /etc/passwd. It has no other rights on
 * the machine.
 */
const UNNAMED_UID = 62_578

/** If this process is root: the account named `postgres`, or the id without an account. */
export async function accountForPostgres(): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined
  return (await findAccount('postgres')) ?? { uid: UNNAMED_UID, gid: UNNAMED_UID, named: false }
}

export async function findAccount(wanted: string): Promise<Account | undefined> {
  const found = (await readAccounts()).find(([name]) => name === wanted)
  return found && { uid: Number(found[2]), gid: Number(found[3]), named: true }
}

/** The lines of /etc/passwd: name, password, user id, group id, comment, home and shell. */
export const readAccounts = async (): Promise<string[][]> =>
  (await readFile('/etc/passwd', 'utf8').catch(() => '')).split('\n').map((line) => line.split(':'))

/**
 * Changes the owner of a folder and everything in it. Synchronous, because awaiting each of a thousand files takes five
 * times as long.
 */
export function chownTree(path: string, account: Account): void {
  lchownSync(path, account.uid, account.gid)
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const child = join(path, entry.name)
    if (entry.isDirectory()) chownTree(child, account)
    else lchownSync(child, account.uid, account.gid)
  }
}

/** Whether the account has access to every folder on the path. */
export async function canEnter(path: string, { uid, gid }: Account): Promise<boolean> {
  for (let folder = path; ; folder = dirname(folder)) {
    const { mode, uid: owner, gid: group } = await stat(folder)
    const bit = owner === uid ? constants.S_IXUSR : group === gid ? constants.S_IXGRP : constants.S_IXOTH
    if ((mode & bit) === 0) return false
    if (folder === dirname(folder)) return true
  }
}

/** Spawn options that run a process as the account. */
export const spawnAs = (account: Account | undefined) => account && { uid: account.uid, gid: account.gid }
