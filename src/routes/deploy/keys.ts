import { z } from 'zod'
import { admin, onProjectSignedIn } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { presentAdminUser } from '../../entities/identity/user-views.js'
import {
  DeployKey,
  KeyWithUser,
  ProjectDeployKey,
  presentDeployKey,
  presentKeyWithUser,
  presentProjectDeployKey,
} from '../../entities/projects/deploy.js'
import * as documented from '../../http/documented.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { bool, datetime, idPaging, needsOneOf, opt, orDefault, rowId, str } from '../../http/params.js'
import type { View } from '../../http/view.js'
import { loadUser } from '../../services/identity/users.js'
import {
  type AnyKey,
  addDeployKey,
  addPublicKey,
  enableDeployKey,
  getAnyKey,
  getDeployKey,
  listAllDeployKeys,
  listDeployKeys,
  removeDeployKey,
  updateDeployKey,
} from '../../services/projects/deploy-keys.js'

const access = onProjectSignedIn('manage_deploy_keys')
const path = '/projects/:id/deploy_keys'
const byId = { key_id: rowId() }

async function withUser(ctx: Context, found: AnyKey, view: View) {
  const user = found.key.user_id ?? found.key.creator_id
  return presentKeyWithUser(found, user === null ? null : presentAdminUser(await loadUser(ctx, user), view))
}

/** Deploy keys (DK-1 to DK-6), and any key for administrators (OT-6). */
export const deployKeys = [
  endpoint({
    method: 'GET',
    path: '/deploy_keys',
    summary: 'List the deploy keys of all projects',
    access: admin,
    input: z.object({ ...idPaging, public: opt(bool()) }),
    output: z.array(DeployKey),
    handler: async ({ ctx, input }) => pageOf(await listAllDeployKeys(ctx, input), input, presentDeployKey).inOrderOfIds(input),
  }),
  endpoint({
    method: 'POST',
    path: '/deploy_keys',
    summary: 'Add a deploy key that every project may enable',
    access: admin,
    input: z.object({ title: documented.title(), key: documented.sshKey(), expires_at: opt(datetime()) }),
    output: DeployKey,
    handler: async ({ ctx, caller, input }) => presentDeployKey(await addPublicKey(ctx, caller, input)),
  }),
  endpoint({
    method: 'GET',
    path,
    summary: 'List the deploy keys of a project',
    access,
    input: z.object(idPaging),
    output: z.array(ProjectDeployKey),
    handler: async ({ ctx, subject, input }) =>
      pageOf(await listDeployKeys(ctx, subject.project, input), input, presentProjectDeployKey).inOrderOfIds(input),
  }),
  endpoint({
    method: 'GET',
    path: `${path}/:key_id`,
    summary: 'Get a deploy key of a project',
    access,
    input: z.object(byId),
    output: ProjectDeployKey,
    handler: async ({ ctx, subject, input }) => presentProjectDeployKey(await getDeployKey(ctx, subject.project, input.key_id)),
  }),
  endpoint({
    method: 'POST',
    path,
    summary: 'Add a deploy key to a project',
    access,
    input: z.object({ title: documented.title(), key: documented.sshKey(), can_push: orDefault(bool(), false), expires_at: opt(datetime()) }),
    output: ProjectDeployKey,
    handler: async ({ ctx, caller, subject, input }) => presentProjectDeployKey(await addDeployKey(ctx, caller, subject.project, input)),
  }),
  endpoint({
    method: 'PUT',
    path: `${path}/:key_id`,
    summary: 'Update a deploy key of a project',
    access,
    input: needsOneOf(z.object({ ...byId, title: opt(documented.title()), can_push: opt(bool()) }), 'title', 'can_push'),
    output: ProjectDeployKey,
    handler: async ({ ctx, subject, input }) => presentProjectDeployKey(await updateDeployKey(ctx, subject.project, input.key_id, input)),
  }),
  endpoint({
    method: 'POST',
    path: `${path}/:key_id/enable`,
    summary: 'Enable a deploy key of another project',
    access,
    input: z.object(byId),
    output: ProjectDeployKey,
    handler: async ({ ctx, caller, subject, input }) => presentProjectDeployKey(await enableDeployKey(ctx, caller, subject.project, input.key_id)),
  }),
  endpoint({
    method: 'DELETE',
    path: `${path}/:key_id`,
    summary: 'Remove a deploy key from a project',
    answers: [412],
    access,
    input: z.object(byId),
    async handler({ ctx, subject, input, unchangedSince }) {
      unchangedSince((await getDeployKey(ctx, subject.project, input.key_id)).key.updated_at)
      await removeDeployKey(ctx, subject.project, input.key_id)
    },
  }),
  endpoint({
    method: 'GET',
    path: '/keys/:id',
    summary: 'Get any SSH key with its user',
    access: admin,
    input: z.object({ id: rowId() }),
    output: KeyWithUser,
    handler: async ({ ctx, input, view }) => withUser(ctx, await getAnyKey(ctx, input), view),
  }),
  endpoint({
    method: 'GET',
    path: '/keys',
    summary: 'Find an SSH key by its fingerprint',
    answers: [404],
    access: admin,
    input: z.object({ fingerprint: str() }),
    output: KeyWithUser,
    handler: async ({ ctx, input, view }) => withUser(ctx, await getAnyKey(ctx, input), view),
  }),
]
