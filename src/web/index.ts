import type { Context } from '../context.js'
import type { Form, Page } from './page.js'
import * as links from './pages/accounts/links.js'
import * as signIn from './pages/accounts/sign-in.js'
import * as signOn from './pages/accounts/sign-on.js'
import * as unsubscribe from './pages/accounts/unsubscribe.js'
import * as blob from './pages/code/blob.js'
import * as commits from './pages/code/commits.js'
import * as refs from './pages/code/refs.js'
import * as tree from './pages/code/tree.js'
import * as home from './pages/home/home.js'
import * as people from './pages/people/user.js'
import * as emails from './pages/profile/emails.js'
import * as identities from './pages/profile/identities.js'
import * as keys from './pages/profile/keys.js'
import * as notifications from './pages/profile/notifications.js'
import * as password from './pages/profile/password.js'
import * as profile from './pages/profile/profile.js'
import * as sessions from './pages/profile/sessions.js'
import * as tokens from './pages/profile/tokens.js'
import { Site } from './site.js'

const { passwordRequest, confirmationRequest } = links

/** All pages, by family. */
export const pages: Page[] = [
  home.homePage,
  home.dashboardPage,
  home.starredPage,
  home.explorePage,
  people.userPage,
  people.groupPage,
  signIn.signInPage,
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
  emails.emailsPage,
  notifications.notificationsPage,
  keys.sshKeysPage,
  keys.gpgKeysPage,
  tokens.tokensPage,
  sessions.sessionsPage,
  tree.projectPage,
  tree.treePage,
  blob.blobPage,
  blob.blamePage,
  commits.commitsPage,
  commits.defaultCommitsPage,
  commits.commitPage,
  commits.comparePage,
  refs.branchesPage,
  refs.tagsPage,
  refs.switchPage,
]

/** All forms, by family. */
export const forms: Form[] = [
  signIn.signInForm,
  signIn.signOutForm,
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
  sessions.sessionEnd,
  refs.branchForm,
  refs.branchRemoval,
]

export const openSite = (ctx: Context): Site => new Site(ctx, pages, forms)
