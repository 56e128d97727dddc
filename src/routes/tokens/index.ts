import { z } from 'zod'
import { admin, signedIn } from '../../access/rules.js'
import { SCOPES } from '../../access/scopes.js'
import { presentToken, Token, TokenWithValue } from '../../entities/identity/token.js'
import * as documented from '../../http/documented.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { date, documentedWith, list, opt, rowId, str } from '../../http/params.js'
import { createOwnToken, createToken, getToken, isActive, listTokens, revokeToken, rotateToken, tokenOwner } from '../../services/identity/tokens.js'
import { tokenFilters } from './filters.js'

const creation = {
  name: documented.title(),
  scopes: documentedWith(list(str()), { minItems: 1, uniqueItems: true, items: { type: 'string', enum: SCOPES } }),
  expires_at: opt(date()),
  description: opt(documented.short()),
}
const byId = z.object({ id: z.string() })

/** Personal access tokens (CR-16 to CR-22, CR-25). */
export const tokens = [
  endpoint({
    method: 'POST',
    path: '/user/personal_access_tokens',
    summary: 'Create a personal access token for the caller',
    access: signedIn,
    input: z.object(creation),
    output: TokenWithValue,
    async handler({ ctx, caller, input }) {
      const { token, value } = await createOwnToken(ctx, caller, input)
      return { ...presentToken(token, isActive(ctx, token)), token: value }
    },
  }),
  endpoint({
    method: 'POST',
    path: '/users/:user_id/personal_access_tokens',
    summary: 'Create a personal access token for a user',
    access: admin,
    input: z.object({ user_id: rowId(), ...creation }),
    output: TokenWithValue,
    async handler({ ctx, caller, input }) {
      const { token, value } = await createToken(ctx, await tokenOwner(ctx, input.user_id), input, { maker: caller })
      return { ...presentToken(token, isActive(ctx, token)), token: value }
    },
  }),
  endpoint({
    method: 'GET',
    path: '/personal_access_tokens',
    summary: 'List personal access tokens',
    access: signedIn,
    input: z.object({ user_id: opt(rowId()), ...tokenFilters }),
    output: z.array(Token),
    async handler({ ctx, caller, input }) {
      return pageOf(await listTokens(ctx, caller, input), input, (token) => presentToken(token, isActive(ctx, token)))
    },
  }),
  endpoint({
    method: 'GET',
    path: '/personal_access_tokens/:id',
    summary: 'Get a personal access token',
    access: signedIn,
    scope: 'self',
    input: byId,
    output: Token,
    async handler({ ctx, caller, input }) {
      const token = await getToken(ctx, caller, input.id)
      return presentToken(token, isActive(ctx, token))
    },
  }),
  endpoint({
    method: 'POST',
    path: '/personal_access_tokens/:id/rotate',
    summary: 'Rotate a personal access token',
    access: signedIn,
    scope: 'self',
    status: 200,
    input: z.object({ id: z.string(), expires_at: opt(date()) }),
    output: TokenWithValue,
    async handler({ ctx, caller, input }) {
      const { token, value } = await rotateToken(ctx, caller, await getToken(ctx, caller, input.id), input.expires_at)
      return { ...presentToken(token, isActive(ctx, token)), token: value }
    },
  }),
  endpoint({
    method: 'DELETE',
    path: '/personal_access_tokens/:id',
    summary: 'Revoke a personal access token',
    access: signedIn,
    scope: 'self',
    input: byId,
    async handler({ ctx, caller, input }) {
      await revokeToken(ctx, await getToken(ctx, caller, input.id))
    },
  }),
]
