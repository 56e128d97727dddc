import type { Seed } from './seed.d.cts'

export type * from './seed.d.cts'

export interface StartOptions {
  /**
   * The name of a world: letters, digits, dots, dashes and underscores; `default` if it is not given. Where the variable
   * `ROOST_TEST_CONTROL` names a running server, a world that is given is taken or made there, without a start.
   */
  world?: string
  /** The port of 127.0.0.1; a free one if it is not given. */
  port?: number
  /** Serves SSH as well, on a free port. */
  ssh?: boolean
  /** Variables for the server beside those of this process, such as `LOG_LEVEL` or `ROOST_VERSION`. */
  env?: Record<string, string>
  /** Where the clock stands: a time such as `2030-01-01T00:00:00Z`. Answers are then the same each time. */
  clock?: string | Date
  /** What there is at the start, and after a reset: data, or the path of a YAML or JSON file. */
  seed?: Seed | string
}

/** What a seed has made: ids by names and paths. */
export interface Seeded {
  users: Record<string, number>
  groups: Record<string, number>
  projects: Record<string, number>
}

/** Which calls are meant; what is not given does not matter. */
export interface Matching {
  /** In capitals. */
  method?: string
  /** Of the API's reference, such as `/projects/:id/issues`; of Git, such as `/:project.git/git-upload-pack`. */
  route?: string
  /** Without the query; `*` is any text. */
  path?: string
}

/** A call of the API, or of Git over HTTP. */
export interface RecordedCall {
  /** Counted from one since the start or the last reset, in the order in which calls came. */
  number: number
  method: string
  path: string
  /** The template, such as `/api/v4/projects/:id/issues`; null: there is none. */
  route: string | null
  /** With the question mark; empty: there is none. */
  query: string
  /** As they were sent, credentials included. */
  headers: Record<string, string | string[] | undefined>
  /** Parsed where it is JSON, otherwise a text, 64 KiB at most; null: there is none, or it is no text. */
  body: unknown
  /** The username; null: nobody, a refused credential, or a call that was met by a fault or a limit. */
  caller: string | null
  /** Who acts as the caller. */
  sudoer: string | null
  /** Null: the connection ended before an answer. */
  status: number | null
  /** As `body`. */
  answer: unknown
  /** Milliseconds. */
  duration: number
}

/** What happens to calls: one of `status`, `disconnect` and `cut`, or a delay alone. */
export interface Fault extends Matching {
  /** From 400; without a body the answer is that of the service itself, and for 502 and 504 that of a proxy. */
  status?: number
  /** Text, or JSON. */
  body?: string | object
  headers?: Record<string, string>
  /** Resets the connection in place of an answer. */
  disconnect?: true
  /** The call is served, and the connection ends after so many bytes of the answer's body. */
  cut?: number
  /** Seconds before anything else happens. */
  delay?: number
  /** How many calls it happens to: one unless given. */
  times?: number | 'always'
  /** How many calls are spared before. */
  after?: number
}

export interface RateLimit extends Matching {
  /** Calls of one credential in a window. */
  limit: number
  /** Seconds: 60 unless given. */
  window?: number
}

/** A world of a running server, and its administrator. */
export interface Roost {
  /** Scheme, host and port; the API is at `/api/v4`. */
  url: string
  username: string
  /** Of scope `api` and all others. */
  token: string
  password: string
  /** Of the server. */
  pid: number
  /** The address of the server's control channel; `ROOST_TEST_CONTROL` for other processes. */
  control: string
  /** Its name. */
  world: string
  /** Puts everything back to what it was at the start: the database, the repositories, and all files. */
  reset(): Promise<void>
  /** Keeps the present state under a name; another of this name is replaced. */
  snapshot(name: string): Promise<void>
  /** Puts everything back to what it was at that snapshot. */
  restore(name: string): Promise<void>
  /** Adds to what there is; a text is the path of a YAML or JSON file. */
  seed(data: Seed | string): Promise<Seeded>
  /** The calls since the start or the last reset, those of a seed left out; the last 10,000. */
  requests(filter?: Matching & { caller?: string; status?: number }): Promise<RecordedCall[]>
  /** Makes the next calls fail, until they have or until a reset; of several faults the first that fits. */
  fail(fault: Fault): Promise<void>
  /** Limits calls until a reset, by the machine's clock. */
  rateLimit(limit: RateLimit): Promise<void>
  /** Moves the clock, which resolves with its time. */
  advance(seconds: number): Promise<Date>
  /** Ends the server, and nothing of it is left; a world of a server that others use stays until that ends. */
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Starts a server for tests, and resolves when it answers; rejects with its last words when it does not start. */
export function startRoost(options?: StartOptions): Promise<Roost>
