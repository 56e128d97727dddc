import { z } from 'zod'
import { featureState, INSTANCE_FEATURES, isInstanceFeature } from '../rules/features/instance-features.js'
import type { Feature } from '../services/core/instance-features.js'

export const InstanceFeature = z
  .strictObject({
    name: z.string(),
    state: z.enum(['on', 'off', 'conditional']),
    gates: z.array(
      z.strictObject({
        key: z.enum(['boolean', 'actors', 'percentage_of_actors', 'percentage_of_time']),
        value: z.union([z.boolean(), z.int(), z.array(z.string())]),
      }),
    ),
    definition: z
      .strictObject({ name: z.string(), description: z.string(), type: z.literal('ops'), default_enabled: z.literal(true) })
      .nullable()
      .describe('Null: the service has no such feature, and nothing depends on it.'),
  })
  .meta({ id: 'InstanceFeature', description: 'A feature of the service that administrators have switched.' })

export function presentInstanceFeature(feature: Feature): z.infer<typeof InstanceFeature> {
  const { name, enabled, actors, percentage_of_actors, percentage_of_time } = feature
  return {
    name,
    state: featureState(feature),
    gates: [
      { key: 'boolean', value: enabled },
      ...(actors.length > 0 ? [{ key: 'actors' as const, value: actors }] : []),
      ...(percentage_of_actors > 0 ? [{ key: 'percentage_of_actors' as const, value: percentage_of_actors }] : []),
      ...(percentage_of_time > 0 ? [{ key: 'percentage_of_time' as const, value: percentage_of_time }] : []),
    ],
    definition: isInstanceFeature(name) ? { name, description: INSTANCE_FEATURES[name], type: 'ops', default_enabled: true } : null,
  }
}
