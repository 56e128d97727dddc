import { Turn } from '../../lib/async/yield.js'
import type { Oid } from '../types.js'
import { Frontier, type History, type LogOrder, orderOf, positionsIn } from './history.js'

/** Limits on commits visited and queue entries compared; beyond them a full walk is faster. */
const MAX_STEPS = 20_000
const MAX_COMPARED = 1_000_000

/**
 * Derives the log order of `head` from the known order of one of its ancestors, as after a push or a merge: walks both
 * histories in parallel until their queues are equal, then copies the rest of the known order. Returns null if that
 * takes too many steps.
 */
export async function extendOrder(history: History, head: Oid, known: { head: Oid; order: LogOrder }): Promise<LogOrder | null> {
  const turn = new Turn()
  const [ours, theirs] = [new Frontier(history), new Frontier(history)]
  ours.add(await history.node(head), 0)
  const ancestor = await history.node(known.head)
  theirs.add(ancestor, 0)
  const visited: number[] = []
  const added: number[] = []
  let compared = 0
  while (ours.next !== theirs.next || ours.size !== theirs.size || !ours.equals(theirs)) {
    const both = ours.next === theirs.next
    if (both) compared += ours.size
    if (visited.length === MAX_STEPS || compared > MAX_COMPARED || ours.size === 0) return null
    if (turn.over) await turn.end()
    const node = ours.pop()
    visited.push(node)
    if (both) theirs.pop()
    else added.push(node)
    for (const parent of history.parentsNow(node) ?? (await history.parents(node))) {
      ours.add(parent, 0)
      if (both) theirs.add(parent, 0)
    }
  }
  const shared = visited.length - added.length
  const rest = { oids: known.order.oids.subarray(shared * 20), dates: known.order.dates.subarray(shared) }
  // with dates that run backwards, a commit that looks new may occur later in the known order, unless its level is
  // higher
  const level = history.level(ancestor)
  const uncertain = added.filter((node) => level === 0 || history.isNew(ancestor) || history.level(node) < level)
  const uncertainOids = uncertain.map((node) => history.oid(node))
  if (uncertainOids.length > 0 && (await positionsIn(rest, uncertainOids, turn)).size > 0) return null
  const first = await orderOf(history, visited, turn)
  const dates = new Float64Array(first.dates.length + rest.dates.length)
  dates.set(first.dates)
  dates.set(rest.dates, first.dates.length)
  return { oids: Buffer.concat([first.oids, rest.oids]), dates }
}
