import type { z } from 'zod'
import { bool, oneOf, opt, orDefault } from '../../http/params.js'
import { ORDER_COLUMNS } from '../../services/issuables/filters.js'
import { DUE_DATES } from '../../services/issuables/issues/list.js'
import { fieldsOf, negated, scopeOf, scopes, shared, traits, traitsOf } from '../issuables/filters.js'

/** Filters of lists of issues (section 15). */
export const filters = (scope: 'created_by_me' | 'all') => ({
  state: orDefault(oneOf(['opened', 'closed', 'all']), 'all'),
  ...traits,
  scope: orDefault(scopes(), scope),
  confidential: opt(bool()),
  due_date: opt(oneOf(DUE_DATES)),
  not: negated(traits),
  with_labels_details: orDefault(bool(), false),
  order_by: orDefault(oneOf(ORDER_COLUMNS), 'created_at'),
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
    in: fieldsOf(fields),
    not: not ? traitsOf(not) : undefined,
  }
}
