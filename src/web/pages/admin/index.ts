import type { Form, Page } from '../../page.js'
import { abuseReportClosing, abuseReportsPage } from './abuse-reports.js'
import {
  serviceApplicationChange,
  serviceApplicationForm,
  serviceApplicationPage,
  serviceApplicationRemoval,
  serviceApplicationsPage,
  serviceSecretRenewal,
} from './applications.js'
import { auditExport, auditLogPage } from './audit-log.js'
import { broadcastChange, broadcastDismissal, broadcastForm, broadcastRemoval, broadcastsPage, editBroadcastPage } from './broadcasts.js'
import { publicKeyForm, publicKeyRemoval, publicKeysPage } from './deploy-keys.js'
import { featureReset, featureSwitch, featuresPage } from './features.js'
import { adminGroupPage, adminGroupsPage, groupRemoval, groupRestoration } from './groups.js'
import { heldTextRelease, heldTextRemoval, heldTextsPage } from './held-texts.js'
import { hookChange, hookForm, hookPage, hookRemoval, hookResend, hooksPage, hookTest } from './hooks.js'
import { impersonationEnd, impersonationStart } from './impersonation.js'
import { jobRemoval, jobRetry, jobsPage, jobsRetry } from './jobs.js'
import { overviewPage } from './overview.js'
import { adminProjectPage, adminProjectsPage, projectRemoval, projectRestoration, projectStorage } from './projects.js'
import { providersPage, providerTest } from './providers.js'
import { requestLimitForm, requestLimitRemoval, requestLimitsPage } from './request-limits.js'
import { maintenanceForm, maintenancePage, settingSubjectPage, settingsForm, settingsPage } from './settings.js'
import {
  adminUserPage,
  editUserPage,
  temporaryPassword,
  userActions,
  userChange,
  userCredentials,
  userIdentity,
  userRejection,
  userRemoval,
} from './user.js'
import { userImportForm, userImportPage } from './user-import.js'
import { adminUsersPage, newUserForm, newUserPage } from './users.js'

/** The pages and forms of this family; one that is exported and not listed fails a test. */
export const admin: readonly (Page | Form)[] = [
  abuseReportsPage,
  abuseReportClosing,
  serviceApplicationsPage,
  serviceApplicationPage,
  serviceApplicationForm,
  serviceApplicationChange,
  serviceSecretRenewal,
  serviceApplicationRemoval,
  auditLogPage,
  auditExport,
  broadcastsPage,
  editBroadcastPage,
  broadcastForm,
  broadcastChange,
  broadcastRemoval,
  broadcastDismissal,
  publicKeysPage,
  publicKeyForm,
  publicKeyRemoval,
  adminGroupsPage,
  adminGroupPage,
  groupRemoval,
  groupRestoration,
  heldTextsPage,
  heldTextRelease,
  heldTextRemoval,
  hooksPage,
  hookPage,
  hookForm,
  hookChange,
  hookRemoval,
  hookTest,
  hookResend,
  impersonationStart,
  impersonationEnd,
  jobsPage,
  jobRetry,
  jobsRetry,
  jobRemoval,
  overviewPage,
  adminProjectsPage,
  adminProjectPage,
  projectStorage,
  projectRemoval,
  projectRestoration,
  providersPage,
  providerTest,
  featuresPage,
  featureSwitch,
  featureReset,
  requestLimitsPage,
  requestLimitForm,
  requestLimitRemoval,
  settingsPage,
  settingSubjectPage,
  settingsForm,
  maintenancePage,
  maintenanceForm,
  adminUserPage,
  userRemoval,
  editUserPage,
  userChange,
  ...userActions,
  userRejection,
  temporaryPassword,
  ...userCredentials,
  userIdentity,
  userImportPage,
  userImportForm,
  adminUsersPage,
  newUserPage,
  newUserForm,
]
