import { z } from 'zod'
import type { EventRecord } from '../services/events.js'
import { presentUserRef, UserRef } from './user.js'
import type { View } from './view.js'

/** A note as lists of events show it (section 18); one on a commit has neither the id nor the number of a thing. */
const Note = z
  .strictObject({
    id: z.int(),
    type: z.null(),
    body: z.string(),
    attachment: z.null(),
    author: UserRef,
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    system: z.boolean(),
    noteable_id: z.int().nullable(),
    noteable_type: z.string(),
    noteable_iid: z.null(),
    project_id: z.int(),
    resolvable: z.literal(false),
    confidential: z.literal(false),
    internal: z.literal(false),
    commands_changes: z.strictObject({}),
  })
  .meta({ id: 'Note' })

const Push = z.strictObject({
  commit_count: z.int(),
  action: z.enum(['created', 'removed', 'pushed']),
  ref_type: z.enum(['branch', 'tag']),
  commit_from: z.string().nullable(),
  commit_to: z.string().nullable(),
  ref: z.string(),
  commit_title: z.string().nullable(),
})

export const Event = z
  .strictObject({
    id: z.int(),
    project_id: z.int(),
    action_name: z.string(),
    target_id: z.int().nullable(),
    target_iid: z.int().nullable(),
    target_type: z.string().nullable(),
    author_id: z.int(),
    author: UserRef,
    author_username: z.string(),
    target_title: z.string().nullable(),
    created_at: z.iso.datetime(),
    note: Note.optional(),
    push_data: Push.optional(),
  })
  .meta({ id: 'Event' })

const NAMES = {
  created: 'opened',
  updated: 'updated',
  closed: 'closed',
  reopened: 'opened',
  commented: 'commented on',
  merged: 'accepted',
  joined: 'joined',
  left: 'left',
  destroyed: 'destroyed',
  expired: 'removed due to membership expiration from',
} as const

const PUSHES = { created: 'pushed new', pushed: 'pushed to', removed: 'deleted' } as const

/** EV-5. */
function actionName({ action, target_type, push }: EventRecord['event']): string {
  if (action === 'pushed') return PUSHES[push?.action ?? 'pushed']
  return action === 'created' && target_type === 'Project' ? 'created' : NAMES[action]
}

export function presentEvent({ event, author, project, issue, request, milestone, note }: EventRecord, view: View): z.infer<typeof Event> {
  const person = presentUserRef(author, view)
  // what is renamed goes by its name of today
  const title =
    event.target_type === 'Project'
      ? project.name
      : event.target_type === 'User'
        ? author.name
        : ((issue ?? request ?? milestone)?.title ?? event.target_title)
  return {
    id: event.id,
    project_id: event.project_id,
    action_name: actionName(event),
    target_id: event.target_id,
    target_iid: (issue ?? request ?? milestone)?.iid ?? null,
    target_type: event.target_type,
    author_id: event.author_id,
    author: person,
    author_username: author.username,
    target_title: title,
    created_at: event.created_at.toISOString(),
    note: note ? presentNote(note, event.project_id, person) : undefined,
    push_data: event.push ?? undefined,
  }
}

function presentNote(note: NonNullable<EventRecord['note']>, project_id: number, author: z.infer<typeof UserRef>): z.infer<typeof Note> {
  return {
    id: note.id,
    type: null,
    body: note.note,
    attachment: null,
    author,
    created_at: note.created_at.toISOString(),
    updated_at: note.updated_at.toISOString(),
    system: note.system,
    noteable_id: note.noteable_id,
    noteable_type: note.noteable_type,
    noteable_iid: null,
    project_id,
    resolvable: false,
    confidential: false,
    internal: false,
    commands_changes: {},
  }
}
