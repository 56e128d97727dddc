import type { SignedIn } from '../../access/actor.js'
import { actingAs } from '../../access/actor.js'
import type { Context } from '../../context.js'
import { ALL_SEEING_VIEWER } from '../issuables/merge-requests/writing/issue-links.js'
import type { Ledger } from './ledger.js'
import type { Source, SourceName } from './source/source.js'

export interface ImportOptions {
  /** The source server's URL. */
  url: string
  token: string
  from?: SourceName | undefined
  /** Full paths on the source server; without groups and projects, everything is imported. */
  groups?: string[] | undefined
  projects?: string[] | undefined
  /** The full path of a local group that becomes the parent of top-level groups. */
  into?: string | undefined
  /** Lower-case source usernames → local usernames. */
  users?: ReadonlyMap<string, string> | undefined
  dryRun?: boolean | undefined
  onProgress?: ((done: number, all: number) => void) | undefined
  signal?: AbortSignal | undefined
}

/** A group or project of the source server, and its local id. */
export interface ImportedItem {
  key: string
  /** Full path on the source server. */
  path: string
  localId: number
}

/** A team and the access level of its members. */
export interface Team {
  key: string
  level: number
}

/** One run of an import. */
export interface Run {
  ctx: Context
  options: ImportOptions
  source: Source
  ledger: Ledger
  signal: AbortSignal
  /** Lower-case source usernames → local ids, of users looked up so far. */
  userIdsByName: Map<string, Promise<number>>
  /** Source keys → local ids, of listed users. */
  userIdsByKey: Map<string, number>
  /** Imported groups, by lower-case full path on the source server. */
  groups: Map<string, ImportedItem>
  /** Lower-case full paths of groups that could not be imported. */
  failedGroups: Set<string>
  /** The local group that becomes the parent of top-level groups. */
  into: number | null
  /** Imported projects, by source key. */
  projects: Map<string, ImportedItem>
  /** Teams that cover only some projects, by project key. */
  teamsByProject: Map<string, Team[]>
}

/** Acts for the importer itself; sees everything. */
export const IMPORTER: SignedIn = actingAs(ALL_SEEING_VIEWER)
