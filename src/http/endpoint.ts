import type { Readable } from 'node:stream'
import { z } from 'zod'
import type { Access } from '../access/access.js'
import type { Caller, SignedIn } from '../access/actor.js'
import type { Context } from '../context.js'
import { isKeyset } from '../lib/keyset.js'
import type { Page } from '../services/core/page.js'
import type { View } from './view.js'

/** When something is open that is closed by default: while the service is read-only (WB-180). */
export type OpenWhen = readonly 'read_only'[]

export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** The argument of a handler: everything has been parsed, authorised and loaded. */
export interface Call<Subject, Signed extends boolean, Input> {
  ctx: Context
  caller: Signed extends true ? SignedIn : Caller
  /** The subject of the call, as loaded by its access rule. */
  subject: Subject
  input: Input
  /** The context of presenters. */
  view: View
  /** A header of the request, by its name in lower case. */
  header(name: string): string | undefined
  /** A signal that is aborted when the client disconnects before it has its response. */
  gone(): AbortSignal
  /**
   * Fails with 412 if the resource has changed since `If-Unmodified-Since`; a header that is not a date is ignored
   * (G-89).
   */
  unchangedSince(changed: Date): void
}

/** An endpoint of the API as data. Read only by `mount.ts` and `openapi`. */
export interface Endpoint {
  method: Method
  /** Relative to /api/v4, with `:name` for parameters. */
  path: string
  summary: string
  /** A sentence for the reference that says what the summary cannot. */
  description?: string | undefined
  access: Access
  input: z.ZodObject
  /** Parameters that are refused, unless with one of these values (NP-1, NP-3). */
  refuses?: Record<string, readonly string[]> | undefined
  /** The schema of the response: documents it, and validates every response in tests. */
  output?: z.ZodType | undefined
  /** The status of a success; by default 201 for POST, 204 for DELETE, otherwise 200 (G-7). */
  status?: number | undefined
  /** A token scope that is accepted in addition to the usual ones; `api`: the only one that is (SEC-265). */
  scope?: 'api' | 'read_repository' | 'self' | undefined
  /** It takes the tokens of jobs that run as well (CI-243). */
  jobToken?: boolean | undefined
  /** Accepts files, and so bodies of the configured maximum size; otherwise 8 MiB (SEC-71). */
  largeBody?: boolean | undefined
  /** It is taken while the service is read-only, although it is no read (WB-180). */
  openWhen?: OpenWhen | undefined
  /** Clients poll this endpoint: the response tells them how often (AS-50). */
  polled?: boolean | undefined
  /** The content types of a response that is not JSON. */
  raw?: readonly string[] | undefined
  /** Statuses beyond those that follow from the method, path and access rule; for the reference. */
  answers?: readonly number[] | undefined
  handler(call: Call<unknown, boolean, unknown>): Promise<unknown>
}

/** The input of what takes no parameters. */
export const NO_INPUT = z.object({})

/** Declares an endpoint; without `input` it reads no parameters. */
export function endpoint<Subject, Signed extends boolean, Input extends z.ZodObject = typeof NO_INPUT>(declaration: {
  method: Method
  path: string
  summary: string
  description?: string
  access: Access<Subject, Signed>
  input?: Input
  output?: z.ZodType
  status?: number
  scope?: 'api' | 'read_repository' | 'self'
  jobToken?: boolean
  largeBody?: boolean
  openWhen?: OpenWhen
  polled?: boolean
  raw?: readonly string[]
  answers?: readonly number[]
  handler(call: Call<Subject, Signed, z.infer<Input>>): Promise<unknown>
}): Endpoint {
  return { input: NO_INPUT, ...declaration } as Endpoint
}

/** The next page begins after the last row of this one, so that it skips none when rows are deleted meanwhile (G-91). */
export interface Keyset {
  sort: 'asc' | 'desc'
  /** The id of the last row; null: there is no next page. */
  last: number | null
}

/** A page to send: the items, and the numbers for the headers. */
export class PageAnswer {
  constructor(
    readonly items: unknown[],
    readonly total: number,
    readonly page: number,
    readonly perPage: number,
    /** Headers in addition to those of every page. */
    readonly headers: Record<string, string> = {},
  ) {}

  /** Set if the next page begins after a row, not at a number (G-91). */
  keyset: Keyset | undefined

  /**
   * Makes this a page of keyset pagination, if that is asked for and the list is in the order of ids. `sort` is the order
   * of a list that has no other, `ids` those of the rows if the items do not show them.
   */
  inOrderOfIds(asked: Parameters<typeof isKeyset>[0] & { sort?: 'asc' | 'desc' }, sort = asked.sort ?? 'asc', ids?: number[]): this {
    if (!isKeyset(asked)) return this
    const last = ids ? ids.at(-1) : (this.items.at(-1) as { id: number } | undefined)?.id
    this.keyset = { sort, last: (this.total > this.perPage && last) || null }
    return this
  }
}

/** Presents the items of a page and records which page was requested. */
export function pageOf<T>(
  page: Page<T>,
  requested: { page: number; per_page: number },
  present: (item: T) => unknown,
  headers?: Record<string, string>,
): PageAnswer {
  return new PageAnswer(page.items.map(present), page.total, requested.page, requested.per_page, headers)
}

/** The header that tells that changed files were omitted (C-62). */
export const overflowHeaders = (overflow: boolean): Record<string, string> => (overflow ? { 'x-diff-overflow': 'true' } : {})

/** A response that is not a JSON entity, or has another status than usual. */
export class Answer {
  constructor(
    readonly status: number,
    /** Sent as JSON unless it is a string, bytes or a stream; undefined for no body. */
    readonly body?: unknown,
    readonly headers: Record<string, string> = {},
  ) {}
}

export const isStream = (body: unknown): body is Readable => typeof (body as Readable | null)?.pipe === 'function'
