import { z } from 'zod'
import type { SignedIn } from '../../access/actor.js'
import { accountById, adminFirst } from '../../access/rules.js'
import { showsSecrets } from '../../access/scopes.js'
import { ImpersonationToken, presentImpersonationToken } from '../../entities/identity/impersonation-token.js'
import * as documented from '../../http/documented.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { date, documentedWith, idPaging, list, oneOf, opt, orDefault, rowId, str } from '../../http/params.js'
import {
  createImpersonationToken,
  getImpersonationToken,
  listImpersonationTokens,
  revokeImpersonationToken,
  STATES,
  type ImpersonationToken as TokenRecord,
} from '../../services/identity/impersonation-tokens.js'

const path = '/users/:user_id/impersonation_tokens'
const user_id = rowId()
const byId = z.object({ user_id, impersonation_token_id: rowId() })

const present = (token: TokenRecord, { token: { scopes } }: SignedIn) => presentImpersonationToken(token, showsSecrets(scopes))

/** Impersonation tokens (T-1 to T-10). */
export const impersonationTokens = [
  endpoint({
    method: 'GET',
    path,
    summary: "List a user's impersonation tokens",
    access: adminFirst,
    input: z.object({ user_id, state: orDefault(oneOf(STATES), 'all'), ...idPaging }),
    output: z.array(ImpersonationToken),
    async handler({ ctx, caller, input }) {
      const found = await listImpersonationTokens(ctx, await accountById(ctx, input.user_id), input)
      return pageOf(found, input, (token) => present(token, caller)).inOrderOfIds(input)
    },
  }),
  endpoint({
    method: 'GET',
    path: `${path}/:impersonation_token_id`,
    summary: "Get one of a user's impersonation tokens",
    access: adminFirst,
    input: byId,
    output: ImpersonationToken,
    async handler({ ctx, caller, input }) {
      const account = await accountById(ctx, input.user_id)
      return present(await getImpersonationToken(ctx, account, input.impersonation_token_id), caller)
    },
  }),
  endpoint({
    method: 'POST',
    path,
    summary: 'Create an impersonation token for a user',
    access: adminFirst,
    input: z.object({
      user_id,
      name: documented.short(),
      scopes: documentedWith(list(str()), { minItems: 1, uniqueItems: true, items: { type: 'string', enum: ['api', 'read_user'] } }),
      expires_at: opt(date()),
    }),
    output: ImpersonationToken,
    async handler({ ctx, caller, input }) {
      const account = await accountById(ctx, input.user_id)
      return present(await createImpersonationToken(ctx, caller, account, input), caller)
    },
  }),
  endpoint({
    method: 'DELETE',
    path: `${path}/:impersonation_token_id`,
    summary: "Revoke one of a user's impersonation tokens",
    answers: [412],
    access: adminFirst,
    input: byId,
    async handler({ ctx, input, unchangedSince }) {
      const found = await getImpersonationToken(ctx, await accountById(ctx, input.user_id), input.impersonation_token_id)
      unchangedSince(found.token.updated_at)
      await revokeImpersonationToken(ctx, found)
    },
  }),
]
