import { z } from 'zod'
import type { AuditEvent as AuditEventRecord, Audited } from '../services/core/audit.js'

/** The kinds of things that audit events are about, as stored and as shown. */
const ENTITY_TYPES = {
  user: 'User',
  token: 'Token',
  key: 'Key',
  gpg_key: 'GpgKey',
  email: 'Email',
  project: 'Project',
  group: 'Group',
  settings: 'Settings',
  application: 'Application',
  merge_request: 'MergeRequest',
} as const satisfies Record<Audited['target']['type'], string>

export const SHOWN_ENTITY_TYPES = ['User', 'Token', 'Key', 'GpgKey', 'Email', 'Project', 'Group', 'Settings', 'Application', 'MergeRequest'] as const

export const storedEntityType = (shown: string): string => Object.entries(ENTITY_TYPES).find(([, name]) => name === shown)?.[0] ?? shown

/** An entry of the audit log (OT-11). */
export const AuditEvent = z
  .strictObject({
    id: z.int(),
    author_id: z.int().nullable(),
    entity_id: z.int().nullable(),
    entity_type: z.enum(SHOWN_ENTITY_TYPES),
    details: z.strictObject({
      action: z.string(),
      author_name: z.string().nullable(),
      sudoer_id: z.int().nullable(),
      sudoer_name: z.string().nullable(),
      target_id: z.int().nullable(),
      target_type: z.enum(SHOWN_ENTITY_TYPES),
      target_details: z.string(),
      changes: z.record(z.string(), z.unknown()),
      ip_address: z.string().nullable(),
      request_id: z.string().nullable(),
    }),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'AuditEvent', description: 'An entry of the audit log.' })

export function presentAuditEvent(event: AuditEventRecord): z.infer<typeof AuditEvent> {
  const entity_type = ENTITY_TYPES[event.target_type as keyof typeof ENTITY_TYPES]
  return {
    id: event.id,
    author_id: event.actor_id,
    entity_id: event.target_id,
    entity_type,
    details: {
      action: event.action,
      author_name: event.actor,
      sudoer_id: event.sudoer_id,
      sudoer_name: event.sudoer,
      target_id: event.target_id,
      target_type: entity_type,
      target_details: event.target,
      changes: event.changes,
      ip_address: event.address,
      request_id: event.request_id,
    },
    created_at: event.created_at.toISOString(),
  }
}
