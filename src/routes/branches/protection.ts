import { z } from 'zod'
import { onProjectSignedIn } from '../../access/rules.js'
import { ProtectedBranch, ProtectedTag, presentProtectedBranch, presentProtectedTag } from '../../entities/repository/branch.js'
import * as documented from '../../http/documented.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { bool, list, oneOfNumbers, opt, orDefault, paging, searchText } from '../../http/params.js'
import {
  changeProtectedBranch,
  getProtectedBranch,
  getProtectedTag,
  listProtectedBranches,
  listProtectedTags,
  protectBranch,
  protectTag,
  removeProtectedBranch,
  removeProtectedTag,
} from '../../services/repository/protected-branches.js'

const access = onProjectSignedIn('manage_protection')
const named = z.object({ name: z.string() })

/** 0 nobody, 30 developers, 40 maintainers. */
const level = () => oneOfNumbers([0, 30, 40])
const grants = () => opt(list(z.object({ access_level: level() })))

/** Protected branches and tags (BR-9 to BR-14). */
export const protection = [
  endpoint({
    method: 'GET',
    path: '/projects/:id/protected_branches',
    summary: 'List protected branches',
    access,
    input: z.object({ search: opt(searchText()), ...paging }),
    output: z.array(ProtectedBranch),
    async handler({ ctx, subject, input }) {
      return pageOf(await listProtectedBranches(ctx, subject, input), input, presentProtectedBranch)
    },
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/protected_branches/:name',
    summary: 'Get a protected branch or pattern',
    access,
    input: named,
    output: ProtectedBranch,
    async handler({ ctx, subject, input }) {
      return presentProtectedBranch(await getProtectedBranch(ctx, subject, input.name))
    },
  }),
  endpoint({
    method: 'POST',
    path: '/projects/:id/protected_branches',
    summary: 'Protect a branch or pattern',
    answers: [409, 422],
    access,
    input: z.object({
      name: documented.title(),
      push_access_level: orDefault(level(), 40),
      merge_access_level: orDefault(level(), 40),
      allow_force_push: orDefault(bool(), false),
    }),
    output: ProtectedBranch,
    async handler({ ctx, subject, input }) {
      return presentProtectedBranch(await protectBranch(ctx, subject, input))
    },
  }),
  endpoint({
    method: 'PATCH',
    path: '/projects/:id/protected_branches/:name',
    summary: 'Update a protected branch or pattern',
    access,
    input: z.object({ name: z.string(), allow_force_push: opt(bool()), allowed_to_push: grants(), allowed_to_merge: grants() }),
    output: ProtectedBranch,
    async handler({ ctx, subject, input }) {
      const [push] = input.allowed_to_push ?? []
      const [merge] = input.allowed_to_merge ?? []
      const change = {
        ...(input.allow_force_push !== undefined && { allow_force_push: input.allow_force_push }),
        ...(push && { push_level: push.access_level }),
        ...(merge && { merge_level: merge.access_level }),
      }
      return presentProtectedBranch(await changeProtectedBranch(ctx, subject, input.name, change))
    },
  }),
  endpoint({
    method: 'DELETE',
    path: '/projects/:id/protected_branches/:name',
    summary: 'Unprotect a branch or pattern',
    access,
    input: named,
    async handler({ ctx, subject, input }) {
      await removeProtectedBranch(ctx, subject, input.name)
    },
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/protected_tags',
    summary: 'List protected tags',
    access,
    input: z.object(paging),
    output: z.array(ProtectedTag),
    async handler({ ctx, subject, input }) {
      return pageOf(await listProtectedTags(ctx, subject, input), input, presentProtectedTag)
    },
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/protected_tags/:name',
    summary: 'Get a protected tag or pattern',
    access,
    input: named,
    output: ProtectedTag,
    async handler({ ctx, subject, input }) {
      return presentProtectedTag(await getProtectedTag(ctx, subject, input.name))
    },
  }),
  endpoint({
    method: 'POST',
    path: '/projects/:id/protected_tags',
    summary: 'Protect a tag or pattern',
    answers: [409, 422],
    access,
    input: z.object({ name: documented.title(), create_access_level: orDefault(level(), 40) }),
    output: ProtectedTag,
    async handler({ ctx, subject, input }) {
      return presentProtectedTag(await protectTag(ctx, subject, input.name, input.create_access_level))
    },
  }),
  endpoint({
    method: 'DELETE',
    path: '/projects/:id/protected_tags/:name',
    summary: 'Unprotect a tag or pattern',
    access,
    input: named,
    async handler({ ctx, subject, input }) {
      await removeProtectedTag(ctx, subject, input.name)
    },
  }),
]
