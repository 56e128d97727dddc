import { bool, datetime, oneOf, opt, orDefault, paging, searchText } from '../../http/params.js'
import { SORTS } from '../../services/identity/tokens.js'

/** Which personal access tokens, or tokens of a project or group, a list has. */
export const tokenFilters = {
  state: opt(oneOf(['active', 'inactive'])),
  revoked: opt(bool()),
  search: opt(searchText()),
  created_after: opt(datetime()),
  created_before: opt(datetime()),
  last_used_after: opt(datetime()),
  last_used_before: opt(datetime()),
  sort: orDefault(oneOf(SORTS), 'created_desc'),
  ...paging,
}
