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

/** The lock file of a ref, or of packed-refs, exists: it is being written, or its writer was killed. */
export class RefLocked extends Error {
  override name = 'RefLocked'
  /** `path`: the lock file. */
  constructor(readonly path: string) {
    super('a ref is locked')
  }
}

/** An expected repository is missing or cannot be read; it must not look like an empty one (SEC-156). */
export class RepositoryMissing extends Unavailable {
  override readonly passing = false
  constructor() {
    super('the repository is missing or cannot be read', 60)
  }
}

/** The repository is being moved to another storage: no ref has moved (SEC-187). */
export class RepositoryMoving extends Unavailable {
  /** `begun` false: nothing of the request has been read, so it can be begun again. */
  constructor(readonly begun = true) {
    super('The repository is being moved, try again')
  }
}

/** A git process failed in a way its caller did not expect; `stderr` is for the log only (SEC-4). */
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

/** Another server sent more than it may. */
export class TooLarge extends Error {
  override name = 'TooLarge'
}

/** What git says, in the C locale, when the machine has run out of something. */
const ERRNO_BY_MESSAGE: [RegExp, string][] = [
  [/No space left on device|Disk quota exceeded/, 'ENOSPC'],
  [/Read-only file system/, 'EROFS'],
  [/Too many open files/, 'EMFILE'],
  [/Cannot allocate memory|Resource temporarily unavailable/, 'ENOMEM'],
  [/Permission denied/, 'EACCES'],
]

/** The error for a failed git command: Unavailable where the machine is at fault, otherwise GitFault. */
export function gitFailure(command: string, exitCode: number | null, stderr: string): GitFault | Unavailable {
  const fault = new GitFault(command, exitCode, stderr)
  // what another server says about itself is not about this machine
  const own = stderr.replaceAll(/^remote:.*$/gm, '')
  const code = ERRNO_BY_MESSAGE.find(([text]) => text.test(own))?.[1]
  return (code && systemFault(Object.assign(fault, { code }))) || fault
}

/** A git process was ended because it took longer than it may. */
export class GitTimeout extends Unavailable {
  override name = 'OutOfTime'
}
