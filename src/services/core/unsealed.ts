import type { Context } from '../../context.js'

/** Decrypts a stored value; null, and a line in the log, if it was encrypted with another key (SEC-257). */
export function unsealed({ encryption, log }: Pick<Context, 'encryption' | 'log'>, sealed: string, purpose: string): string | null {
  try {
    return encryption.open(sealed, purpose)
  } catch {
    log.error({ value: purpose }, 'a value cannot be decrypted: it must be set again')
    return null
  }
}
