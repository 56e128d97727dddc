import { z } from 'zod'
import { anyone, signedIn } from '../../access/rules.js'
import { presentUserStatus, UserStatus } from '../../entities/identity/user-status.js'
import { endpoint } from '../../http/endpoint.js'
import { clearable, documentedWith, oneOf, opt, str } from '../../http/params.js'
import { findUserStatus, setUserStatus } from '../../services/identity/user-statuses.js'
import { getUserNamed } from '../../services/identity/users.js'

/** User statuses (OT-3, OT-4). */
export const status = [
  endpoint({
    method: 'GET',
    path: '/user/status',
    summary: "Get the caller's status",
    access: signedIn,
    output: UserStatus,
    handler: async ({ ctx, caller }) => presentUserStatus(await findUserStatus(ctx, caller.user.id)),
  }),
  endpoint({
    method: 'PUT',
    path: '/user/status',
    summary: "Set the caller's status",
    access: signedIn,
    input: z.object({
      emoji: opt(documentedWith(str(), { pattern: '^[a-z0-9_+-]*$', maxLength: 255 })),
      message: opt(clearable()),
      availability: opt(oneOf(['busy', 'not_set'])),
    }),
    output: UserStatus,
    handler: async ({ ctx, caller, input }) => presentUserStatus(await setUserStatus(ctx, caller.user.id, input)),
  }),
  endpoint({
    method: 'GET',
    path: '/users/:user_id/status',
    summary: "Get a user's status",
    access: anyone,
    input: z.object({ user_id: z.string() }),
    output: UserStatus,
    async handler({ ctx, caller, input }) {
      const user = await getUserNamed(ctx, caller, input.user_id)
      return presentUserStatus(await findUserStatus(ctx, user.id))
    },
  }),
]
