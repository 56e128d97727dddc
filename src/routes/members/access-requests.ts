import { z } from 'zod'
import type { Access } from '../../access/access.js'
import { AccessRequester, Member, presentAccessRequester, presentMember } from '../../entities/groups/member.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { int, orDefault, paging, rowId } from '../../http/params.js'
import { approveRequest, denyRequest, listRequests, requestAccess } from '../../services/groups/access-requests.js'
import { getMember } from '../../services/groups/members.js'
import { type MemberSubject, onGroupMembers, onProjectMembers } from './source.js'

type On = (ability: 'read_member' | 'manage_members' | 'request_access') => Access<MemberSubject, true>

/** Access requests (AR-1 to AR-4), once for projects and once for groups. */
const requestsOf = (path: '/projects/:id' | '/groups/:id', on: On) => [
  endpoint({
    method: 'GET',
    path: `${path}/access_requests`,
    summary: 'List access requests',
    access: on('manage_members'),
    input: z.object(paging),
    output: z.array(AccessRequester),
    async handler({ ctx, subject, input, view }) {
      return pageOf(await listRequests(ctx, subject.source, input), input, (requester) => presentAccessRequester(requester, view))
    },
  }),
  endpoint({
    method: 'POST',
    path: `${path}/access_requests`,
    summary: 'Request access',
    access: on('request_access'),
    output: AccessRequester,
    async handler({ ctx, caller, subject, view }) {
      return presentAccessRequester(await requestAccess(ctx, subject.source, caller), view)
    },
  }),
  endpoint({
    method: 'PUT',
    path: `${path}/access_requests/:user_id/approve`,
    summary: 'Approve an access request',
    access: on('manage_members'),
    status: 201,
    input: z.object({ user_id: rowId(), access_level: orDefault(int({ min: -1, max: 100 }), 30) }),
    output: Member,
    async handler({ ctx, caller, subject, input, view }) {
      await approveRequest(ctx, subject.source, caller, input.user_id, input.access_level)
      return presentMember(await getMember(ctx, subject.source, input.user_id), view)
    },
  }),
  endpoint({
    method: 'DELETE',
    path: `${path}/access_requests/:user_id`,
    summary: 'Deny or withdraw an access request',
    access: on('read_member'),
    input: z.object({ user_id: rowId() }),
    async handler({ ctx, caller, subject, input }) {
      await denyRequest(ctx, subject.source, caller, input.user_id, subject.manages)
    },
  }),
]

export const accessRequests = [...requestsOf('/projects/:id', onProjectMembers), ...requestsOf('/groups/:id', onGroupMembers)]
