import type { Caller } from '../../access/actor.js'
import { type GroupSubject, getGroupFor } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { withAttributes } from '../../entities/custom-attribute.js'
import { presentGroupDetails } from '../../entities/groups/group.js'
import { presentWholeProject } from '../../entities/projects/project.js'
import { Rendered } from '../../http/rendered-cache.js'
import type { View } from '../../http/view.js'
import { runnersTokenFor } from '../../services/ci/runners/runners.js'
import { attributesFor } from '../../services/core/custom-attributes.js'
import { readSettings } from '../../services/core/settings.js'
import { listGroupShares } from '../../services/groups/shares.js'
import { projectsOfGroup } from '../../services/projects/list.js'
import { loadProjects } from '../../services/projects/load.js'

interface DetailOptions {
  /** True by default. */
  with_projects?: boolean | undefined
  with_custom_attributes?: boolean | undefined
}

/**
 * The response of the single view and of all changes (GR-2, GR-3). There may be many projects, so their cached
 * renderings are inserted as text.
 */
export async function details(ctx: Context, caller: Caller, subject: GroupSubject, view: View, wanted: DetailOptions = {}): Promise<Rendered> {
  const { group } = subject
  const [attributes, shares, settings, runners_token] = await Promise.all([
    attributesFor(ctx, caller, wanted, 'group', [group.id]),
    listGroupShares(ctx, caller, group.id),
    readSettings(ctx),
    // for those who register runners (CI-332)
    caller.user && subject.can('manage_runners') ? runnersTokenFor(ctx, caller, { group_id: group.id, project_id: null }) : undefined,
  ])
  const presented = Object.assign(presentGroupDetails(group, shares, view, settings), { runners_token })
  const shown = JSON.stringify(withAttributes(presented, attributes?.get(group.id)))
  if (wanted.with_projects === false) return new Rendered(shown)
  const variant = `project in a group ${caller.user ? (caller.user.admin ? 'admin' : 'user') : 'anonymous'}`
  const render = async (which: 'own' | 'shared') => {
    const listed = await projectsOfGroup(ctx, caller, group.id, which)
    const load = (ids: number[]) => loadProjects(ctx, caller.user, ids)
    const elements = await ctx.caches.rendered.render(variant, listed, load, (project) => presentWholeProject(project, view))
    return `[${elements.map(({ text }) => text).join(',')}]`
  }
  const [own, shared] = await Promise.all([render('own'), render('shared')])
  return new Rendered(`${shown.slice(0, -1)},"projects":${own},"shared_projects":${shared}}`)
}

/** Loads a group that was just created or changed, and renders its details. */
export async function detailsOf(ctx: Context, caller: Caller, id: number, view: View): Promise<Rendered> {
  return details(ctx, caller, await getGroupFor(ctx, caller, String(id)), view)
}
