import type { ProcessPool } from './processes.js'
import type { Oid } from './types.js'

/** Sizes are looked up one by one in the packs: of a hundred thousand files that takes a while. */
const DEADLINE = 120_000

/** Every file of a commit with its size, in Git's order; links and submodules are left out. False when it took too long. */
export async function fileSizes(pool: ProcessPool, directory: string, commit: Oid, take: (path: string, size: number) => void): Promise<boolean> {
  let rest = ''
  const decoder = new TextDecoder()
  const read = (chunk: Buffer) => {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\0')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      // mode, type, id and size, then TAB and the path
      const tab = line.indexOf('\t')
      if (line.startsWith('100')) take(line.slice(tab + 1), Number(line.slice(52, tab)))
    }
    return true
  }
  return (await pool.scan(directory, ['ls-tree', '-r', '-l', '-z', commit], read, { deadline: DEADLINE })) !== 'late'
}
