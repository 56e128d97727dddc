import { Unavailable } from '../lib/unavailable.js'

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

/** Git was given up: what it was asked costs more than it may. */
export class OutOfTime extends Unavailable {
  override name = 'OutOfTime'
}
