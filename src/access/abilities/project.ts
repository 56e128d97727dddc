/**
 * Abilities that each role adds on a project; a role also has the abilities of the roles before it (companions 5.1). A
 * visitor is a signed-in user without a membership on a project that they can see.
 */
export const PROJECT_ROLES = {
  anonymous: [
    'read_project',
    'download_code_if_public',
    'read_wiki',
    'read_issue',
    'read_label',
    'read_milestone',
    'read_package_if_public',
    'read_image_if_public',
  ],
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
    'read_merge_request_if_public',
    // those that they opened or are assigned to
    'read_own_merge_request',
    // from a fork, or to change their own merge request
    'propose_merge_request',
  ],
  guest: ['read_pipeline_if_jobs_are_public'],
  reporter: [
    'create_snippet',
    'download_code',
    'comment_on_commit',
    'fork',
    'read_statistics',
    // who wrote the commits, with numbers
    'read_contributors',
    'read_pipeline',
    // environments and deployments
    'read_environment',
    'read_package',
    'read_image',
    'update_issue',
    'manage_issue',
    'move_issue',
    'manage_label',
    'read_merge_request',
  ],
  developer: [
    'push_code',
    // how often it is fetched
    'read_fetches',
    'create_branch',
    'create_tag',
    'create_commit_status',
    'cancel_pipeline',
    // run, retry, play and erase jobs
    'create_pipeline',
    'update_build',
    // environments and deployments
    'manage_environment',
    // and lists of their users
    'read_feature_flag',
    'manage_feature_flag',
    'manage_release',
    'create_package',
    // images of containers, and their tags
    'create_image',
    'destroy_image',
    'write_wiki',
    'manage_milestone',
    'resolve_thread',
    // from a branch of this project
    'create_merge_request',
    'update_merge_request',
    'approve_merge_request',
    // labels, milestone, assignee, reviewer, lock
    'manage_merge_request',
    'accept_merge_request',
  ],
  maintainer: [
    'delete_wiki_page',
    'manage_snippets',
    'manage_notes',
    'manage_variables',
    'manage_runners',
    // tokens that trigger pipelines, schedules of others, variables that others gave to pipelines
    'admin_pipeline',
    'delete_deployment',
    // the token of programs that ask for flags
    'manage_feature_flag_client',
    'destroy_package',
    // the rules that protect packages
    'admin_package',
    // with all images in it
    'destroy_image_repository',
    'manage_hooks',
    'manage_mirrors',
    'manage_project',
    'manage_members',
    'manage_protection',
    // deploy tokens too
    'manage_deploy_keys',
    'delete_tag',
    'delete_protected_branch',
    'manage_shares',
    'link_fork',
    // unlock a file that another user has locked
    'force_unlock',
  ],
  owner: [
    'rename_project',
    'change_visibility',
    'archive_project',
    'transfer_project',
    'unlink_fork',
    'remove_project',
    'delete_pipeline',
    'admin_issue',
    'backdate_note',
    'destroy_merge_request',
  ],
} as const

const MERGE_REQUEST_WRITES = [
  'propose_merge_request',
  'create_merge_request',
  'update_merge_request',
  'approve_merge_request',
  'manage_merge_request',
  'accept_merge_request',
  'destroy_merge_request',
] as const
const MERGE_REQUESTS = ['read_merge_request', 'read_own_merge_request', ...MERGE_REQUEST_WRITES] as const

const ENVIRONMENT_WRITES = ['manage_environment', 'delete_deployment'] as const
const JOB_WRITES = ['cancel_pipeline', 'create_pipeline', 'update_build', 'delete_pipeline', 'admin_pipeline', ...ENVIRONMENT_WRITES] as const

const FLAG_WRITES = ['manage_feature_flag', 'manage_feature_flag_client'] as const

const PACKAGE_WRITES = ['create_package', 'destroy_package', 'admin_package'] as const

const IMAGE_WRITES = ['create_image', 'destroy_image', 'destroy_image_repository'] as const

/** Abilities that no role has while a state applies. */
export const PROJECT_PROHIBITIONS = {
  archived: [
    'push_code',
    'create_branch',
    'create_tag',
    'delete_tag',
    'delete_protected_branch',
    'create_commit_status',
    ...JOB_WRITES,
    ...FLAG_WRITES,
    'manage_release',
    ...PACKAGE_WRITES,
    ...IMAGE_WRITES,
    'comment_on_commit',
    'create_issue',
    'update_issue',
    'manage_issue',
    'move_issue',
    'admin_issue',
    ...MERGE_REQUEST_WRITES,
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
    'force_unlock',
  ],
  /** The repository feature is off for the caller (AC-10). */
  no_repository: [
    'download_code',
    'comment_on_commit',
    'push_code',
    'create_branch',
    'create_tag',
    'delete_tag',
    'delete_protected_branch',
    'create_commit_status',
    'read_contributors',
    'read_pipeline',
    'read_environment',
    ...JOB_WRITES,
    'manage_release',
    'force_unlock',
    'fork',
    // jobs and merge requests are off together with the repository
    'manage_variables',
    'manage_runners',
    ...MERGE_REQUESTS,
  ],
  /**
   * The jobs feature is off for the caller. Posting and listing statuses is not part of it: projects that build
   * elsewhere switch it off.
   */
  no_jobs: ['read_pipeline', 'read_environment', ...JOB_WRITES, 'manage_variables', 'manage_runners'],
  /** Environments and feature flags are off for the caller (FD-1). */
  no_operations: ['read_environment', ...ENVIRONMENT_WRITES, 'read_feature_flag', ...FLAG_WRITES],
  /** What counts who wrote what is off for the caller (FD-2). */
  no_analytics: ['read_contributors'],
  /** Packages are off (PK-3). */
  no_packages: ['read_package', ...PACKAGE_WRITES],
  /** The container registry is off (OCI-3). */
  no_registry: ['read_image', ...IMAGE_WRITES],
  /** Forking is off for the caller (PR-43). */
  no_forking: ['fork'],
  no_wiki: ['read_wiki', 'write_wiki', 'delete_wiki_page'],
  no_snippets: ['read_snippet', 'create_snippet', 'manage_snippets'],
  /**
   * The issues feature is off for the caller. Labels and milestones are not part of it alone: merge requests have them too.
   */
  no_issues: ['read_issue', 'create_issue', 'update_issue', 'manage_issue', 'move_issue', 'admin_issue'],
  /** The merge requests feature is off for the caller. */
  no_merge_requests: MERGE_REQUESTS,
  /** Neither issues nor merge requests are on for the caller (AC-79). */
  no_issuables: ['read_label', 'manage_label', 'read_milestone', 'manage_milestone'],
} as const

export type ProjectRole = keyof typeof PROJECT_ROLES
type Listed = (typeof PROJECT_ROLES)[ProjectRole][number]
/** Granted only under a further condition, which `canProject` checks. */
export type ConditionalAbility = Extract<Listed, `${string}_if_${string}`>
export type ProjectAbility = Exclude<Listed, ConditionalAbility>
