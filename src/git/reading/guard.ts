import { RepositoryMissing } from '../errors.js'
import { presence } from '../storage/create.js'

export interface GuardOptions {
  /** Called if the repository is missing or cannot be read; the call then throws (SEC-156). */
  onFault?: (fault: Error) => void
  /** Whether the repository may be missing, like a wiki that was never written to; it then reads as empty. */
  optional?: boolean
}

/** Runs a read; returns `empty` if the repository is optional and missing. */
export type Guard = <T>(empty: T, work: () => Promise<T>) => Promise<T>

/** Checks that the repository exists whenever a read fails or finds nothing. */
export function guardOf(directory: string, { onFault, optional = false }: GuardOptions): Guard {
  return async (empty, work) => {
    try {
      const answer = await work()
      const nothing = answer === null || (Array.isArray(answer) && answer.length === 0)
      if (!nothing) return answer
      const found = presence(directory)
      if (found === 'readable') return answer
      if (found === 'absent' && optional) return empty
    } catch (fault) {
      const found = presence(directory)
      if (found === 'readable') throw fault
      if (found === 'absent' && optional) return empty
    }
    const missing = new RepositoryMissing()
    onFault?.(missing)
    throw missing
  }
}
