import type { Form, Page } from '../../page.js'
import { groupSearchPage, projectSearchPage, searchPage } from './search.js'
import { projectSuggestionsPage, suggestionsPage } from './suggestions.js'

/** The pages and forms of this family; one that is exported and not listed fails a test. */
export const search: readonly (Page | Form)[] = [searchPage, projectSearchPage, groupSearchPage, suggestionsPage, projectSuggestionsPage]
