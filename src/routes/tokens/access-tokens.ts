import { z } from 'zod'
import type { Access } from '../../access/access.js'
import { onGroupSignedIn, onProjectSignedIn } from '../../access/rules.js'
import { AccessToken, AccessTokenWithValue, presentAccessToken } from '../../entities/identity/token.js'
import * as documented from '../../http/documented.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { date, documentedWith, int, list, opt, orDefault, rowId, str } from '../../http/params.js'
import {
  ACCESS_TOKEN_SCOPES,
  type AccessTokenWithValue as Created,
  createAccessToken,
  getAccessToken,
  listAccessTokens,
  rotateAccessToken,
} from '../../services/groups/access-tokens.js'
import { levelsToGive, type MemberSource, sourceOfGroup, sourceOfProject } from '../../services/groups/members.js'
import { isActive } from '../../services/identity/tokens.js'
import { revokeAccessToken } from '../../services/operations/user-removal.js'
import { tokenFilters } from './filters.js'

type Ctx = Parameters<typeof isActive>[0]

const withValue = (ctx: Ctx, { value, ...made }: Created): z.infer<typeof AccessTokenWithValue> =>
  Object.assign(presentAccessToken(made, isActive(ctx, made.token)), { token: value })

interface Rules<Subject> {
  manage: Access<Subject, true>
  /** Whoever sees the project or group, as the bot whose token rotates itself. */
  read: Access<Subject, true>
  sourceOf(subject: Subject): MemberSource
}

const accessTokensOf = <Subject>(kind: MemberSource['kind'], { manage, read, sourceOf }: Rules<Subject>) => {
  const path = `/${kind}s/:id/access_tokens`
  const byId = { token_id: rowId() }
  const expires = { expires_at: opt(date()) }
  return [
    endpoint({
      method: 'GET',
      path,
      summary: `List the access tokens of a ${kind}`,
      access: manage,
      input: z.object(tokenFilters),
      output: z.array(AccessToken),
      handler: async ({ ctx, subject, input }) =>
        pageOf(await listAccessTokens(ctx, sourceOf(subject), input), input, (found) => presentAccessToken(found, isActive(ctx, found.token))),
    }),
    endpoint({
      method: 'GET',
      path: `${path}/:token_id`,
      summary: `Get an access token of a ${kind}`,
      access: manage,
      input: z.object(byId),
      output: AccessToken,
      async handler({ ctx, subject, input }) {
        const found = await getAccessToken(ctx, sourceOf(subject), input.token_id)
        return presentAccessToken(found, isActive(ctx, found.token))
      },
    }),
    endpoint({
      method: 'POST',
      path,
      summary: `Create an access token of a ${kind}`,
      description: 'The value of the token is returned only in this response.',
      access: manage,
      input: z.object({
        name: documented.title(),
        scopes: documentedWith(list(str()), { minItems: 1, uniqueItems: true, items: { type: 'string', enum: ACCESS_TOKEN_SCOPES } }),
        access_level: orDefault(documentedWith(int(), { enum: levelsToGive({ kind, level: 50 }) }), 40),
        expires_at: opt(date()),
        description: opt(documented.short()),
      }),
      output: AccessTokenWithValue,
      handler: async ({ ctx, caller, subject, input }) => withValue(ctx, await createAccessToken(ctx, caller, sourceOf(subject), input)),
    }),
    endpoint({
      method: 'POST',
      path: `${path}/:token_id/rotate`,
      summary: `Rotate an access token of a ${kind}`,
      description: 'The value of the new token is returned only in this response.',
      answers: [401],
      access: manage,
      status: 200,
      input: z.object({ ...byId, ...expires }),
      output: AccessTokenWithValue,
      handler: async ({ ctx, caller, subject, input }) =>
        withValue(ctx, await rotateAccessToken(ctx, caller, sourceOf(subject), input.token_id, input.expires_at)),
    }),
    endpoint({
      method: 'POST',
      path: `${path}/self/rotate`,
      summary: `Rotate the access token of a ${kind} that the call is made with`,
      description: 'The value of the new token is returned only in this response.',
      answers: [401],
      access: read,
      status: 200,
      input: z.object(expires),
      output: AccessTokenWithValue,
      handler: async ({ ctx, caller, subject, input }) =>
        withValue(ctx, await rotateAccessToken(ctx, caller, sourceOf(subject), 'self', input.expires_at)),
    }),
    endpoint({
      method: 'DELETE',
      path: `${path}/:token_id`,
      summary: `Revoke an access token of a ${kind}`,
      access: manage,
      input: z.object(byId),
      async handler({ ctx, subject, input }) {
        await revokeAccessToken(ctx, sourceOf(subject), input.token_id)
      },
    }),
  ]
}

/** Tokens of projects and groups (PT-1 to PT-8). */
export const accessTokens = [
  ...accessTokensOf('project', {
    manage: onProjectSignedIn('manage_deploy_keys'),
    read: onProjectSignedIn('read_project'),
    sourceOf: sourceOfProject,
  }),
  ...accessTokensOf('group', { manage: onGroupSignedIn('manage_members'), read: onGroupSignedIn('read_group'), sourceOf: sourceOfGroup }),
]
