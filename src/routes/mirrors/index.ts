import { z } from 'zod'
import { onProjectSignedIn } from '../../access/rules.js'
import { PullMirror, presentPullMirror, presentRemoteMirror, RemoteMirror } from '../../entities/projects/mirror.js'
import * as documented from '../../http/documented.js'
import { Answer, endpoint, pageOf } from '../../http/endpoint.js'
import { bool, oneOf, opt, paging, rowId, updateOf } from '../../http/params.js'
import { getPullMirror, startPull } from '../../services/projects/mirrors/follow.js'
import {
  createPushMirror,
  deletePushMirror,
  getPushMirror,
  listPushMirrors,
  syncPushMirror,
  updatePushMirror,
} from '../../services/projects/mirrors/mirrors.js'

const access = onProjectSignedIn('manage_mirrors')
const MIRRORS = '/projects/:id/remote_mirrors'
const MIRROR = `${MIRRORS}/:mirror_id`
const byId = { mirror_id: rowId() }
const settings = {
  enabled: opt(bool()),
  only_protected_branches: opt(bool()),
  keep_divergent_refs: opt(bool()),
  auth_method: opt(oneOf(['password'])),
}

/** Push mirrors (PM-1 to PM-8). */
export const remoteMirrors = [
  endpoint({
    method: 'GET',
    path: MIRRORS,
    summary: 'List the push mirrors of a project',
    access,
    input: z.object(paging),
    output: z.array(RemoteMirror),
    handler: async ({ ctx, subject, input }) => pageOf(await listPushMirrors(ctx, subject, input), input, presentRemoteMirror),
  }),
  endpoint({
    method: 'GET',
    path: MIRROR,
    summary: 'Get a push mirror of a project',
    access,
    input: z.object(byId),
    output: RemoteMirror,
    handler: async ({ ctx, subject, input }) => presentRemoteMirror(await getPushMirror(ctx, subject, input.mirror_id)),
  }),
  endpoint({
    method: 'POST',
    path: MIRRORS,
    summary: 'Create a push mirror of a project',
    description: 'Branches and tags are pushed to it with each push, and when that is asked for.',
    access,
    input: z.object({ url: documented.mirrorUrl(), ...settings }),
    output: RemoteMirror,
    handler: async ({ ctx, subject, input }) => presentRemoteMirror(await createPushMirror(ctx, subject, input)),
  }),
  endpoint({
    method: 'PUT',
    path: MIRROR,
    summary: 'Update a push mirror of a project',
    access,
    input: updateOf(z.object({ ...byId, url: opt(documented.mirrorUrl()), ...settings })),
    output: RemoteMirror,
    handler: async ({ ctx, subject, input: { mirror_id, ...given } }) => presentRemoteMirror(await updatePushMirror(ctx, subject, mirror_id, given)),
  }),
  endpoint({
    method: 'DELETE',
    path: MIRROR,
    summary: 'Delete a push mirror of a project',
    answers: [412],
    access,
    input: z.object(byId),
    async handler({ ctx, subject, input, unchangedSince }) {
      unchangedSince((await getPushMirror(ctx, subject, input.mirror_id)).updated_at)
      await deletePushMirror(ctx, subject, input.mirror_id)
    },
  }),
  endpoint({
    method: 'POST',
    path: `${MIRROR}/sync`,
    summary: 'Push to a mirror now',
    description: 'At most once a minute: later calls are done together at its end.',
    status: 204,
    access,
    input: z.object(byId),
    handler: ({ ctx, subject, input }) => syncPushMirror(ctx, subject, input.mirror_id),
  }),
]

/** The repository that a project follows; what it is stands in the project's attributes (PM-20 to PM-25). */
export const pullMirrors = [
  endpoint({
    method: 'GET',
    path: '/projects/:id/mirror/pull',
    summary: 'Get the state of the pull mirror of a project',
    access,
    output: PullMirror,
    handler: async ({ ctx, subject }) => presentPullMirror(await getPullMirror(ctx, subject)),
  }),
  endpoint({
    method: 'POST',
    path: '/projects/:id/mirror/pull',
    summary: 'Pull from the mirrored repository now',
    description: 'At most every five minutes: later calls are done together at their end.',
    status: 200,
    access,
    async handler({ ctx, subject }) {
      await startPull(ctx, subject)
      return new Answer(200)
    },
  }),
]
