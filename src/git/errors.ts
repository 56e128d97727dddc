import { systemFault, Unavailable } from '../lib/unavailable.js'

/** A ref did not have the value the caller expected: another writer moved it first. */
export class RefChanged extends Error {
  override name = 'RefChanged'
  constructor(readonly ref: string) {
    super(`${ref} was moved by somebody else`)
  }
}

/** The name of a new ref conflicts with an existing one (`a` and `a/b`). */
export class RefNameConflict extends Error {
  override name = 'RefNameConflict'
  constructor(readonly ref: string) {
    super(`${ref} conflicts with the name of another ref`)
  }
}

/** The lock file of a ref, or of packed-refs, exists: another process is writing it, or was killed while it did. */
export class RefLocked extends Error {
  override name = 'RefLocked'
  /** `path` is the lock file. */
  constructor(readonly path: string) {
    super('a ref is locked')
  }
}

/** An expected repository is missing or cannot be read; it must not look like an empty one (SEC-156). */
export class RepositoryMissing extends Unavailable {
  override readonly transient = false
  constructor() {
    super('the repository is missing or cannot be read', 60)
  }
}

/** The repository is being moved to another storage: no ref has moved (SEC-187). */
export class RepositoryMoving extends Unavailable {
  /** When `begun` is false, nothing of the request has been read, so the caller can retry it. */
  readonly begun: boolean
  constructor({ begun = true } = {}) {
    super('The repository is being moved, try again')
    this.begun = begun
  }
}

/** A git command failed unexpectedly; `stderr` is for the log only (SEC-4). */
export class GitFault extends Error {
  override name = 'GitFault'
  constructor(
    readonly command: string,
    readonly exitCode: number | null,
    readonly stderr: string,
  ) {
    super(`git ${command} ended with ${exitCode}`)
  }
}

/** A remote server sent more than the limit allows. */
export class TooLarge extends Error {
  override name = 'TooLarge'
}

/** The errno behind a message of git in the C locale, for failures of this machine. */
const ERRNO_BY_MESSAGE: [RegExp, string][] = [
  [/No space left on device|Disk quota exceeded/, 'ENOSPC'],
  [/Read-only file system/, 'EROFS'],
  [/Too many open files/, 'EMFILE'],
  [/Cannot allocate memory|Resource temporarily unavailable/, 'ENOMEM'],
  [/Permission denied/, 'EACCES'],
]

/** A git process was ended by a signal that is not of this service: by an administrator, or by the system. */
export class GitKilled extends Unavailable {
  override name = 'GitKilled'
  constructor(cause: GitFault) {
    super(`git ${cause.command} was killed`, 1, { cause })
  }
}

/** Exit codes of a shell for a program that a signal has ended; git itself has 128 and 129, and 255 for an error returned. */
const isSignal = (exitCode: number) => exitCode >= 130 && exitCode <= 128 + 64

/**
 * The error for a failed git command: Unavailable if it was killed or this machine is at fault, otherwise GitFault. Not
 * for a process that the caller has killed itself.
 */
export function gitFailure(command: string, exitCode: number | null, stderr: string): GitFault | Unavailable {
  const fault = new GitFault(command, exitCode, stderr)
  // `remote:` lines come from the other server and say nothing about this machine
  const own = stderr.replaceAll(/^remote:.*$/gm, '')
  if (exitCode === null || isSignal(exitCode) || /\bdied of signal \d/.test(own)) return new GitKilled(fault)
  const code = ERRNO_BY_MESSAGE.find(([text]) => text.test(own))?.[1]
  return (code && systemFault(Object.assign(fault, { code }))) || fault
}

/** A git process was killed at its deadline. */
export class GitTimeout extends Unavailable {
  override name = 'GitTimeout'
}
