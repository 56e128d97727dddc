import type { Column } from 'drizzle-orm'

type Shown = 'id' | 'name' | 'username' | 'state' | 'avatar'

/** The columns of a reference to a user (`UserRefRecord`), from `users` or an alias of it. */
export const userRefColumns = <Users extends Record<Shown, Column>>({ id, name, username, state, avatar }: Users): Pick<Users, Shown> => ({
  id,
  name,
  username,
  state,
  avatar,
})
