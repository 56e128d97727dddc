import type { Form, Page } from '../../page.js'
import { authorizeForm, authorizePage, denyForm, nativePage } from './authorize.js'

/** The pages and forms of this family; one that is exported and not listed fails a test. */
export const oauth: readonly (Page | Form)[] = [authorizePage, authorizeForm, denyForm, nativePage]
