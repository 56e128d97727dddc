import { z } from 'zod'
import { bool, commaList, datetime, idList, oneOf, opt, orDefault, paging, rowId, searchText, str, where } from '../../http/params.js'
import { type Assignee, ISSUE_ORDERS, type IssueTraits } from '../../services/issues/list.js'

/** `created_by_me` and the like, also spelled with dashes. */
const scopes = () => oneOf(['created_by_me', 'created-by-me', 'assigned_to_me', 'assigned-to-me', 'all'])

const MOST_LABELS = 100
const labels = () => where(commaList(), (titles) => titles.length <= MOST_LABELS, 'is invalid')
const FIELDS = ['title', 'description'] as const
const isField = (word: string): word is (typeof FIELDS)[number] => (FIELDS as readonly string[]).includes(word)

const assignee = () =>
  z.preprocess(
    (value) => (value === '' || value === null ? undefined : value),
    z.union([z.enum(['None', 'Any']), rowId().def.out as z.ZodType<number>], 'is invalid'),
  )

const traits = {
  labels: opt(labels()),
  milestone: opt(str()),
  author_id: opt(rowId()),
  author_username: opt(str()),
  assignee_id: opt(assignee()),
  assignee_username: opt(str()),
  iids: opt(idList()),
  my_reaction_emoji: opt(str()),
}

/** What lists of issues may be narrowed by (section 15). */
export const filters = (scope: 'created_by_me' | 'all') => ({
  state: orDefault(oneOf(['opened', 'closed', 'all']), 'all'),
  ...traits,
  scope: orDefault(scopes(), scope),
  search: opt(searchText()),
  in: opt(where(commaList(), (words) => words.every(isField), 'does not have a valid value')),
  created_after: opt(datetime()),
  created_before: opt(datetime()),
  updated_after: opt(datetime()),
  updated_before: opt(datetime()),
  confidential: opt(bool()),
  due_date: opt(oneOf(['0', 'overdue', 'week', 'month'])),
  not: z.object(traits, 'is invalid').nullish(),
  order_by: orDefault(oneOf(ISSUE_ORDERS), 'created_at'),
  sort: orDefault(oneOf(['asc', 'desc']), 'desc'),
  with_labels_details: orDefault(bool(), false),
  ...paging,
})

type Traits = z.infer<z.ZodObject<typeof traits>>
type Given = z.infer<z.ZodObject<ReturnType<typeof filters>>>

/** The words that mean "some" and "none" of a filter. */
const WORDS: Record<string, 'any' | 'none'> = { None: 'none', 'No Label': 'none', 'No Milestone': 'none', Any: 'any', 'Any Milestone': 'any' }
const wordOf = (text: string | undefined) => (text !== undefined && Object.hasOwn(WORDS, text) ? WORDS[text] : undefined)

function traitsOf(given: Traits): IssueTraits {
  const { labels, assignee_id, milestone, ...rest } = given
  const worn = labels?.length === 1 ? (wordOf(labels[0]) ?? labels) : labels
  const whose: Assignee | undefined = assignee_id === 'Any' ? 'any' : assignee_id === 'None' || assignee_id === 0 ? 'none' : assignee_id
  return {
    ...rest,
    labels: worn,
    assignee_id: whose,
    milestone: wordOf(milestone) ?? (milestone?.trim() ? { title: milestone.trim() } : undefined),
  }
}

/** The filters as the service takes them. */
export function filterOf(given: Given) {
  const { in: fields, not, scope, labels: _, milestone: __, assignee_id: ___, ...rest } = given
  return {
    ...rest,
    ...traitsOf(given),
    scope: scope.replaceAll('-', '_') as 'created_by_me' | 'assigned_to_me' | 'all',
    in: fields && fields.length > 0 ? fields.filter(isField) : [...FIELDS],
    not: not ? traitsOf(not) : undefined,
  }
}
