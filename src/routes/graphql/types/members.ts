import { z } from 'zod'
import type { GroupSubject, ProjectSubject } from '../../../access/rules.js'
import { listRelatedMembers, type MemberRelation, type RelatedMember } from '../../../services/groups/member-relations.js'
import { sourceOfGroup, sourceOfProject } from '../../../services/groups/members.js'
import type { Call } from '../call.js'
import { paged, partOfPages } from '../connection.js'
import { globalId } from '../global-id.js'
import { type Fields, objectType } from '../object-type.js'

export const MEMBERS = z.object({ ...paged, search: z.string().nullish(), relations: z.array(z.string()).nullish() })

/** The ways in which users are members, by their names in the schema. */
const RELATIONS: Record<string, MemberRelation> = {
  DIRECT: 'direct',
  INHERITED: 'inherited',
  DESCENDANTS: 'descendants',
  SHARED_FROM_GROUPS: 'shared',
  INVITED_GROUPS: 'shared',
}

/** The members of a project or group; null for those who may not list them (GQL-14). */
export async function membersOf(subject: ProjectSubject | GroupSubject, args: z.infer<typeof MEMBERS>, call: Call) {
  const { caller } = call
  const mayRead = 'project' in subject ? subject.can('read_member') : subject.can('read_member')
  if (!caller.user || !mayRead) return null
  call.countList()
  const source = 'project' in subject ? sourceOfProject(subject) : sourceOfGroup(subject)
  const relations = (args.relations ?? ['DIRECT', 'INHERITED']).flatMap((name) => RELATIONS[name] ?? [])
  return partOfPages(args, (paging) => listRelatedMembers(call.ctx, caller, source, { ...paging, relations, search: args.search ?? undefined }))
}

const LEVEL_NAMES: Record<number, string> = { 10: 'GUEST', 20: 'REPORTER', 30: 'DEVELOPER', 40: 'MAINTAINER', 50: 'OWNER' }

const fields: Fields<RelatedMember> = {
  id: ({ id, project_id }) => globalId(project_id === null ? 'GroupMember' : 'ProjectMember', id),
  accessLevel: ({ access_level }) => ({ integerValue: access_level, stringValue: LEVEL_NAMES[access_level] ?? null }),
  createdAt: ({ created_at }) => created_at.toISOString(),
  expiresAt: ({ expires_at }) => expires_at,
  user: ({ user }) => user,
  project: ({ project_id }, _, { loaders }) => (project_id === null ? null : loaders.projects.load(project_id)),
  group: async ({ namespace_id }, _, { loaders }) => (namespace_id === null ? null : ((await loaders.groups.load(namespace_id))?.group ?? null)),
}

export const memberTypes = {
  ProjectMember: objectType<RelatedMember>({ fields, isTypeOf: ({ project_id }) => project_id !== null }),
  GroupMember: objectType<RelatedMember>({ fields, isTypeOf: ({ project_id }) => project_id === null }),
}
