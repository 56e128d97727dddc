import { statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'

/**
 * A folder in memory, where a sync costs nothing, on Linux with this many bytes free; otherwise the temporary folder.
 */
export async function memoryFolder(bytes: number): Promise<string> {
  const free = await statfs('/dev/shm').then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  )
  return process.platform === 'linux' && free >= bytes ? '/dev/shm' : tmpdir()
}
