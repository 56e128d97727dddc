import type { GroupSubject, ProjectSubject } from '../../access/rules.js'
import { t } from '../language/language.js'
import type { SidePage, SideSection } from './settings.js'

/** The pages of the settings, below the address of the project or group, that the caller may open, by section. */
export const projectSettings = ({ can }: ProjectSubject): SideSection[] => [
  [
    t('Project'),
    [
      ...pages(
        can('manage_project'),
        ['edit', t('General'), 'settings'],
        ['-/settings/features', t('Features'), 'list'],
        ['-/settings/merge_requests', t('Merge requests'), 'git-pull-request'],
        ['-/settings/badges', t('Badges'), 'star'],
      ),
    ],
  ],
  [
    t('Code'),
    [
      ...pages(
        can('manage_protection'),
        ['-/protected_branches', t('Protected branches'), 'shield'],
        ['-/protected_tags', t('Protected tags'), 'tag'],
      ),
      ...pages(
        can('manage_deploy_keys'),
        ['-/deploy_keys', t('Deploy keys'), 'key'],
        ['-/deploy_tokens', t('Deploy tokens'), 'code'],
        ['-/settings/access_tokens', t('Access tokens'), 'key'],
      ),
      ...pages(can('admin_package'), ['-/settings/packages', t('Packages'), 'package']),
      ...pages(can('manage_project'), ['-/settings/images', t('Images'), 'package']),
      ...pages(can('manage_mirrors'), ['-/settings/mirrors', t('Mirrors'), 'refresh-cw']),
    ],
  ],
  [
    'CI',
    [
      ...pages(can('manage_runners'), ['-/runners', t('Runners'), 'rocket']),
      ...pages(can('manage_variables'), ['-/variables', t('Variables'), 'lock']),
      ...pages(can('admin_pipeline'), ['-/triggers', t('Triggers'), 'git-branch'], ['-/freeze_periods', t('Deploy freezes'), 'clock']),
      ...pages(can('manage_protection'), ['-/protected_environments', t('Protected environments'), 'shield']),
      ...pages(can('manage_project'), ['-/job_token_scope', t('Job tokens'), 'key']),
      ...pages(can('manage_hooks'), ['-/hooks', t('Webhooks'), 'link'], ['-/settings/integrations', t('Integrations'), 'package']),
    ],
  ],
  [
    t('More'),
    [
      ...pages(can('manage_project'), ['-/audit_events', t('Audit log'), 'history']),
      ...pages(can('manage_project') || can('remove_project'), ['-/settings/advanced', t('Advanced'), 'triangle-alert']),
    ],
  ],
]

export const groupSettings = ({ can }: GroupSubject): SideSection[] => [
  [
    t('Group'),
    [
      ...pages(
        can('manage_group'),
        ['-/edit', t('General'), 'settings'],
        ['-/settings/permissions', t('Permissions'), 'shield'],
        ['-/settings/badges', t('Badges'), 'star'],
      ),
    ],
  ],
  [
    'CI',
    [
      ...pages(can('manage_runners'), ['-/runners', t('Runners'), 'rocket']),
      ...pages(can('manage_variables'), ['-/variables', t('Variables'), 'lock']),
      ...pages(can('manage_hooks'), ['-/hooks', t('Webhooks'), 'link']),
      ...pages(can('manage_deploy_tokens'), ['-/deploy_tokens', t('Deploy tokens'), 'code']),
      ...pages(can('manage_members'), ['-/settings/access_tokens', t('Access tokens'), 'key']),
    ],
  ],
  [
    t('More'),
    [
      ...pages(can('manage_group'), ['-/audit_events', t('Audit log'), 'history']),
      ...pages(can('manage_group') || can('remove_group'), ['-/settings/advanced', t('Advanced'), 'triangle-alert']),
    ],
  ],
]

/** The path of the first of these pages; undefined if there is none. */
export const firstOf = (sections: readonly SideSection[]): string | undefined => sections.flatMap(([, shown]) => shown)[0]?.[0]

const pages = (may: boolean, ...shown: SidePage[]) => (may ? shown : [])
