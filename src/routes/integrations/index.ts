import { z } from 'zod'
import { onProjectSignedIn } from '../../access/rules.js'
import { BasicIntegration, IntegrationWithProperties, presentBasicIntegration, presentIntegration } from '../../entities/projects/integration.js'
import { notFound } from '../../failures.js'
import { endpoint } from '../../http/endpoint.js'
import { bool, clearable, int, opt, str } from '../../http/params.js'
import { INTEGRATION_EVENTS } from '../../rules/integrations/events.js'
import type { IntegrationValue } from '../../services/hooks/integrations/integrations.js'
import { disableIntegration, findIntegration, listIntegrations, serviceOf, setIntegration } from '../../services/hooks/integrations/integrations.js'
import { PROPERTIES } from '../../services/integrations/catalogue.js'

const access = onProjectSignedIn('manage_hooks')
const slug = str()

/** One property of all services that have it. */
const properties: Record<string, z.ZodType<IntegrationValue | null | undefined>> = Object.fromEntries(
  Object.entries(PROPERTIES).map(([name, { kind }]) => [
    name,
    kind === 'flag' ? opt(bool()) : kind === 'number' ? opt(int()) : clearable().optional(),
  ]),
)
const events = Object.fromEntries(INTEGRATION_EVENTS.map((event) => [`${event}_events`, opt(bool())] as const)) as Record<
  `${(typeof INTEGRATION_EVENTS)[number]}_events`,
  ReturnType<typeof opt<z.ZodBoolean>>
>

const attributesOf = ({ notify_only_default_branch: onlyDefault, ...given }: Record<string, unknown>) => ({
  properties: {
    // of earlier versions
    ...(onlyDefault !== undefined && { branches_to_be_notified: onlyDefault ? 'default' : 'all' }),
    ...Object.fromEntries(Object.keys(properties).flatMap((name) => (given[name] === undefined ? [] : [[name, given[name] as IntegrationValue]]))),
  },
  events: Object.fromEntries(INTEGRATION_EVENTS.map((event) => [event, given[`${event}_events`] as boolean | undefined])),
})

const under = (name: 'services' | 'integrations', noun: 'Service' | 'Integration') => {
  const path = `/projects/:id/${name}`
  const one = name === 'services' ? 'a service' : 'an integration'
  return [
    endpoint({
      method: 'GET',
      path,
      summary: `List the active ${name} of a project`,
      access,
      output: z.array(BasicIntegration),
      handler: async ({ ctx, subject }) => (await listIntegrations(ctx, subject)).map(presentBasicIntegration),
    }),
    endpoint({
      method: 'GET',
      path: `${path}/:slug`,
      summary: `Get ${one} of a project`,
      access,
      input: z.object({ slug }),
      output: IntegrationWithProperties,
      async handler({ ctx, subject, input }) {
        const found = serviceOf(input.slug, noun) && (await findIntegration(ctx, subject, input.slug))
        if (!found) throw notFound(noun)
        return presentIntegration(found)
      },
    }),
    endpoint({
      method: 'PUT',
      path: `${path}/:slug`,
      summary: `Set up ${one} of a project`,
      description: 'Switches it on. Each takes its own properties and events; others are ignored.',
      access,
      input: z.object({ slug, ...properties, notify_only_default_branch: opt(bool()), ...events }),
      output: IntegrationWithProperties,
      async handler({ ctx, subject, input: { slug, ...given } }) {
        serviceOf(slug, noun)
        return presentIntegration(await setIntegration(ctx, subject, slug, attributesOf(given)))
      },
    }),
    endpoint({
      method: 'DELETE',
      path: `${path}/:slug`,
      summary: `Switch off ${one} of a project`,
      description: 'Its properties are forgotten.',
      answers: [412],
      access,
      input: z.object({ slug }),
      async handler({ ctx, subject, input, unchangedSince }) {
        const found = serviceOf(input.slug, noun) && (await findIntegration(ctx, subject, input.slug))
        if (found) unchangedSince(found.updated_at)
        await disableIntegration(ctx, subject, input.slug)
      },
    }),
  ]
}

/** Integrations of projects under both of their addresses (SV-1 to SV-5). */
export const projectIntegrations = [...under('services', 'Service'), ...under('integrations', 'Integration')]
