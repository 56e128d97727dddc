import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { withQuarantine } from '../objects/quarantine.js'
import type { ProcessPool } from '../process/pool.js'
import { CONFIG, deadlineOf } from './diff.js'

/** The hunks of the diff of two texts that are in no commit, as in diffs of commits; null if it takes git too long. */
export const diffTexts = ({ directory, pool }: { directory: string; pool: ProcessPool }, before: Buffer, after: Buffer): Promise<string | null> =>
  // the files need a folder only: nothing of them is an object
  withQuarantine(directory, async ({ path }) => {
    const files = [join(path, 'before'), join(path, 'after')] as const
    await Promise.all([writeFile(files[0], before), writeFile(files[1], after)])
    const args = [
      ...CONFIG,
      'diff',
      '--no-index',
      '--no-ext-diff',
      '--no-textconv',
      '--no-color',
      '--text',
      '-U3',
      '--diff-algorithm=myers',
      ...files,
    ]
    const chunks: Buffer[] = []
    // 1: they differ
    const end = await pool.scan(directory, args, (chunk) => chunks.push(chunk) > 0, { deadline: deadlineOf(pool), accept: [1] })
    if (end === 'timeout') return null
    const text = Buffer.concat(chunks).toString('utf8')
    const first = text.indexOf('\n@@ ')
    return first < 0 ? '' : text.slice(first + 1)
  })
