import { RepositoryMissing } from '../errors.js'
import { presence } from '../storage/create.js'

export interface GuardOptions {
  /** Called when the repository is missing or cannot be read; the call fails (SEC-156). */
  onFault?: (fault: Error) => void
  /** It may be missing, like a wiki that nobody has written to; then it reads as an empty one. */
  optional?: boolean
}

/** Answers `empty` for an optional repository that is missing. */
export type Guard = <T>(empty: T, work: () => Promise<T>) => Promise<T>

/** When an answer is a fault or empty, checks whether the repository exists. */
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
