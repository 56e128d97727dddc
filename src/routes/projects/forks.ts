import { z } from 'zod'
import { onProject, onProjectSignedIn } from '../../access/rules.js'
import { Project, presentProject } from '../../entities/projects/project.js'
import * as documented from '../../http/documented.js'
import { Answer, endpoint } from '../../http/endpoint.js'
import { clearable, oneOf, opt, rowId, str } from '../../http/params.js'
import { VISIBILITIES } from '../../rules/visibility.js'
import { forkProject, linkFork, unlinkFork } from '../../services/projects/forks.js'
import { loadProject } from '../../services/projects/load.js'
import { AnyProject, listOf } from './list.js'
import { listParameters } from './list-input.js'

/** Forks (PR-9, PR-19 to PR-21). */
export const forks = [
  endpoint({
    method: 'GET',
    path: '/projects/:id/forks',
    summary: 'List the forks of a project',
    access: onProject('read_project'),
    input: z.object(listParameters),
    output: z.array(AnyProject),
    handler: ({ ctx, caller, subject, input, view }) => listOf(ctx, caller, { ...input, forkedFrom: subject.project.id }, view),
  }),
  endpoint({
    method: 'POST',
    path: '/projects/:id/fork',
    summary: 'Fork a project',
    description: 'All branches and tags are copied; issues, members and hooks are not.',
    answers: [409],
    access: onProjectSignedIn('fork'),
    input: z.object({
      namespace: opt(str()),
      namespace_id: opt(rowId()),
      namespace_path: opt(str()),
      name: opt(documented.projectName()),
      path: opt(documented.projectPath()),
      description: opt(clearable()),
      visibility: opt(oneOf(VISIBILITIES)),
    }),
    output: Project,
    async handler({ ctx, caller, subject, input, view }) {
      const id = await forkProject(ctx, caller, subject, input)
      return presentProject(await loadProject(ctx, caller.user, id), view)
    },
  }),
  endpoint({
    method: 'POST',
    path: '/projects/:id/fork/:forked_from_id',
    summary: 'Create a fork relation between two projects',
    answers: [409],
    access: onProjectSignedIn('link_fork'),
    input: z.object({ forked_from_id: str() }),
    output: Project,
    async handler({ ctx, caller, subject, input, view }) {
      await linkFork(ctx, caller, subject, input.forked_from_id)
      return presentProject(await loadProject(ctx, caller.user, subject.project.id), view)
    },
  }),
  endpoint({
    method: 'DELETE',
    path: '/projects/:id/fork',
    summary: 'Delete the fork relation of a project',
    answers: [304, 412],
    access: onProjectSignedIn('unlink_fork'),
    async handler({ ctx, subject, unchangedSince }) {
      unchangedSince(subject.project.updated_at)
      if (!(await unlinkFork(ctx, subject))) return new Answer(304)
    },
  }),
]
