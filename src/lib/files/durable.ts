import { open } from 'node:fs/promises'

/**
 * Makes names that were created, moved or removed in a directory survive a power loss. A missing directory is ignored.
 */
export async function syncDirectory(path: string) {
  let directory: Awaited<ReturnType<typeof open>>
  try {
    directory = await open(path, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}

/** Returns once the bytes of a file are on the disk. */
export async function syncFile(path: string) {
  const file = await open(path, 'r')
  await file.sync().finally(() => file.close())
}

/** Writes a new file and returns once its bytes are on the disk; its name is durable after syncDirectory. */
export async function writeNewFile(path: string, content: Buffer | string, mode = 0o666) {
  const file = await open(path, 'wx', mode)
  try {
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
}
