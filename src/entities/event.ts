import { z } from 'zod'
import type { View } from '../http/view.js'
import type { EventRecord } from '../services/activity/events.js'
import { presentUserRef, UserRef } from './identity/user.js'
import { Note, presentNote } from './notes/note.js'

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
  .meta({ id: 'Event', description: 'Something that a user did.' })

const NAMES = {
  created: 'opened',
  updated: 'updated',
  closed: 'closed',
  reopened: 'opened',
  commented: 'commented on',
  merged: 'accepted',
  approved: 'approved',
  joined: 'joined',
  left: 'left',
  destroyed: 'destroyed',
  expired: 'removed due to membership expiration from',
} as const

const PUSHES = { created: 'pushed new', pushed: 'pushed to', removed: 'deleted' } as const

/** The `action_name` of an event (EV-5). */
function actionName({ action, target_type, push }: EventRecord['event']): string {
  if (action === 'pushed') return PUSHES[push?.action ?? 'pushed']
  return action === 'created' && target_type === 'Project' ? 'created' : NAMES[action]
}

export function presentEvent(record: EventRecord, view: View): z.infer<typeof Event> {
  const { event, author, project, issue, request, milestone, note } = record
  const person = presentUserRef(author, view)
  // the current title, if the target has been renamed
  const title =
    event.target_type === 'Project'
      ? project.name
      : event.target_type === 'User'
        ? author.name
        : ((issue ?? request ?? milestone)?.title ?? record.noteable_title ?? event.target_title)
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
    note: note ? presentNote({ note, author, resolved_by: record.resolver, iid: record.noteable_iid }, view) : undefined,
    push_data: event.push ?? undefined,
  }
}
