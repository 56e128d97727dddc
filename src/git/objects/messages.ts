import type { Commit, Oid } from '../types.js'

/** Characters of one message in a list of commits, and of all of them (SEC-178). */
const MAX = 1_048_576
const TOGETHER = 8 * 1_048_576
/** Commits read at once: each may have many megabytes. */
const AT_ONCE = 16
const MARK = '...'

/**
 * Commits in the given order, null where there is none. Long messages are cut to a common length at which all of them
 * fit. `known` gives those that need not be read.
 */
export async function listed(
  oids: Oid[],
  known: (oid: Oid) => Commit | undefined,
  read: (oid: Oid) => Promise<Commit | null>,
): Promise<(Commit | null)[]> {
  const found: (Commit | null)[] = []
  let most = MAX
  let held = 0
  for (let at = 0; at < oids.length; at += AT_ONCE) {
    const some = oids.slice(at, at + AT_ONCE)
    const kept = some.map(known)
    for (const commit of kept.every(isKnown) ? kept : await Promise.all(kept.map((commit, i) => commit ?? read(some[i] as Oid)))) {
      found.push(commit && cut(commit, most))
      held += Math.min(commit?.message.length ?? 0, most)
    }
    if (held <= TOGETHER || most < MAX) continue
    most = Math.floor(TOGETHER / oids.length)
    for (const [i, commit] of found.entries()) if (commit) found[i] = cut(commit, most)
  }
  return found
}

const isKnown = (commit: Commit | undefined): commit is Commit => commit !== undefined

function cut(commit: Commit, most: number): Commit {
  const { message } = commit
  if (message.length <= most) return commit
  const end = (message.charCodeAt(most - 1) & 0xfc00) === 0xd800 ? most - 1 : most
  // copied: a part of a string keeps the whole string in memory
  return { ...commit, message: Buffer.from(message.slice(0, end), 'utf16le').toString('utf16le') + MARK }
}
