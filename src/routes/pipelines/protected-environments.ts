import { z } from 'zod'
import { onProjectSignedIn } from '../../access/rules.js'
import { ProtectedEnvironment, presentProtectedEnvironment } from '../../entities/ci/protected-environment.js'
import * as documented from '../../http/documented.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { bool, list, oneOfNumbers, opt, paging, rowId } from '../../http/params.js'
import {
  getProtectedEnvironment,
  listProtectedEnvironments,
  protectEnvironment,
  unprotectEnvironment,
  updateProtectedEnvironment,
} from '../../services/ci/environments/protected.js'

const access = onProjectSignedIn('manage_protection')
const AT = '/projects/:id/protected_environments'
const ONE = `${AT}/:name`
const named = z.object({ name: z.string() })

/** 30 developers, 40 maintainers, 60 administrators. */
const level = {
  access_level: opt(oneOfNumbers([30, 40, 60])),
  user_id: opt(rowId()),
  group_id: opt(rowId()),
  group_inheritance_type: opt(oneOfNumbers([0, 1])),
}

/** Environments to which only some may deploy (PE-2). */
export const protectedEnvironments = [
  endpoint({
    method: 'GET',
    path: AT,
    summary: 'List protected environments',
    access,
    input: z.object(paging),
    output: z.array(ProtectedEnvironment),
    handler: async ({ ctx, subject, input }) => pageOf(await listProtectedEnvironments(ctx, subject, input), input, presentProtectedEnvironment),
  }),
  endpoint({
    method: 'GET',
    path: ONE,
    summary: 'Get a protected environment',
    access,
    input: named,
    output: ProtectedEnvironment,
    handler: async ({ ctx, subject, input }) => presentProtectedEnvironment(await getProtectedEnvironment(ctx, subject, input.name)),
  }),
  endpoint({
    method: 'POST',
    path: AT,
    summary: 'Protect an environment',
    description: 'By its name; it need not be there yet. Each of `deploy_access_levels` is a role, a user or a group.',
    answers: [409, 422],
    access,
    input: z.object({ name: documented.title(), deploy_access_levels: list(z.object(level)) }),
    output: ProtectedEnvironment,
    async handler({ ctx, subject, input }) {
      return presentProtectedEnvironment(await protectEnvironment(ctx, subject, input.name, input.deploy_access_levels))
    },
  }),
  endpoint({
    method: 'PUT',
    path: ONE,
    summary: 'Change who may deploy to a protected environment',
    description: 'Each of `deploy_access_levels` is added; one with an `id` is changed, or taken away with `_destroy`.',
    answers: [422],
    access,
    input: z.object({ name: z.string(), deploy_access_levels: opt(list(z.object({ id: opt(rowId()), _destroy: opt(bool()), ...level }))) }),
    output: ProtectedEnvironment,
    async handler({ ctx, subject, input }) {
      return presentProtectedEnvironment(await updateProtectedEnvironment(ctx, subject, input.name, input.deploy_access_levels ?? []))
    },
  }),
  endpoint({
    method: 'DELETE',
    path: ONE,
    summary: 'Unprotect an environment',
    access,
    input: named,
    handler: ({ ctx, subject, input }) => unprotectEnvironment(ctx, subject, input.name),
  }),
]
