import type { ProcessPool } from '../process/pool.js'
import type { Oid } from '../types.js'

/** Milliseconds: sizes are looked up one by one in the packs, which takes a while for a hundred thousand files. */
const DEADLINE = 120_000
/** Bytes of a line: no path that can be pushed is nearly as long, and longer ones are not assembled. */
const LONGEST = 16_384

/**
 * Every file of a commit with its size, in Git's order; links, submodules and overlong paths are left out. False when
 * it took too long.
 */
export async function fileSizes(pool: ProcessPool, directory: string, commit: Oid, take: (path: string, size: number) => void): Promise<boolean> {
  let rest = Buffer.alloc(0)
  let skipping = false
  const read = (chunk: Buffer) => {
    let at = 0
    for (let end = chunk.indexOf(0); end >= 0; end = chunk.indexOf(0, at)) {
      // mode, type, id and size, then TAB and the path
      const line = skipping ? '' : Buffer.concat([rest, chunk.subarray(at, end)]).toString()
      const tab = line.indexOf('\t')
      if (line.startsWith('100')) take(line.slice(tab + 1), Number(line.slice(52, tab)))
      rest = Buffer.alloc(0)
      skipping = false
      at = end + 1
    }
    if (rest.length + chunk.length - at > LONGEST) skipping = true
    rest = skipping ? Buffer.alloc(0) : Buffer.concat([rest, chunk.subarray(at)])
    return true
  }
  return (await pool.scan(directory, ['ls-tree', '-r', '-l', '-z', commit], read, { deadline: DEADLINE })) !== 'late'
}
