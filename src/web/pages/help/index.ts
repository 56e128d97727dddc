import type { Form, Page } from '../../page.js'
import { helpPage } from './help.js'
import { pageErrorForm } from './page-errors.js'

/** The pages and forms of this family; one that is exported and not listed fails a test. */
export const help: readonly (Page | Form)[] = [helpPage, pageErrorForm]
