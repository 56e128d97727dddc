import type { Form, Page } from '../../page.js'
import { exploreGroupsPage, ownGroupsPage } from './groups.js'
import { dashboardPage, exploreAddresses, explorePage, homePage, ownActivityPage, starredPage } from './home.js'
import { removedPage } from './removed.js'

/** The pages and forms of this family; one that is exported and not listed fails a test. */
export const home: readonly (Page | Form)[] = [
  ownGroupsPage,
  exploreGroupsPage,
  homePage,
  dashboardPage,
  starredPage,
  ownActivityPage,
  explorePage,
  removedPage,
  ...exploreAddresses,
]
