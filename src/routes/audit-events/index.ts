import { z } from 'zod'
import { admin } from '../../access/rules.js'
import { AuditEvent, presentAuditEvent, SHOWN_ENTITY_TYPES, storedEntityType } from '../../entities/audit-event.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { datetime, oneOf, opt, paging, rowId } from '../../http/params.js'
import { getAuditEvent, listAuditEvents } from '../../services/core/audit.js'

/** The audit log (OT-11, OT-12). */
export const auditEvents = [
  endpoint({
    method: 'GET',
    path: '/audit_events',
    summary: 'List the audit log',
    description: 'The newest entry comes first.',
    access: admin,
    input: z.object({
      created_after: opt(datetime()),
      created_before: opt(datetime()),
      entity_type: opt(oneOf(SHOWN_ENTITY_TYPES)),
      entity_id: opt(rowId()),
      ...paging,
    }),
    output: z.array(AuditEvent),
    async handler({ ctx, input: { entity_type, ...input } }) {
      const filter = { ...input, ...(entity_type !== undefined && { entity_type: storedEntityType(entity_type) }) }
      return pageOf(await listAuditEvents(ctx, filter, input), input, presentAuditEvent)
    },
  }),
  endpoint({
    method: 'GET',
    path: '/audit_events/:id',
    summary: 'Get an entry of the audit log',
    access: admin,
    input: z.object({ id: rowId() }),
    answers: [404],
    output: AuditEvent,
    handler: async ({ ctx, input }) => presentAuditEvent(await getAuditEvent(ctx, input.id)),
  }),
]
