import type { Form, Page } from '../../page.js'
import { groupAccessTokens, projectAccessTokens } from './access-tokens.js'
import { otherAddresses } from './addresses.js'
import { groupAuditPage, projectAuditPage } from './audit.js'
import { groupBadges, projectBadges } from './badges.js'
import {
  deployKeyChange,
  deployKeyEnabling,
  deployKeyForm,
  deployKeyPage,
  deployKeyRemoval,
  deployKeysPage,
  groupDeployTokens,
  projectDeployTokens,
} from './deploy.js'
import { freezePeriods } from './freeze-periods.js'
import {
  groupAdvancedPage,
  groupAvatarRemoval,
  groupGeneralForm,
  groupGeneralPage,
  groupPathForm,
  groupRemoval,
  groupRestoration,
  groupTransferForm,
  permissionsForm,
  permissionsPage,
  subgroupsPage,
} from './group.js'
import { groupHooks, projectHooks } from './hooks.js'
import { integrationForm, integrationPage, integrationRemoval, integrationsPage } from './integrations.js'
import { jobTokens } from './job-tokens.js'
import { groupMembers, projectMembers } from './members.js'
import { mirrors } from './mirrors.js'
import { newGroupForm, newGroupPage, newProjectForm, newProjectPage } from './new.js'
import { advancedPage } from './project/advanced.js'
import {
  archiveForm,
  exportForm,
  forkRelationRemoval,
  housekeepingForm,
  pathForm,
  projectRemoval,
  projectRestoration,
  transferForm,
  unarchiveForm,
} from './project/advanced-forms.js'
import { featuresForm, featuresPage } from './project/features.js'
import { avatarRemoval, generalForm, generalPage, settingsPage } from './project/general.js'
import { imagePolicyForm, imagePolicyPage } from './project/images.js'
import { mergeRulesForm, mergeRulesPage } from './project/merge-requests.js'
import { packageRuleForm, packageRuleRemoval, packageRulesPage } from './project/packages.js'
import { protectedEnvironments } from './protected-environments.js'
import {
  branchProtection,
  branchProtectionChange,
  branchUnprotection,
  protectedBranchesPage,
  protectedBranchPage,
  protectedTagsPage,
  tagProtection,
  tagUnprotection,
} from './protection.js'
import { groupRunners, projectRunners, serviceRunners } from './runners.js'
import { groupShares, projectShares } from './shares.js'
import { triggers } from './triggers.js'
import { groupVariables, projectVariables, serviceVariables } from './variables.js'

/** The pages and forms of this family; one that is exported and not listed fails a test. */
export const settings: readonly (Page | Form)[] = [
  ...otherAddresses,
  projectAuditPage,
  groupAuditPage,
  deployKeysPage,
  deployKeyForm,
  deployKeyPage,
  deployKeyChange,
  deployKeyRemoval,
  deployKeyEnabling,
  ...mirrors,
  ...projectDeployTokens,
  ...groupDeployTokens,
  ...projectAccessTokens,
  ...groupAccessTokens,
  subgroupsPage,
  groupGeneralPage,
  groupGeneralForm,
  groupAvatarRemoval,
  permissionsPage,
  permissionsForm,
  groupAdvancedPage,
  groupPathForm,
  groupTransferForm,
  groupRemoval,
  groupRestoration,
  ...projectBadges,
  ...groupBadges,
  ...projectHooks,
  ...groupHooks,
  integrationsPage,
  integrationPage,
  integrationForm,
  integrationRemoval,
  ...projectMembers,
  ...groupMembers,
  newProjectPage,
  newProjectForm,
  newGroupPage,
  newGroupForm,
  settingsPage,
  generalPage,
  generalForm,
  avatarRemoval,
  featuresPage,
  featuresForm,
  mergeRulesPage,
  mergeRulesForm,
  packageRulesPage,
  packageRuleForm,
  packageRuleRemoval,
  imagePolicyPage,
  imagePolicyForm,
  advancedPage,
  pathForm,
  transferForm,
  archiveForm,
  unarchiveForm,
  forkRelationRemoval,
  exportForm,
  housekeepingForm,
  projectRemoval,
  projectRestoration,
  protectedBranchesPage,
  branchProtection,
  protectedBranchPage,
  branchProtectionChange,
  branchUnprotection,
  protectedTagsPage,
  tagProtection,
  tagUnprotection,
  ...serviceRunners,
  ...groupRunners,
  ...projectRunners,
  ...projectShares,
  ...groupShares,
  ...jobTokens,
  ...triggers,
  ...freezePeriods,
  ...protectedEnvironments,
  ...projectVariables,
  ...groupVariables,
  ...serviceVariables,
]
