import { mkdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { type Config, ConfigFault } from '../config.js'
import { withContext } from './context.js'
import { tellFaults } from './doctor.js'

export const BACKUP_USAGE = 'roost backup FOLDER'
export const RESTORE_USAGE = 'roost restore FOLDER'

function folderOf(args: string[], usage: string): string {
  const { positionals } = parseArgs({ args, allowPositionals: true })
  const [folder] = positionals
  if (folder === undefined || positionals.length > 1)
    throw new ConfigFault(`${folder === undefined ? 'no folder is given' : `unexpected argument '${positionals[1]}'`}\nusage: ${usage}`)
  return resolve(folder)
}

/** Copies everything into a new folder, as of one moment; beside a running service or without one (SEC-163). */
export async function backup(given: Config, args: string[]): Promise<void> {
  const folder = folderOf(args, BACKUP_USAGE)
  await withContext(given, async (ctx, databaseUrl) => {
    const { backUp } = await import('../services/backup.js')
    const { repositories, gone } = await backUp(ctx, databaseUrl, folder)
    const without = gone.length > 0 ? `, without ${gone.length} projects that were deleted meanwhile` : ''
    process.stdout.write(`${repositories.length} repositories and all rows are in ${folder}${without}\n`)
  })
}

/** Puts a backup into an empty data folder and database, with no service running, and looks whether all of it is there: exit code 1 where it is not. */
export async function restore(given: Config, args: string[]): Promise<void> {
  const folder = folderOf(args, RESTORE_USAGE)
  const { bringBack, bringBackSecret } = await import('../services/backup.js')
  await mkdir(given.dataDir, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 })
  await bringBackSecret(folder, given.dataDir)
  await withContext(
    given,
    async (ctx, databaseUrl) => {
      const { at, repositories } = await bringBack(ctx, databaseUrl, folder)
      process.stdout.write(`${repositories.length} repositories and all rows are as they were at ${at}\n`)
      await tellFaults(ctx, false)
    },
    { create: true },
  )
}
