import type { ObjectCache } from '../object-cache.js'
import type { Commit, Oid } from '../types.js'
import type { HistorySource } from './history.js'

/** What reading the log of one repository needs. */
export interface LogSource extends HistorySource {
  cache: ObjectCache
  /** The parsed commit, of a large one without the end of its message. */
  listedCommit(oid: Oid): Promise<Commit | null>
  /** The parsed commit, if it is cached. */
  cachedCommit(oid: Oid): Commit | undefined
  /** Whether a commit has a file, not a folder, at a path. */
  isFile(commit: Oid, path: string): Promise<boolean>
}
