import type { SignedIn } from '../../access/actor.js'
import { actingAs } from '../../access/actor.js'
import type { Context } from '../../context.js'
import { ALL_SEEING_VIEWER } from '../issuables/merge-requests/writing/issue-links.js'
import type { Ledger } from './ledger.js'

import type { Source, SourceName } from './source/source.js'

export interface ImportOptions {
  /** Of the other server. */
  url: string
  token: string
  from?: SourceName | undefined
  /** Full paths there; with neither everything is brought. */
  groups?: string[] | undefined
  projects?: string[] | undefined
  /** The full path of a group here, below which groups without a parent go. */
  into?: string | undefined
  /** Usernames there → usernames here. */
  users?: ReadonlyMap<string, string> | undefined
  dryRun?: boolean | undefined
  onProgress?: ((done: number, all: number) => void) | undefined
  signal?: AbortSignal | undefined
}

/** Something there, and its id here. */
export interface Place {
  key: string
  /** Full path there. */
  path: string
  here: number
}

/** People who may do the same. */
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
  /** Lower-case usernames there → ids here, for those that have been looked up. */
  people: Map<string, Promise<number>>
  /** The same of listed users, by key. */
  userIds: Map<string, number>
  /** Groups that have come or were there, by lower-case full path there. */
  groups: Map<string, Place>
  /** Those that did not come, by the same. */
  refusedGroups: Set<string>
  /** The group here below which those without a parent go. */
  into: number | null
  /** Projects likewise, by key. */
  projects: Map<string, Place>
  /** Teams that are for some projects only, by the keys of these. */
  teams: Map<string, Team[]>
}

/** What is done in nobody's name; sees everything. */
export const IMPORTER: SignedIn = actingAs(ALL_SEEING_VIEWER)
