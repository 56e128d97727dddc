import type { GroupSubject, ProjectSubject } from '../../access/rules.js'
import type { SidePage, SideSection } from './settings.js'

/** The pages of the settings, below the address of the project or group, that the caller may open, by section. */
export const projectSettings = ({ can }: ProjectSubject): SideSection[] => [
  [
    'Project',
    [
      ...pages(
        can('manage_project'),
        ['edit', 'General', 'settings'],
        ['-/settings/features', 'Features', 'list'],
        ['-/settings/merge_requests', 'Merge requests', 'git-pull-request'],
        ['-/settings/badges', 'Badges', 'star'],
      ),
    ],
  ],
  [
    'Code',
    [
      ...pages(can('manage_protection'), ['-/protected_branches', 'Protected branches', 'shield'], ['-/protected_tags', 'Protected tags', 'tag']),
      ...pages(
        can('manage_deploy_keys'),
        ['-/deploy_keys', 'Deploy keys', 'key'],
        ['-/deploy_tokens', 'Deploy tokens', 'code'],
        ['-/settings/access_tokens', 'Access tokens', 'key'],
      ),
      ...pages(can('manage_mirrors'), ['-/settings/mirrors', 'Mirrors', 'refresh-cw']),
    ],
  ],
  [
    'CI',
    [
      ...pages(can('manage_runners'), ['-/runners', 'Runners', 'rocket']),
      ...pages(can('manage_variables'), ['-/variables', 'Variables', 'lock']),
      ...pages(can('admin_pipeline'), ['-/triggers', 'Triggers', 'git-branch'], ['-/freeze_periods', 'Deploy freezes', 'clock']),
      ...pages(can('manage_protection'), ['-/protected_environments', 'Protected environments', 'shield']),
      ...pages(can('manage_project'), ['-/job_token_scope', 'Job tokens', 'key']),
      ...pages(can('manage_hooks'), ['-/hooks', 'Webhooks', 'link'], ['-/settings/integrations', 'Integrations', 'package']),
    ],
  ],
  [
    'More',
    [
      ...pages(can('manage_project'), ['-/audit_events', 'Audit log', 'history']),
      ...pages(can('manage_project') || can('remove_project'), ['-/settings/advanced', 'Advanced', 'triangle-alert']),
    ],
  ],
]

export const groupSettings = ({ can }: GroupSubject): SideSection[] => [
  [
    'Group',
    [
      ...pages(
        can('manage_group'),
        ['-/edit', 'General', 'settings'],
        ['-/settings/permissions', 'Permissions', 'shield'],
        ['-/settings/badges', 'Badges', 'star'],
      ),
    ],
  ],
  [
    'CI',
    [
      ...pages(can('manage_runners'), ['-/runners', 'Runners', 'rocket']),
      ...pages(can('manage_variables'), ['-/variables', 'Variables', 'lock']),
      ...pages(can('manage_hooks'), ['-/hooks', 'Webhooks', 'link']),
      ...pages(can('manage_deploy_tokens'), ['-/deploy_tokens', 'Deploy tokens', 'code']),
      ...pages(can('manage_members'), ['-/settings/access_tokens', 'Access tokens', 'key']),
    ],
  ],
  [
    'More',
    [
      ...pages(can('manage_group'), ['-/audit_events', 'Audit log', 'history']),
      ...pages(can('manage_group') || can('remove_group'), ['-/settings/advanced', 'Advanced', 'triangle-alert']),
    ],
  ],
]

/** The path of the first of these pages; undefined if there is none. */
export const firstOf = (sections: readonly SideSection[]): string | undefined => sections.flatMap(([, shown]) => shown)[0]?.[0]

const pages = (may: boolean, ...shown: SidePage[]) => (may ? shown : [])
