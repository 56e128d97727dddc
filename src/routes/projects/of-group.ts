import { z } from 'zod'
import type { Caller } from '../../access/actor.js'
import { onGroup } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { withAttributes } from '../../entities/custom-attribute.js'
import { Project, ProjectAddress, presentProjectAddress, presentWholeProject } from '../../entities/projects/project.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { bool, orDefault } from '../../http/params.js'
import type { View } from '../../http/view.js'
import { attributesFor } from '../../services/core/custom-attributes.js'
import { type GroupFilter, listProjects } from '../../services/projects/list.js'
import { loadProjects, type ProjectRecord } from '../../services/projects/load.js'
import { listParameters } from './list-input.js'

const ofShared = z.object(listParameters)
const parameters = z.object({
  ...listParameters,
  include_subgroups: orDefault(bool(), false),
  with_shared: orDefault(bool(), true),
})

/** The projects of a group (GR-15 to GR-19, X-18, X-21). */
async function list(ctx: Context, caller: Caller, group: GroupFilter, input: z.infer<typeof ofShared>, view: View) {
  const { search, ...filter } = input
  const page = await listProjects(ctx, caller, { ...filter, words: search, group })
  const ids = page.items.map((project) => project.id)
  const attributes = await attributesFor(ctx, caller, input, 'project', ids)
  if (!input.simple && !attributes) {
    const variant = `project of a group ${caller.user ? (caller.user.admin ? 'admin' : 'user') : 'anonymous'} ${input.statistics ?? false}`
    const load = (missing: number[]) => loadProjects(ctx, caller.user, missing)
    const items = await ctx.caches.rendered.render(variant, page.items, load, (project) => presentWholeProject(project, view, input))
    return pageOf({ items, total: page.total }, input, (element) => element).inOrderOfIds(input, input.sort, ids)
  }
  const records = new Map((await loadProjects(ctx, caller.user, ids)).map((project) => [project.id, project]))
  const present = (project: ProjectRecord & { id: number }) =>
    input.simple ? presentProjectAddress(project, view) : withAttributes(presentWholeProject(project, view, input), attributes?.get(project.id))
  return pageOf({ items: ids.flatMap((id) => records.get(id) ?? []), total: page.total }, input, present).inOrderOfIds(input, input.sort, ids)
}

export const projectsOfGroups = [
  endpoint({
    method: 'GET',
    path: '/groups/:id/projects',
    summary: 'List the projects of a group and those shared with it',
    access: onGroup('read_group'),
    input: parameters,
    output: z.array(z.union([Project, ProjectAddress])),
    handler: ({ ctx, caller, subject, input: { include_subgroups: subgroups, with_shared: shared, ...input }, view }) =>
      list(ctx, caller, { id: subject.group.id, subgroups, shared }, input, view),
  }),
  endpoint({
    method: 'GET',
    path: '/groups/:id/projects/shared',
    summary: 'List the projects that are shared with a group',
    access: onGroup('read_group'),
    input: ofShared,
    output: z.array(z.union([Project, ProjectAddress])),
    handler: ({ ctx, caller, subject, input, view }) => list(ctx, caller, { id: subject.group.id, only: 'shared' }, input, view),
  }),
]
