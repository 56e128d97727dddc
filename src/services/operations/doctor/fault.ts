/** Something that is not as it should be. */
export interface Fault {
  /** What kind of fault it is, a word or two. */
  kind: string
  /** What it is about, such as `project 12` or the path of a file. */
  of: string
  /** What was found. */
  text: string
  /** Makes it good as far as it can be, and says what was done; null: a person has to. */
  repair: (() => Promise<string>) | null
}

/** Looks for faults of a few kinds, and finds those that are there one by one. */
export type Check = AsyncGenerator<Fault>
