import { z } from 'zod'
import type { View } from '../../http/view.js'
import type { AccessRequesterRecord } from '../../services/groups/access-requests.js'
import type { MemberRecord } from '../../services/groups/members.js'
import { presentUserRef, UserRef } from '../identity/user.js'

export const Member = z
  .strictObject({ ...UserRef.shape, access_level: z.int(), expires_at: z.string().nullable(), created_at: z.iso.datetime() })
  .meta({ id: 'Member', description: 'A member of a project or group, and their role.' })

export function presentMember(member: MemberRecord, view: View): z.infer<typeof Member> {
  const { access_level, expires_at } = member
  return Object.assign(presentUserRef(member.user, view), { access_level, expires_at, created_at: member.created_at.toISOString() })
}

export const AccessRequester = z
  .strictObject({ ...UserRef.shape, requested_at: z.iso.datetime() })
  .meta({ id: 'AccessRequester', description: 'A user who asks to become a member.' })

export function presentAccessRequester(requester: AccessRequesterRecord, view: View): z.infer<typeof AccessRequester> {
  return Object.assign(presentUserRef(requester.user, view), { requested_at: requester.requested_at.toISOString() })
}
