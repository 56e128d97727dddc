import { z } from 'zod'
import type { View } from '../../http/view.js'
import type { AwardRecord } from '../../services/notes/award-emoji.js'
import { presentUserRef, UserRef } from '../identity/user.js'

/** An award (section 20). Emoji have no image URLs here. */
export const AwardEmoji = z
  .strictObject({
    id: z.int(),
    name: z.string(),
    user: UserRef,
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    awardable_id: z.int(),
    awardable_type: z.enum(['Issue', 'MergeRequest', 'Snippet', 'Note']),
    url: z.null(),
  })
  .meta({ id: 'AwardEmoji', description: 'An emoji that a user awarded.' })

export function presentAward({ award, user }: AwardRecord, view: View): z.infer<typeof AwardEmoji> {
  return {
    id: award.id,
    name: award.name,
    user: presentUserRef(user, view),
    created_at: award.created_at.toISOString(),
    updated_at: award.updated_at.toISOString(),
    awardable_id: award.awardable_id,
    awardable_type: award.awardable_type,
    url: null,
  }
}
