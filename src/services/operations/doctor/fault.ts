/** An inconsistency. */
export interface Fault {
  /** The kind of fault, in a word or two. */
  kind: string
  /** What it is about, such as `project 12` or the path of a file. */
  of: string
  /** What was found. */
  text: string
  /** Repairs it as far as possible and returns what was done; null if only an administrator can repair it. */
  repair: (() => Promise<string>) | null
}

/** A check for some kinds of faults, which yields them one by one. */
export type Check = AsyncGenerator<Fault>
