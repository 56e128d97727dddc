import { z } from 'zod'
import type { InvitationRecord } from '../../services/groups/invitations.js'

export const Invitation = z
  .strictObject({
    id: z.int(),
    invite_email: z.string(),
    access_level: z.int(),
    expires_at: z.string().nullable(),
    created_at: z.iso.datetime(),
    created_by_name: z.string(),
  })
  .meta({ id: 'Invitation', description: 'What an e-mail address is invited to, until its owner accepts.' })

export const presentInvitation = ({ invitation, created_by }: InvitationRecord): z.infer<typeof Invitation> => ({
  id: invitation.id,
  invite_email: invitation.email,
  access_level: invitation.access_level,
  expires_at: invitation.expires_at,
  created_at: invitation.created_at.toISOString(),
  created_by_name: created_by.name,
})
