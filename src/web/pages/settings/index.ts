import type { Form, Page } from '../../page.js'
import { otherAddresses } from './addresses.js'
import * as audit from './audit.js'
import * as deploy from './deploy.js'
import * as group from './group.js'
import { groupHooks, projectHooks } from './hooks.js'
import { groupMembers, projectMembers } from './members.js'
import * as creation from './new.js'
import * as project from './project.js'
import * as protection from './protection.js'
import { removedPage } from './removed.js'
import { groupShares, projectShares } from './shares.js'
import { groupVariables, projectVariables } from './variables.js'

/** What a project and a group have alike. */
const both = [
  projectMembers,
  groupMembers,
  projectVariables,
  groupVariables,
  projectHooks,
  groupHooks,
  deploy.projectDeployTokens,
  deploy.groupDeployTokens,
]

export const pages: Page[] = [
  creation.newProjectPage,
  creation.newGroupPage,
  removedPage,
  project.settingsPage,
  project.generalPage,
  project.featuresPage,
  project.mergeRulesPage,
  project.advancedPage,
  group.subgroupsPage,
  group.groupGeneralPage,
  group.permissionsPage,
  group.groupAdvancedPage,
  protection.protectedBranchesPage,
  protection.protectedBranchPage,
  protection.protectedTagsPage,
  ...projectShares.pages,
  ...groupShares.pages,
  audit.projectAuditPage,
  audit.groupAuditPage,
  deploy.deployKeysPage,
  deploy.deployKeyPage,
  ...otherAddresses,
  ...both.flatMap((each) => each.pages),
]

export const forms: Form[] = [
  creation.newProjectForm,
  creation.newGroupForm,
  project.generalForm,
  project.avatarRemoval,
  project.featuresForm,
  project.mergeRulesForm,
  project.pathForm,
  project.transferForm,
  project.archiveForm,
  project.unarchiveForm,
  project.forkRelationRemoval,
  project.housekeepingForm,
  project.exportForm,
  project.projectRemoval,
  project.projectRestoration,
  group.groupGeneralForm,
  group.groupAvatarRemoval,
  group.permissionsForm,
  group.groupPathForm,
  group.groupTransferForm,
  group.groupRemoval,
  group.groupRestoration,
  protection.branchProtection,
  protection.branchProtectionChange,
  protection.branchUnprotection,
  protection.tagProtection,
  protection.tagUnprotection,
  ...projectShares.forms,
  ...groupShares.forms,
  deploy.deployKeyForm,
  deploy.deployKeyChange,
  deploy.deployKeyRemoval,
  ...both.flatMap((each) => each.forms),
]
