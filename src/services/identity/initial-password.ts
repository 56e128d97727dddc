import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context } from '../../context.js'
import { newSecret } from '../../lib/crypto/secret.js'
import { syncDirectory, writeNewFile } from '../../lib/files/durable.js'

const fileOf = (ctx: Context) => join(ctx.config.dataDir, 'initial-admin-password')

/**
 * A password for the first administrator, in a file that only the service's account can read, with its path. Two starts
 * at once get the same.
 */
export async function initialPassword(ctx: Context): Promise<{ password: string; path: string }> {
  const path = fileOf(ctx)
  const made = newSecret()
  try {
    await writeNewFile(path, `${made}\n`, 0o600)
    await syncDirectory(ctx.config.dataDir)
    return { password: made, path }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return { password: (await readFile(path, 'utf8')).trim(), path }
  }
}

/** Somebody has signed in: if it was with the first administrator's password, its file is removed. */
export async function forgetInitialPassword(ctx: Context, password: string): Promise<void> {
  const kept = await readFile(fileOf(ctx), 'utf8').catch(() => null)
  if (kept?.trim() === password) await rm(fileOf(ctx), { force: true })
}
