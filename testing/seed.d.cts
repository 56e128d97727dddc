export interface SeedUser {
  username: string
  /** The username unless given. */
  name?: string
  /** `<username>@example.com` unless given. */
  email?: string
  /** `<username>-password` unless given. */
  password?: string
  admin?: boolean
  external?: boolean
  can_create_group?: boolean
  projects_limit?: number
  bio?: string
  location?: string
  organization?: string
  website_url?: string
  /** Empty, or the address of `email`. */
  public_email?: string
  private_profile?: boolean
  /** The last thing that happens to them. */
  state?: 'active' | 'blocked'
  /** Personal access tokens, with the text that they shall have. */
  tokens?: Array<string | SeedToken>
  /** Public keys for SSH. */
  keys?: Array<{ title: string; key: string; expires_at?: string }>
}

export interface SeedToken {
  /** The token itself. */
  token: string
  name?: string
  /** `api` unless given. */
  scopes?: Array<string>
  expires_at?: string
}

export interface SeedGroup {
  /** With the paths of the groups above it. */
  path: string
  /** The last part of the path unless given. */
  name?: string
  description?: string
  /** `private` unless given. */
  visibility?: 'private' | 'internal' | 'public'
  project_creation_level?: 'noone' | 'maintainer' | 'developer'
  subgroup_creation_level?: 'owner' | 'maintainer'
  default_branch_protection?: number
  emails_disabled?: boolean
  mentions_disabled?: boolean
  share_with_group_lock?: boolean
  /** Who makes it: the first owner among its members unless given, otherwise the administrator. */
  owner?: string
  /** Roles by username. */
  members?: Record<string, 'guest' | 'reporter' | 'developer' | 'maintainer' | 'owner'>
  labels?: Array<string | { name: string; color?: string; description?: string; priority?: number }>
  milestones?: Array<string | { title: string; description?: string; start_date?: string; due_date?: string; state?: 'active' | 'closed' }>
  variables?: Array<SeedVariable>
  hooks?: Array<SeedHook>
}

export interface SeedVariable {
  key: string
  value: string
  protected?: boolean
  masked?: boolean
  raw?: boolean
  variable_type?: 'env_var' | 'file'
  environment_scope?: string
}

export interface SeedHook {
  url: string
  token?: string
  name?: string
  /** `push` unless given. */
  events?: Array<'push' | 'tag_push' | 'merge_requests' | 'issues' | 'note' | 'pipeline' | 'job' | 'wiki_page' | 'releases'>
  push_events_branch_filter?: string
  enable_ssl_verification?: boolean
}

export interface SeedProject {
  /** With the path of its group, or with a username. */
  path: string
  /** The last part of the path unless given. */
  name?: string
  /** The user whose namespace it is in, or the administrator, unless given. */
  creator?: string
  description?: string
  /** `private` unless given. */
  visibility?: 'private' | 'internal' | 'public'
  default_branch?: string
  topics?: Array<string>
  merge_method?: 'merge' | 'rebase_merge' | 'ff'
  squash_option?: 'never' | 'always' | 'default_on' | 'default_off'
  only_allow_merge_if_pipeline_succeeds?: boolean
  allow_merge_on_skipped_pipeline?: boolean
  only_allow_merge_if_all_discussions_are_resolved?: boolean
  auto_cancel_pending_pipelines?: 'enabled' | 'disabled'
  remove_source_branch_after_merge?: boolean
  autoclose_referenced_issues?: boolean
  merge_commit_template?: string
  squash_commit_template?: string
  issue_branch_template?: string
  suggestion_commit_message?: string
  emails_disabled?: boolean
  forking_access_level?: 'disabled' | 'private' | 'enabled'
  issues_access_level?: 'disabled' | 'private' | 'enabled'
  merge_requests_access_level?: 'disabled' | 'private' | 'enabled'
  wiki_access_level?: 'disabled' | 'private' | 'enabled'
  snippets_access_level?: 'disabled' | 'private' | 'enabled'
  builds_access_level?: 'disabled' | 'private' | 'enabled'
  repository_access_level?: 'disabled' | 'private' | 'enabled'
  operations_access_level?: 'disabled' | 'private' | 'enabled'
  analytics_access_level?: 'disabled' | 'private' | 'enabled'
  request_access_enabled?: boolean
  lfs_enabled?: boolean
  ci_config_path?: string
  /** The last thing that happens to it. */
  archived?: boolean
  /** Roles by username. */
  members?: Record<string, 'guest' | 'reporter' | 'developer' | 'maintainer'>
  labels?: Array<string | { name: string; color?: string; description?: string; priority?: number }>
  milestones?: Array<string | { title: string; description?: string; start_date?: string; due_date?: string; state?: 'active' | 'closed' }>
  /** Of a first commit to the default branch. */
  files?: Record<string, string | null | { base64: string; executable?: boolean }>
  /** One after the other; pushed together with the branches. */
  commits?: Array<SeedCommit>
  branches?: Array<string | { name: string; ref: string }>
  tags?: Array<SeedTag>
  protected_branches?: Array<string | { name: string; push?: 'none' | 'developer' | 'maintainer'; merge?: 'none' | 'developer' | 'maintainer'; allow_force_push?: boolean }>
  protected_tags?: Array<string | { name: string; create?: 'none' | 'developer' | 'maintainer' }>
  issues?: Array<SeedIssue>
  merge_requests?: Array<SeedMergeRequest>
  /** Of commits. */
  statuses?: Array<{ state: 'pending' | 'running' | 'success' | 'failed' | 'canceled'; name?: string; author?: string; target_url?: string; description?: string; coverage?: number; ref?: string }>
  variables?: Array<SeedVariable>
  snippets?: Array<SeedSnippet>
  /** Texts of pages by title. */
  wiki?: Record<string, string>
  /** Made last, so that the seed itself calls none of them. */
  hooks?: Array<SeedHook>
}

