import { z } from 'zod'
import type { View } from '../../http/view.js'
import { readableTextColor } from '../../lib/text/color.js'
import type { ResourceEvent } from '../../services/issuables/resource-events.js'
import { presentUserRef, UserRef } from '../identity/user.js'
import { LabelDetails } from './issue.js'
import { Milestone, presentMilestone } from './milestone.js'

const common = {
  id: z.int(),
  user: UserRef,
  created_at: z.iso.datetime(),
  resource_type: z.enum(['Issue', 'MergeRequest']),
  resource_id: z.int(),
}
const action = z.enum(['add', 'remove'])

/** The label is null after it was deleted (EV-702). */
export const ResourceLabelEvent = z
  .strictObject({ ...common, label: LabelDetails.nullable(), action })
  .meta({ id: 'ResourceLabelEvent', description: 'That a label was added to an issue or merge request, or removed.' })

export const ResourceMilestoneEvent = z
  .strictObject({ ...common, milestone: Milestone.nullable(), action })
  .meta({ id: 'ResourceMilestoneEvent', description: 'That an issue or merge request got a milestone, or has none any more.' })

export const ResourceStateEvent = z
  .strictObject({ ...common, state: z.enum(['closed', 'reopened', 'merged']) })
  .meta({ id: 'ResourceStateEvent', description: 'That an issue or merge request was closed, reopened or merged.' })

const presentCommon = ({ event, user }: ResourceEvent, view: View) => ({
  id: event.id,
  user: presentUserRef(user, view),
  created_at: event.created_at.toISOString(),
  ...(event.issue_id === null
    ? { resource_type: 'MergeRequest' as const, resource_id: event.merge_request_id ?? 0 }
    : { resource_type: 'Issue' as const, resource_id: event.issue_id }),
})

export const presentLabelEvent = (given: ResourceEvent, _: string, view: View): z.infer<typeof ResourceLabelEvent> =>
  Object.assign(presentCommon(given, view), {
    label: given.label && {
      id: given.label.id,
      name: given.label.title,
      color: given.label.color,
      text_color: readableTextColor(given.label.color),
      description: given.label.description,
      description_html: given.label.description_html,
    },
    action: given.event.action ?? 'add',
  })

export const presentMilestoneEvent = (given: ResourceEvent, today: string, view: View): z.infer<typeof ResourceMilestoneEvent> =>
  Object.assign(presentCommon(given, view), {
    milestone: given.milestone && presentMilestone(given.milestone, today, view, given.event.project_id),
    action: given.event.action ?? 'add',
  })

export const presentStateEvent = (given: ResourceEvent, _: string, view: View): z.infer<typeof ResourceStateEvent> =>
  Object.assign(presentCommon(given, view), { state: given.event.state ?? 'closed' })
