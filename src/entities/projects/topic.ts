import { z } from 'zod'
import type { View } from '../../http/view.js'
import type { Topic as Record } from '../../services/projects/topics.js'

export const Topic = z
  .strictObject({
    id: z.int(),
    name: z.string(),
    title: z.string(),
    description: z.string().nullable(),
    total_projects_count: z.int().describe('All projects that have it, also those that the caller does not see.'),
    avatar_url: z.string().nullable(),
  })
  .meta({ id: 'Topic', description: 'What projects are about.' })

/** `base`: what stands before the paths of this service. */
export const topicAvatar = ({ id, avatar }: Record, base: string): string | null =>
  avatar && `${base}/uploads/-/system/projects/topic/avatar/${id}/${avatar}`

export const presentTopic = (topic: Record, view: View): z.infer<typeof Topic> => ({
  id: topic.id,
  name: topic.name,
  title: topic.title ?? topic.name,
  description: topic.description,
  total_projects_count: topic.projects_count,
  avatar_url: topicAvatar(topic, view.links.base),
})
