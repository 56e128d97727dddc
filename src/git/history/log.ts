import { yieldToEventLoop } from '../../lib/async/yield.js'
import { withoutTrailing } from '../../lib/text/without-trailing.js'
import { isOid } from '../objects/cat-file.js'
import { readCommitList } from '../objects/commit-list.js'
import type { LogOptions, LogPage, Oid } from '../types.js'
import { extendOrder } from './extend-order.js'
import { History, type LogOrder, walk } from './history.js'
import type { LogSource } from './log-source.js'
import { orderOfPath } from './path-log.js'

/**
 * One page of a log and the total number of matching commits (C-13). The order of a whole history is computed once per
 * set of starting points; every page, date range and total is cut from it.
 */
export async function readLog(source: LogSource, options: LogOptions): Promise<LogPage> {
  const order = await orderOf(source, options)
  if (!order) return { commits: [], total: 0 }
  const { positions, total } = await cutPage(order, options)
  const oids = positions.map((at) => oidAt(order, at))
  const commits = await readCommitList(oids, source.cachedCommit, source.listedCommit)
  return { commits: commits.filter((commit) => commit !== null), total }
}

/** The newest `limit` commits that `to` reaches and `from` does not, in log order, and their total. */
export async function range(source: LogSource, from: Oid[], to: Oid, limit: number): Promise<{ oids: Oid[]; total: number }> {
  const order = await orderOf(source, { from: [to], exclude: from })
  if (!order) return { oids: [], total: 0 }
  const total = order.dates.length
  return { oids: Array.from({ length: Math.min(total, limit) }, (_, at) => oidAt(order, at)), total }
}

const oidAt = ({ oids }: LogOrder, at: number): Oid => oids.toString('hex', at * 20, at * 20 + 20)

/** All commits that match the options except the dates, in log order; null if no starting commit is valid. */
async function orderOf(source: LogSource, options: Pick<LogOptions, 'from' | 'exclude' | 'path' | 'firstParent'>): Promise<LogOrder | null> {
  const from = options.from.filter(isOid)
  const exclude = (options.exclude ?? []).filter(isOid)
  if (from.length === 0) return null
  const path = options.path === undefined ? '' : literalPath(options.path)
  if (path === null) return null
  const firstParent = options.firstParent ?? false
  return source.cache.getOrCompute<LogOrder>(
    source.directory,
    cacheKey(from, { path, exclude, firstParent }),
    ({ oids }) => oids.length * 1.4,
    async () => {
      if (path !== '') return orderOfPath(source, { from, exclude, path, firstParent }, (head) => orderOf(source, { from: [head] }))
      const history = new History(await source.cache.graph(source.directory), source)
      const [head] = from
      const whole = head !== undefined && from.length === 1 && exclude.length === 0 && !firstParent
      return (whole && (await orderFromAncestor(source, history, head))) || walk(history, from, exclude, firstParent)
    },
  )
}

const cacheKey = (from: Oid[], { path = '', exclude = [], firstParent = false }: { path?: string; exclude?: Oid[]; firstParent?: boolean } = {}) =>
  `log ${path} ${firstParent ? 'first' : 'all'} ${from} ^${exclude}`

/** How many first parents are searched for one whose order is cached. */
const MAX_ANCESTORS = 256

/** Derives the order of a whole history from the cached order of an earlier head; null if none is usable. */
async function orderFromAncestor(source: LogSource, history: History, head: Oid): Promise<LogOrder | null> {
  let node = await history.node(head)
  for (let i = 0; i < MAX_ANCESTORS && node >= 0; i++) {
    const [parent = -1] = history.parentsNow(node) ?? (await history.parents(node))
    const oid = parent < 0 ? '' : history.oid(parent)
    const order = oid && source.cache.get<LogOrder>(source.directory, cacheKey([oid]))
    if (order) return extendOrder(history, head, { head: oid, order })
    node = parent
  }
  return null
}

/** Number of commits that `to` reaches and `from` does not, visiting at most `limit` commits. */
export async function countNew(source: LogSource, from: Oid[], to: Oid, limit: number): Promise<number> {
  if (!isOid(to)) return 0
  return (await walk(new History(await source.cache.graph(source.directory), source), [to], from.filter(isOid), false, limit)).dates.length
}

/**
 * The positions of the requested page and the number of commits that match the dates. Scans all commits, because dates
 * need not decrease along a history (C-12).
 */
async function cutPage({ dates }: LogOrder, { since, until, skip, limit }: LogOptions): Promise<{ positions: number[]; total: number }> {
  const positions: number[] = []
  const start = Math.max(0, skip)
  if (since === undefined && until === undefined) {
    for (let at = start; at < Math.min(dates.length, start + limit); at++) positions.push(at)
    return { positions, total: dates.length }
  }
  let total = 0
  for (let at = 0; at < dates.length; at++) {
    if (at % 500_000 === 499_999) await yieldToEventLoop()
    const date = dates[at] as number
    if ((since !== undefined && date < since) || (until !== undefined && date > until)) continue
    if (total >= start && positions.length < limit) positions.push(at)
    total++
  }
  return { positions, total }
}

/** Normalises a path for git; null if no tree can contain it, such as `/x`, `a//b` or `../x`. */
export function literalPath(path: string): string | null {
  const plain = withoutTrailing(path, '/')
  if (plain === '') return path.startsWith('/') ? null : ''
  if (plain.includes('\0') || Buffer.byteLength(plain) > 100_000) return null
  return plain.split('/').some((part) => part === '' || part === '.' || part === '..') ? null : plain
}
