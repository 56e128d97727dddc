import { z } from 'zod'
import { admin, adminFirst, anyone } from '../../access/rules.js'
import { withAttributes } from '../../entities/custom-attribute.js'
import { UserRef } from '../../entities/identity/user.js'
import { AdminUser, presentAdminUser, presentListedUser, presentShownUser, User } from '../../entities/identity/user-views.js'
import * as documented from '../../http/documented.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import {
  allOrNone,
  bool,
  clearable,
  datetime,
  documentedWith,
  file,
  idPaging,
  int,
  needsOneOf,
  oneOf,
  opt,
  orDefault,
  refusedAs,
  rowId,
  searchText,
  str,
  textMap,
  updateOf,
} from '../../http/params.js'
import { attributesFor } from '../../services/core/custom-attributes.js'
import { listUsers, loadUsers, USER_ORDERS } from '../../services/identity/user-list.js'
import { userStateChanges } from '../../services/identity/user-state.js'
import { updateUser } from '../../services/identity/user-update.js'
import { createUser, loadUser, showUser } from '../../services/identity/users.js'
import { removeUser } from '../../services/operations/user-removal.js'

// values out of range are reported by the validation of the record (U-23)
const projectsLimit = () =>
  documentedWith(int({ min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER }), { minimum: 0, maximum: 2_147_483_647 })

/** Required parameters, in the order in which errors name them (U-19). */
const creation = allOrNone(
  needsOneOf(
    z.object({
      email: documented.email(),
      password: opt(documented.newPassword()),
      reset_password: opt(bool()),
      name: documented.title(),
      username: documented.namespacePath(),
      messenger: opt(str()),
      jobsnet: opt(str()),
      microblog: opt(str()),
      website_url: opt(str()),
      organization: opt(str()),
      bio: opt(str()),
      location: opt(str()),
      projects_limit: opt(projectsLimit()),
      extern_uid: opt(str()),
      provider: opt(str()),
      admin: opt(bool()),
      can_create_group: opt(bool()),
      skip_confirmation: opt(bool()),
      external: opt(bool()),
      public_email: opt(str()),
      private_profile: opt(bool()),
      avatar: opt(file()),
    }),
    'password',
    'reset_password',
  ),
  'extern_uid',
  'provider',
)

/** Every failed update is 404, also for an invalid parameter (U-30). */
const changes = updateOf(
  refusedAs(
    'not_found',
    allOrNone(
      z.object({
        email: opt(documented.email()),
        username: opt(documented.namespacePath()),
        name: opt(documented.title()),
        password: opt(documented.newPassword()),
        messenger: opt(clearable()),
        jobsnet: opt(clearable()),
        microblog: opt(clearable()),
        website_url: opt(clearable()),
        organization: opt(clearable()),
        projects_limit: opt(projectsLimit()),
        extern_uid: opt(str()),
        provider: opt(str()),
        bio: opt(clearable()),
        location: opt(clearable()),
        admin: opt(bool()),
        can_create_group: opt(bool()),
        skip_reconfirmation: opt(bool()),
        external: opt(bool()),
        public_email: opt(clearable()),
        private_profile: opt(bool()),
        avatar: opt(file()),
        id: rowId(),
      }),
      'extern_uid',
      'provider',
    ),
  ),
)

const STATE_CHANGES = {
  block: 'Block a user',
  unblock: 'Unblock a user',
  ban: 'Ban a user',
  unban: 'Unban a user',
  deactivate: 'Deactivate a user',
  activate: 'Activate a user',
}

const switchState = (action: keyof typeof STATE_CHANGES) =>
  endpoint({
    method: 'POST',
    path: `/users/:id(^\\d+$)/${action}`,
    summary: STATE_CHANGES[action],
    access: admin,
    input: z.object({ id: rowId() }),
    output: z.boolean(),
    handler: ({ ctx, input }) => userStateChanges[action](ctx, input.id),
  })

