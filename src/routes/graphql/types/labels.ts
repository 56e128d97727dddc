import { z } from 'zod'
import { Milestone, presentMilestone } from '../../../entities/issuables/milestone.js'
import { readableTextColor } from '../../../lib/text/color.js'
import { type Label, type LabelSource, listLabels } from '../../../services/issuables/labels.js'
import { listMilestones, type MilestoneRecord } from '../../../services/issuables/milestones.js'
import type { Call } from '../call.js'
import { mapped, paged, partOfPages } from '../connection.js'
import { globalId } from '../global-id.js'
import { namesOf, objectType } from '../object-type.js'

export const LABELS = z.object({ ...paged, searchTerm: z.string().nullish(), includeAncestorGroups: z.boolean().nullish() })
export const MILESTONES = z.object({ ...paged, state: z.string().nullish(), title: z.string().nullish() })

/** The labels of a project or group that the caller sees; null for those who may not list them. */
export function labelsIn(source: LabelSource, args: z.infer<typeof LABELS>, call: Call) {
  const { ctx, caller } = call
  if (!caller.user || ('project' in source && !source.project.can('read_label'))) return null
  call.countList()
  const filter = { search: args.searchTerm ?? undefined, include_ancestor_groups: args.includeAncestorGroups ?? false }
  return mapped(
    partOfPages(args, (paging) => listLabels(ctx, caller, source, { ...filter, ...paging })),
    ({ label }) => label,
  )
}

/** The milestones of a project or group; null for those who may not list them. */
export function milestonesIn(source: LabelSource, args: z.infer<typeof MILESTONES>, call: Call) {
  if (!call.caller.user || ('project' in source && !source.project.can('read_milestone'))) return null
  call.countList()
  const state = args.state === 'active' || args.state === 'closed' ? args.state : 'all'
  return partOfPages(args, (paging) => listMilestones(call.ctx, source, { ...paging, state, title: args.title ?? undefined }))
}

export const labelTypes = {
  Label: objectType<Label>({
    fields: {
      id: ({ id, project_id }) => globalId(project_id === null ? 'GroupLabel' : 'ProjectLabel', id),
      title: ({ title }) => title,
      color: ({ color }) => color,
      textColor: ({ color }) => readableTextColor(color),
      description: ({ description }) => description,
    },
  }),
  Milestone: objectType<MilestoneRecord>({
    fields: {
      id: ({ milestone }) => globalId('Milestone', milestone.id),
      groupMilestone: ({ milestone }) => milestone.namespace_id !== null,
      projectMilestone: ({ milestone }) => milestone.project_id !== null,
      webPath: (record, _, call) => call.pathOf(presentMilestone(record, call.today, call.view).web_url),
    },
    shown: (record, { today, view }) => presentMilestone(record, today, view),
    entity: namesOf(Milestone),
  }),
}
