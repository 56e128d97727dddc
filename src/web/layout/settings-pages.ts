import type { GroupSubject, ProjectSubject } from '../../access/rules.js'

/** The pages of the settings, below the address of the project or group, that the caller may open. */
export const projectSettings = ({ can }: ProjectSubject): [path: string, label: string][] => [
  ...pages(can('manage_project'), ['edit', 'General'], ['-/settings/features', 'Features'], ['-/settings/merge_requests', 'Merge requests']),
  ...pages(can('manage_protection'), ['-/protected_branches', 'Protected branches'], ['-/protected_tags', 'Protected tags']),
  ...pages(can('manage_variables'), ['-/variables', 'Variables']),
  ...pages(can('manage_hooks'), ['-/hooks', 'Webhooks']),
  ...pages(can('manage_deploy_keys'), ['-/deploy_keys', 'Deploy keys'], ['-/deploy_tokens', 'Deploy tokens']),
  ...pages(can('manage_project'), ['-/audit_events', 'Audit log']),
  ...pages(can('manage_project') || can('remove_project'), ['-/settings/advanced', 'Advanced']),
]

export const groupSettings = ({ can }: GroupSubject): [path: string, label: string][] => [
  ...pages(can('manage_group'), ['-/edit', 'General'], ['-/settings/permissions', 'Permissions']),
  ...pages(can('manage_variables'), ['-/variables', 'Variables']),
  ...pages(can('manage_hooks'), ['-/hooks', 'Webhooks']),
  ...pages(can('manage_deploy_tokens'), ['-/deploy_tokens', 'Deploy tokens']),
  ...pages(can('manage_group'), ['-/audit_events', 'Audit log']),
  ...pages(can('manage_group') || can('remove_group'), ['-/settings/advanced', 'Advanced']),
]

const pages = (may: boolean, ...shown: [string, string][]) => (may ? shown : [])
