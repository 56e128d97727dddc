import { z } from 'zod'
import { signedIn } from '../../access/rules.js'
import { CurrentUser, presentCurrentUser } from '../../entities/user-views.js'
import { endpoint } from '../../http/endpoint.js'
import { loadUser } from '../../services/users.js'

export const currentUser = [
  endpoint({
    method: 'GET',
    path: '/user',
    summary: 'The calling user',
    access: signedIn,
    input: z.object({}),
    output: CurrentUser,
    async handler({ ctx, caller, view }) {
      return presentCurrentUser(await loadUser(ctx, caller.user.id), view)
    },
  }),
]
