import { z } from 'zod'
import { presentUserRef, UserRef, type UserRefRecord } from '../identity/user.js'
import type { View } from '../view.js'

export const Member = z
  .strictObject({ ...UserRef.shape, access_level: z.int(), expires_at: z.string().nullable(), created_at: z.iso.datetime() })
  .meta({ id: 'Member', description: 'A member of a project or group, and their role.' })

export interface MemberRecord {
  user: UserRefRecord
  access_level: number
  expires_at: string | null
  created_at: Date
}

export function presentMember(member: MemberRecord, view: View): z.infer<typeof Member> {
  const { access_level, expires_at } = member
  return { ...presentUserRef(member.user, view), access_level, expires_at, created_at: member.created_at.toISOString() }
}

export const AccessRequester = z
  .strictObject({ ...UserRef.shape, requested_at: z.iso.datetime() })
  .meta({ id: 'AccessRequester', description: 'A user who asks to become a member.' })

export interface AccessRequesterRecord {
  user: UserRefRecord
  requested_at: Date
}

export function presentAccessRequester(requester: AccessRequesterRecord, view: View): z.infer<typeof AccessRequester> {
  return { ...presentUserRef(requester.user, view), requested_at: requester.requested_at.toISOString() }
}
