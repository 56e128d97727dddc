import { z } from 'zod'
import type { Access } from '../../access/access.js'
import { onGroupSignedIn, onProjectSignedIn } from '../../access/rules.js'
import { Member, presentMember } from '../../entities/member.js'
import { notFound } from '../../failures.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { clearableDate, idList, int, needsOneOf, opt, paging, rowId, searchText, str } from '../../http/params.js'
import {
  addMember,
  changeMember,
  getMember,
  listMembers,
  type MemberSource,
  removeMember,
  sourceOfGroup,
  sourceOfProject,
} from '../../services/members.js'
import { findUserByName } from '../../services/users.js'

/** What a member endpoint is about, and whether the caller manages it. */
interface Subject {
  source: MemberSource
  manages: boolean
}

const projectMembers = (ability: 'read_member' | 'manage_members'): Access<Subject, true> => {
  const access = onProjectSignedIn(ability)
  return {
    ...access,
    find: async (ctx, caller, params) => {
      const subject = await access.find(ctx, caller, params)
      return { source: sourceOfProject(subject), manages: subject.can('manage_members') }
    },
  }
}

const groupMembers = (ability: 'read_member' | 'manage_members'): Access<Subject, true> => {
  const access = onGroupSignedIn(ability)
  return {
    ...access,
    find: async (ctx, caller, params) => {
      const subject = await access.find(ctx, caller, params)
      return { source: sourceOfGroup(subject), manages: subject.can('manage_members') }
    },
  }
}

const LEVEL = int({ min: -1, max: 100 })

/** ME-1 to ME-7, once for projects and once for groups. */
const membersOf = (path: '/projects/:id' | '/groups/:id', on: (ability: 'read_member' | 'manage_members') => Access<Subject, true>) => [
  ...[false, true].map((inherited) =>
    endpoint({
      method: 'GET',
      path: `${path}/members${inherited ? '/all' : ''}`,
      summary: inherited ? 'List members, inherited ones included' : 'List direct members',
      access: on('read_member'),
      input: z.object({ query: opt(searchText()), user_ids: opt(idList()), ...paging }),
      output: z.array(Member),
      async handler({ ctx, subject, input, view }) {
        return pageOf(await listMembers(ctx, subject.source, { ...input, inherited }), input, (member) => presentMember(member, view))
      },
    }),
  ),
  ...[false, true].map((inherited) =>
    endpoint({
      method: 'GET',
      path: `${path}/members${inherited ? '/all' : ''}/:user_id`,
      summary: inherited ? 'A member, inherited or not' : 'A direct member',
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
    access: on('manage_members'),
    input: needsOneOf(
      z.object({ user_id: opt(rowId()), username: opt(str()), access_level: LEVEL, expires_at: opt(clearableDate()) }),
      'user_id',
      'username',
    ),
    output: Member,
    async handler({ ctx, caller, subject, input, view }) {
      const user_id = input.user_id ?? (await findUserByName(ctx, input.username ?? ''))?.id
      if (user_id === undefined) throw notFound('User')
      return presentMember(await addMember(ctx, subject.source, caller, { ...input, user_id }), view)
    },
  }),
  endpoint({
    method: 'PUT',
    path: `${path}/members/:user_id`,
    summary: 'Change a membership',
    access: on('manage_members'),
    input: z.object({ user_id: rowId(), access_level: LEVEL, expires_at: opt(clearableDate()) }),
    output: Member,
    async handler({ ctx, subject, input, view }) {
      return presentMember(await changeMember(ctx, subject.source, input.user_id, input), view)
    },
  }),
  endpoint({
    method: 'DELETE',
    path: `${path}/members/:user_id`,
    summary: 'Remove a member',
    access: on('read_member'),
    input: z.object({ user_id: rowId() }),
    async handler({ ctx, caller, subject, input }) {
      await removeMember(ctx, subject.source, caller, input.user_id, subject.manages)
    },
  }),
]

export const members = [...membersOf('/projects/:id', projectMembers), ...membersOf('/groups/:id', groupMembers)]
