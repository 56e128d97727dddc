/** An inconsistency that was found. */
export interface Fault {
  /** What kind of fault it is, a word or two. */
  kind: string
  /** What it is about, such as `project 12` or the path of a file. */
  of: string
  /** What was found. */
  text: string
  /** Repairs it as far as possible, and says what was done; null: an administrator has to. */
  repair: (() => Promise<string>) | null
}

/** Checks for some kinds of faults, and yields them one by one. */
export type Check = AsyncGenerator<Fault>
