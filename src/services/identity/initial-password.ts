import { access, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context } from '../../context.js'
import { newSecret } from '../../lib/crypto/secret.js'
import { syncDirectory, writeNewFile } from '../../lib/files/durable.js'

const pathOf = (ctx: { config: Pick<Context['config'], 'dataDir'> }) => join(ctx.config.dataDir, 'initial-admin-password')

/**
 * The password of the first administrator and the path of its file, which only the service's account can read. Creates
 * the file if needed; concurrent starts get the same password.
 */
export async function initialPassword(ctx: Context): Promise<{ password: string; path: string }> {
  const path = pathOf(ctx)
  const generated = newSecret()
  try {
    await writeNewFile(path, `${generated}\n`, 0o600)
    await syncDirectory(ctx.config.dataDir)
    return { password: generated, path }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return { password: (await readFile(path, 'utf8')).trim(), path }
  }
}

/** The path of the file of the initial password, while nobody has signed in with it; null otherwise. */
export const findInitialPassword = (config: Pick<Context['config'], 'dataDir'>): Promise<string | null> =>
  access(pathOf({ config })).then(
    () => pathOf({ config }),
    () => null,
  )

/** Removes the file once the initial password has been used to sign in. */
export async function removeInitialPassword(ctx: Context, password: string): Promise<void> {
  const stored = await readFile(pathOf(ctx), 'utf8').catch(() => null)
  if (stored?.trim() === password) await rm(pathOf(ctx), { force: true })
}
