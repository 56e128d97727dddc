import { z } from 'zod'
import { bool, commaList, oneOf, opt, orDefault, where } from '../../http/params.js'
import { scopeOf, scopes, shared, traits, traitsOf } from '../issuables/filters.js'

const FIELDS = ['title', 'description'] as const
const isField = (word: string): word is (typeof FIELDS)[number] => (FIELDS as readonly string[]).includes(word)

/** Filters of lists of issues (section 15). */
export const filters = (scope: 'created_by_me' | 'all') => ({
  state: orDefault(oneOf(['opened', 'closed', 'all']), 'all'),
  ...traits,
  scope: orDefault(scopes(), scope),
  in: opt(where(commaList(), (words) => words.every(isField), 'does not have a valid value', { enum: [...FIELDS, 'title,description'] })),
  confidential: opt(bool()),
  due_date: opt(oneOf(['0', 'overdue', 'week', 'month'])),
  not: z.object(traits, 'is invalid').nullish(),
  with_labels_details: orDefault(bool(), false),
  ...shared,
})

type Given = z.infer<z.ZodObject<ReturnType<typeof filters>>>

/** Converts parameters to the service's filters. */
export function filterOf(given: Given) {
  const { in: fields, not, scope, labels: _, milestone: __, assignee_id: ___, ...rest } = given
  return {
    ...rest,
    ...traitsOf(given),
    scope: scopeOf(scope),
    in: fields && fields.length > 0 ? fields.filter(isField) : [...FIELDS],
    not: not ? traitsOf(not) : undefined,
  }
}
