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
import { olderAddresses } from './pages/code/older-addresses.js'
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
import * as settings from './pages/settings/index.js'
import { Site } from './site.js'

const { passwordRequest, confirmationRequest } = links

/** All pages, by family. */
export const pages: Page[] = [
  adminOverview.overviewPage,
  adminUsers.adminUsersPage,
  adminUsers.newUserPage,
  adminImport.userImportPage,
  adminUser.adminUserPage,
  adminUser.editUserPage,
  adminGroups.adminGroupsPage,
  adminGroups.adminGroupPage,
  adminProjects.adminProjectsPage,
  adminProjects.adminProjectPage,
  adminSettings.settingsPage,
  adminSettings.settingSubjectPage,
  adminSettings.maintenancePage,
  adminBroadcasts.broadcastsPage,
  adminBroadcasts.editBroadcastPage,
  adminReports.abuseReportsPage,
  adminLimits.requestLimitsPage,
  adminHeld.heldTextsPage,
  adminAudit.auditLogPage,
  adminAudit.auditExport,
  adminJobs.jobsPage,
  adminHooks.hooksPage,
  adminHooks.hookPage,
  adminApplications.serviceApplicationsPage,
  adminApplications.serviceApplicationPage,
  adminProviders.providersPage,
  abuse.abuseReportPage,
  help.helpPage,
  home.homePage,
  home.dashboardPage,
  home.starredPage,
  home.ownActivityPage,
  home.explorePage,
  ...home.exploreAddresses,
  ...olderAddresses,
  groups.ownGroupsPage,
  groups.exploreGroupsPage,
  search.searchPage,
  search.projectSearchPage,
  search.groupSearchPage,
  people.userExists,
  people.userPage,
  people.groupPage,
  people.groupActivityPage,
  signIn.signInPage,
  secondFactor.secondFactorPage,
  secondFactor.passkeyPage,
  signUp.signUpPage,
  signUp.almostTherePage,
  signOn.callbackPage,
  links.confirmationPage,
  links.passwordPage,
  passwordRequest.shown,
  confirmationRequest.shown,
  unsubscribe.unsubscribePage,
  profile.profilePage,
  profile.accountPage,
  password.ownPasswordPage,
  password.expiredPasswordPage,
  ownSecondFactor.ownSecondFactorPage,
  emails.emailsPage,
  notifications.notificationsPage,
  keys.sshKeysPage,
  keys.gpgKeysPage,
  tokens.tokensPage,
  applications.applicationsPage,
  applications.ownApplicationsPage,
  applications.applicationPage,
  authorize.authorizePage,
  authorize.nativePage,
  sessions.sessionsPage,
  tree.projectPage,
  tree.treePage,
  tree.pathPage,
  blob.blobPage,
  blob.blamePage,
  commits.commitsPage,
  commits.defaultCommitsPage,
  commit.commitPage,
  commit.containingPage,
  commit.requestsOfCommitPage,
  compare.comparePage,
  compare.compareFormPage,
  edit.editPage,
  edit.newFilePage,
  refs.branchesPage,
  refs.tagsPage,
  refs.tagPage,
  refs.newTagPage,
  refs.switchPage,
  releases.releasesPage,
  releases.releasePage,
  releases.newReleasePage,
  releases.editReleasePage,
  findFile.findFilePage,
  activity.activityPage,
  activity.contributorsPage,
  activity.graphPage,
  social.starrersPage,
  social.forksPage,
  social.newForkPage,
  issues.issuesPage,
  issues.groupIssuesPage,
  issues.groupRequestsPage,
  issues.myIssuesPage,
  issues.myRequestsPage,
  todos.todosPage,
  newIssue.newIssuePage,
  issue.issuePage,
  issue.editIssuePage,
  completion.completionPage,
  board.boardPage,
  ...labels.projectLabels.pages,
  ...labels.groupLabels.pages,
  ...milestones.projectMilestones.pages,
  ...milestones.groupMilestones.pages,
  requestList.mergeRequestsPage,
  requestCreation.newMergeRequestPage,
  requestCreation.editMergeRequestPage,
  wikis.wikiHome,
  wikis.wikiList,
  wikis.wikiClone,
  wikis.newWikiPage,
  wikis.wikiPage,
  snippets.snippetsHome,
  snippets.ownSnippetsPage,
  snippets.publicSnippetsPage,
  snippets.personalSnippetPage,
  snippets.newPersonalPage,
  snippets.editPersonalPage,
  snippets.projectSnippetsPage,
  snippets.projectSnippetPage,
  snippets.newProjectSnippetPage,
  snippets.editProjectSnippetPage,
  requests.mergeRequestPage,
  requests.mergeWidget,
  requests.requestCommitsPage,
  requestChanges.requestChangesPage,
  requestConflicts.conflictsPage,
  reviewing.threadPage,
  pipelines.pipelinesPage,
  pipelines.pipelinesOfCommitPage,
  pipelines.pipelinePage,
  pipelines.jobPage,
  ...settings.pages,
]

