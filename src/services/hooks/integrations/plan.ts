import { and, inArray, sql } from 'drizzle-orm'
import type { Context } from '../../../context.js'
import { integrations } from '../../../db/schema/index.js'
import type { IntegrationEvent } from '../../../rules/integrations/events.js'
import { addressesIn } from '../../integrations/mails.js'
import { type BranchFacts, branchOf, isBranchWanted, type Payload, payloadOf } from '../../integrations/payload.js'
import { type ServiceRequest, textOf } from '../../integrations/service.js'
import { branchProtectionsOf } from '../../repository/protection.js'
import type { WebhookEvent } from '../event.js'
import { type Integration, integrationOf } from './integrations.js'
import { type DueMail, messageFor } from './mail.js'

/** What the integrations of a project make of an event. */
export interface Planned {
  /** The requests of each, by slug. */
  requests: Map<string, ServiceRequest[]>
  mails: DueMail[]
}

const NOTHING: Planned = { requests: new Map(), mails: [] }

/** What integrations make of the events of one transaction, in their order (SV-6). */
export async function planFor(ctx: Context, events: readonly WebhookEvent[]): Promise<Planned[]> {
  const ids = [...new Set(events.flatMap(({ project }) => project ?? []))]
  const rows =
    ids.length === 0
      ? []
      : await ctx.db.write
          .select()
          .from(integrations)
          .where(and(inArray(integrations.project_id, ids), integrations.active))
  if (rows.length === 0) return events.map(() => NOTHING)
  const active = rows.flatMap((row) => integrationOf(ctx, row) ?? [])
  const planned: Planned[] = []
  for (const event of events) {
    const payload = payloadOf(event.body)
    const own = active.filter((each) => each.project_id === event.project && listensTo(each, event))
    planned.push(payload && own.length > 0 ? await planOf(ctx, payload, own) : NOTHING)
  }
  return planned
}

const listensTo = ({ events, service }: Integration, { listens }: WebhookEvent) =>
  events.some((event) => service.events.includes(event as IntegrationEvent) && (event === listens || (event === 'commit' && listens === 'push')))

async function planOf(ctx: Context, payload: Payload, own: Integration[]): Promise<Planned> {
  const branch = await factsOf(ctx, payload)
  const plan: Planned = { requests: new Map(), mails: [] }
  for (const { slug, service, settings } of own) {
    if (!isBranchWanted(textOf(settings, 'branches_to_be_notified'), branch)) continue
    if (service.sender) plan.requests.set(slug, service.sender.requests(payload, settings))
    const mail = ctx.mail ? service.mail?.(payload, settings) : null
    if (!mail || (await isSilenced(ctx, payload.project.id))) continue
    const message = await messageFor(ctx, payload.project.id, mail)
    for (const address of addressesIn(textOf(settings, 'recipients'))) plan.mails.push({ integration: slug, address, message })
  }
  return plan
}

/** What is known of the branch of an event; null if it has none. */
async function factsOf(ctx: Context, payload: Payload): Promise<BranchFacts | null> {
  const branch = branchOf(payload)
  if (branch === null) return null
  const protections = await branchProtectionsOf(ctx, payload.project.id)
  return { isDefault: branch === payload.project.default_branch, isProtected: protections.isProtected(branch) }
}

/** Whether the project, or a group above it, has `emails_disabled` (PR-45, GR-53). */
async function isSilenced({ db }: Context, project: number): Promise<boolean> {
  const { rows } = await db.write.execute(sql`select from projects p where p.id = ${project} and (p.emails_disabled or exists (
    select from namespace_ancestry a join namespaces n on n.id = a.ancestor_id where a.descendant_id = p.namespace_id and n.emails_disabled))`)
  return rows.length > 0
}
