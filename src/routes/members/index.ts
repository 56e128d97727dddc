import { z } from 'zod'
import type { Access } from '../../access/access.js'
import { Member, presentMember } from '../../entities/groups/member.js'
import { notFound } from '../../failures.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { clearableDate, idList, idPaging, needsOneOf, oneOrMore, opt, rowId, searchText, str } from '../../http/params.js'
import { addMembers, changeMember, getMember, listMembers, removeMember } from '../../services/groups/members.js'
import { findUserByName } from '../../services/identity/users.js'
import { levels, type MemberSubject, onGroupMembers, onProjectMembers } from './source.js'

/** Members (ME-1 to ME-7), once for projects and once for groups. */
const membersOf = (path: '/projects/:id' | '/groups/:id', on: (ability: 'read_member' | 'manage_members') => Access<MemberSubject, true>) => [
  ...[false, true].map((inherited) =>
    endpoint({
      method: 'GET',
      path: `${path}/members${inherited ? '/all' : ''}`,
      summary: inherited ? 'List all members, including inherited ones' : 'List direct members',
      access: on('read_member'),
      input: z.object({ query: opt(searchText()), user_ids: opt(idList()), ...idPaging }),
      output: z.array(Member),
      async handler({ ctx, subject, input, view }) {
        return pageOf(await listMembers(ctx, subject.source, { ...input, inherited }), input, (member) => presentMember(member, view)).inOrderOfIds(
          input,
        )
      },
    }),
  ),
  ...[false, true].map((inherited) =>
    endpoint({
      method: 'GET',
      path: `${path}/members${inherited ? '/all' : ''}/:user_id`,
      summary: inherited ? 'Get a member, including inherited ones' : 'Get a direct member',
      access: on('read_member'),
      input: z.object({ user_id: rowId() }),
      output: Member,
      async handler({ ctx, subject, input, view }) {
        return presentMember(await getMember(ctx, subject.source, input.user_id, inherited), view)
      },
    }),
  ),
  endpoint({
    method: 'POST',
    path: `${path}/members`,
    summary: 'Add a member',
    description: 'Accepts a list of ids or usernames, to add several users.',
    answers: [409],
    access: on('manage_members'),
    input: needsOneOf(
      z.object({ user_id: opt(idList()), username: opt(oneOrMore(str())), access_level: levels(path), expires_at: opt(clearableDate()) }),
      'user_id',
      'username',
    ),
    // several users have no single entity to return; clients expect an object
    output: z.union([Member, z.strictObject({ status: z.literal('success') })]),
    async handler({ ctx, caller, subject, input, view }) {
      const ids = input.user_id ?? (await Promise.all((input.username ?? []).map((name) => findUserByName(ctx, name)))).map((user) => user?.id ?? 0)
      if (ids.length === 0) throw notFound('User')
      await addMembers(ctx, subject.source, caller, ids, input)
      const [only, ...more] = new Set(ids)
      return more.length > 0 ? { status: 'success' } : presentMember(await getMember(ctx, subject.source, only ?? 0), view)
    },
  }),
  endpoint({
    method: 'PUT',
    path: `${path}/members/:user_id`,
    summary: 'Update a member',
    access: on('manage_members'),
    input: z.object({ user_id: rowId(), access_level: levels(path), expires_at: opt(clearableDate()) }),
    output: Member,
    async handler({ ctx, subject, input, view }) {
      return presentMember(await changeMember(ctx, subject.source, input.user_id, input), view)
    },
  }),
  endpoint({
    method: 'DELETE',
    path: `${path}/members/:user_id`,
    summary: 'Remove a member',
    answers: [412],
    access: on('read_member'),
    input: z.object({ user_id: rowId() }),
    async handler({ ctx, caller, subject: { source, manages }, input, unchangedSince }) {
      await removeMember(ctx, source, caller, input.user_id, { manages, unchangedSince })
    },
  }),
]

export const members = [...membersOf('/projects/:id', onProjectMembers), ...membersOf('/groups/:id', onGroupMembers)]
