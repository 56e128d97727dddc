import { z } from 'zod'
import type { View } from '../../http/view.js'
import type { MilestoneRecord } from '../../services/issuables/milestones.js'

/** Has a `project_id` or a `group_id`; both where an issue or merge request shows a milestone of a group. */
export const Milestone = z
  .strictObject({
    id: z.int(),
    iid: z.int(),
    project_id: z.int().optional(),
    group_id: z.int().optional(),
    title: z.string(),
    description: z.string(),
    state: z.enum(['active', 'closed']),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    due_date: z.iso.date().nullable(),
    start_date: z.iso.date().nullable(),
    expired: z.boolean(),
    web_url: z.url(),
  })
  .meta({ id: 'Milestone', description: 'A milestone of a project or group.' })

/**
 * `path` is the full path of the project or group; `today` determines `expired` (MI-8); `shownIn` is the project of the
 * issue or merge request that shows it.
 */
export function presentMilestone({ milestone, path }: MilestoneRecord, today: string, view: View, shownIn?: number): z.infer<typeof Milestone> {
  const { project_id, namespace_id } = milestone
  const home = namespace_id === null ? view.links.project(path) : view.links.group(path)
  return {
    id: milestone.id,
    iid: milestone.iid,
    project_id: project_id ?? shownIn,
    group_id: namespace_id ?? undefined,
    title: milestone.title,
    description: milestone.description,
    state: milestone.state,
    created_at: milestone.created_at.toISOString(),
    updated_at: milestone.updated_at.toISOString(),
    due_date: milestone.due_date,
    start_date: milestone.start_date,
    expired: milestone.due_date !== null && milestone.due_date < today,
    web_url: `${home}${namespace_id === null ? '' : '/-'}/milestones/${milestone.iid}`,
  }
}
