import { Turn } from '../../lib/async/yield.js'
import { bytesOfPath, pathOfBytes } from '../../lib/text/byte-path.js'
import type { Oid } from '../types.js'
import { type LogOrder, positionsIn, signed } from './history.js'
import type { LogSource } from './log-source.js'

interface PathLog {
  from: Oid[]
  exclude: Oid[]
  path: string
  firstParent: boolean
}

/** Returns the log order of a commit's whole history, or null. */
type WholeOrder = (head: Oid) => Promise<LogOrder | null>

/** A commit that changes the path. */
interface PathChange {
  oid: Oid
  date: number
  /** Whether the commit adds the path. */
  added: boolean
}

/** How many commits that add the path are checked for a rename. */
const MAX_ORIGIN_LOOKUPS = 32

const LOG = ['log', '--no-show-signature', '--no-ext-diff', '--no-textconv']

/** The log of a path, following renames if the path is a file in the start commit (C-11). */
export async function orderOfPath(source: LogSource, log: PathLog, wholeOrder: WholeOrder): Promise<LogOrder> {
  const { from, exclude, path, firstParent } = log
  const [head] = from
  const follow = head !== undefined && from.length === 1 && (await source.isFile(head, path))
  if (follow && exclude.length === 0 && !firstParent) {
    const found = await followRenames(source, head, path, wholeOrder)
    if (found) return orderOf(found)
  }
  const args = [...LOG, '--format=%H %ct', '--stdin', ...(firstParent ? ['--first-parent'] : []), ...(follow ? ['--follow', '-M50%'] : [])]
  const input = [...from, ...exclude.map((oid) => `^${oid}`), ''].join('\n')
  return orderOf((await commitsOf(source, [...args, '--', path], input, path)) ?? [])
}

/**
 * The result of `git log --follow`, many times faster: `--follow` compares the trees of all commits, but the log of a
 * single path uses the commit-graph's changed-path filters. So this reads one log per name of the file, each down to
 * the commit that renamed it. Returns null if the result might differ.
 */
async function followRenames(source: LogSource, head: Oid, path: string, wholeOrder: WholeOrder): Promise<PathChange[] | null> {
  const all: PathChange[] = []
  let lookups = 0
  let name: string | null = path
  let rest = await changesOf(source, head, path)
  while (name !== null) {
    if (!rest) return null
    let at = 0
    let origin: string | null = null
    for (; at < rest.length && origin === null; at++) {
      const { oid, added } = rest[at] as PathChange
      if (!added) continue
      if (++lookups > MAX_ORIGIN_LOOKUPS) return null
      origin = await originOf(source, oid, name)
    }
    all.push(...rest.slice(0, at))
    if (origin !== null) rest = await changesAfter(source, head, origin, (all.at(-1) as PathChange).oid, wholeOrder)
    name = origin
  }
  return all
}

/** The non-merge commits that change a path; null if one of them changes more than a single file of that name. */
function changesOf(source: LogSource, head: Oid, path: string): Promise<PathChange[] | null> {
  return commitsOf(source, [...LOG, '--full-history', '--no-merges', '--no-renames', '--name-status', '--format=%H %ct', head, '--', path], '', path)
}

/** The changes of a path that come after a commit in the log. */
async function changesAfter(source: LogSource, head: Oid, path: string, commit: Oid, wholeOrder: WholeOrder): Promise<PathChange[] | null> {
  const [found, order] = [await changesOf(source, head, path), await wholeOrder(head)]
  if (!found || !order) return null
  const positions = await positionsIn(order, [commit, ...found.map(({ oid }) => oid)], new Turn())
  const after = positions.get(commit) ?? Number.POSITIVE_INFINITY
  return found.filter(({ oid }) => (positions.get(oid) ?? -1) > after)
}

/** The previous name of a renamed or copied file; null if it is new. */
async function originOf(source: LogSource, commit: Oid, path: string): Promise<string | null> {
  const args = [...LOG, '-1', '--follow', '-M50%', '--format=', '--name-status', '-z', commit, '--', path]
  const { stdout } = await source.pool.run(source.directory, args, { ...(source.env && { env: source.env }) })
  const [status = '', origin = ''] = stdout.toString('latin1').split('\0')
  return /^[RC]\d+$/.test(status) ? pathOfBytes(Buffer.from(origin, 'latin1')) : null
}

/** Parses a log with `--name-status`; null if a commit changes more than the path. */
async function commitsOf(source: LogSource, args: string[], input: string, path: string): Promise<PathChange[] | null> {
  const { stdout } = await source.pool.run(source.directory, args, { input, ...(source.env && { env: source.env }) })
  const added = `A\t${bytesOfPath(path).toString('latin1')}`
  const found: PathChange[] = []
  const turn = new Turn()
  let changes = 0
  for (let at = 0, end = stdout.indexOf(0x0a); end >= 0; at = end + 1, end = stdout.indexOf(0x0a, at)) {
    if (turn.over) await turn.end()
    const line = stdout.toString('latin1', at, end)
    const [, oid, date] = /^([0-9a-f]{40}) (-?\d*)$/.exec(line) ?? []
    if (oid) {
      found.push({ oid, date: signed(Number(date)), added: false })
      changes = 0
    } else if (line !== '') {
      if (++changes > 1 || (line.startsWith('A') && line !== added)) return null
      ;(found.at(-1) as PathChange).added = line === added
    }
  }
  return found
}

function orderOf(commits: PathChange[]): LogOrder {
  return { oids: Buffer.from(commits.map(({ oid }) => oid).join(''), 'hex'), dates: Float64Array.from(commits, ({ date }) => date) }
}
