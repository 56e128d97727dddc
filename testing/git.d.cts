import type { Roost } from './index.cjs'

export interface CloneOptions {
  /** The branch to check out; the default branch if omitted. A clone of an empty project is on it, or on `main`. */
  branch?: string
  /** The token of a user; that of the administrator if omitted. */
  token?: string
  /** A folder that is empty or does not exist yet; a temporary one if omitted, which `remove` deletes. */
  directory?: string
}

export interface CommitOptions {
  message?: string
  /** The branch to commit to; a branch that does not exist is created at the current commit. */
  branch?: string
  /** Author and committer; `date` is the current time if omitted. */
  author?: { name: string; email: string; date?: Date }
}

/** A clone of a project in a folder. */
export interface Clone {
  /** The folder of the files; `.git` is in it. */
  directory: string
  /** Writes files, deletes those that are null, and commits them. Resolves with the id of the commit. */
  commit(files: Record<string, string | Uint8Array | null>, options?: CommitOptions): Promise<string>
  /** Pushes the current branch; rejects if the server refuses it. */
  push(options?: { force?: boolean }): Promise<void>
  /** Removes a temporary folder. */
  remove(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Clones a project, by its path, without a git program. */
export function clone(roost: Pick<Roost, 'url' | 'token'>, project: string, options?: CloneOptions): Promise<Clone>
