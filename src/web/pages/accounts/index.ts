import type { Form, Page } from '../../page.js'
import { invitationAcceptance, invitationRefusal, invitationsPage } from './invitations.js'
import { confirmationForm, confirmationPage, confirmationRequest, passwordForm, passwordPage, passwordRequest } from './links.js'
import { passkeyForm, passkeyPage, secondFactorForm, secondFactorPage } from './second-factor.js'
import { signInForm, signInPage, signOutForm } from './sign-in.js'
import { callbackPage, signOnForm } from './sign-on.js'
import { almostTherePage, signUpForm, signUpPage } from './sign-up.js'
import { themeForm, themePage } from './theme.js'
import { unsubscribeForm, unsubscribePage } from './unsubscribe.js'

/** The pages and forms of this family; one that is exported and not listed fails a test. */
export const accounts: readonly (Page | Form)[] = [
  confirmationPage,
  confirmationForm,
  passwordPage,
  passwordForm,
  ...passwordRequest,
  ...confirmationRequest,
  secondFactorPage,
  secondFactorForm,
  passkeyPage,
  passkeyForm,
  signInPage,
  signInForm,
  signOutForm,
  signOnForm,
  callbackPage,
  signUpPage,
  signUpForm,
  almostTherePage,
  themePage,
  themeForm,
  invitationsPage,
  invitationAcceptance,
  invitationRefusal,
  unsubscribePage,
  unsubscribeForm,
]
