import type { Context } from '../context.js'
import type { Form, Page } from './page.js'
import * as links from './pages/accounts/links.js'
import * as secondFactor from './pages/accounts/second-factor.js'
import * as signIn from './pages/accounts/sign-in.js'
import * as signOn from './pages/accounts/sign-on.js'
import * as signUp from './pages/accounts/sign-up.js'
import * as unsubscribe from './pages/accounts/unsubscribe.js'
import * as activity from './pages/code/activity.js'
import * as blob from './pages/code/blob.js'
import * as commit from './pages/code/commit.js'
import * as commits from './pages/code/commits.js'
import * as edit from './pages/code/edit.js'
import * as findFile from './pages/code/find-file.js'
import * as refs from './pages/code/refs.js'
import * as releases from './pages/code/releases.js'
import * as social from './pages/code/social.js'
import * as tree from './pages/code/tree.js'
import * as home from './pages/home/home.js'
import * as authorize from './pages/oauth/authorize.js'
import * as people from './pages/people/user.js'
import * as issues from './pages/planning/issues.js'
import * as requests from './pages/planning/merge-requests.js'
import * as pipelines from './pages/planning/pipelines.js'
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
import * as search from './pages/search/search.js'
import { Site } from './site.js'

const { passwordRequest, confirmationRequest } = links

/** All pages, by family. */
export const pages: Page[] = [
  home.homePage,
  home.dashboardPage,
  home.starredPage,
  home.ownActivityPage,
  home.explorePage,
  search.searchPage,
  search.projectSearchPage,
  search.groupSearchPage,
  people.userPage,
  people.groupPage,
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
  commits.comparePage,
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
  social.forksPage,
  social.newForkPage,
  issues.issuesPage,
  issues.newIssuePage,
  issues.issuePage,
  requests.mergeRequestsPage,
  requests.newMergeRequestPage,
  requests.mergeRequestPage,
  requests.requestCommitsPage,
  requests.requestChangesPage,
  pipelines.pipelinesPage,
  pipelines.pipelinePage,
  pipelines.jobPage,
]

/** All forms, by family. */
export const forms: Form[] = [
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
  commit.commitNotes.comment,
  commit.commitNotes.reply,
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
  issues.newIssueForm,
  issues.issueNotes.comment,
  issues.issueNotes.reply,
  issues.issueState,
  requests.newMergeRequestForm,
  requests.requestNotes.comment,
  requests.requestNotes.reply,
  requests.requestState,
  requests.requestMerge,
  requests.requestRebase,
  requests.requestApproval,
  requests.requestUnapproval,
  requests.threadResolution,
]

export const openSite = (ctx: Context): Site => new Site(ctx, pages, forms)
