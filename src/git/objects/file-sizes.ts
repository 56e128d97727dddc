import type { ProcessPool } from '../process/pool.js'
import type { Oid } from '../types.js'

/** Git looks sizes up one by one, which takes a while for 100,000 files. */
const DEADLINE_MS = 120_000
/** Longer lines are skipped; no path that can be pushed is nearly as long. */
const MAX_LINE_BYTES = 16_384

/**
 * Calls `visit` for every file of a commit with its size, in Git's order, without symlinks, submodules and overlong
 * paths. Returns false on timeout.
 */
export async function fileSizes(pool: ProcessPool, directory: string, commit: Oid, visit: (path: string, size: number) => void): Promise<boolean> {
  let rest = Buffer.alloc(0)
  let skipping = false
  const read = (chunk: Buffer) => {
    let at = 0
    for (let end = chunk.indexOf(0); end >= 0; end = chunk.indexOf(0, at)) {
      const line = skipping ? '' : Buffer.concat([rest, chunk.subarray(at, end)]).toString()
      const tab = line.indexOf('\t')
      if (line.startsWith('100')) visit(line.slice(tab + 1), Number(line.slice(52, tab)))
      rest = Buffer.alloc(0)
      skipping = false
      at = end + 1
    }
    if (rest.length + chunk.length - at > MAX_LINE_BYTES) skipping = true
    rest = skipping ? Buffer.alloc(0) : Buffer.concat([rest, chunk.subarray(at)])
    return true
  }
  return (await pool.scan(directory, ['ls-tree', '-r', '-l', '-z', commit], read, { deadline: DEADLINE_MS })) !== 'timeout'
}
