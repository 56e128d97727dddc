import { z } from 'zod'
import type { Access } from '../../access/access.js'
import { admin, fullPathOf, type GroupSubject, onGroupSignedIn, onProjectSignedIn, type ProjectSubject } from '../../access/rules.js'
import { DeployToken, NewDeployToken, presentDeployToken } from '../../entities/projects/deploy.js'
import * as documented from '../../http/documented.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { datetime, documentedWith, idPaging, list, opt, rowId, str } from '../../http/params.js'
import {
  createDeployToken,
  DEPLOY_TOKEN_SCOPES,
  getDeployToken,
  listDeployTokens,
  revokeDeployToken,
  type TokenSource,
} from '../../services/projects/deploy-tokens.js'

const tokensOf = <Subject>(kind: TokenSource['kind'], access: Access<Subject, true>, sourceOf: (subject: Subject) => TokenSource) => {
  const path = `/${kind}s/:id/deploy_tokens`
  const byId = z.object({ token_id: rowId() })
  return [
    endpoint({
      method: 'GET',
      path,
      summary: `List the deploy tokens of a ${kind}`,
      access,
      input: z.object(idPaging),
      output: z.array(DeployToken),
      handler: async ({ ctx, subject, input }) =>
        pageOf(await listDeployTokens(ctx, sourceOf(subject), input), input, (token) => presentDeployToken(token, ctx.now())).inOrderOfIds(input),
    }),
    endpoint({
      method: 'GET',
      path: `${path}/:token_id`,
      summary: `Get a deploy token of a ${kind}`,
      access,
      input: byId,
      output: DeployToken,
      handler: async ({ ctx, subject, input }) => presentDeployToken(await getDeployToken(ctx, sourceOf(subject), input.token_id), ctx.now()),
    }),
    endpoint({
      method: 'POST',
      path,
      summary: `Create a deploy token of a ${kind}`,
      description: 'The value of the token is returned only in this response.',
      access,
      input: z.object({
        name: documented.title(),
        username: opt(documentedWith(str(), { pattern: '^[A-Za-z0-9_.+-]+$', maxLength: 255 })),
        expires_at: opt(datetime()),
        scopes: documentedWith(list(str()), { minItems: 1, uniqueItems: true, items: { type: 'string', enum: DEPLOY_TOKEN_SCOPES } }),
      }),
      output: NewDeployToken,
      async handler({ ctx, caller, subject, input }) {
        const { token, value } = await createDeployToken(ctx, caller, sourceOf(subject), input)
        return { ...presentDeployToken(token, ctx.now()), token: value }
      },
    }),
    endpoint({
      method: 'DELETE',
      path: `${path}/:token_id`,
      summary: `Revoke a deploy token of a ${kind}`,
      access,
      input: byId,
      handler: ({ ctx, subject, input }) => revokeDeployToken(ctx, sourceOf(subject), input.token_id),
    }),
  ]
}

/** Deploy tokens (DK-8). */
export const deployTokens = [
  endpoint({
    method: 'GET',
    path: '/deploy_tokens',
    summary: 'List the deploy tokens of all projects and groups',
    access: admin,
    input: z.object(idPaging),
    output: z.array(DeployToken),
    handler: async ({ ctx, input }) =>
      pageOf(await listDeployTokens(ctx, null, input), input, (token) => presentDeployToken(token, ctx.now())).inOrderOfIds(input),
  }),
  ...tokensOf('project', onProjectSignedIn('manage_deploy_keys'), ({ project }: ProjectSubject) => ({
    kind: 'project',
    id: project.id,
    fullPath: fullPathOf(project),
  })),
  ...tokensOf('group', onGroupSignedIn('manage_deploy_tokens'), ({ group }: GroupSubject) => ({
    kind: 'group',
    id: group.id,
    fullPath: group.full_path,
  })),
]
