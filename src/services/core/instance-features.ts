import { asc, eq } from 'drizzle-orm'
import type { Context } from '../../context.js'
import { onlyRow } from '../../db/only-row.js'
import { instanceFeatures } from '../../db/schema/index.js'
import { invalidInput, notFound, refused } from '../../failures.js'
import { type Gates, type InstanceFeature, isLetIn } from '../../rules/features/instance-features.js'
import { audit } from './audit.js'
import { lockName } from './lock-name.js'
import { MAX_FEATURES } from './settings-cache.js'

export type Feature = typeof instanceFeatures.$inferSelect

/** The most actors of one feature. */
const MAX_ACTORS = 1_000

/** Whether a feature of the service is on for the caller, or for this project or the group that it is in (FF-51). */
export async function isFeatureOn(
  { caches, origin }: Context,
  name: InstanceFeature,
  project?: { id: number; namespace_id: number },
): Promise<boolean> {
  const gates = (await caches.settings.features()).get(name)
  if (gates === undefined) return true
  const user = origin?.caller.user
  const actors = [...(user ? [`User:${user.id}`] : []), ...(project ? [`Project:${project.id}`, `Group:${project.namespace_id}`] : [])]
  return isLetIn(name, gates, actors, Math.random())
}

/** The features that administrators have switched, by name. */
export const listFeatures = (ctx: Context): Promise<Feature[]> => ctx.db.write.select().from(instanceFeatures).orderBy(asc(instanceFeatures.name))

/** A change of the gates of a feature: on or off for all, or for these actors, or a percentage. */
export interface FeatureChange {
  value: boolean | number
  key: 'percentage_of_time' | 'percentage_of_actors'
  actors: string[]
}

const CLOSED: Gates = { enabled: false, percentage_of_time: 0, percentage_of_actors: 0, actors: [] }

function changed(before: Gates, { value, key, actors }: FeatureChange): Gates {
  if (typeof value === 'number') return { ...before, [key]: value }
  if (actors.length === 0) return { ...CLOSED, enabled: value }
  const others = before.actors.filter((actor) => !actors.includes(actor))
  return { ...before, actors: value ? [...others, ...actors] : others }
}

/** Changes the gates of a feature (FF-50). */
export async function setFeature(ctx: Context, name: string, change: FeatureChange): Promise<Feature> {
  if (typeof change.value === 'number' && !(change.value >= 0 && change.value <= 100)) throw invalidInput('value is invalid')
  const feature = await ctx.db.transaction(async (tx) => {
    await lockName(tx, 'instance features')
    const [before] = await tx.select().from(instanceFeatures).where(eq(instanceFeatures.name, name))
    if (!before && (await tx.$count(instanceFeatures)) >= MAX_FEATURES) throw refused(`there are already ${MAX_FEATURES} features`)
    const gates = changed(before ?? CLOSED, change)
    if (gates.actors.length > MAX_ACTORS) throw refused(`a feature may be on for at most ${MAX_ACTORS} actors`)
    const values = { ...gates, actors: [...gates.actors], updated_at: ctx.now() }
    const row = onlyRow(
      await tx
        .insert(instanceFeatures)
        .values({ name, ...values })
        .onConflictDoUpdate({ target: instanceFeatures.name, set: values })
        .returning(),
    )
    await audit(ctx, tx, { action: 'instance_feature_set', target: { type: 'settings', id: null, name }, changes: { ...change } })
    return row
  })
  ctx.caches.settings.invalidate()
  return feature
}

/** Forgets what was switched: a feature of the service is as it was at first. */
export async function removeFeature(ctx: Context, name: string): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const [gone] = await tx.delete(instanceFeatures).where(eq(instanceFeatures.name, name)).returning()
    if (!gone) throw notFound()
    await audit(ctx, tx, { action: 'instance_feature_removed', target: { type: 'settings', id: null, name } })
  })
  ctx.caches.settings.invalidate()
}
