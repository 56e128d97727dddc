import { z } from 'zod'
import { bool, oneOf, oneOfOrBlank, oneOrMore, opt, orDefault, paging, rowId, searchText, str, where } from '../../../http/params.js'
import { fieldsOf, negated, scopeOf, scopes, shared, traits, traitsOf, usersOf } from '../../../routes/issuables/filters.js'
import type { LabelChoice } from '../../../services/issuables/choices.js'
import { said, t } from '../../language/language.js'
import type { PageView } from '../../page.js'
import { DataList, Options } from '../form.js'

const { created_after, created_before, updated_after, updated_before } = shared

const sorts = () =>
  [
    { value: 'created_date', label: t('Newest first') },
    { value: 'created_asc', label: t('Oldest first') },
    { value: 'updated_desc', label: t('Changed last') },
    { value: 'updated_asc', label: t('Changed first') },
  ] as const

/** Orders that only merge requests have. */
const requestSorts = () =>
  [
    { value: 'title_asc', label: t('Title') },
    { value: 'title_desc', label: t('Title, backwards') },
    { value: 'merged_at_desc', label: t('Merged last') },
    { value: 'merged_at_asc', label: t('Merged first') },
  ] as const

/** The filters of the API, also by the names that addresses have had from the start (WB-123). */
const common = {
  ...traits,
  label_name: opt(oneOrMore(str())),
  milestone_title: opt(str()),
  not: negated(traits),
  search: opt(searchText()),
  in: shared.in,
  created_after,
  created_before,
  updated_after,
  updated_before,
  sort: opt(str()),
  page: paging.page,
}

export const issueFilters = z.object({
  ...common,
  state: orDefault(oneOf(['opened', 'closed', 'all']), 'opened'),
  scope: opt(scopes()),
  confidential: opt(bool()),
  due_date: opt(oneOfOrBlank(['0', 'overdue', 'week', 'month'])),
})

const MAX_APPROVERS = 5

export const requestFilters = z.object({
  ...common,
  state: orDefault(oneOf(['opened', 'merged', 'closed', 'all']), 'opened'),
  source_branch: opt(str()),
  target_branch: opt(str()),
  draft: opt(bool()),
  reviewer_username: opt(str()),
  wip: opt(oneOfOrBlank(['yes', 'no'])),
  source_project_id: opt(rowId()),
  approved_by_usernames: opt(where(oneOrMore(str()), (people) => people.length <= MAX_APPROVERS, 'is invalid')),
})

type Common = z.infer<z.ZodObject<typeof common>>

const PER_PAGE = 20

/** What both kinds of lists ask their service for. */
export function filterOf(given: Common) {
  const { label_name, milestone_title, labels, milestone, my_reaction_emoji, sort, in: fields, not, page, search } = given
  const wanted = {
    ...given,
    labels: label_name ?? labels,
    milestone: milestone_title || milestone,
    my_reaction_emoji: my_reaction_emoji || undefined,
  }
  const { author_id, author_username, assignee_id, assignee_username, iids, ...rest } = traitsOf(wanted)
  const [column, direction] = (sort ?? '').split('_')
  return {
    labels: rest.labels?.length === 0 ? undefined : rest.labels,
    milestone: rest.milestone,
    my_reaction_emoji: rest.my_reaction_emoji,
    author_id,
    author_username,
    assignee_id,
    assignee_username,
    iids,
    search,
    in: fieldsOf(fields),
    not: not ? traitsOf(not) : undefined,
    created_after: given.created_after,
    created_before: given.created_before,
    updated_after: given.updated_after,
    updated_before: given.updated_before,
    order_by: column === 'updated' ? ('updated_at' as const) : ('created_at' as const),
    sort: direction === 'asc' ? ('asc' as const) : ('desc' as const),
    page,
    per_page: PER_PAGE,
  }
}

