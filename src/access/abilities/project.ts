/** What each role adds on a project; a role also holds all that the roles above it hold (companions 5.1). A visitor is a signed-in person without a membership, or anybody, on a project he can see. */
export const PROJECT_ROLES = {
  anonymous: ['read_project', 'download_code_if_public', 'read_wiki', 'read_issue'],
  visitor: [
    'read_member',
    'read_snippet',
    'star',
    'request_access',
    'fork_if_public',
    'read_pipeline_if_public',
    'upload_file',
    'create_issue',
    'create_note',
    'award_emoji',
  ],
  guest: ['read_pipeline_if_jobs_are_public'],
  reporter: [
    'create_snippet',
    'download_code',
    'comment_on_commit',
    'fork',
    'read_statistics',
    'read_pipeline',
    'update_issue',
    'manage_issue',
    'move_issue',
    'manage_label',
  ],
  developer: [
    'push_code',
    'create_branch',
    'create_tag',
    'create_commit_status',
    'cancel_pipeline',
    'manage_release',
    'write_wiki',
    'manage_milestone',
    'resolve_thread',
  ],
  maintainer: [
    'delete_wiki_page',
    'manage_snippets',
    'manage_notes',
    'manage_variables',
    'manage_project',
    'manage_members',
    'manage_protection',
    'delete_tag',
    'delete_protected_branch',
    'manage_shares',
    'link_fork',
  ],
  owner: [
    'rename_project',
    'change_visibility',
    'archive_project',
    'transfer_project',
    'unlink_fork',
    'remove_project',
    'admin_issue',
    'backdate_note',
  ],
} as const

/** What nobody may do while a state holds. */
export const PROJECT_PROHIBITIONS = {
  archived: [
    'push_code',
    'create_branch',
    'create_tag',
    'delete_tag',
    'delete_protected_branch',
    'create_commit_status',
    'cancel_pipeline',
    'manage_release',
    'comment_on_commit',
    'create_issue',
    'update_issue',
    'manage_issue',
    'move_issue',
    'admin_issue',
    'manage_label',
    'manage_milestone',
    'upload_file',
    'write_wiki',
    'delete_wiki_page',
    'create_snippet',
    'manage_snippets',
    'create_note',
    'award_emoji',
    'resolve_thread',
    'manage_notes',
    'backdate_note',
  ],
  /** The repository feature is switched off for the caller (AC-10). */
  no_repository: [
    'download_code',
    'comment_on_commit',
    'push_code',
    'create_branch',
    'create_tag',
    'delete_tag',
    'delete_protected_branch',
    'create_commit_status',
    'read_pipeline',
    'cancel_pipeline',
    'manage_release',
    'fork',
    // jobs are off with the repository
    'manage_variables',
  ],
  /** The jobs feature is. Posting and listing statuses is not part of it: whoever builds elsewhere switches it off. */
  no_jobs: ['read_pipeline', 'cancel_pipeline', 'manage_variables'],
  no_wiki: ['read_wiki', 'write_wiki', 'delete_wiki_page'],
  no_snippets: ['read_snippet', 'create_snippet', 'manage_snippets'],
  /** The issues feature is. Labels and milestones are not part of it: merge requests have them too. */
  no_issues: ['read_issue', 'create_issue', 'update_issue', 'manage_issue', 'move_issue', 'admin_issue'],
} as const

export type ProjectRole = keyof typeof PROJECT_ROLES
type Listed = (typeof PROJECT_ROLES)[ProjectRole][number]
/** Held under a further condition, which `canProject` knows. */
export type ConditionalAbility = Extract<Listed, `${string}_if_${string}`>
export type ProjectAbility = Exclude<Listed, ConditionalAbility>
