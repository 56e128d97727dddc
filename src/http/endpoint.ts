import type { Readable } from 'node:stream'
import type { z } from 'zod'
import type { Access } from '../access/access.js'
import type { Caller, SignedIn } from '../access/actor.js'
import type { Context } from '../context.js'
import type { View } from '../entities/view.js'
import type { Page } from '../services/core/page.js'

export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** What a handler gets: everything has been read, checked and loaded. */
export interface Call<Subject, Signed extends boolean, Input> {
  ctx: Context
  caller: Signed extends true ? SignedIn : Caller
  /** What the call is about, as loaded by its access rule. */
  subject: Subject
  input: Input
  /** What the presenters may know. */
  view: View
  /** A signal that fires when the client leaves before it has its answer. */
  gone(): AbortSignal
  /**
   * 412 when the thing to be deleted has changed since `If-Unmodified-Since`; a header that is not a date counts as
   * absent (G-89).
   */
  unchangedSince(changed: Date): void
}

/** One endpoint of the API, as data. Read by `mount` and by `openapi`, and by nothing else. */
export interface Endpoint {
  method: Method
  /** Relative to /api/v4, with `:name` for parameters. */
  path: string
  summary: string
  /** What its name cannot say, in a sentence for the reference. */
  description?: string | undefined
  access: Access
  input: z.ZodObject
  /** The shape of the answer: documentation, and in tests the check of every answer. */
  output?: z.ZodType | undefined
  /** Of a success; by default 201 for POST, 204 for DELETE, otherwise 200 (G-7). */
  status?: number | undefined
  /** Token scopes that open it in addition to the usual ones. */
  scope?: 'read_repository' | 'self' | undefined
  /** Accepts files, so bodies as large as the configuration allows; otherwise 8 MiB (SEC-71). */
  largeBody?: boolean | undefined
  /** Clients poll it until something has happened: the answer says how often they may (AS-50). */
  polled?: boolean | undefined
  /** The content types of an answer that is not JSON. */
  raw?: readonly string[] | undefined
  /** Statuses that it answers beside those that follow from its method, path and access rule; for the reference. */
  answers?: readonly number[] | undefined
  handler(call: Call<unknown, boolean, unknown>): Promise<unknown>
}

/** Declares an endpoint; adds types and nothing else. */
export function endpoint<Subject, Signed extends boolean, Input extends z.ZodObject>(declaration: {
  method: Method
  path: string
  summary: string
  description?: string
  access: Access<Subject, Signed>
  input: Input
  output?: z.ZodType
  status?: number
  scope?: 'read_repository' | 'self'
  largeBody?: boolean
  polled?: boolean
  raw?: readonly string[]
  answers?: readonly number[]
  handler(call: Call<Subject, Signed, z.infer<Input>>): Promise<unknown>
}): Endpoint {
  return declaration as unknown as Endpoint
}

/** A page to be sent: the items, and the numbers for the headers. */
export class PageAnswer {
  constructor(
    readonly items: unknown[],
    readonly total: number,
    readonly page: number,
    readonly perPage: number,
    /** In addition to those of every page. */
    readonly headers: Record<string, string> = {},
  ) {}
}

/** Presents a page's items and keeps which page was asked for. */
export function pageOf<T>(
  page: Page<T>,
  asked: { page: number; per_page: number },
  present: (item: T) => unknown,
  headers?: Record<string, string>,
): PageAnswer {
  return new PageAnswer(page.items.map(present), page.total, asked.page, asked.per_page, headers)
}

/** The header that says that an answer leaves out changed files (C-62). */
export const overflowHeaders = (overflow: boolean): Record<string, string> => (overflow ? { 'x-diff-overflow': 'true' } : {})

/** An answer that is not a JSON entity, or has another status than usual. */
export class Answer {
  constructor(
    readonly status: number,
    /** Sent as JSON unless it is text, bytes or a stream; undefined: no body. */
    readonly body?: unknown,
    readonly headers: Record<string, string> = {},
  ) {}
}

export const isStream = (body: unknown): body is Readable => typeof (body as Readable | null)?.pipe === 'function'