export const issueFilterOf = (given: z.infer<typeof issueFilters>, scope: 'all' | 'assigned_to_me') => ({
  ...filterOf(given),
  state: given.state,
  scope: given.scope ? scopeOf(given.scope) : scope,
  confidential: given.confidential,
  due_date: given.due_date,
  with_labels_details: true,
})

export const requestFilterOf = (given: z.infer<typeof requestFilters>, scope: 'all' | 'assigned_to_me' | 'reviews_for_me' | 'created_by_me') => ({
  ...filterOf(given),
  ...(given.sort?.startsWith('title_') && { order_by: 'title' as const }),
  ...(given.sort?.startsWith('merged_at_') && { order_by: 'merged_at' as const }),
  sort: given.sort?.endsWith('_asc') ? ('asc' as const) : ('desc' as const),
  state: given.state,
  scope,
  source_project_id: given.source_project_id,
  approved_by_usernames: usersOf<string>(given.approved_by_usernames?.filter((name) => name !== '')),
  source_branch: given.source_branch || undefined,
  target_branch: given.target_branch || undefined,
  draft: given.draft ?? (given.wip ? given.wip === 'yes' : undefined),
  reviewer_username: given.reviewer_username || undefined,
})

/** Parameters that have a place of their own, and are no filters to take away. */
const NO_FILTERS = new Set(['state', 'sort', 'search', 'page', 'per_page', 'utf8'])

/** The parameters of the address. */
const parametersOf = ({ address }: PageView): [string, string][] =>
  [...new URLSearchParams(address.split('?', 2)[1] ?? '')].filter(([, value]) => value !== '')

const withParameters = (at: string, parameters: [string, string][]) => {
  const query = String(new URLSearchParams(parameters))
  return `${at}${query && `?${query}`}`
}

interface HeadProps {
  view: PageView
  /** The address of the list. */
  at: string
  state: string
  /** State → how many there are, in the order of the links. */
  counts: Record<string, number>
  sort: string | undefined
  search: string | undefined
  kind: 'issues' | 'merge requests'
  labels?: LabelChoice[]
  milestones?: { id: number; title: string }[]
}

