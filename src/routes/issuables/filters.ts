import { z } from 'zod'
import { bool, commaList, datetime, idList, oneOf, oneOrMore, opt, orDefault, paging, rowId, searchText, str, where } from '../../http/params.js'
import { FIELDS, type MilestoneChoice, type NegatableFilters } from '../../services/issuables/filters.js'

/** `created_by_me` and the like, also spelled with dashes. */
export const scopes = () =>
  oneOf(['created_by_me', 'created-by-me', 'assigned_to_me', 'assigned-to-me', 'all'], ['created_by_me', 'assigned_to_me', 'all'])

const MAX_LABELS = 100
const labels = () => where(commaList(), (titles) => titles.length <= MAX_LABELS, 'is invalid')

const id = () => rowId().def.out as z.ZodType<number>
export const assignees = () =>
  where(
    oneOrMore(z.union([z.enum(['None', 'Any']), id()], 'is invalid')),
    // `None` and `Any` must be the only value
    (given) => given.length === 1 || given.every((each) => typeof each === 'number' && each > 0),
    'is invalid',
  )

const isField = (word: string): word is (typeof FIELDS)[number] => (FIELDS as readonly string[]).includes(word)

/** Filters that `not[…]` accepts as well. */
export const traits = {
  labels: opt(labels()),
  milestone: opt(str()),
  author_id: opt(oneOrMore(id())),
  author_username: opt(oneOrMore(str())),
  assignee_id: opt(assignees()),
  assignee_username: opt(oneOrMore(str())),
  iids: opt(idList()),
  my_reaction_emoji: opt(str()),
}

/** The filters of `not[…]`; any other is refused (NP-2). */
export const negated = <Traits extends z.ZodRawShape>(of: Traits) => z.strictObject(of, 'is invalid').nullish()

/** Filters that lists of issues and of merge requests share, beside state, scope, order and `not`. */
export const shared = {
  search: opt(searchText()),
  in: opt(where(commaList(), (words) => words.every(isField), 'does not have a valid value', { enum: [...FIELDS, 'title,description'] })),
  non_archived: opt(bool()),
  created_after: opt(datetime()),
  created_before: opt(datetime()),
  updated_after: opt(datetime()),
  updated_before: opt(datetime()),
  sort: orDefault(oneOf(['asc', 'desc']), 'desc'),
  ...paging,
}

type GivenTraits = z.infer<z.ZodObject<typeof traits>>

/** Keywords that mean "any" or "none" in a filter. */
const KEYWORDS: Record<string, 'any' | 'none'> = { None: 'none', 'No Label': 'none', 'No Milestone': 'none', Any: 'any', 'Any Milestone': 'any' }
const keywordOf = (text: string | undefined) => (text !== undefined && Object.hasOwn(KEYWORDS, text) ? KEYWORDS[text] : undefined)

const DATE_KEYWORDS: Record<string, MilestoneChoice> = { '#upcoming': 'upcoming', '#started': 'started' }

/** The milestone filter; `byDate` also allows `#upcoming` and `#started` (MR-17). */
function milestoneOf(given: string | undefined, byDate: boolean): MilestoneChoice | undefined {
  const title = given?.trim()
  if (!title) return undefined
  return keywordOf(given) ?? (byDate && Object.hasOwn(DATE_KEYWORDS, title) ? DATE_KEYWORDS[title] : { title })
}

/** A filter by user ids or usernames; 0 is `None`. */
export function usersOf<T extends number | string>(given: (T | 'None' | 'Any')[] | undefined): T[] | 'any' | 'none' | undefined {
  const [first] = given ?? []
  return first === 'Any' ? 'any' : first === 'None' || first === 0 ? 'none' : (given as T[] | undefined)
}

/** Converts parameters to filters of the services. */
export function traitsOf(given: GivenTraits, byDate = false): NegatableFilters {
  const { labels, assignee_id, milestone, ...rest } = given
  const wanted = labels?.length === 1 ? (keywordOf(labels[0]) ?? labels) : labels
  return { ...rest, labels: wanted, assignee_id: usersOf<number>(assignee_id), milestone: milestoneOf(milestone, byDate) }
}

/** The fields that a search reads; both unless `in` names one. */
export const fieldsOf = (given: string[] | undefined) => (given && given.length > 0 ? given.filter(isField) : [...FIELDS])

/** A scope spelled with `_`. */
export const scopeOf = <Scope extends string>(scope: Scope) => scope.replaceAll('-', '_') as Exclude<Scope, `${string}-${string}`>
