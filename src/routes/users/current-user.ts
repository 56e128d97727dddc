import { z } from 'zod'
import { anyone, signedIn } from '../../access/rules.js'
import { CurrentUser, presentCurrentUser } from '../../entities/identity/user-views.js'
import { endpoint } from '../../http/endpoint.js'
import { opt, str } from '../../http/params.js'
import { changeOwnPassword } from '../../services/identity/own-password.js'
import { loadUser } from '../../services/identity/users.js'

export const currentUser = [
  endpoint({
    method: 'GET',
    path: '/user',
    summary: 'Get the current user',
    access: signedIn,
    // applied by authentication, on every endpoint (W-10); declared here, where the contract has it
    input: z.object({ sudo: opt(str()) }),
    output: CurrentUser,
    async handler({ ctx, caller, view }) {
      return presentCurrentUser(await loadUser(ctx, caller.user.id), view)
    },
  }),
  endpoint({
    method: 'PUT',
    path: '/user/password',
    summary: "Change the caller's password, with a token or with username and current password",
    access: anyone,
    status: 204,
    input: z.object({ username: opt(str()), current_password: str(), password: str() }),
    handler: ({ ctx, caller, input }) => changeOwnPassword(ctx, caller, input),
  }),
]
