import { z } from 'zod'
import { admin } from '../../access/rules.js'
import { forbidden } from '../../failures.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { oneOf, opt, paging, rowId } from '../../http/params.js'
import { listMemberships } from '../../services/groups/memberships.js'
import { unlinkIdentity } from '../../services/identity/sign-in/identities.js'
import { disableSecondFactor } from '../../services/identity/sign-in/second-factor.js'
import { approveUser, refuseUser } from '../../services/identity/sign-in/sign-up.js'
import { getUser } from '../../services/identity/users.js'
import { removeUser } from '../../services/operations/user-removal.js'

const input = z.object({ id: rowId() })
const output = z.strictObject({ message: z.literal('Success') })

/** What administrators do about the sign-in of users (US-70, US-72, US-73). */
const MEMBERSHIPS = ['Project', 'Namespace'] as const

const UserMembership = z
  .strictObject({ source_id: z.int(), source_name: z.string(), source_type: z.enum(MEMBERSHIPS), access_level: z.int() })
  .meta({ id: 'UserMembership', description: 'A project or group that a user is a direct member of.' })

export const accounts = [
  endpoint({
    method: 'GET',
    path: '/users/:id(^\\d+$)/memberships',
    summary: 'List the projects and groups that a user is a direct member of',
    access: admin,
    input: z.object({ id: rowId(), type: opt(oneOf(MEMBERSHIPS)), ...paging }),
    output: z.array(UserMembership),
    async handler({ ctx, input }) {
      const { id } = await getUser(ctx, input.id)
      return pageOf(await listMemberships(ctx, id, input), input, (membership) => membership)
    },
  }),
  endpoint({
    method: 'DELETE',
    path: '/users/:id(^\\d+$)/identities/:provider',
    summary: 'Disconnect a user from a provider that signs them in',
    answers: [400],
    access: admin,
    input: z.object({ id: rowId(), provider: z.string() }),
    async handler({ ctx, input }) {
      await unlinkIdentity(ctx, await getUser(ctx, input.id), input.provider)
    },
  }),
  endpoint({
    method: 'POST',
    path: '/users/:id(^\\d+$)/approve',
    summary: 'Approve a user who waits for approval',
    access: admin,
    input,
    output,
    async handler({ ctx, input }) {
      await approveUser(ctx, input.id)
      return { message: 'Success' }
    },
  }),
  endpoint({
    method: 'POST',
    path: '/users/:id(^\\d+$)/reject',
    summary: 'Reject a user who waits for approval',
    description: 'Removes the account.',
    answers: [409],
    access: admin,
    input,
    output,
    status: 200,
    async handler({ ctx, input }) {
      await refuseUser(ctx, input.id)
      await removeUser(ctx, input.id, true, () => undefined)
      return { message: 'Success' }
    },
  }),
  endpoint({
    method: 'PATCH',
    path: '/users/:id(^\\d+$)/disable_two_factor',
    summary: 'Turn off the second factor of a user',
    description: 'Not that of an administrator: `roost user NAME --no-second-factor` on the machine does that.',
    access: admin,
    input,
    status: 204,
    async handler({ ctx, input }) {
      const user = await getUser(ctx, input.id)
      if (user.admin) throw forbidden('Two-factor authentication for admins cannot be disabled via the API')
      await disableSecondFactor(ctx, user)
    },
  }),
]
