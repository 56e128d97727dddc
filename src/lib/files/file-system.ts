import { constants } from 'node:fs'
import { access, link, mkdir, mkdtemp, open, readFile, rename, rm, stat, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { syncDirectory, writeNewFile } from './durable.js'

const GIBIBYTE = 1024 ** 3
/** Rounds of replacing a file while it is read. */
const RENAME_ROUNDS = 50

/**
 * Checks what the service relies on in the file system of a folder: write access, exclusive creation, atomic
 * replacement, fsync, hard links, case sensitivity, and free space. Each fault is a predicate about the folder.
 */
export async function fileSystemFaults(path: string): Promise<string[]> {
  let folder: string
  try {
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK)
    folder = await mkdtemp(join(path, '.tmp-doctor-'))
  } catch (error) {
    return [`cannot be written (${codeOf(error)})`]
  }
  try {
    const found: string[] = []
    for (const check of CHECKS) {
      const fault = await check(folder).catch((error: unknown) => `fails (${codeOf(error)}) while it is examined`)
      if (fault !== null) found.push(fault)
    }
    return [...found, ...spaceFaults(await statfs(path))]
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code ?? 'unknown'

type Check = (folder: string) => Promise<string | null>

const createsExclusively: Check = async (folder) => {
  const path = join(folder, 'exclusive')
  const created = await Promise.allSettled(Array.from({ length: 8 }, () => open(path, 'wx').then((file) => file.close())))
  return created.filter(({ status }) => status === 'fulfilled').length === 1 ? null : 'lets several create one file (O_EXCL)'
}

const replacesAtomically: Check = async (folder) => {
  const path = join(folder, 'replaced')
  const words = ['one', 'another']
  await writeFile(path, words[0] as string)
  let over = false
  const reading = async () => {
    while (!over) if (!words.includes(await readFile(path, 'utf8').catch(() => ''))) return false
    return true
  }
  const whole = reading()
  for (let n = 1; n <= RENAME_ROUNDS; n++) {
    await writeFile(`${path}.new`, words[n % 2] as string)
    await rename(`${path}.new`, path)
  }
  over = true
  return (await whole) ? null : 'shows no file, or half of one, while it is replaced (rename)'
}

const refusesFullFolder: Check = async (folder) => {
  const [full, empty] = [join(folder, 'full'), join(folder, 'empty')]
  await mkdir(full)
  await mkdir(empty)
  await writeFile(join(full, 'file'), '')
  const replaced = await rename(empty, full).then(
    () => true,
    () => false,
  )
  return replaced ? 'lets a folder replace one that is not empty (rename)' : null
}

const syncs: Check = async (folder) => {
  try {
    await writeNewFile(join(folder, 'synced'), 'synced')
    await syncDirectory(folder)
    return null
  } catch (error) {
    return `does not sync files and folders (fsync: ${codeOf(error)})`
  }
}

const links: Check = async (folder) => {
  const path = join(folder, 'linked')
  await writeFile(path, 'linked')
  try {
    await link(path, `${path}.too`)
    return (await stat(path)).nlink === 2 ? null : 'does not count hard links'
  } catch (error) {
    return `has no hard links (${codeOf(error)}): pushes fail, and forks take the room of copies`
  }
}

const isCaseSensitive: Check = async (folder) => {
  await writeFile(join(folder, 'Case'), '')
  const other = await stat(join(folder, 'cASE')).catch(() => null)
  return other ? 'takes names that differ in case for the same: branches such as a and A clash' : null
}

const CHECKS: Check[] = [createsExclusively, replacesAtomically, refusesFullFolder, syncs, links, isCaseSensitive]

/** The fields of statfs that matter here. */
interface Space {
  bsize: number
  bavail: number
  files: number
  ffree: number
}

/** Whether space or inodes are nearly used up; some file systems do not count inodes. */
export function spaceFaults({ bsize, bavail, files, ffree }: Space): string[] {
  const bytes = bavail * bsize
  return [
    ...(bytes < GIBIBYTE ? [`has ${Math.floor(bytes / 1024 ** 2)} MiB left`] : []),
    ...(files > 0 && ffree / files < 0.01 ? [`has room for ${ffree} more files`] : []),
  ]
}
