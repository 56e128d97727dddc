import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { StartFault } from '../../lib/start-fault.js'
import { type Account, canEnter } from './account.js'
import { type Preparation, readPreparation } from './records.js'

/** The folder of databases whose data directory the account of Postgres cannot enter. */
export const SHARED_DIRECTORY = '/var/lib/roost'

/**
 * The folder of the database: `directory`, or one below /var/lib if the account of Postgres cannot enter `directory`.
 * It never changes unless `directory` is moved together with its database. A copy of a folder whose database is
 * elsewhere is a StartFault, because it would open and stop the database of the original.
 */
export async function databaseHome(directory: string, account: Account | undefined): Promise<string> {
  if (existsSync(join(directory, 'data'))) return directory
  const recorded = await readPreparation(directory)
  if (recorded && recorded.home !== directory && existsSync(recorded.home)) {
    await refuseCopy(directory, recorded)
    return recorded.home
  }
  if (!account || (await canEnter(directory, account))) return directory
  const name = directory.replaceAll(/[^A-Za-z0-9]+/g, '-').replace(/^-/, '')
  const home = join(SHARED_DIRECTORY, name)
  await mkdir(home, { recursive: true, mode: 0o711 })
  return home
}

async function refuseCopy(directory: string, { home, directory: original }: Preparation): Promise<void> {
  if (original === undefined || original === directory || (await readPreparation(original))?.home !== home) return
  throw new StartFault(`${directory} is a copy of ${original}, whose database is ${home}: copy by roost backup and roost restore`)
}
