import type { Form, Page } from '../../page.js'
import {
  applicationChange,
  applicationForm,
  applicationPage,
  applicationRemoval,
  applicationRevocation,
  applicationsPage,
  ownApplicationsPage,
  secretRenewal,
} from './applications.js'
import { emailConfirmation, emailForm, emailRemoval, emailsPage, mainEmail } from './emails.js'
import { identityRemoval } from './identities.js'
import { gpgKeyForm, gpgKeyRemoval, gpgKeysPage, sshKeyForm, sshKeyRemoval, sshKeysPage } from './keys.js'
import { notificationsForm, notificationsPage } from './notifications.js'
import { expiredPasswordForm, expiredPasswordPage, ownPasswordForm, ownPasswordPage, removalForm } from './password.js'
import { accountPage, avatarRemoval, profileForm, profilePage, usernameForm } from './profile.js'
import {
  disablingForm,
  enablingForm,
  ownSecondFactorPage,
  recoveryCodesForm,
  securityKeyForm,
  securityKeyRemoval,
  skippingForm,
} from './second-factor.js'
import { sessionEnd, sessionsPage } from './sessions.js'
import { feedTokenReset, tokenForm, tokenRevocation, tokensPage } from './tokens.js'

/** The pages and forms of this family; one that is exported and not listed fails a test. */
export const profile: readonly (Page | Form)[] = [
  applicationsPage,
  ownApplicationsPage,
  applicationForm,
  applicationPage,
  applicationChange,
  secretRenewal,
  applicationRemoval,
  applicationRevocation,
  emailsPage,
  emailForm,
  emailRemoval,
  emailConfirmation,
  mainEmail,
  identityRemoval,
  sshKeysPage,
  sshKeyForm,
  sshKeyRemoval,
  gpgKeysPage,
  gpgKeyForm,
  gpgKeyRemoval,
  notificationsPage,
  notificationsForm,
  ownPasswordPage,
  expiredPasswordPage,
  ownPasswordForm,
  expiredPasswordForm,
  removalForm,
  profilePage,
  profileForm,
  avatarRemoval,
  accountPage,
  usernameForm,
  ownSecondFactorPage,
  enablingForm,
  recoveryCodesForm,
  disablingForm,
  skippingForm,
  securityKeyForm,
  securityKeyRemoval,
  sessionsPage,
  sessionEnd,
  tokensPage,
  tokenForm,
  feedTokenReset,
  tokenRevocation,
]
