import type { Seed } from './seed.d.cts'

export type * from './seed.d.cts'

export interface StartOptions {
  /**
   * The name of a world: letters, digits, dots, dashes and underscores; `default` if omitted. If the variable
   * `ROOST_TEST_CONTROL` refers to a running server, the named world is used or created there instead.
   */
  world?: string
  /** The port on 127.0.0.1; a free one if omitted. */
  port?: number
  /** Serves SSH as well, on a free port. */
  ssh?: boolean
  /**
   * Environment variables for the server in addition to those of this process, such as `LOG_LEVEL` or `ROOST_VERSION`.
   */
  env?: Record<string, string>
  /** The time of the server's clock, such as `2030-01-01T00:00:00Z`. Makes responses deterministic. */
  clock?: string | Date
  /** The initial data, also after a reset: an object, or the path of a YAML or JSON file. */
  seed?: Seed | string
}

/** The ids of the objects that a seed created: users by username, groups and projects by path. */
export interface Seeded {
  users: Record<string, number>
  groups: Record<string, number>
  projects: Record<string, number>
}

/** Selects calls; omitted fields match any call. */
export interface Matching {
  /** In upper case. */
  method?: string
  /**
   * A route as in the API reference, such as `/projects/:id/issues`, or of Git, such as
   * `/:project.git/git-upload-pack`.
   */
  route?: string
  /** Without the query; `*` matches any text. */
  path?: string
}

/** A call of the API, or of Git over HTTP. */
export interface RecordedCall {
  /** Sequence number since the start or the last reset, from 1. */
  number: number
  method: string
  path: string
  /** The route template, such as `/api/v4/projects/:id/issues`; null if no route matched. */
  route: string | null
  /** With the question mark; '' if there is none. */
  query: string
  /** As sent, including credentials. */
  headers: Record<string, string | string[] | undefined>
  /** Parsed if it is JSON, otherwise a text of at most 64 KiB; null if there is none or it is binary. */
  body: unknown
  /** The username; null if anonymous, with a refused credential, or stopped by a fault or a limit. */
  caller: string | null
  /** The administrator who acts as the caller. */
  sudoer: string | null
  /** Null if the connection ended before a response. */
  status: number | null
  /** In the same form as `body`. */
  answer: unknown
  /** Milliseconds. */
  duration: number
}

/** A fault: one of `status`, `disconnect` and `cut`, or only a `delay`. */
export interface Fault extends Matching {
  /** At least 400; without a body, the response is the service's own, or a proxy's for 502 and 504. */
  status?: number
  /** Text, or JSON. */
  body?: string | object
  headers?: Record<string, string>
  /** Resets the connection instead of responding. */
  disconnect?: true
  /** Serves the call, and closes the connection after this number of bytes of the response body. */
  cut?: number
  /** Delay in seconds. */
  delay?: number
  /** The number of calls that it applies to; 1 by default. */
  times?: number | 'always'
  /** The number of matching calls to let pass first. */
  after?: number
}

export interface RateLimit extends Matching {
  /** Calls per credential and window. */
  limit: number
  /** Length of the window in seconds; 60 by default. */
  window?: number
}

/** What a runner shall do with a job. */
export interface JobRun {
  /** Id or path. */
  project: string | number
  /** The name, of which the newest job counts, or the id. */
  job: string | number
  /** What the job is afterwards; `success` by default. */
  state?: 'running' | 'success' | 'failed'
  /** Added to its log. */
  log?: string
  /** The archive of its files, by paths; replaces a former one. */
  artifacts?: Record<string, string>
  reports?: Partial<Record<'junit' | 'dotenv' | 'cobertura' | 'codequality', string>>
  exit_code?: number
  /** `script_failure` by default. */
  failure_reason?: string
  /** Seconds to wait for a job that is not there yet, or whose turn has not come; 10 by default. */
  wait?: number
}

/** A world of a running server, and its administrator. */
export interface Roost {
  /** Scheme, host and port; the API is at `/api/v4`. */
  url: string
  username: string
  /** A token with all scopes. */
  token: string
  password: string
  /** The process id of the server. */
  pid: number
  /** The URL of the server's control API; pass it to other processes as `ROOST_TEST_CONTROL`. */
  control: string
  /** The name of the world. */
  world: string
  /** Restores the initial state of the database, the repositories and all files. */
  reset(): Promise<void>
  /** Saves the current state under a name; replaces a snapshot of that name. */
  snapshot(name: string): Promise<void>
  /** Restores the state of a snapshot. */
  restore(name: string): Promise<void>
  /** Adds data; a string is the path of a YAML or JSON file. */
  seed(data: Seed | string): Promise<Seeded>
  /** The last 10,000 calls since the start or the last reset, except those of a seed. */
  requests(filter?: Matching & { caller?: string; status?: number }): Promise<RecordedCall[]>
  /**
   * Does with a job of a pipeline what a runner would do: takes it if it waits, adds to its log and files, and ends it.
   * `variables` are what the runner got with the job; null if an earlier call took it.
   */
  runJob(run: JobRun): Promise<{ id: number; status: string; variables: Record<string, string> | null }>
  /** Makes the next matching calls fail, until `times` is reached or a reset. The first matching fault applies. */
  fail(fault: Fault): Promise<void>
  /** Limits calls until a reset; uses the machine's clock. */
  rateLimit(limit: RateLimit): Promise<void>
  /** Advances the clock and resolves with its new time. */
  advance(seconds: number): Promise<Date>
  /** Stops the server and removes its data; a world on a shared server stays until that server stops. */
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Starts a test server and resolves when it is ready; rejects with the end of its output if it does not start. */
export function startRoost(options?: StartOptions): Promise<Roost>
