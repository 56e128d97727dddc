import { z } from 'zod'
import { fullPathOf, onProject, onProjectSignedIn } from '../../access/rules.js'
import { Branch, presentBranch } from '../../entities/repository/branch.js'
import { notFound } from '../../failures.js'
import * as documented from '../../http/documented.js'
import { Answer, endpoint, pageOf } from '../../http/endpoint.js'
import { bool, oneOf, opt, orDefault, paging, searchText } from '../../http/params.js'
import { shownAs } from '../../http/wire.js'
import { branchExists, createBranch, deleteBranch, deleteMergedBranches, getBranch, listBranches } from '../../services/repository/branches.js'
import { protectOneBranch, unprotectOneBranch } from '../../services/repository/protected-branches.js'

const named = z.object({ branch: shownAs(z.string(), documented.REF_NAME) })

/** Branches (BR-1 to BR-8). */
export const branches = [
  endpoint({
    method: 'GET',
    path: '/projects/:id/repository/branches',
    summary: 'List branches',
    access: onProject('download_code'),
    input: z.object({
      search: opt(searchText()),
      sort: orDefault(oneOf(['name_asc', 'name_desc', 'updated_asc', 'updated_desc']), 'name_asc'),
      ...paging,
    }),
    output: z.array(Branch),
    async handler({ ctx, subject, input, view }) {
      const fullPath = fullPathOf(subject.project)
      return pageOf(await listBranches(ctx, subject, input), input, (branch) => presentBranch(branch, { fullPath }, view))
    },
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/repository/branches/:branch',
    summary: 'Get a branch',
    access: onProject('download_code'),
    input: named,
    output: Branch,
    async handler({ ctx, subject, input, view }) {
      return presentBranch(await getBranch(ctx, subject, input.branch), { fullPath: fullPathOf(subject.project) }, view)
    },
  }),
  endpoint({
    method: 'HEAD',
    path: '/projects/:id/repository/branches/:branch',
    summary: 'Check whether a branch exists',
    access: onProject('download_code'),
    input: named,
    async handler({ ctx, subject, input }) {
      if (!(await branchExists(ctx, subject, input.branch))) throw notFound('Branch')
      return new Answer(204)
    },
  }),
  endpoint({
    method: 'POST',
    path: '/projects/:id/repository/branches',
    summary: 'Create a branch',
    access: onProjectSignedIn('create_branch'),
    input: z.object({ branch: documented.newBranch(), ref: documented.filled() }),
    output: Branch,
    async handler({ ctx, caller, subject, input, view }) {
      return presentBranch(await createBranch(ctx, subject, caller, input), { fullPath: fullPathOf(subject.project) }, view)
    },
  }),
  endpoint({
    method: 'DELETE',
    path: '/projects/:id/repository/branches/:branch',
    summary: 'Delete a branch',
    answers: [409, 412],
    access: onProjectSignedIn('push_code'),
    input: named,
    async handler({ ctx, caller, subject, input, unchangedSince }) {
      const { commit } = await getBranch(ctx, subject, input.branch)
      unchangedSince(new Date(commit.committer.seconds * 1_000))
      await deleteBranch(ctx, subject, caller, input.branch)
    },
  }),
  endpoint({
    method: 'DELETE',
    path: '/projects/:id/repository/merged_branches',
    summary: 'Delete merged branches',
    access: onProjectSignedIn('push_code'),
    status: 202,
    output: z.strictObject({ message: z.literal('202 Accepted') }),
    async handler({ ctx, caller, subject }) {
      await deleteMergedBranches(ctx, subject, caller)
      return { message: '202 Accepted' }
    },
  }),
  endpoint({
    method: 'PUT',
    path: '/projects/:id/repository/branches/:branch/protect',
    summary: 'Protect a branch',
    access: onProjectSignedIn('manage_protection'),
    input: z.object({ branch: shownAs(z.string(), documented.REF_NAME), developers_can_push: opt(bool()), developers_can_merge: opt(bool()) }),
    output: Branch,
    async handler({ ctx, subject, input, view }) {
      await getBranch(ctx, subject, input.branch)
      await protectOneBranch(ctx, subject, input.branch, { push: input.developers_can_push, merge: input.developers_can_merge })
      return presentBranch(await getBranch(ctx, subject, input.branch), { fullPath: fullPathOf(subject.project) }, view)
    },
  }),
  endpoint({
    method: 'PUT',
    path: '/projects/:id/repository/branches/:branch/unprotect',
    summary: 'Unprotect a branch',
    access: onProjectSignedIn('manage_protection'),
    input: named,
    output: Branch,
    async handler({ ctx, subject, input, view }) {
      await getBranch(ctx, subject, input.branch)
      await unprotectOneBranch(ctx, subject, input.branch)
      return presentBranch(await getBranch(ctx, subject, input.branch), { fullPath: fullPathOf(subject.project) }, view)
    },
  }),
]
