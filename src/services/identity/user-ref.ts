import { type Column, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import { emails, users } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'

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

/** The users whose ids a column has, as references in its order. */
export const userRefsIn = (ids: SQLWrapper): SQL<UserRefRecord[]> =>
  sql<UserRefRecord[]>`case when ${ids} = '{}' then '[]'::json else (select coalesce(json_agg(json_build_object('id', u.id, 'name', u.name,
    'username', u.username, 'state', u.state, 'avatar', u.avatar) order by p.place), '[]')
    from unnest(${ids}) with ordinality as p (id, place) join ${users} u on u.id = p.id) end`

const selectByAddresses = statement('users by e-mail addresses', (db) =>
  db
    .select({ address: sql<string>`a.address`, ...userRefColumns(users) })
    .from(sql`unnest(${sql.placeholder('addresses')}::text[]) as a(address)`)
    .innerJoin(
      users,
      sql`${users.id} = coalesce(
        (select u.id from users u where lower(u.email) = a.address and u.confirmed_at is not null),
        (select e.user_id from ${emails} e where lower(e.email) = a.address and e.confirmed_at is not null))`,
    ),
)

/** The users to whom confirmed addresses belong, by the address in lower case: the authors of commits, for example. */
export async function findUsersByAddress(ctx: Context, addresses: string[]): Promise<Map<string, UserRefRecord>> {
  const wanted = [...new Set(addresses.map((address) => address.toLowerCase()))]
  if (wanted.length === 0) return new Map()
  const rows = await selectByAddresses(ctx.db, null).execute({ addresses: wanted })
  return new Map(rows.map(({ address, ...user }) => [address, user]))
}
