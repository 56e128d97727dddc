import { z } from 'zod'
import type { Caller } from '../../access/actor.js'
import type { Context } from '../../context.js'
import { withAttributes } from '../../entities/custom-attribute.js'
import { BasicProject, Project, presentBasicProject, presentProject } from '../../entities/projects/project.js'
import { pageOf } from '../../http/endpoint.js'
import type { View } from '../../http/view.js'
import { attributesFor } from '../../services/core/custom-attributes.js'
import { listProjects, type ProjectFilter } from '../../services/projects/list.js'
import { loadProjects, type ProjectRecord } from '../../services/projects/load.js'

export const AnyProject = z.union([Project, BasicProject])

const shown = (input: { simple?: boolean | undefined; statistics?: boolean | undefined }, view: View) => (project: ProjectRecord) =>
  input.simple ? presentBasicProject(project, view) : presentProject(project, view, input)

/** The response of all lists of projects (PR-1, PR-2, PR-9). */
export async function listOf(
  ctx: Context,
  caller: Caller,
  input: ProjectFilter & { simple?: boolean | undefined; statistics?: boolean | undefined; with_custom_attributes?: boolean | undefined },
  view: View,
) {
  const { items, total } = await listProjects(ctx, caller, input)
  const ids = items.map(({ id }) => id)
  const attributes = await attributesFor(ctx, caller, input, 'project', ids)
  if (attributes) {
    const records = new Map((await loadProjects(ctx, caller.user, ids)).map((project) => [project.id, project]))
    const found = ids.flatMap((id) => records.get(id) ?? [])
    return pageOf({ items: found, total }, input, (project) => withAttributes(shown(input, view)(project), attributes.get(project.id))).inOrderOfIds(
      input,
      input.sort,
      ids,
    )
  }
  const variant = `project ${caller.user ? (caller.user.admin ? 'admin' : 'user') : 'anonymous'} ${input.simple ?? false} ${input.statistics ?? false}`
  const rendered = await ctx.caches.rendered.render(
    `${variant} ${view.avatarService}`,
    items,
    (ids: number[]) => loadProjects(ctx, caller.user, ids),
    shown(input, view),
  )
  return pageOf({ items: rendered, total }, input, (element) => element).inOrderOfIds(input, input.sort, ids)
}
