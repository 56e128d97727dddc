import { z } from 'zod'
import type { HookAttempt } from '../../services/hooks/attempts.js'
import type { Hook } from '../../services/hooks/hooks.js'

const base = {
  id: z.int(),
  url: z.string(),
  name: z.string().nullable(),
  description: z.string().nullable(),
  created_at: z.iso.datetime(),
  push_events: z.boolean(),
  tag_push_events: z.boolean(),
  merge_requests_events: z.boolean(),
  repository_update_events: z.boolean(),
  enable_ssl_verification: z.boolean(),
  alert_status: z.enum(['executable', 'temporarily_disabled', 'disabled']),
  disabled_until: z.iso.datetime().nullable(),
}

const inside = {
  ...base,
  issues_events: z.boolean(),
  confidential_issues_events: z.boolean(),
  note_events: z.boolean(),
  confidential_note_events: z.boolean(),
  pipeline_events: z.boolean(),
  job_events: z.boolean(),
  wiki_page_events: z.boolean(),
  releases_events: z.boolean(),
  deployment_events: z.boolean(),
  feature_flag_events: z.boolean(),
  push_events_branch_filter: z.string().nullable(),
}

/** A hook of a project (chapter 25). */
export const ProjectHook = z.strictObject({ ...inside, project_id: z.int() }).meta({ id: 'ProjectHook', description: 'A webhook of a project.' })

/** A hook of a group, for all projects below it (HK-24). */
export const GroupHook = z
  .strictObject({ ...inside, group_id: z.int(), subgroup_events: z.boolean() })
  .meta({ id: 'GroupHook', description: 'A webhook of a group.' })

/** A hook of the system (HK-8). */
export const SystemHook = z.strictObject(base).meta({ id: 'SystemHook', description: 'A webhook of the server.' })

function presentBase(hook: Hook, now: Date): z.infer<typeof SystemHook> {
  const has = new Set(hook.events)
  const aside = hook.disabled_until !== null && hook.disabled_until > now
  return {
    id: hook.id,
    url: hook.url,
    name: hook.name,
    description: hook.description,
    created_at: hook.created_at.toISOString(),
    push_events: has.has('push'),
    tag_push_events: has.has('tag_push'),
    merge_requests_events: has.has('merge_requests'),
    repository_update_events: has.has('repository_update'),
    enable_ssl_verification: hook.enable_ssl_verification,
    alert_status: aside ? 'temporarily_disabled' : 'executable',
    disabled_until: aside ? (hook.disabled_until?.toISOString() ?? null) : null,
  }
}

function presentInside(hook: Hook, now: Date) {
  const has = new Set(hook.events)
  return Object.assign(presentBase(hook, now), {
    issues_events: has.has('issues'),
    confidential_issues_events: has.has('confidential_issues'),
    note_events: has.has('note'),
    confidential_note_events: has.has('confidential_note'),
    pipeline_events: has.has('pipeline'),
    job_events: has.has('job'),
    wiki_page_events: has.has('wiki_page'),
    releases_events: has.has('releases'),
    deployment_events: has.has('deployment'),
    feature_flag_events: has.has('feature_flag'),
    push_events_branch_filter: hook.push_events_branch_filter,
  })
}

export const presentProjectHook = (hook: Hook, now: Date): z.infer<typeof ProjectHook> =>
  Object.assign(presentInside(hook, now), { project_id: hook.project_id as number })

export const presentGroupHook = (hook: Hook, now: Date): z.infer<typeof GroupHook> =>
  Object.assign(presentInside(hook, now), {
    group_id: hook.group_id as number,
    subgroup_events: hook.events.includes('subgroup'),
  })

export const presentSystemHook = presentBase

const texts = z.record(z.string(), z.string())

/** An attempt to deliver (HK-6). */
export const HookDelivery = z
  .strictObject({
    id: z.int(),
    url: z.string(),
    trigger: z.string(),
    request_headers: texts,
    request_data: z.record(z.string(), z.unknown()),
    response_headers: texts,
    response_body: z.string(),
    response_status: z.string(),
    execution_duration: z.number(),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'HookEvent', description: 'A delivery of a webhook.' })

export const presentHookDelivery = ({ attempt, delivery }: HookAttempt): z.infer<typeof HookDelivery> => ({
  id: attempt.id,
  url: attempt.url,
  trigger: delivery.trigger,
  request_headers: attempt.request_headers,
  request_data: JSON.parse(delivery.body) as Record<string, unknown>,
  response_headers: attempt.response_headers,
  response_body: attempt.fault ?? attempt.response_body,
  response_status: attempt.status === null ? 'internal error' : String(attempt.status),
  execution_duration: attempt.duration / 1000,
  created_at: attempt.created_at.toISOString(),
})
