import type { Form, Page } from '../../page.js'
import { abuseReportForm, abuseReportPage } from './abuse-report.js'
import { groupActivityPage, groupPage, userExists, userPage } from './user.js'

/** The pages and forms of this family; one that is exported and not listed fails a test. */
export const people: readonly (Page | Form)[] = [abuseReportPage, abuseReportForm, userExists, userPage, groupPage, groupActivityPage]
