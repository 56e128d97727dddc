import { z } from 'zod'
import type { Access } from '../access/access.js'
import { PUBLIC } from '../access/can.js'
import { type GroupSubject, getGroupFor } from '../access/rules.js'
import { notFound } from '../failures.js'
import { isRestricted, readSettings } from '../services/core/settings.js'
import { findUserByName, type User } from '../services/identity/users.js'

/** A user who can be seen by their name. */
export const onUsername: Access<User, false> = {
  rule: 'anyone, user',
  signedIn: false,
  early: true,
  path: z.object({ id: z.string() }),
  async find(ctx, caller, params) {
    if (!caller.user && isRestricted(await readSettings(ctx), PUBLIC)) throw notFound()
    const user = await findUserByName(ctx, params['id'] as string)
    if (user?.kind !== 'human' || user.removal !== null) throw notFound()
    return user
  },
}

/** The same, where the name is a parameter of its own in the address. */
export const onUserAt: Access<User, false> = {
  ...onUsername,
  path: z.object({ username: z.string() }),
  find: (ctx, caller, params) => onUsername.find(ctx, caller, { id: params['username'] }),
}

/** A group that the caller may see, by its path. */
export const onGroupPage: Access<GroupSubject, false> = {
  rule: 'group: read_group',
  signedIn: false,
  early: true,
  path: z.object({ id: z.string() }),
  find: (ctx, caller, params) => getGroupFor(ctx, caller, params['id'] as string),
}
