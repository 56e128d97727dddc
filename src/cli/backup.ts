import { mkdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { type Config, ConfigFault } from '../config.js'
import { withContext } from './context.js'
import { tellFaults } from './doctor.js'

export const BACKUP_USAGE = 'roost backup [--without-lfs | --verify] FOLDER'
export const RESTORE_USAGE = 'roost restore FOLDER'

function folderOf(positionals: string[], usage: string): string {
  const [folder] = positionals
  if (folder === undefined || positionals.length > 1)
    throw new ConfigFault(`${folder === undefined ? 'no folder is given' : `unexpected argument '${positionals[1]}'`}; usage: ${usage}`)
  return resolve(folder)
}

/**
 * Copies everything into a new folder, as of one moment; while the service runs or without it (SEC-163). With
 * `--verify`, reads a backup instead and reports what is damaged or missing: exit code 1 where anything is. With
 * `--without-lfs` the objects of Git LFS stay where they are.
 */
export async function backup(given: Config, args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args,
    options: { verify: { type: 'boolean', default: false }, 'without-lfs': { type: 'boolean', default: false } },
    allowPositionals: true,
  })
  const folder = folderOf(positionals, BACKUP_USAGE)
  if (values.verify) return verify(folder)
  await withContext(given, async (ctx, databaseUrl) => {
    const { backUp } = await import('../services/operations/backup.js')
    const { repositories, gone } = await backUp(ctx, databaseUrl, folder, { lfs: !values['without-lfs'] })
    const without = gone.length > 0 ? `, without ${gone.length} projects that were deleted meanwhile` : ''
    process.stdout.write(`${repositories.length} repositories and all rows are in ${folder}${without}\n`)
  })
}

async function verify(folder: string): Promise<void> {
  const { backupFaults } = await import('../services/operations/backup.js')
  let found = 0
  for await (const fault of backupFaults(folder)) {
    found++
    process.stdout.write(`${fault}\n`)
  }
  process.stdout.write(found === 0 ? `${folder} is whole\n` : `${found} faults\n`)
  if (found > 0) process.exitCode = 1
}

/**
 * Restores a valid backup into an empty data folder and database, while no service runs, and checks the result: exit
 * code 1 where anything is missing.
 */
export async function restore(given: Config, args: string[]): Promise<void> {
  const { positionals } = parseArgs({ args, allowPositionals: true })
  const folder = folderOf(positionals, RESTORE_USAGE)
  const { restoreRepository, bringBackSecret, openBackup } = await import('../services/operations/backup.js')
  // before anything is written, an instance in an empty data folder included
  const whole = await openBackup(folder)
  await mkdir(given.dataDir, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 })
  await bringBackSecret(whole, given.dataDir)
  await withContext(
    given,
    async (ctx, databaseUrl) => {
      await restoreRepository(ctx, databaseUrl, whole)
      process.stdout.write(`${whole.repositories.length} repositories and all rows are as they were at ${whole.at}\n`)
      await tellFaults(ctx, { repair: false, full: false })
    },
    { create: true },
  )
}
