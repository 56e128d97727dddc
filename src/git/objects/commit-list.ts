import { wholeEnd } from '../../lib/text/whole-end.js'
import type { Commit, Oid } from '../types.js'

/** Maximum characters of one message in a list of commits, and of all messages in total (SEC-178). */
const MAX_MESSAGE_CHARS = 1_048_576
const MAX_TOTAL_CHARS = 8 * 1_048_576
/** Commits read concurrently; each may have many megabytes. */
const BATCH_SIZE = 16
export const CUT_MARK = '...'

/**
 * Commits in the given order, null for missing ones. Long messages are cut to a common length, so that all of them fit.
 * `getCached` returns commits that need not be read.
 */
export async function readCommitList(
  oids: Oid[],
  getCached: (oid: Oid) => Commit | undefined,
  read: (oid: Oid) => Promise<Commit | null>,
): Promise<(Commit | null)[]> {
  const found: (Commit | null)[] = []
  let limit = MAX_MESSAGE_CHARS
  let total = 0
  for (let at = 0; at < oids.length; at += BATCH_SIZE) {
    const batch = oids.slice(at, at + BATCH_SIZE)
    const cached = batch.map(getCached)
    for (const commit of cached.every(isKnown) ? cached : await Promise.all(cached.map((commit, i) => commit ?? read(batch[i] as Oid)))) {
      found.push(commit && cut(commit, limit))
      total += Math.min(commit?.message.length ?? 0, limit)
    }
    if (total <= MAX_TOTAL_CHARS || limit < MAX_MESSAGE_CHARS) continue
    limit = Math.floor(MAX_TOTAL_CHARS / oids.length)
    for (const [i, commit] of found.entries()) if (commit) found[i] = cut(commit, limit)
  }
  return found
}

const isKnown = (commit: Commit | undefined): commit is Commit => commit !== undefined

function cut(commit: Commit, limit: number): Commit {
  const { message } = commit
  if (message.length <= limit) return commit
  // copied, because a substring keeps the whole string in memory
  return { ...commit, message: Buffer.from(message.slice(0, wholeEnd(message, limit)), 'utf16le').toString('utf16le') + CUT_MARK }
}
