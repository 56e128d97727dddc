import { createHash } from 'node:crypto'
import { pathOfBytes } from '../../lib/text/byte-path.js'
import { isOid } from '../objects/cat-file.js'
import type { BlameGroup, Oid, SearchDeadline } from '../types.js'
import { cachedSearch, type SearchSource } from './search.js'

const MAX_OUTPUT_BYTES = 8 * 1024 * 1024
const MAX_GROUPS = 10_000
/** The first line of a group: the commit, the line number there, the line number here and the number of lines. */
const GROUP_HEADER = /^([0-9a-f]{40}) \d+ (\d+) (\d+)$/
/** The line after the header that names the version before; a path in quotes has bytes that are escaped. */
const PREVIOUS = /^previous ([0-9a-f]{40}) ([^"][\s\S]*)$/
const MAX_PATH_BYTES = 4_096

interface Blame {
  groups: BlameGroup[]
  truncated: boolean
}

/**
 * The commit that each line of a file comes from, in line order; `truncated` if there are too many groups or the
 * deadline was reached. The file must exist.
 */
export async function blame(
  source: SearchSource,
  commit: Oid,
  path: string,
  { range, ignored = [], ...timeLimits }: { range?: { start: number; end: number }; ignored?: Oid[] } & SearchDeadline,
): Promise<Blame> {
  if (!isOid(commit)) return { groups: [], truncated: false }
  const lines = range ? ['-L', `${range.start},${range.end}`] : []
  const without = ignored.filter(isOid).map((oid) => `--ignore-rev=${oid}`)
  const ways = createHash('sha1').update(without.join()).digest('hex')
  const { groups, truncated } = await cachedSearch<Blame & { timedOut: boolean }>(
    source,
    `blame ${commit} ${lines.join('')} ${ways} ${path}`,
    timeLimits,
    ({ groups }) => 100 + groups.length * 250,
    async (signal) => {
      const { pool, directory, env } = source
      const reader = new BlameReader()
      const options = { signal, ...(env && { env }), ...(timeLimits.deadline !== undefined && { deadline: timeLimits.deadline }) }
      // `--incremental` prints the groups alone, in the order in which git finds them
      const end = await pool.scan(
        directory,
        ['-c', 'core.quotePath=false', 'blame', '--incremental', ...without, ...lines, commit, '--', path],
        (chunk) => reader.consume(chunk),
        options,
      )
      return { groups: reader.groups.sort((a, b) => a.start - b.start), truncated: end !== 'complete', timedOut: end === 'timeout' }
    },
  )
  return { groups, truncated }
}

/** Picks the group headers and previous versions out of the output; the other lines describe commits and begin with a word. */
class BlameReader {
  readonly groups: BlameGroup[] = []
  #rest: Buffer = Buffer.alloc(0)
  #read = 0

  /** Returns false when a limit is reached. */
  consume(chunk: Buffer): boolean {
    this.#read += chunk.length
    const data = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk
    let at = 0
    for (let end = data.indexOf(0x0a); end >= 0; end = data.indexOf(0x0a, at)) {
      const [, oid, start, count] = (end - at < 100 && GROUP_HEADER.exec(data.toString('latin1', at, end))) || []
      if (oid !== undefined) this.groups.push({ oid, start: Number(start), count: Number(count), previous: null })
      else this.#readPrevious(data.subarray(at, end))
      at = end + 1
    }
    this.#rest = data.subarray(at)
    return this.#read < MAX_OUTPUT_BYTES && this.groups.length <= MAX_GROUPS
  }

  #readPrevious(line: Buffer) {
    const group = this.groups.at(-1)
    if (!group || line[0] !== 0x70 || line.length > MAX_PATH_BYTES) return
    const [, oid, path] = PREVIOUS.exec(pathOfBytes(line)) ?? []
    if (oid !== undefined && path !== undefined) group.previous = { oid, path }
  }
}
