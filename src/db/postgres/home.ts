import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Account, canEnter } from './account.js'
import { readPreparation } from './records.js'

/** The folder for Postgres if its account cannot enter ours. */
export const SHARED = '/var/lib/roost'

/**
 * The folder of the database: `directory`, or one below /var/lib if the account of Postgres cannot enter `directory`.
 * It never changes.
 */
export async function homeFor(directory: string, account: Account | undefined): Promise<string> {
  const recorded = await readPreparation(directory)
  if (recorded && recorded.home !== directory && existsSync(recorded.home)) return recorded.home
  if (!account || existsSync(join(directory, 'data')) || (await canEnter(directory, account))) return directory
  const name = directory.replaceAll(/[^A-Za-z0-9]+/g, '-').replace(/^-/, '')
  const home = join(SHARED, name)
  await mkdir(home, { recursive: true, mode: 0o711 })
  return home
}
