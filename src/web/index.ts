import type { Context } from '../context.js'
import type { Form, Page } from './page.js'
import * as links from './pages/accounts/links.js'
import * as secondFactor from './pages/accounts/second-factor.js'
import * as signIn from './pages/accounts/sign-in.js'
import * as signOn from './pages/accounts/sign-on.js'
import * as signUp from './pages/accounts/sign-up.js'
import * as unsubscribe from './pages/accounts/unsubscribe.js'
import * as adminReports from './pages/admin/abuse-reports.js'
import * as adminApplications from './pages/admin/applications.js'
import * as adminAudit from './pages/admin/audit-log.js'
import * as adminBroadcasts from './pages/admin/broadcasts.js'
import * as adminGroups from './pages/admin/groups.js'
import * as adminHeld from './pages/admin/held-texts.js'
import * as adminHooks from './pages/admin/hooks.js'
import * as adminImpersonation from './pages/admin/impersonation.js'
import * as adminJobs from './pages/admin/jobs.js'
import * as adminOverview from './pages/admin/overview.js'
import * as adminProjects from './pages/admin/projects.js'
import * as adminProviders from './pages/admin/providers.js'
import * as adminLimits from './pages/admin/request-limits.js'
import * as adminSettings from './pages/admin/settings.js'
import * as adminUser from './pages/admin/user.js'
import * as adminImport from './pages/admin/user-import.js'
import * as adminUsers from './pages/admin/users.js'
import * as activity from './pages/code/activity.js'
import * as blob from './pages/code/blob.js'
import * as commit from './pages/code/commit.js'
import * as commits from './pages/code/commits.js'
import * as compare from './pages/code/compare.js'
import * as edit from './pages/code/edit.js'
import * as findFile from './pages/code/find-file.js'
import * as olderAddresses from './pages/code/older-addresses.js'
import * as refs from './pages/code/refs.js'
import * as releases from './pages/code/releases.js'
import * as social from './pages/code/social.js'
import * as tree from './pages/code/tree.js'
import * as help from './pages/help/help.js'
import * as pageErrors from './pages/help/page-errors.js'
import * as groups from './pages/home/groups.js'
import * as home from './pages/home/home.js'
import * as authorize from './pages/oauth/authorize.js'
import * as abuse from './pages/people/abuse-report.js'
import * as people from './pages/people/user.js'
import * as board from './pages/planning/board.js'
import * as completion from './pages/planning/completion.js'
import * as issue from './pages/planning/issue.js'
import * as issues from './pages/planning/issues.js'
import * as labels from './pages/planning/labels.js'
import * as milestones from './pages/planning/milestones.js'
import * as newIssue from './pages/planning/new-issue.js'
import * as pipelines from './pages/planning/pipelines.js'
import * as snippets from './pages/planning/snippets.js'
import * as todos from './pages/planning/todos.js'
import * as wikis from './pages/planning/wikis.js'
import * as applications from './pages/profile/applications.js'
import * as emails from './pages/profile/emails.js'
import * as identities from './pages/profile/identities.js'
import * as keys from './pages/profile/keys.js'
import * as notifications from './pages/profile/notifications.js'
import * as password from './pages/profile/password.js'
import * as profile from './pages/profile/profile.js'
import * as ownSecondFactor from './pages/profile/second-factor.js'
import * as sessions from './pages/profile/sessions.js'
import * as tokens from './pages/profile/tokens.js'
import * as requestChanges from './pages/requests/changes.js'
import * as requestConflicts from './pages/requests/conflicts.js'
import * as requestCreation from './pages/requests/create.js'
import * as requestList from './pages/requests/list.js'
import * as merging from './pages/requests/merging.js'
import * as reviewing from './pages/requests/reviewing.js'
import * as requests from './pages/requests/show.js'
import * as search from './pages/search/search.js'
import * as otherAddresses from './pages/settings/addresses.js'
import * as audit from './pages/settings/audit.js'
import * as deploy from './pages/settings/deploy.js'
import * as groupSettings from './pages/settings/group.js'
import * as hooks from './pages/settings/hooks.js'
import * as members from './pages/settings/members.js'
import * as creation from './pages/settings/new.js'
import * as projectSettings from './pages/settings/project.js'
import * as protection from './pages/settings/protection.js'
import * as removed from './pages/settings/removed.js'
import * as shares from './pages/settings/shares.js'
import * as variables from './pages/settings/variables.js'
import { Site } from './site.js'

/** The modules of pages, by family. */
const modules = [
  links,
  secondFactor,
  signIn,
  signOn,
  signUp,
  unsubscribe,
  adminReports,
  adminApplications,
  adminAudit,
  adminBroadcasts,
  adminGroups,
  adminHeld,
  adminHooks,
  adminImpersonation,
  adminJobs,
  adminOverview,
  adminProjects,
  adminProviders,
  adminLimits,
  adminSettings,
  adminUser,
  adminImport,
  adminUsers,
  activity,
  blob,
  commit,
  commits,
  compare,
  edit,
  findFile,
  olderAddresses,
  refs,
  releases,
  social,
  tree,
  help,
  pageErrors,
  groups,
  home,
  authorize,
  abuse,
  people,
  board,
  completion,
  issue,
  issues,
  labels,
  milestones,
  newIssue,
  pipelines,
  snippets,
  todos,
  wikis,
  applications,
  emails,
  identities,
  keys,
  notifications,
  password,
  profile,
  ownSecondFactor,
  sessions,
  tokens,
  requestChanges,
  requestConflicts,
  requestCreation,
  requestList,
  merging,
  reviewing,
  requests,
  search,
  otherAddresses,
  audit,
  deploy,
  groupSettings,
  hooks,
  members,
  creation,
  projectSettings,
  protection,
  removed,
  shares,
  variables,
]

const isDeclared = (value: unknown): value is Page | Form => typeof value === 'object' && value !== null && 'at' in value && 'access' in value

/** What the modules export, alone or in lists: what is exported is part of the site. */
const declared = modules.flatMap((module) => Object.values<unknown>(module).flat()).filter(isDeclared)
export const pages = declared.filter((each): each is Page => 'show' in each)
export const forms = declared.filter((each): each is Form => 'submit' in each)

export const openSite = (ctx: Context): Site => new Site(ctx, pages, forms)
