import { statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'

/**
 * A folder whose files live in memory, on Linux where so many bytes of it are free: a sync costs nothing there.
 * Elsewhere the usual temporary folder.
 */
export async function memoryFolder(room: number): Promise<string> {
  const free = await statfs('/dev/shm').then(({ bavail, bsize }) => bavail * bsize, () => 0) // biome-ignore format: either way
  return process.platform === 'linux' && free >= room ? '/dev/shm' : tmpdir()
}
