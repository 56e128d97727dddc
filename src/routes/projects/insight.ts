import { z } from 'zod'
import { onProject } from '../../access/rules.js'
import { GroupRef, presentGroupRef } from '../../entities/groups/group.js'
import { presentUserRef, UserRef } from '../../entities/identity/user.js'
import { ProjectImport, presentProjectImport } from '../../entities/projects/project.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { idList, idPaging, opt, searchText } from '../../http/params.js'
import { loadProject } from '../../services/projects/load.js'
import { listProjectGroups, listProjectUsers } from '../../services/projects/people.js'
import { languagesOf } from '../../services/repository/languages.js'

/** Users, groups, languages and import status of a project (PR-4 to PR-6, OT-7). */
export const insight = [
  endpoint({
    method: 'GET',
    path: '/projects/:id/users',
    summary: 'List the users of a project',
    access: onProject('read_project'),
    input: z.object({ search: opt(searchText()), skip_users: opt(idList()), ...idPaging }),
    output: z.array(UserRef),
    handler: async ({ ctx, subject, input, view }) =>
      pageOf(await listProjectUsers(ctx, subject.project.id, input), input, (user) => presentUserRef(user, view)).inOrderOfIds(input),
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/groups',
    summary: 'List the groups of a project',
    access: onProject('read_project'),
    input: z.object({ search: opt(searchText()), skip_groups: opt(idList()), ...idPaging }),
    output: z.array(GroupRef),
    handler: async ({ ctx, caller, subject, input, view }) =>
      pageOf(await listProjectGroups(ctx, caller.user, subject.project.namespace_id, input), input, (group) =>
        presentGroupRef(group, view),
      ).inOrderOfIds(input),
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/languages',
    summary: 'List the languages of a project',
    access: onProject('download_code'),
    output: z.record(z.string(), z.number()),
    handler: ({ ctx, subject }) => languagesOf(ctx, subject.project.id),
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/import',
    summary: 'Get the import status of a project',
    polled: true,
    access: onProject('read_project'),
    output: ProjectImport,
    handler: async ({ ctx, caller, subject, view }) => presentProjectImport(await loadProject(ctx, caller.user, subject.project.id), view),
  }),
]
