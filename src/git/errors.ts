import { systemFault, Unavailable } from '../lib/unavailable.js'

/** A ref did not have the value the caller saw: somebody else moved it first. */
export class RefChanged extends Error {
  override name = 'RefChanged'
  constructor(readonly ref: string) {
    super(`${ref} was moved by somebody else`)
  }
}

/** A new ref's name cannot stand beside one that exists (`a` and `a/b`). */
export class RefNameConflict extends Error {
  override name = 'RefNameConflict'
  constructor(readonly ref: string) {
    super(`${ref} conflicts with the name of another ref`)
  }
}

/** The lock file of a ref, or of packed-refs, is there: somebody is writing, or was killed while they wrote. */
export class RefLocked extends Error {
  override name = 'RefLocked'
  /** `path`: the lock file. */
  constructor(readonly path: string) {
    super('a ref is locked')
  }
}

/** A repository that should be there is not, or cannot be read; it must not look like an empty one (SEC-156). */
export class RepositoryMissing extends Unavailable {
  override readonly passing = false
  constructor() {
    super('the repository is missing or cannot be read', 60)
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

/** A repository elsewhere sent more than it may. */
export class TooLarge extends Error {
  override name = 'TooLarge'
}

/** What git says when the machine has no more of something, in the C locale. */
const EXHAUSTED: [RegExp, string][] = [
  [/No space left on device|Disk quota exceeded/, 'ENOSPC'],
  [/Read-only file system/, 'EROFS'],
  [/Too many open files/, 'EMFILE'],
  [/Cannot allocate memory|Resource temporarily unavailable/, 'ENOMEM'],
  [/Permission denied/, 'EACCES'],
]

/** The error of a git command that failed: Unavailable where the machine is at fault, GitFault else. */
export function gitFailure(command: string, exitCode: number | null, stderr: string): GitFault | Unavailable {
  const fault = new GitFault(command, exitCode, stderr)
  // what another server says of itself is not about this machine
  const own = stderr.replaceAll(/^remote:.*$/gm, '')
  const code = EXHAUSTED.find(([text]) => text.test(own))?.[1]
  return (code && systemFault(Object.assign(fault, { code }))) || fault
}

/** Git was given up: what it was asked costs more than it may. */
export class OutOfTime extends Unavailable {
  override name = 'OutOfTime'
}