/** All forms, by family. */
export const forms: Form[] = [
  adminUsers.newUserForm,
  adminImport.userImportForm,
  adminUser.userChange,
  ...Object.values(adminUser.userActions),
  adminUser.userRejection,
  adminUser.temporaryPassword,
  ...Object.values(adminUser.userCredentials),
  adminUser.userIdentity,
  adminUser.userRemoval,
  adminProviders.providerTest,
  adminImpersonation.impersonationStart,
  adminImpersonation.impersonationEnd,
  adminGroups.groupRemoval,
  adminGroups.groupRestoration,
  adminProjects.projectStorage,
  adminProjects.projectRemoval,
  adminProjects.projectRestoration,
  adminSettings.settingsForm,
  adminSettings.maintenanceForm,
  adminBroadcasts.broadcastForm,
  adminBroadcasts.broadcastChange,
  adminBroadcasts.broadcastRemoval,
  adminBroadcasts.broadcastDismissal,
  adminReports.abuseReportClosing,
  adminLimits.requestLimitForm,
  adminLimits.requestLimitRemoval,
  adminHeld.heldTextRelease,
  adminHeld.heldTextRemoval,
  pageErrors.pageErrorForm,
  adminJobs.jobRetry,
  adminJobs.jobsRetry,
  adminJobs.jobRemoval,
  adminHooks.hookForm,
  adminHooks.hookChange,
  adminHooks.hookRemoval,
  adminHooks.hookTest,
  adminHooks.hookResend,
  adminApplications.serviceApplicationForm,
  adminApplications.serviceApplicationChange,
  adminApplications.serviceSecretRenewal,
  adminApplications.serviceApplicationRemoval,
  abuse.abuseReportForm,
  signIn.signInForm,
  signIn.signOutForm,
  secondFactor.secondFactorForm,
  secondFactor.passkeyForm,
  signUp.signUpForm,
  signOn.signOnForm,
  links.confirmationForm,
  links.passwordForm,
  passwordRequest.asked,
  confirmationRequest.asked,
  unsubscribe.unsubscribeForm,
  profile.profileForm,
  profile.avatarRemoval,
  profile.usernameForm,
  identities.identityRemoval,
  password.ownPasswordForm,
  password.expiredPasswordForm,
  password.removalForm,
  ownSecondFactor.enablingForm,
  ownSecondFactor.disablingForm,
  ownSecondFactor.recoveryCodesForm,
  ownSecondFactor.skippingForm,
  ownSecondFactor.securityKeyForm,
  ownSecondFactor.securityKeyRemoval,
  emails.emailForm,
  emails.emailRemoval,
  emails.emailConfirmation,
  emails.mainEmail,
  notifications.notificationsForm,
  keys.sshKeyForm,
  keys.sshKeyRemoval,
  keys.gpgKeyForm,
  keys.gpgKeyRemoval,
  tokens.tokenForm,
  tokens.tokenRevocation,
  tokens.feedTokenReset,
  applications.applicationForm,
  applications.applicationChange,
  applications.secretRenewal,
  applications.applicationRemoval,
  applications.applicationRevocation,
  authorize.authorizeForm,
  authorize.denyForm,
  sessions.sessionEnd,
  edit.editForm,
  edit.fileRemoval,
  edit.newFileForm,
  ...Object.values(commit.commitNotes),
  commit.lineCommentForm,
  commit.cherryPickForm,
  commit.revertForm,
  refs.branchForm,
  refs.branchRemoval,
  refs.mergedRemoval,
  refs.newTagForm,
  refs.tagRemoval,
  releases.newReleaseForm,
  releases.editReleaseForm,
  releases.releaseRemoval,
  releases.assetForm,
  releases.assetRemoval,
  social.starForm,
  social.newForkForm,
  issues.issuesChange,
  board.boardMove,
  todos.todoDone,
  todos.todoRestoration,
  todos.todosDone,
  todos.todosRestoration,
  newIssue.newIssueForm,
  ...Object.values(issue.issueNotes),
  issue.issueChange,
  issue.issueAttributes,
  issue.issueTime,
  issue.issueTasks,
  issue.issueReaction,
  issue.issueSubscription,
  issue.issueTodo,
  issue.issueRequest,
  issue.issueDuplicate,
  issue.issueMove,
  issue.issueRemoval,
  ...labels.projectLabels.forms,
  ...labels.groupLabels.forms,
  labels.labelSubscription,
  labels.labelPromotion,
  ...milestones.projectMilestones.forms,
  ...milestones.groupMilestones.forms,
  ...Object.values(requestCreation.forms),
  ...Object.values(requestList.forms),
  ...Object.values(reviewing.requestNotes),
  reviewing.lineComment,
  reviewing.threadResolution,
  reviewing.draftChange,
  reviewing.draftRemoval,
  reviewing.reviewRemoval,
  reviewing.reviewSending,
  reviewing.viewedMark,
  reviewing.suggestionsForm,
  requestConflicts.conflictsForm,
  merging.requestReady,
  merging.requestMerge,
  merging.mergeCancellation,
  merging.requestRebase,
  merging.requestApproval,
  merging.requestUnapproval,
  merging.requestTasks,
  merging.requestAward,
  merging.sourceBranchRemoval,
  merging.sourceBranchRestoration,
  merging.requestRevert,
  merging.requestPick,
  wikis.wikiCreation,
  wikis.wikiChange,
  wikis.wikiRemoval,
  snippets.newPersonal,
  snippets.personalChange,
  snippets.personalRemoval,
  ...Object.values(snippets.snippetNotes),
  snippets.snippetReaction,
  snippets.newProjectSnippet,
  snippets.projectSnippetChange,
  snippets.projectSnippetRemoval,
  ...settings.forms,
]

export const openSite = (ctx: Context): Site => new Site(ctx, pages, forms)
