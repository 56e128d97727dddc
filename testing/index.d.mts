export interface StartOptions {
  /** The port of 127.0.0.1; a free one if it is not given. */
  port?: number
  /** Serves SSH as well, on a free port. */
  ssh?: boolean
  /** Variables for the server beside those of this process, such as `LOG_LEVEL` or `ROOST_VERSION`. */
  env?: Record<string, string>
}

/** A running server, and its administrator. */
export interface Roost {
  /** Scheme, host and port; the API is at `/api/v4`. */
  url: string
  username: string
  /** Of scope `api` and all others. */
  token: string
  password: string
  pid: number
  /** Ends the server; nothing of it is left. */
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Starts an empty server for tests, and resolves when it answers; rejects with its last words when it does not start. */
export function startRoost(options?: StartOptions): Promise<Roost>
