import type { z } from 'zod'
import type { Kind, Records } from './records.js'

/** What a list belongs to: the whole server, a user, a group, a project, or an issue or merge request in one. */
export interface Scope {
  /** Its id on the source server. */
  key: string
  /** Its full path, or a username. */
  path: string
  /** The issue or merge request in the project. */
  iid?: number
  /** The access level of all members in the list, if they share one. */
  level?: number
  /** The user whose access level is requested. */
  username?: string
  /** Usernames and group paths found so far. */
  users?: string[]
  groups?: string[]
}

export const WHOLE_SERVER: Scope = { key: '', path: '' }

export interface Listing<T> {
  /** Paths below the server's URL; each returns a list or a single resource. */
  paths(scope: Scope): string[]
  /** Parses one element; null if it is of another kind and is ignored. */
  shape: z.ZodType<T | T[] | null> | ((scope: Scope) => z.ZodType<T | T[] | null>)
}

/** The API of one kind of server. */
export interface Dialect {
  name: 'v4' | 'gitea' | 'gogs'
  headers(token: string): Record<string, string>
  /** `username:password` for Git over HTTP. */
  gitCredentials(token: string): string
  /** The path of a snippet's raw content. */
  snippetPath?(project: Scope | null, key: string): string
  /** The refspec that fetches the heads of merge requests. */
  headRefspec: string
  lists: { [K in Kind]?: Listing<Records[K]> }
  /** What is never imported from this kind of server, with the reason. */
  unsupported: { kind: string; reason: string }[]
}