/** Users (U-8 to U-36, U-41 to U-44, WB-350, UB-1). */
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
        exclude_internal: opt(bool()),
        without_project_bots: opt(bool()),
        admins: opt(bool()),
        two_factor: opt(oneOf(['enabled', 'disabled'])),
        created_before: opt(datetime()),
        created_after: opt(datetime()),
        custom_attributes: opt(textMap()),
        with_custom_attributes: opt(bool()),
        order_by: orDefault(oneOf(USER_ORDERS), 'id'),
        sort: orDefault(oneOf(['asc', 'desc']), 'desc'),
        ...idPaging,
      }),
      'extern_uid',
      'provider',
    ),
    output: z.array(z.union([AdminUser, UserRef])),
    async handler({ ctx, caller, input, view }) {
      // what a search by others finds is not in the order of ids (U-16)
      const found = caller.user?.admin
        ? {}
        : { order_by: 'id' as const, sort: 'desc' as const, ...(input.search?.trim() && { pagination: undefined }) }
      const asked = { ...input, ...found }
      const { items, total } = await listUsers(ctx, caller, asked)
      const ids = items.map(({ id }) => id)
      const attributes = await attributesFor(ctx, caller, input, 'user', ids)
      if (attributes) {
        const records = new Map((await loadUsers(ctx, caller, ids)).map((user) => [user.id, user]))
        const listed = ids.flatMap((id) => records.get(id) ?? [])
        return pageOf({ items: listed, total }, input, (user) => withAttributes(presentListedUser(user, view), attributes.get(user.id))).inOrderOfIds(
          asked,
        )
      }
      const variant = caller.user?.admin ? 'user admin' : 'user basic'
      const rendered = await ctx.caches.rendered.render(
        `${variant} ${view.avatarService}`,
        items,
        (missing: number[]) => loadUsers(ctx, caller, missing),
        (user) => presentListedUser(user, view),
      )
      return pageOf({ items: rendered, total }, input, (element) => element).inOrderOfIds(asked, asked.sort, ids)
    },
  }),
  endpoint({
    method: 'GET',
    path: '/users/:id(^\\d+$)',
    summary: 'Get a user',
    access: anyone,
    input: z.object({ id: rowId(), with_custom_attributes: opt(bool()) }),
    output: z.union([AdminUser, User, UserRef]),
    async handler({ ctx, caller, input, view }) {
      const user = await showUser(ctx, caller, input.id)
      const attributes = await attributesFor(ctx, caller, input, 'user', [user.id])
      return withAttributes(presentShownUser(user, view), attributes?.get(user.id))
    },
  }),
  endpoint({
    method: 'POST',
    path: '/users',
    summary: 'Create a user',
    description: 'Requires `password`, or `reset_password` to mail a link.',
    answers: [409],
    access: admin,
    input: creation,
    output: AdminUser,
    async handler({ ctx, input, view }) {
      const { id } = await createUser(ctx, input)
      return presentAdminUser(await loadUser(ctx, id), view)
    },
  }),
  endpoint({
    method: 'PUT',
    path: '/users/:id(^\\d+$)',
    summary: 'Update a user',
    access: adminFirst,
    input: changes,
    output: AdminUser,
    async handler({ ctx, input, view }) {
      await updateUser(ctx, input.id, input)
      return presentAdminUser(await loadUser(ctx, input.id), view)
    },
  }),
  endpoint({
    method: 'DELETE',
    path: '/users/:id(^\\d+$)',
    summary: 'Delete a user',
    description: "The user's contributions move to the ghost user, unless `hard_delete` is given.",
    answers: [409, 412],
    access: admin,
    input: z.object({ id: rowId(), hard_delete: orDefault(bool(), false) }),
    handler: ({ ctx, input, unchangedSince }) => removeUser(ctx, input.id, input.hard_delete, unchangedSince),
  }),
  switchState('block'),
  switchState('unblock'),
  switchState('ban'),
  switchState('unban'),
  switchState('deactivate'),
  switchState('activate'),
]
