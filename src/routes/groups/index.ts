import { z } from 'zod'
import type { Caller } from '../../access/actor.js'
import { anyone, onGroup, onGroupOrDeleted } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { withAttributes } from '../../entities/custom-attribute.js'
import { Group, GroupDetails, presentGroup } from '../../entities/groups/group.js'
import { notFound } from '../../failures.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { bool, idList, int, keyset, oneOf, opt, orDefault, paging, searchText, textMap } from '../../http/params.js'
import type { View } from '../../http/view.js'
import { attributesFor } from '../../services/core/custom-attributes.js'
import { readSettings } from '../../services/core/settings.js'
import { GROUP_ORDERS, type GroupFilter, type GroupRecord, listGroups, statisticsFor } from '../../services/groups/list.js'
import { details } from './details.js'

const listParameters = {
  skip_groups: opt(idList()),
  all_available: opt(bool()),
  search: opt(searchText()),
  order_by: orDefault(oneOf(GROUP_ORDERS), 'name'),
  sort: orDefault(oneOf(['asc', 'desc']), 'asc'),
  statistics: opt(bool()),
  owned: opt(bool()),
  min_access_level: opt(int({ min: 0, max: 50 })),
  top_level_only: opt(bool()),
  custom_attributes: opt(textMap()),
  with_custom_attributes: opt(bool()),
  include_pending_delete: opt(bool()),
  ...keyset,
  ...paging,
}

type ListInput = GroupFilter & { statistics?: boolean | undefined; with_custom_attributes?: boolean | undefined }

async function list(ctx: Context, caller: Caller, input: ListInput, view: View) {
  const page = await listGroups(ctx, caller, input)
  const ids = page.items.map(({ id }) => id)
  const [attributes, statistics, settings] = await Promise.all([
    attributesFor(ctx, caller, input, 'group', ids),
    statisticsFor(ctx, caller, input, page.items),
    readSettings(ctx),
  ])
  const present = (group: GroupRecord) => withAttributes(presentGroup(group, view, settings, statistics?.get(group.id)), attributes?.get(group.id))
  return pageOf(page, input, present).inOrderOfIds(input)
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
    path: '/groups/:id/descendant_groups',
    summary: 'List the groups below a group, at any depth',
    access: onGroup('read_group'),
    input: z.object(listParameters),
    output: z.array(Group),
    handler: ({ ctx, caller, subject, input, view }) => list(ctx, caller, { ...input, ancestorId: subject.group.id }, view),
  }),
  endpoint({
    method: 'GET',
    path: '/groups/:id',
    summary: 'Get a group',
    access: onGroupOrDeleted('read_group'),
    input: z.object({ with_projects: orDefault(bool(), true), with_custom_attributes: opt(bool()), include_pending_delete: opt(bool()) }),
    output: GroupDetails,
    async handler({ ctx, caller, subject, input, view }) {
      if (subject.group.marked_for_deletion_at && !input.include_pending_delete) throw notFound('Group')
      return details(ctx, caller, subject, view, input)
    },
  }),
]
