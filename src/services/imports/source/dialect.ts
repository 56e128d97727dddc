import type { z } from 'zod'
import type { Kind, Records } from './records.js'

/** What something is listed of. */
export interface Scope {
  /** Its id there. */
  key: string
  /** Its full path, or the name of a user. */
  path: string
  /** Of an issue or a merge request in the project. */
  iid?: number
  /** Of those in the list, where it has only one. */
  level?: number
  /** Whose level is asked for. */
  username?: string
  /** Users and groups that are known so far, by name. */
  users?: string[]
  groups?: string[]
}

export const EVERYTHING: Scope = { key: '', path: '' }

export interface Listing<T> {
  /** Paths below the server's URL, each of them a list, or of one thing. */
  paths(scope: Scope): string[]
  /** One element of an answer; null: it is of another kind. */
  shape: z.ZodType<T | T[] | null> | ((scope: Scope) => z.ZodType<T | T[] | null>)
}

/** How one kind of server is asked. */
export interface Dialect {
  name: 'v4' | 'gitea' | 'gogs'
  headers(token: string): Record<string, string>
  /** User and password for Git. */
  gitCredentials(token: string): string
  /** Where the content of a snippet is. */
  snippetPath?(project: Scope | null, key: string): string
  /** The refs of the heads of merge requests, as what to fetch. */
  heads: string
  lists: { [K in Kind]?: Listing<Records[K]> }
  /** What Roost has and this API does not give, or the other way round. */
  lacks: { kind: string; reason: string }[]
}
