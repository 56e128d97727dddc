import { z } from 'zod'
import { anyone, findGroupFor, onGroup, signedIn } from '../../access/rules.js'
import { Group, GroupDetails, presentGroup, presentGroupDetails } from '../../entities/group.js'
import { VISIBILITIES } from '../../entities/levels.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { bool, clearable, idList, int, oneOf, opt, orDefault, paging, rowId, searchText, str } from '../../http/params.js'
import { createGroup, listGroups, projectsOfGroup } from '../../services/groups.js'

const listParameters = {
  skip_groups: opt(idList()),
  all_available: opt(bool()),
  search: opt(searchText()),
  order_by: orDefault(oneOf(['name', 'path']), 'name'),
  sort: orDefault(oneOf(['asc', 'desc']), 'asc'),
  owned: opt(bool()),
  min_access_level: opt(int({ min: 0, max: 50 })),
  top_level_only: opt(bool()),
  ...paging,
}

export const groups = [
  endpoint({
    method: 'GET',
    path: '/groups',
    summary: 'List groups',
    access: anyone,
    input: z.object(listParameters),
    output: z.array(Group),
    async handler({ ctx, caller, input, view }) {
      return pageOf(await listGroups(ctx, caller, input), input, (group) => presentGroup(group, view))
    },
  }),
  endpoint({
    method: 'GET',
    path: '/groups/:id/subgroups',
    summary: 'List the direct subgroups of a group',
    access: onGroup('read_group'),
    input: z.object(listParameters),
    output: z.array(Group),
    async handler({ ctx, caller, subject, input, view }) {
      return pageOf(await listGroups(ctx, caller, { ...input, parentId: subject.group.id }), input, (group) => presentGroup(group, view))
    },
  }),
  endpoint({
    method: 'GET',
    path: '/groups/:id',
    summary: 'A group',
    access: onGroup('read_group'),
    input: z.object({ with_projects: orDefault(bool(), true) }),
    output: GroupDetails,
    async handler({ ctx, caller, subject, input, view }) {
      const projects = input.with_projects ? await projectsOfGroup(ctx, caller, subject.group.id) : null
      return presentGroupDetails(subject.group, projects, view)
    },
  }),
  endpoint({
    method: 'POST',
    path: '/groups',
    summary: 'Create a group',
    access: signedIn,
    input: z.object({
      name: str(),
      path: str(),
      description: opt(clearable()),
      visibility: opt(oneOf(VISIBILITIES)),
      lfs_enabled: opt(bool()),
      request_access_enabled: opt(bool()),
      parent_id: opt(rowId()),
    }),
    output: GroupDetails,
    async handler({ ctx, caller, input, view }) {
      const id = await createGroup(ctx, caller, input)
      const { group } = await findGroupFor(ctx, caller, String(id))
      return presentGroupDetails(group, { own: [], shared: [] }, view)
    },
  }),
]
