import { z } from 'zod'
import type { Badge as BadgeRecord, RenderedBadge as RenderedRecord } from '../../services/projects/badges/badges.js'

export const RenderedBadge = z
  .strictObject({
    name: z.string().nullable(),
    link_url: z.string(),
    image_url: z.string(),
    rendered_link_url: z.string().describe('With the values of the project in place of the placeholders.'),
    rendered_image_url: z.string(),
  })
  .meta({ id: 'RenderedBadge', description: 'A badge as it would be shown.' })

export const Badge = z
  .strictObject({ ...RenderedBadge.shape, id: z.int(), kind: z.enum(['project', 'group']) })
  .meta({ id: 'Badge', description: 'A linked picture on the page of a project.' })

export const presentRenderedBadge = ({
  name,
  link_url,
  image_url,
  rendered_link_url,
  rendered_image_url,
}: RenderedRecord): z.infer<typeof RenderedBadge> => ({ name, link_url, image_url, rendered_link_url, rendered_image_url })

export const presentBadge = (badge: BadgeRecord): z.infer<typeof Badge> =>
  Object.assign(presentRenderedBadge(badge), { id: badge.id, kind: badge.kind })
