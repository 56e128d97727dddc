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
  /** Ends the server, and nothing of it is left; a world of a server that others use stays until that ends. */
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Starts a server for tests, and resolves when it answers; rejects with its last words when it does not start. */
export function startRoost(options?: StartOptions): Promise<Roost>
