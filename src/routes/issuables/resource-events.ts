import { z } from 'zod'
import type { Access } from '../../access/access.js'
import { onIssueSignedIn } from '../../access/issues.js'
import { onMergeRequest } from '../../access/merge-requests.js'
import {
  presentLabelEvent,
  presentMilestoneEvent,
  presentStateEvent,
  ResourceLabelEvent,
  ResourceMilestoneEvent,
  ResourceStateEvent,
} from '../../entities/issuables/resource-event.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { paging, rowId } from '../../http/params.js'
import { dayOf } from '../../lib/text/day.js'
import type { Target } from '../../services/activity/subscriptions.js'
import { getResourceEvent, listResourceEvents } from '../../services/issuables/resource-events.js'

const KINDS = [
  { kind: 'label', output: ResourceLabelEvent, present: presentLabelEvent },
  { kind: 'milestone', output: ResourceMilestoneEvent, present: presentMilestoneEvent },
  { kind: 'state', output: ResourceStateEvent, present: presentStateEvent },
] as const

interface Place<Subject, Signed extends boolean> {
  path: string
  noun: string
  access: Access<Subject, Signed>
  target(subject: Subject): Pick<Target, 'type' | 'id'>
}

const eventsOf = <Subject, Signed extends boolean>({ path, noun, access, target }: Place<Subject, Signed>) =>
  KINDS.flatMap(({ kind, output, present }) => [
    endpoint({
      method: 'GET',
      path: `${path}/resource_${kind}_events`,
      summary: `List the ${kind} events of ${noun}`,
      access,
      input: z.object(paging),
      output: z.array(output),
      async handler({ ctx, subject, input, view }) {
        const found = await listResourceEvents(ctx, target(subject), kind, input)
        return pageOf(found, input, (event) => present(event, dayOf(ctx.now()), view))
      },
    }),
    endpoint({
      method: 'GET',
      path: `${path}/resource_${kind}_events/:event_id`,
      summary: `Get a ${kind} event of ${noun}`,
      access,
      input: z.object({ event_id: rowId() }),
      output,
      handler: async ({ ctx, subject, input, view }) =>
        present(await getResourceEvent(ctx, target(subject), kind, input.event_id), dayOf(ctx.now()), view),
    }),
  ])

/** What happened to labels, milestones and states (EV-700 to EV-703). */
export const resourceEvents = [
  ...eventsOf({
    path: '/projects/:id/issues/:issue_iid',
    noun: 'an issue',
    access: onIssueSignedIn('read_issue'),
    target: ({ issue }) => ({ type: 'Issue', id: issue.id }),
  }),
  ...eventsOf({
    path: '/projects/:id/merge_requests/:merge_request_iid',
    noun: 'a merge request',
    access: onMergeRequest('read_merge_request'),
    target: ({ request }) => ({ type: 'MergeRequest', id: request.id }),
  }),
]
