import { z } from 'zod'
import type { Caller } from '../../access/actor.js'
import { anyone, findGroupFor, onGroup, signedIn } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { withAttributes } from '../../entities/custom-attribute.js'
import { Group, GroupDetails, presentGroup, presentGroupDetails } from '../../entities/group.js'
import { VISIBILITIES } from '../../entities/levels.js'
import type { View } from '../../entities/view.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { bool, clearable, idList, int, oneOf, opt, orDefault, paging, rowId, searchText, str, textMap } from '../../http/params.js'
import { attributesFor } from '../../services/custom-attributes.js'
import { createGroup, type GroupFilter, listGroups, projectsOfGroup } from '../../services/groups.js'

const listParameters = {
  skip_groups: opt(idList()),
  all_available: opt(bool()),
  search: opt(searchText()),
  order_by: orDefault(oneOf(['name', 'path']), 'name'),
  sort: orDefault(oneOf(['asc', 'desc']), 'asc'),
  owned: opt(bool()),
  min_access_level: opt(int({ min: 0, max: 50 })),
  top_level_only: opt(bool()),
  custom_attributes: opt(textMap()),
  with_custom_attributes: opt(bool()),
  ...paging,
}

type ListInput = GroupFilter & { with_custom_attributes?: boolean | undefined }

async function list(ctx: Context, caller: Caller, input: ListInput, view: View) {
  const page = await listGroups(ctx, caller, input)
  const ids = page.items.map(({ id }) => id)
  const attributes = await attributesFor(ctx, caller, input, 'group', ids)
  return pageOf(page, input, (group) => withAttributes(presentGroup(group, view), attributes?.get(group.id)))
}

export const groups = [
  endpoint({
    method: 'GET',
    path: '/groups',
    summary: 'List groups',
    access: anyone,
    input: z.object(listParameters),
    output: z.array(Group),
    handler: ({ ctx, caller, input, view }) => list(ctx, caller, input, view),
  }),
  endpoint({
    method: 'GET',
    path: '/groups/:id/subgroups',
    summary: 'List the direct subgroups of a group',
    access: onGroup('read_group'),
    input: z.object(listParameters),
    output: z.array(Group),
    handler: ({ ctx, caller, subject, input, view }) => list(ctx, caller, { ...input, parentId: subject.group.id }, view),
  }),
  endpoint({
    method: 'GET',
    path: '/groups/:id',
    summary: 'A group',
    access: onGroup('read_group'),
    input: z.object({ with_projects: orDefault(bool(), true), with_custom_attributes: opt(bool()) }),
    output: GroupDetails,
    async handler({ ctx, caller, subject, input, view }) {
      const projects = input.with_projects ? await projectsOfGroup(ctx, caller, subject.group.id) : null
      const { id } = subject.group
      const attributes = await attributesFor(ctx, caller, input, 'group', [id])
      return withAttributes(presentGroupDetails(subject.group, projects, view), attributes?.get(id))
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
