/** What each role adds on a project; a role also holds all that the roles above it hold (companions 5.1). A visitor is a signed-in person without a membership, or anybody, on a project he can see. */
export const PROJECT_ROLES = {
  anonymous: ['read_project', 'download_code_if_public'],
  visitor: ['read_member', 'star', 'request_access', 'fork_if_public', 'upload_file'],
  guest: [],
  reporter: ['download_code', 'comment_on_commit', 'fork', 'read_statistics'],
  developer: ['push_code', 'create_branch', 'create_tag', 'create_commit_status', 'manage_release'],
  maintainer: ['manage_project', 'manage_members', 'manage_protection', 'delete_tag', 'delete_protected_branch', 'manage_shares', 'link_fork'],
  owner: ['rename_project', 'change_visibility', 'archive_project', 'transfer_project', 'unlink_fork', 'remove_project'],
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
    'manage_release',
    'comment_on_commit',
    'upload_file',
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
    'manage_release',
    'fork',
  ],
} as const

export type ProjectRole = keyof typeof PROJECT_ROLES
type Listed = (typeof PROJECT_ROLES)[ProjectRole][number]
export type ProjectAbility = Exclude<Listed, 'download_code_if_public' | 'fork_if_public'>
