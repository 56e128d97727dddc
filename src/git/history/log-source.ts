import type { ObjectCache } from '../object-cache.js'
import type { Commit, Oid } from '../types.js'
import type { HistorySource } from './history.js'

/** What logs of one repository are read with. */
export interface LogSource extends HistorySource {
  cache: ObjectCache
  /** The parsed commit, remembered. */
  commit(oid: Oid): Promise<Commit | null>
  /** The same, if it has been read before. */
  cachedCommit(oid: Oid): Commit | undefined
  /** Whether a commit has a file, not a folder, at a path. */
  isFile(commit: Oid, path: string): Promise<boolean>
}
