import type { RowImage } from '../../../db/schema/index.js'
import type { HookChange } from '../../outbox/changes.js'
import type { WebhookEvent } from '../event.js'
import { type PayloadData, projectObject, userById } from '../payload-data.js'

/** The event of a feature flag that was switched (FF-13). */
export async function featureFlagOf(data: PayloadData, flag: RowImage, actor: unknown): Promise<WebhookEvent[]> {
  const project = await data.project(flag['project_id'])
  if (!project) return []
  const user = await userById(data, actor)
  const body = {
    object_kind: 'feature_flag',
    project: projectObject(data, project),
    user,
    user_url: user && `${data.ctx.links.base}/${user.username}`,
    object_attributes: { id: flag['id'], name: flag['name'], description: flag['description'], active: flag['active'] },
  }
  return [{ listens: 'feature_flag', event: 'Feature Flag Hook', project: project.id, body }]
}

/** The event of a changed row. */
export const featureFlagsOf = (data: PayloadData, { after, actor_id }: HookChange): Promise<WebhookEvent[]> =>
  after ? featureFlagOf(data, after, actor_id) : Promise.resolve([])
