import { z } from 'zod'
import { INTEGRATION_EVENTS } from '../../rules/integrations/events.js'
import type { Integration } from '../../services/hooks/integrations/integrations.js'

const events = Object.fromEntries(INTEGRATION_EVENTS.map((event) => [`${event}_events`, z.boolean()])) as Record<
  `${(typeof INTEGRATION_EVENTS)[number]}_events`,
  z.ZodBoolean
>

/** An integration in a list (SV-1). */
export const BasicIntegration = z
  .strictObject({
    id: z.int(),
    title: z.string(),
    slug: z.string(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    active: z.boolean(),
    ...events,
    comment_on_event_enabled: z.boolean(),
  })
  .meta({ id: 'BasicIntegration', description: 'An integration of a project.' })

/** One integration with its properties, without secrets (SV-4). */
export const IntegrationWithProperties = z
  .strictObject({ ...BasicIntegration.shape, properties: z.record(z.string(), z.union([z.string(), z.boolean(), z.number(), z.null()])) })
  .meta({ id: 'Integration', description: 'An integration of a project with its properties; secret ones are left out.' })

export const presentBasicIntegration = (integration: Integration): z.infer<typeof BasicIntegration> => ({
  id: integration.id,
  title: integration.service.title,
  slug: integration.slug,
  created_at: integration.created_at.toISOString(),
  updated_at: integration.updated_at.toISOString(),
  active: integration.active,
  ...(Object.fromEntries(
    INTEGRATION_EVENTS.map((event) => [`${event}_events`, integration.service.events.includes(event) && integration.events.includes(event)]),
  ) as Record<keyof typeof events, boolean>),
  comment_on_event_enabled: integration.settings['comment_on_event_enabled'] === true,
})

export const presentIntegration = (integration: Integration): z.infer<typeof IntegrationWithProperties> =>
  Object.assign(presentBasicIntegration(integration), {
    properties: Object.fromEntries(
      Object.entries(integration.service.properties)
        .filter(([, { secret, beside }]) => !secret && !beside)
        .map(([name]) => [name, integration.settings[name] ?? null]),
    ),
  })
