import type { SpawnOptions } from './spawner.js'

/** Asks the spawner process to start one. */
export interface SpawnRequest extends SpawnOptions {
  id: number
  program: string
  args: string[]
}

/** A process was started, could not be started, or has ended. */
export type SpawnReport = { id: number; pid: number } | { id: number; error: SpawnFault } | { id: number; code: number | null }

export interface SpawnFault {
  message: string
  code: string | undefined
  syscall: string | undefined
}

/** Bytes at the beginning of each connection: the id of the request and the descriptor, 32 bits each. */
export const HEADER_BYTES = 8
