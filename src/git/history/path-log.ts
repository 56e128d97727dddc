import { Slice } from '../../lib/async/yield.js'
import type { Oid } from '../types.js'
import { type LogOrder, positionsIn, signed } from './history.js'
import type { LogSource } from './log-source.js'

interface PathLog {
  from: Oid[]
  exclude: Oid[]
  path: string
  firstParent: boolean
}

/** The order of the whole history of a commit; null: there is none. */
type WholeOrder = (head: Oid) => Promise<LogOrder | null>

/** A commit that changes a path. */
interface PathChange {
  oid: Oid
  date: number
  /** The path is new in it. */
  added: boolean
}

/** Commits with a new path that are asked where it comes from. */
const MAX_ORIGIN_LOOKUPS = 32

const LOG = ['log', '--no-show-signature', '--no-ext-diff', '--no-textconv']

/** Git's own path log; along renames when the path is a file (C-11). */
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
 * What `git log --follow` finds, many times faster: it compares the trees of all commits, whereas the log of one path
 * asks the commit-graph which commits changed it. So each name of the file has a log of its own, up to the commit that
 * made it from the name before. Null where that would not be the same.
 */
async function followRenames(source: LogSource, head: Oid, path: string, wholeOrder: WholeOrder): Promise<PathChange[] | null> {
  const all: PathChange[] = []
  let asked = 0
  let name: string | null = path
  let rest = await changesOf(source, head, path)
  while (name !== null) {
    if (!rest) return null
    let at = 0
    let origin: string | null = null
    for (; at < rest.length && origin === null; at++) {
      const { oid, added } = rest[at] as PathChange
      if (!added) continue
      if (++asked > MAX_ORIGIN_LOOKUPS) return null
      origin = await originOf(source, oid, name)
      if (origin === '') return null
    }
    all.push(...rest.slice(0, at))
    if (origin !== null) rest = await changesAfter(source, head, origin, (all.at(-1) as PathChange).oid, wholeOrder)
    name = origin
  }
  return all
}

/** Commits without merges that change a path, as in a log of it; null where one changes more than a file of that name. */
function changesOf(source: LogSource, head: Oid, path: string): Promise<PathChange[] | null> {
  return commitsOf(source, [...LOG, '--full-history', '--no-merges', '--no-renames', '--name-status', '--format=%H %ct', head, '--', path], '', path)
}

/** Those that come after a commit in the log. */
async function changesAfter(source: LogSource, head: Oid, path: string, commit: Oid, wholeOrder: WholeOrder): Promise<PathChange[] | null> {
  const [found, order] = [await changesOf(source, head, path), await wholeOrder(head)]
  if (!found || !order) return null
  const places = await positionsIn(order, [commit, ...found.map(({ oid }) => oid)], new Slice())
  const after = places.get(commit) ?? Number.POSITIVE_INFINITY
  return found.filter(({ oid }) => (places.get(oid) ?? -1) > after)
}

/** The name that a new file had before, or that it is a copy of; null: it had none; empty: it cannot be written here. */
async function originOf(source: LogSource, commit: Oid, path: string): Promise<string | null> {
  const args = [...LOG, '-1', '--follow', '-M50%', '--format=', '--name-status', '-z', commit, '--', path]
  const { stdout } = await source.pool.run(source.directory, args, { ...(source.env && { env: source.env }) })
  const [status = '', origin = ''] = stdout.toString('utf8').split('\0')
  return /^[RC]\d+$/.test(status) ? (origin.includes('\ufffd') ? '' : origin) : null
}

/** The commits of a log, with what it says of the path beside them. */
async function commitsOf(source: LogSource, args: string[], input: string, path: string): Promise<PathChange[] | null> {
  const { stdout } = await source.pool.run(source.directory, args, { input, ...(source.env && { env: source.env }) })
  const added = `A\t${Buffer.from(path).toString('latin1')}`
  const found: PathChange[] = []
  const slice = new Slice()
  let changes = 0
  for (let at = 0, end = stdout.indexOf(0x0a); end >= 0; at = end + 1, end = stdout.indexOf(0x0a, at)) {
    if (slice.over) await slice.breathe()
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
