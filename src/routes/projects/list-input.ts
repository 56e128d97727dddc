import { bool, commaList, datetime, int, keyset, oneOf, opt, orDefault, paging, searchText, str, textMap } from '../../http/params.js'
import { VISIBILITIES } from '../../rules/visibility.js'
import { ORDERS } from '../../services/projects/list.js'

/** Parameters of all lists of projects (companions 8.1). */
export const listParameters = {
  archived: opt(bool()),
  visibility: opt(oneOf(VISIBILITIES)),
  search: opt(searchText()),
  search_namespaces: opt(bool()),
  with_programming_language: opt(str()),
  order_by: orDefault(oneOf(ORDERS), 'created_at'),
  sort: orDefault(oneOf(['asc', 'desc']), 'desc'),
  simple: opt(bool()),
  owned: opt(bool()),
  membership: opt(bool()),
  starred: opt(bool()),
  statistics: opt(bool()),
  with_issues_enabled: opt(bool()),
  with_merge_requests_enabled: opt(bool()),
  min_access_level: opt(int({ min: 0, max: 50 })),
  last_activity_after: opt(datetime()),
  last_activity_before: opt(datetime()),
  topic: opt(commaList()),
  custom_attributes: opt(textMap()),
  with_custom_attributes: opt(bool()),
  include_pending_delete: opt(bool()),
  ...keyset,
  ...paging,
}