/** The states of a list with their counts, its search and filters, and what is filtered now. */
export function ListHead({ view, at, state, counts, sort, search, kind, labels = [], milestones = [] }: HeadProps) {
  const parameters = parametersOf(view)
  const given = (...names: string[]) => parameters.find(([name]) => names.includes(name))?.[1] ?? ''
  const labelText = parameters
    .flatMap(([name, value]) => (name === 'label_name[]' || name === 'label_name' || name === 'labels' ? [value] : []))
    .join(', ')
  const shown = new Set([
    'author_username',
    'assignee_username',
    'milestone_title',
    'milestone',
    'label_name',
    'label_name[]',
    'labels',
    'my_reaction_emoji',
  ])
  for (const name of kind === 'issues'
    ? ['due_date', 'confidential']
    : ['draft', 'target_branch', 'reviewer_username', 'approved_by_usernames', 'approved_by_usernames[]'])
    shown.add(name)
  const filters = parameters.filter(([name]) => !NO_FILTERS.has(name))
  return (
    <>
      <nav class="group states" aria-label={t('State')}>
        {Object.entries(counts).map(([name, count]) => (
          <a
            key={name}
            class="button"
            href={withParameters(at, [...parameters.filter(([other]) => other !== 'state' && other !== 'page'), ['state', name]])}
            {...(name === state && { 'aria-current': 'page' })}
          >
            {name === 'opened' ? t('Open') : said(name.charAt(0).toUpperCase() + name.slice(1))} <span class="count">{count}</span>
          </a>
        ))}
      </nav>
      <search>
        <form method="get" action={withParameters(at, [])} class="filtering">
          <input type="hidden" name="state" value={state} />
          {filters.map(([name, value]) => !shown.has(name) && <input key={name + value} type="hidden" name={name} value={value} />)}
          <div class="search">
            <input
              name="search"
              type="search"
              value={search ?? ''}
              placeholder={t('Search titles and descriptions')}
              aria-label={t('Search titles and descriptions')}
            />
            <select name="sort" aria-label={t('Order')}>
              <Options choices={kind === 'issues' ? sorts() : [...sorts(), ...requestSorts()]} chosen={sort} />
            </select>
            <button type="submit">{t('Search')}</button>
          </div>
          <details class="filters">
            <summary>{t('Filters')}</summary>
            <div class="columns">
              <FilterField name="author_username" label={t('Author')} value={given('author_username')} />
              <FilterField name="assignee_username" label={t('Assignee')} value={given('assignee_username')} />
              <FilterField name="labels" label={t('Labels, with commas')} value={labelText} list={labels.map(({ name }) => name)} />
              <FilterField
                name="milestone_title"
                label={t('Milestone')}
                value={given('milestone_title', 'milestone')}
                list={['None', 'Any', ...milestones.map(({ title }) => title)]}
              />
              <FilterField name="my_reaction_emoji" label={t('My reaction')} value={given('my_reaction_emoji')} />
              {kind === 'issues' ? (
                <>
                  <FilterChoice
                    name="due_date"
                    label={t('Due')}
                    value={given('due_date')}
                    choices={{ '': t('At any time'), '0': t('Without a date'), overdue: t('Overdue'), week: t('This week'), month: t('This month') }}
                  />
                  <FilterChoice
                    name="confidential"
                    label={t('Confidential')}
                    value={given('confidential')}
                    choices={{ '': t('Both'), true: t('Confidential'), false: t('Not confidential') }}
                  />
                </>
              ) : (
                <>
                  <FilterField name="reviewer_username" label={t('Reviewer')} value={given('reviewer_username')} />
                  <FilterField
                    name="approved_by_usernames"
                    label={t('Approved by')}
                    value={given('approved_by_usernames', 'approved_by_usernames[]')}
                  />
                  <FilterField name="target_branch" label={t('Target branch')} value={given('target_branch')} />
                  <FilterChoice
                    name="draft"
                    label={t('Draft')}
                    value={given('draft')}
                    choices={{ '': t('Both'), true: t('Drafts'), false: t('Ready') }}
                  />
                </>
              )}
            </div>
            <button type="submit">{t('Show')}</button>
          </details>
        </form>
      </search>
      {filters.length > 0 && (
        <p class="chips">
          {filters.map(([name, value], i) => (
            <>
              <a
                key={name + value}
                class="badge"
                href={withParameters(
                  at,
                  parameters.filter((each) => each !== filters[i] && each[0] !== 'page'),
                )}
                aria-label={t('Without the filter {name} {value}', { name: name.replace(/\[\]$/, ''), value })}
              >
                {said(
                  name
                    .replace(/\[\]$/, '')
                    .replace(/_(?:name|title|usernames?)$/, '')
                    .replace(/_/g, ' '),
                )}
                : {value} ×
              </a>{' '}
            </>
          ))}
        </p>
      )}
    </>
  )
}

/** A field of a form of filters. */
export const FilterField = ({ name, label, value, list = [] }: { name: string; label: string; value: string; list?: string[] }) => (
  <div class="field">
    <label for={`filter_${name}`}>{label}</label>
    <input id={`filter_${name}`} name={name} value={value} spellcheck={false} {...(list.length > 0 && { list: `list_${name}` })} />
    {list.length > 0 && <DataList id={`list_${name}`} values={list} />}
  </div>
)

const FilterChoice = ({ name, label, value, choices }: { name: string; label: string; value: string; choices: Record<string, string> }) => (
  <div class="field">
    <label for={`filter_${name}`}>{label}</label>
    <select id={`filter_${name}`} name={name}>
      {/* keys that look like numbers come first in an object */}
      <Options
        choices={Object.entries(choices)
          .map(([key, text]) => ({ value: key, label: text }))
          .sort((a, b) => Number(a.value !== '') - Number(b.value !== ''))}
        chosen={value}
      />
    </select>
  </div>
)
