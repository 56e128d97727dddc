import { z } from 'zod'
import type { Access } from '../../access/access.js'
import { Invitation, presentInvitation } from '../../entities/groups/invitation.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { clearableDate, idList, needsOneOf, oneOrMore, opt, paging, searchText, str } from '../../http/params.js'
import { invite, listInvitations, updateInvitation, withdrawInvitation } from '../../services/groups/invitations.js'
import { levels, type MemberSubject, onGroupMembers, onProjectMembers } from './source.js'

const email = str()

/** Invitations by e-mail (IV-1 to IV-3), once for projects and once for groups. */
const invitationsOf = (path: '/projects/:id' | '/groups/:id', access: Access<MemberSubject, true>) => [
  endpoint({
    method: 'GET',
    path: `${path}/invitations`,
    summary: 'List the invitations that wait',
    access,
    input: z.object({ query: opt(searchText()), ...paging }),
    output: z.array(Invitation),
    handler: async ({ ctx, subject, input }) => pageOf(await listInvitations(ctx, subject.source, input), input, presentInvitation),
  }),
  endpoint({
    method: 'POST',
    path: `${path}/invitations`,
    summary: 'Invite people by e-mail',
    description:
      'Accepts lists, also with commas. Users whose ids are given are added. What is wrong with one is in the answer, and hinders no other.',
    access,
    input: needsOneOf(
      z.object({ email: opt(oneOrMore(str())), user_id: opt(idList()), access_level: levels(path), expires_at: opt(clearableDate()) }),
      'email',
      'user_id',
    ),
    output: z.union([
      z.strictObject({ status: z.literal('success') }),
      z.strictObject({ status: z.literal('error'), message: z.record(z.string(), z.string()) }),
    ]),
    async handler({ ctx, caller, subject, input: { email: emails = [], user_id: user_ids = [], ...grant } }) {
      const message = await invite(ctx, subject.source, caller, { ...grant, emails, user_ids })
      return Object.keys(message).length === 0 ? { status: 'success' as const } : { status: 'error' as const, message }
    },
  }),
  endpoint({
    method: 'PUT',
    path: `${path}/invitations/:email`,
    summary: 'Update an invitation',
    access,
    input: needsOneOf(z.object({ email, access_level: opt(levels(path)), expires_at: opt(clearableDate()) }), 'access_level', 'expires_at'),
    output: Invitation,
    handler: async ({ ctx, subject, input }) => presentInvitation(await updateInvitation(ctx, subject.source, input.email, input)),
  }),
  endpoint({
    method: 'DELETE',
    path: `${path}/invitations/:email`,
    summary: 'Withdraw an invitation',
    access,
    input: z.object({ email }),
    handler: ({ ctx, subject, input }) => withdrawInvitation(ctx, subject.source, input.email),
  }),
]

export const invitations = [
  ...invitationsOf('/projects/:id', onProjectMembers('manage_members')),
  ...invitationsOf('/groups/:id', onGroupMembers('manage_members')),
]
