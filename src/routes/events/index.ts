import { z } from 'zod'
import { anyone, onProject, signedIn } from '../../access/rules.js'
import { Event, presentEvent } from '../../entities/event.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { clearableDate, oneOf, opt, orDefault, paging } from '../../http/params.js'
import { EVENT_ACTIONS, EVENT_TARGETS, listEventsOfProject, listEventsOfUser, listOwnEvents } from '../../services/activity/events.js'

const filter = {
  action: opt(oneOf(EVENT_ACTIONS)),
  target_type: opt(oneOf(EVENT_TARGETS)),
  before: opt(clearableDate()),
  after: opt(clearableDate()),
  sort: orDefault(oneOf(['asc', 'desc']), 'desc'),
  ...paging,
}

/** Events (EV-1 to EV-4). */
export const events = [
  endpoint({
    method: 'GET',
    path: '/events',
    summary: "List the caller's events",
    access: signedIn,
    input: z.object({ scope: opt(oneOf(['all'])), ...filter }),
    output: z.array(Event),
    async handler({ ctx, caller, input: { scope, ...input }, view }) {
      return pageOf(await listOwnEvents(ctx, caller, { ...input, all: scope === 'all' }), input, (event) => presentEvent(event, view))
    },
  }),
  endpoint({
    method: 'GET',
    path: '/users/:user_id/events',
    summary: 'List the events of a user',
    access: anyone,
    input: z.object({ user_id: z.string(), ...filter }),
    output: z.array(Event),
    async handler({ ctx, caller, input, view }) {
      return pageOf(await listEventsOfUser(ctx, caller, input.user_id, input), input, (event) => presentEvent(event, view))
    },
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/events',
    summary: 'List the events of a project',
    access: onProject('read_project'),
    input: z.object(filter),
    output: z.array(Event),
    async handler({ ctx, caller, subject, input, view }) {
      return pageOf(await listEventsOfProject(ctx, caller, subject, input), input, (event) => presentEvent(event, view))
    },
  }),
]
