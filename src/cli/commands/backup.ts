import { access, chown, constants, mkdir, readdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { type Config, readConfig } from '../../config.js'
import { StartFault } from '../../lib/start-fault.js'
import { actAsOwner, findOwner } from '../account.js'
import { withContext } from '../context.js'
import { checkInstance } from '../host.js'
import { print, printJson, withProgress } from '../output.js'
import { printFaults } from './doctor.js'

interface BackupOptions {
  verify?: boolean
  lfs: boolean
  json?: boolean
}

export function backupCommand(program: Command): void {
  program
    .command('backup')
    .summary('copy everything into a new folder, or verify such a copy')
    .description('Copy everything, as of one moment, into a new folder, beside a running service or without it.')
    .argument('<folder>', 'the folder that is made, or an empty one')
    .option('--without-lfs', 'leave the objects of Git LFS, artifacts of jobs and files of packages where they are')
    .addOption(new Option('--verify', 'say whether a backup is whole instead; the exit code is 1 while it is not').conflicts('withoutLfs'))
    .option('--json', 'as JSON')
    .action((folder: string, { verify, withoutLfs, json }: { verify?: boolean; withoutLfs?: boolean; json?: boolean }) =>
      backup(resolve(folder), { verify, lfs: !withoutLfs, json }),
    )
}

export function restoreCommand(program: Command): void {
  program
    .command('restore')
    .summary('restore a backup')
    .description(
      'Verify a backup and restore it into an empty DATA_DIR, STORAGES and database, with no service running. Ends with what the doctor finds.',
    )
    .argument('<folder>', 'the backup')
    .addOption(new Option('--only <project>', 'bring one deleted project back into the present installation, which may be running'))
    .option('--as <path>', 'another full path for this project')
    .option('--json', 'the faults that the doctor finds, or the project, as JSON, one a line')
    .action((folder: string, { only, as, json }: { only?: string; as?: string; json?: boolean }) => {
      if (as !== undefined && only === undefined) throw new StartFault('--as needs --only')
      return only === undefined ? restore(resolve(folder), json) : restoreOne(resolve(folder), { path: only, as }, json)
    })
}

/** Makes a backup in a new folder, or verifies one and reports what is damaged or missing (SEC-163). */
async function backup(folder: string, { verify: verifies, lfs, json }: BackupOptions): Promise<void> {
  if (verifies) return verify(folder, json)
  const config = readConfig()
  await checkInstance(config)
  await makeFolder(folder, config)
  await withContext(config, async (ctx, databaseUrl) => {
    const { backUp, backupBytes } = await import('../../services/operations/backup.js')
    const { recordCheck } = await import('../../services/core/last-checks.js')
    const made = withProgress('repositories', (onProgress) => backUp(ctx, databaseUrl, folder, { lfs, onProgress }))
    const { repositories, gone, secret } = await made.catch(async (error: Error) => {
      await recordCheck(ctx, 'backup', false, `it failed: ${error.message}`)
      throw error
    })
    const mebibytes = (await backupBytes(folder)) / 2 ** 20
    await recordCheck(ctx, 'backup', true, `${repositories.length} repositories, ${mebibytes.toFixed(1)} MiB, in ${folder}`)
    if (json) return printJson({ folder, repositories: repositories.length, gone })
    const without = gone.length > 0 ? `, without ${gone.length} projects that were deleted meanwhile` : ''
    await print(`${repositories.length} repositories and all rows are in ${folder}${without}\n`)
    const { keyCheckOf, keyName } = await import('../../services/operations/secret-key.js')
    const where = secret === 'file' ? 'which is in it' : 'which is ROOST_SECRET_KEY and not in it'
    await print(`its encrypted values need key ${keyName(keyCheckOf(ctx.encryption))}, ${where}\n`)
  })
}

/** As root, makes the folder of a backup for the account that the instance belongs to, which may not write beside it. */
async function makeFolder(folder: string, config: Config): Promise<void> {
  const owner = await findOwner(config)
  if (!owner) return
  await mkdir(folder, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw new StartFault(`${folder} cannot be made (${error.code})`)
  })
  if ((await readdir(folder)).length === 0) await chown(folder, owner.uid, owner.gid)
}

async function verify(folder: string, json?: boolean): Promise<void> {
  const { backupFaults } = await import('../../services/operations/backup.js')
  const found = await withProgress('files', async (onProgress) => {
    const texts: string[] = []
    for await (const fault of backupFaults(folder, onProgress)) {
      if (!json) await print(`${fault}\n`)
      texts.push(fault)
    }
    return texts
  })
  await (json ? printJson({ folder, faults: found }) : print(found.length === 0 ? `${folder} is whole\n` : `${found.length} faults\n`))
  if (found.length > 0) process.exitCode = 1
}

/** Restores one project into an installation that is in use (SEC-261). */
async function restoreOne(folder: string, only: { path: string; as?: string | undefined }, json?: boolean): Promise<void> {
  const config = readConfig()
  await checkInstance(config)
  const { openBackup } = await import('../../services/operations/backup.js')
  await prepareReading(folder, config)
  const whole = await withProgress('files', (onProgress) => openBackup(folder, onProgress))
  await withContext(config, async (ctx, databaseUrl) => {
    const { restoreProject } = await import('../../services/operations/project-restore.js')
    const { id, path } = await restoreProject(ctx, databaseUrl, whole, only)
    await (json ? printJson({ id, path }) : print(`project ${id} is back as ${path}, as it was at ${whole.at}\n`))
  })
}

/** Becomes the owner of the data, who must be able to read the backup. */
async function prepareReading(folder: string, config: Config): Promise<void> {
  await actAsOwner(config)
  await access(folder, constants.R_OK | constants.X_OK).catch((error: NodeJS.ErrnoException) => {
    throw new StartFault(`${folder} cannot be read by the user that DATA_DIR belongs to (${error.code}): copy it, or give it to that user`)
  })
}

async function restore(folder: string, json?: boolean): Promise<void> {
  const config = readConfig()
  await prepareReading(folder, config)
  const { restoreFiles, restoreRows, restoreSecretKey, openBackup, checkKey, checkSpace, checkStorages } = await import(
    '../../services/operations/backup.js'
  )
  // verify first: nothing may be written for a damaged backup, not even an instance in an empty data folder
  const whole = await withProgress('files', (onProgress) => openBackup(folder, onProgress))
  await checkKey(whole, config)
  await checkSpace(whole, config)
  await checkStorages(whole, config)
  await mkdir(config.dataDir, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 })
  await restoreSecretKey(whole, config.dataDir)
  // with the rows in the database, a new storage would count as one whose disk is not mounted
  const { claimStorage } = await import('../../git/storage/create.js')
  for (const path of Object.values(config.storages)) await claimStorage(path, async () => false)
  await withContext(
    config,
    async (ctx) => {
      await withProgress('repositories', (onProgress) => restoreFiles(ctx, whole, onProgress))
      if (!json) await print(`${whole.repositories.length} repositories and all rows are as they were at ${whole.at}\n`)
      await printFaults(ctx, { repair: false, full: false, json })
    },
    { create: true, fill: (databaseUrl) => restoreRows(whole, databaseUrl) },
  )
}
