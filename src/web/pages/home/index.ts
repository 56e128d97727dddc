import type { Form, Page } from '../../page.js'
import { dashboardPage } from './dashboard.js'
import { firstStepsDismissal } from './first-steps.js'
import { exploreGroupsPage, ownGroupsPage } from './groups.js'
import { exploreAddresses, explorePage, homePage, ownActivityPage, ownProjectsPage, starredPage } from './home.js'
import { removedPage } from './removed.js'
import { topicAddress, topicsPage } from './topics.js'

/** The pages and forms of this family; one that is exported and not listed fails a test. */
export const home: readonly (Page | Form)[] = [
  ownGroupsPage,
  exploreGroupsPage,
  homePage,
  dashboardPage,
  firstStepsDismissal,
  ownProjectsPage,
  starredPage,
  ownActivityPage,
  explorePage,
  topicsPage,
  topicAddress,
  removedPage,
  ...exploreAddresses,
]
