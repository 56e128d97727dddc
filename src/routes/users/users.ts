import { z } from 'zod'
import { admin, anyone } from '../../access/rules.js'
import { UserRef } from '../../entities/user.js'
import { AdminUser, presentAdminUser, presentListedUser, presentShownUser, User } from '../../entities/user-views.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { allOrNone, bool, datetime, int, needsOneOf, oneOf, opt, orDefault, paging, rowId, searchText, str } from '../../http/params.js'
import { createUser, listUsers, loadUser, showUser, USER_ORDERS } from '../../services/users.js'

/** In the order in which U-19 names what is missing. */
const creation = allOrNone(
  needsOneOf(
    z.object({
      email: str(),
      password: opt(str()),
      reset_password: opt(bool()),
      name: str(),
      username: str(),
      messenger: opt(str()),
      jobsnet: opt(str()),
      microblog: opt(str()),
      website_url: opt(str()),
      organization: opt(str()),
      bio: opt(str()),
      location: opt(str()),
      // the record says what is out of range (U-23)
      projects_limit: opt(int({ min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER })),
      extern_uid: opt(str()),
      provider: opt(str()),
      admin: opt(bool()),
      can_create_group: opt(bool()),
      skip_confirmation: opt(bool()),
      external: opt(bool()),
    }),
    'password',
    'reset_password',
  ),
  'extern_uid',
  'provider',
)

/** U-8 to U-24. */
export const users = [
  endpoint({
    method: 'GET',
    path: '/users',
    summary: 'List users',
    access: anyone,
    input: allOrNone(
      z.object({
        active: opt(bool()),
        blocked: opt(bool()),
        search: opt(searchText()),
        username: opt(str()),
        extern_uid: opt(str()),
        provider: opt(str()),
        external: opt(bool()),
        created_before: opt(datetime()),
        created_after: opt(datetime()),
        order_by: orDefault(oneOf(USER_ORDERS), 'id'),
        sort: orDefault(oneOf(['asc', 'desc']), 'desc'),
        ...paging,
      }),
      'extern_uid',
      'provider',
    ),
    output: z.array(z.union([AdminUser, UserRef])),
    async handler({ ctx, caller, input, view }) {
      return pageOf(await listUsers(ctx, caller, input), input, (user) => presentListedUser(user, view))
    },
  }),
  endpoint({
    method: 'GET',
    path: '/users/:id(^\\d+$)',
    summary: 'A user',
    access: anyone,
    input: z.object({ id: rowId() }),
    output: z.union([AdminUser, User]),
    async handler({ ctx, caller, input, view }) {
      return presentShownUser(await showUser(ctx, caller, input.id), view)
    },
  }),
  endpoint({
    method: 'POST',
    path: '/users',
    summary: 'Create a user',
    access: admin,
    input: creation,
    output: AdminUser,
    async handler({ ctx, input, view }) {
      const { id } = await createUser(ctx, input)
      return presentAdminUser(await loadUser(ctx, id), view)
    },
  }),
]
