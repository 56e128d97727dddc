import { z } from 'zod'
import { readableTextColor } from '../../lib/text/color.js'
import type { LabelRecord } from '../../services/issuables/labels.js'

export const Label = z
  .strictObject({
    id: z.int(),
    name: z.string(),
    color: z.string(),
    text_color: z.string(),
    description: z.string().nullable(),
    description_html: z.string(),
    open_issues_count: z.int(),
    closed_issues_count: z.int(),
    open_merge_requests_count: z.int(),
    priority: z.int().nullable(),
    subscribed: z.boolean(),
    is_project_label: z.boolean(),
  })
  .meta({ id: 'Label', description: 'A label of a project or group.' })

export function presentLabel({
  label,
  open_issues_count,
  closed_issues_count,
  open_merge_requests_count,
  subscribed,
}: LabelRecord): z.infer<typeof Label> {
  return {
    id: label.id,
    name: label.title,
    color: label.color,
    text_color: readableTextColor(label.color),
    description: label.description,
    description_html: label.description_html,
    open_issues_count,
    closed_issues_count,
    open_merge_requests_count,
    priority: label.priority,
    subscribed,
    is_project_label: label.project_id !== null,
  }
}
