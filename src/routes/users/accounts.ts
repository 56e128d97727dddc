import { z } from 'zod'
import { admin } from '../../access/rules.js'
import { forbidden } from '../../failures.js'
import { endpoint } from '../../http/endpoint.js'
import { rowId } from '../../http/params.js'
import { disableSecondFactor } from '../../services/identity/sign-in/second-factor.js'
import { getUser } from '../../services/identity/users.js'

const input = z.object({ id: rowId() })

/** What administrators do about the sign-in of users (US-70). */
export const accounts = [
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
