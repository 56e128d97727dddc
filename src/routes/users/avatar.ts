import { z } from 'zod'
import { anyone } from '../../access/rules.js'
import { presentAvatar } from '../../entities/identity/user.js'
import { endpoint } from '../../http/endpoint.js'
import { int, opt, str } from '../../http/params.js'
import { findByEmail } from '../../services/identity/users.js'

/** Avatars by e-mail address (UP-5). */
export const avatar = [
  endpoint({
    method: 'GET',
    path: '/avatar',
    summary: 'Get the avatar URL of an e-mail address',
    access: anyone,
    input: z.object({ email: str(), size: opt(int({ min: 1, max: 4_096 })) }),
    output: z.strictObject({ avatar_url: z.string() }),
    handler: async ({ ctx, caller, input, view }) => ({ avatar_url: presentAvatar(await findByEmail(ctx, caller, input.email), input.size, view) }),
  }),
]
