import { z } from 'zod'
import { refused } from '../../../failures.js'
import type { IssueFilter } from '../../../services/issuables/issues/list.js'
import type { MergeRequestFilter } from '../../../services/issuables/merge-requests/reading/list.js'
import { idFrom } from '../global-id.js'
import { time } from '../object-type.js'

const text = z.string().nullish()
/** The most labels, numbers, names or branches of one filter. */
const MAX_VALUES = 100
const texts = z.array(z.string()).max(MAX_VALUES).nullish()
const titles = z.array(z.string().nullable()).max(MAX_VALUES).nullish()

const shared = {
  createdAfter: time,
  createdBefore: time,
  updatedAfter: time,
  updatedBefore: time,
  state: text,
  sort: text,
  iids: texts,
  labelName: titles,
  assigneeUsername: text,
  assigneeUsernames: texts,
  authorUsername: text,
}

/** The arguments of lists of merge requests. */
export const requestArguments = {
  ...shared,
  draft: z.boolean().nullish(),
  labels: texts,
  milestoneTitle: text,
  sourceBranches: texts,
  targetBranches: texts,
  reviewerUsername: text,
}

/** The arguments of lists of issues. */
export const issueArguments = { ...shared, confidential: z.boolean().nullish(), iid: text, milestoneTitle: titles, search: text }

const REQUESTS = z.object(requestArguments)
const ISSUES = z.object(issueArguments)

const numbers = (iids: string[]) => iids.map((iid) => idFrom(iid))
const present = (given: (string | null)[] | null | undefined) => given?.filter((each) => each !== null)

function sharedFilter(args: Pick<z.infer<typeof REQUESTS>, keyof typeof shared>) {
  const assignees = [...(args.assigneeUsername ? [args.assigneeUsername] : []), ...(args.assigneeUsernames ?? [])]
  return {
    scope: 'all' as const,
    in: ['title' as const],
    iids: args.iids ? numbers(args.iids) : undefined,
    author_username: args.authorUsername ? [args.authorUsername] : undefined,
    assignee_username: assignees.length > 0 ? assignees : undefined,
    created_after: args.createdAfter ?? undefined,
    created_before: args.createdBefore ?? undefined,
    updated_after: args.updatedAfter ?? undefined,
    updated_before: args.updatedBefore ?? undefined,
  }
}

const milestone = (title: string | null | undefined) => (title ? { title } : undefined)

/** `UPDATED_DESC`, also in lower case, as the order and the direction. */
function orderOf<Order extends string>(sort: string | null | undefined, orders: Record<string, Order>): { order_by: Order; sort: 'asc' | 'desc' } {
  const [, name = '', direction = ''] = /^(\w+)_(asc|desc)$/.exec((sort ?? 'created_desc').toLowerCase()) ?? []
  const order_by = orders[name]
  if (!order_by) throw refused(`sort ${sort} is not supported`)
  return { order_by, sort: direction === 'asc' ? 'asc' : 'desc' }
}

const ISSUE_ORDERS = { created: 'created_at', updated: 'updated_at' } as const
const REQUEST_ORDERS = { ...ISSUE_ORDERS, title: 'title', merged_at: 'merged_at' } as const
const ISSUE_STATES = ['opened', 'closed', 'all'] as const
const REQUEST_STATES = ['opened', 'closed', 'locked', 'merged', 'all'] as const

type Paging = { page: number; per_page: number }

export function requestFilter(args: z.infer<typeof REQUESTS>, paging: Paging): MergeRequestFilter {
  return {
    ...paging,
    ...sharedFilter(args),
    ...orderOf(args.sort, REQUEST_ORDERS),
    state: REQUEST_STATES.find((state) => state === args.state) ?? 'all',
    labels: args.labels ?? present(args.labelName),
    milestone: milestone(args.milestoneTitle),
    draft: args.draft ?? undefined,
    source_branches: args.sourceBranches ?? undefined,
    target_branches: args.targetBranches ?? undefined,
    reviewer_username: args.reviewerUsername ?? undefined,
  }
}

export function issueFilter(args: z.infer<typeof ISSUES>, paging: Paging): IssueFilter {
  const [title, more] = present(args.milestoneTitle) ?? []
  if (more !== undefined) throw refused('milestoneTitle takes one title')
  if (args.iid && args.iids) throw refused('iid and iids are mutually exclusive')
  return {
    ...paging,
    ...sharedFilter(args.iid ? { ...args, iids: [args.iid] } : args),
    ...orderOf(args.sort, ISSUE_ORDERS),
    in: ['title', 'description'],
    state: ISSUE_STATES.find((state) => state === args.state) ?? 'all',
    labels: present(args.labelName),
    milestone: milestone(title),
    confidential: args.confidential ?? undefined,
    search: args.search ?? undefined,
    with_labels_details: false,
  }
}