export interface SeedCommit {
  message: string
  /** The default branch unless given. */
  branch?: string
  from?: string | null
  /** A username, or anybody else. */
  author?: string | { name: string; email: string }
  /** The author unless given. */
  committer?: string | { name: string; email: string }
  /** Of author and committer: now unless given. */
  date?: string
  /** By path: created or replaced. */
  files?: Record<string, string | null | { base64: string; executable?: boolean }>
  actions?: Array<SeedAction>
}

export interface SeedAction {
  action: 'create' | 'update' | 'delete' | 'move'
  file_path: string
  previous_path?: string
  content?: string
  encoding?: 'text' | 'base64'
  execute_filemode?: boolean
}

export interface SeedTag {
  name: string
  /** A branch or a tag: the default branch unless given. */
  ref?: string
  /** Makes an annotated tag. */
  message?: string
  /** A release with this description. */
  release?: string | { name?: string; description?: string; released_at?: string }
}

export interface SeedIssue {
  title: string
  description?: string
  /** The creator of the project unless given. */
  author?: string
  assignees?: Array<string>
  labels?: Array<string>
  /** Its title. */
  milestone?: string
  notes?: Array<string | { body: string; author?: string; created_at?: string }>
  discussion_locked?: boolean
  state?: 'opened' | 'closed'
  confidential?: boolean
  due_date?: string
  /** Only for authors who may set it. */
  created_at?: string
}

export interface SeedMergeRequest {
  title: string
  description?: string
  /** The creator of the project unless given. */
  author?: string
  assignees?: Array<string>
  labels?: Array<string>
  /** Its title. */
  milestone?: string
  notes?: Array<string | { body: string; author?: string; created_at?: string }>
  discussion_locked?: boolean
  /** The source branch. */
  source: string
  /** The target branch: the default branch unless given. */
  target?: string
  /** A merged one is merged after its notes and statuses. */
  state?: 'opened' | 'closed' | 'merged'
  draft?: boolean
  squash?: boolean
  remove_source_branch?: boolean
  /** The administrator unless given. */
  merged_by?: string
  /** Of the head of the source branch, which make its pipeline. */
  statuses?: Array<SeedStatus>
}

export interface SeedStatus {
  state: 'pending' | 'running' | 'success' | 'failed' | 'canceled'
  name?: string
  /** A username: of this file, or known before. */
  author?: string
  target_url?: string
  description?: string
  coverage?: number
}

export interface SeedSnippet {
  title: string
  file_name: string
  content: string
  description?: string
  /** `private` unless given. */
  visibility?: 'private' | 'internal' | 'public'
  /** A username: of this file, or known before. */
  author?: string
}

/** What roost test is filled with. */
export interface Seed {
  $schema?: string
  users?: Array<SeedUser>
  /** Groups above others come first. */
  groups?: Array<SeedGroup>
  projects?: Array<SeedProject>
  /** Of users, not of projects. */
  snippets?: Array<SeedSnippet>
}
