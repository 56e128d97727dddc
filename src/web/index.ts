import type { Context } from '../context.js'
import type { Form, Page } from './page.js'
import { accounts } from './pages/accounts/index.js'
import { admin } from './pages/admin/index.js'
import { code } from './pages/code/index.js'
import { help } from './pages/help/index.js'
import { home } from './pages/home/index.js'
import { oauth } from './pages/oauth/index.js'
import { packages } from './pages/packages/index.js'
import { people } from './pages/people/index.js'
import { planning } from './pages/planning/index.js'
import { profile } from './pages/profile/index.js'
import { requests } from './pages/requests/index.js'
import { search } from './pages/search/index.js'
import { settings } from './pages/settings/index.js'
import { Site } from './site.js'

const declared = [accounts, admin, code, help, home, oauth, packages, people, planning, profile, requests, search, settings].flat()
export const pages = declared.filter((each): each is Page => 'show' in each)
export const forms = declared.filter((each): each is Form => 'submit' in each)

export const openSite = (ctx: Context): Site => new Site(ctx, pages, forms)
