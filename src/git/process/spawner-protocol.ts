import type { SpawnOptions } from './spawner.js'

/** A request to start a process. */
export interface SpawnRequest extends SpawnOptions {
  id: number
  program: string
  args: string[]
}

/** Reports that a process was started, could not be started, or has exited. */
export type SpawnReport = { id: number; pid: number } | { id: number; error: SpawnFault } | { id: number; code: number | null }

export interface SpawnFault {
  message: string
  code: string | undefined
  syscall: string | undefined
  /** The socket that could not be connected to. */
  address: string | undefined
}

/** Size of the header of each connection: request id and descriptor, 32 bits each. */
export const HEADER_BYTES = 8
