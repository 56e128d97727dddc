import { z } from 'zod'

export const ShareLink = z
  .strictObject({ id: z.int(), project_id: z.int(), group_id: z.int(), group_access: z.int(), expires_at: z.iso.date().nullable() })
  .meta({ id: 'ShareLink', description: 'A share of a project with a group.' })

export type ShareLinkRecord = z.infer<typeof ShareLink>

export function presentShareLink({ id, project_id, group_id, group_access, expires_at }: ShareLinkRecord): z.infer<typeof ShareLink> {
  return { id, project_id, group_id, group_access, expires_at }
}
