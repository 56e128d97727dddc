import { z } from 'zod'
import type { GroupSubject } from '../../../access/rules.js'
import { Group, presentGroup } from '../../../entities/groups/group.js'
import { readSettings } from '../../../services/core/settings.js'
import { type GroupFilter, type GroupRecord, listGroups } from '../../../services/groups/list.js'
import { listIssues } from '../../../services/issuables/issues/list.js'
import { listMergeRequests } from '../../../services/issuables/merge-requests/reading/list.js'
import { listProjects } from '../../../services/projects/list.js'
import type { Call } from '../call.js'
import { Connection, mapped, paged, partOfPages } from '../connection.js'
import { globalId } from '../global-id.js'
import { type Fields, field, namesOf, objectType } from '../object-type.js'
import { issueArguments, issueFilter, requestArguments, requestFilter } from './issuable-filters.js'
import { LABELS, labelsIn, MILESTONES, milestonesIn } from './labels.js'
import { MEMBERS, membersOf } from './members.js'

/** A group with the caller's abilities; null for one that is only listed, for what is below it (GR-6). */
const subjectOf = ({ id }: GroupRecord, { loaders }: Call): Promise<GroupSubject | null> => loaders.groups.load(id)

/** A list of groups by name. */
export function groupsOf(call: Call, args: z.infer<z.ZodObject<typeof paged>>, filter: Omit<GroupFilter, 'page' | 'per_page' | 'order_by' | 'sort'>) {
  call.countList()
  return partOfPages(args, (paging) => listGroups(call.ctx, call.caller, { ...filter, ...paging, order_by: 'name', sort: 'asc' }))
}

const flag = z.boolean().nullish()
const text = z.string().nullish()
const DESCENDANTS = z.object({ ...paged, search: text, owned: flag, includeParentDescendants: flag })
const PROJECTS = z.object({ ...paged, search: text, includeSubgroups: flag })
const ISSUES = z.object({ ...paged, ...issueArguments, includeSubgroups: flag })
const REQUESTS = z.object({ ...paged, ...requestArguments, includeSubgroups: flag })

/** Leaves out what is in subgroups. */
const within = ({ id }: GroupRecord, includeSubgroups: boolean | null | undefined) => (includeSubgroups ? {} : { directly_in: id })

const fields: Fields<GroupRecord> = {
  id: ({ id }) => globalId('Group', id),
  parent: async ({ parent_id }, _, { loaders }) => (parent_id === null ? null : ((await loaders.groups.load(parent_id))?.group ?? null)),
  userPermissions: async (group, _, call) => {
    const subject = await subjectOf(group, call)
    return { createProjects: subject?.can('create_project') ?? false, readGroup: subject?.can('read_group') ?? false }
  },
  descendantGroups: field(DESCENDANTS, async (group: GroupRecord, args, call) => {
    if (!(await subjectOf(group, call))) return null
    const below = args.includeParentDescendants === false ? { parentId: group.id } : { ancestorId: group.id }
    return groupsOf(call, args, { ...below, search: args.search ?? undefined, owned: args.owned ?? undefined })
  }),
  projects: field(PROJECTS, async (group: GroupRecord, args, call) => {
    if (!(await subjectOf(group, call))) return new Connection([], 0, 0)
    call.countList()
    const of = { id: group.id, subgroups: args.includeSubgroups ?? false }
    const listed = partOfPages(args, (paging) =>
      listProjects(call.ctx, call.caller, { ...paging, group: of, words: args.search ?? undefined, order_by: 'id', sort: 'desc' }),
    )
    return mapped(listed, ({ id }) => call.loaders.projects.load(id))
  }),
  groupMembers: field(MEMBERS, async (group: GroupRecord, args, call) => {
    const subject = await subjectOf(group, call)
    return subject && membersOf(subject, args, call)
  }),
  issues: field(ISSUES, async (record: GroupRecord, args, call) => {
    const group = await subjectOf(record, call)
    if (!group) return null
    call.countList()
    const only = within(record, args.includeSubgroups)
    return partOfPages(args, (paging) => listIssues(call.ctx, call.caller, { group }, { ...issueFilter(args, paging), ...only }))
  }),
  mergeRequests: field(REQUESTS, async (record: GroupRecord, args, call) => {
    const group = call.caller.user && (await subjectOf(record, call))
    if (!group) return null
    call.countList()
    const only = within(record, args.includeSubgroups)
    return partOfPages(args, (paging) => listMergeRequests(call.ctx, call.caller, { group }, { ...requestFilter(args, paging), ...only }))
  }),
  labels: field(LABELS, async (record: GroupRecord, args, call) => {
    const group = await subjectOf(record, call)
    return group && labelsIn({ group }, args, call)
  }),
  milestones: field(MILESTONES, async (record: GroupRecord, args, call) => {
    const group = await subjectOf(record, call)
    return group && milestonesIn({ group }, args, call)
  }),
}

export const groupTypes = {
  Group: objectType<GroupRecord>({
    fields,
    shown: async (group, { ctx, view }) => presentGroup(group, view, await readSettings(ctx)),
    entity: namesOf(Group),
  }),
}
