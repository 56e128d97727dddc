import { z } from 'zod'
import type { AccessToken as AccessTokenRecord } from '../../services/groups/access-tokens.js'
import type { Token as TokenRecord } from '../../services/identity/tokens.js'

export const Token = z
  .strictObject({
    id: z.int(),
    name: z.string(),
    revoked: z.boolean(),
    created_at: z.iso.datetime(),
    description: z.string().nullable(),
    scopes: z.array(z.string()),
    user_id: z.int(),
    last_used_at: z.iso.datetime().nullable(),
    active: z.boolean(),
    expires_at: z.string().nullable(),
  })
  .meta({ id: 'PersonalAccessToken', description: 'A token of a user, without its value.' })

/** The only response that contains the value (CR-7). */
export const TokenWithValue = z
  .strictObject({ ...Token.shape, token: z.string() })
  .meta({ id: 'PersonalAccessTokenWithValue', description: 'A new token; its value is shown only here.' })

/** The token of a project or group: of a bot, with its role there (PT-4). */
export const AccessToken = z
  .strictObject({ ...Token.shape, access_level: z.int() })
  .meta({ id: 'ResourceAccessToken', description: 'A token of a project or group, without its value.' })

/** The only response that contains the value. */
export const AccessTokenWithValue = z
  .strictObject({ ...AccessToken.shape, token: z.string() })
  .meta({ id: 'ResourceAccessTokenWithValue', description: 'A new token of a project or group; its value is shown only here.' })

export const presentAccessToken = ({ token, access_level }: AccessTokenRecord, active: boolean): z.infer<typeof AccessToken> =>
  Object.assign(presentToken(token, active), { access_level })

export function presentToken(token: TokenRecord, active: boolean): z.infer<typeof Token> {
  return {
    id: token.id,
    name: token.name,
    revoked: token.revoked,
    created_at: token.created_at.toISOString(),
    description: token.description,
    scopes: token.scopes,
    user_id: token.user_id,
    last_used_at: token.last_used_at?.toISOString() ?? null,
    active,
    expires_at: token.expires_at,
  }
}
