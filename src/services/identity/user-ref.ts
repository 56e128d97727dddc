import type { Column } from 'drizzle-orm'

export interface UserRefRecord {
  id: number
  name: string
  username: string
  state: string
  /** The file name of an uploaded image, or `@` and the hash of the e-mail address. */
  avatar: string | null
}

type Shown = keyof UserRefRecord

/** The columns of a reference to a user (`UserRefRecord`), from `users` or an alias of it. */
export const userRefColumns = <Users extends Record<Shown, Column>>({ id, name, username, state, avatar }: Users): Pick<Users, Shown> => ({
  id,
  name,
  username,
  state,
  avatar,
})
