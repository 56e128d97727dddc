import type { HookEvent } from '../../../db/schema/index.js'
import type { ProjectCreationLevel, SubgroupCreationLevel } from '../../../rules/creation-levels.js'
import type { GitStrategy } from '../../../rules/project-settings.js'
import type { SQUASH_OPTIONS } from '../../../rules/squash.js'
import type { Visibility } from '../../../rules/visibility.js'

/** A user as embedded in other resources. */
export interface Person {
  username: string
  name: string
  /** Null if the server does not show it. */
  email: string | null
}

interface Times {
  /** Null if the server does not return it. */
  created_at: Date | null
  updated_at: Date | null
}

export interface UserRecord extends Person {
  key: string
  blocked: boolean
  admin: boolean
  /** Sees only what they are a member of. */
  external: boolean
  profile: {
    bio: string | null
    location: string | null
    website_url: string
    organization: string
    messenger: string
    jobsnet: string
    microblog: string
    /** Kept only if it is the address of the account. */
    public_email: string
    private_profile: boolean
  }
  created_at: Date | null
}

export interface KeyRecord {
  key: string
  title: string
  line: string
  can_push: boolean
  created_at: Date | null
}

export interface GroupRecord {
  key: string
  full_path: string
  parent: string | null
  name: string
  description: string
  visibility: Visibility
  lfs_enabled: boolean
  request_access_enabled: boolean
  /** Further columns, if the server has them. */
  settings: {
    share_with_group_lock?: boolean
    project_creation_level?: ProjectCreationLevel
    subgroup_creation_level?: SubgroupCreationLevel
    default_branch_protection?: number
    default_branch?: string
    emails_disabled?: boolean
    mentions_disabled?: boolean
    auto_devops_enabled?: boolean
    two_factor_grace_period?: number
  }
  created_at: Date | null
}

/** A team of a Gitea organisation: its members share one access level on all or some of the projects. */
export interface TeamRecord {
  key: string
  name: string
  /** Null if no access level here matches the team's permissions. */
  level: number | null
  /** Whether the team covers all projects of the group. */
  everywhere: boolean
}

export interface MemberRecord {
  key: string
  person: Person
  /** Null if the list does not include it. */
  level: number | null
  expires_at: string | null
  created_at: Date | null
}

/** A feature switch of a project: 0 disabled, 10 members only, 20 enabled. */
export type FeatureSwitch = 'issues' | 'merge_requests' | 'wiki' | 'snippets' | 'builds' | 'repository'

export interface ProjectRecord {
  key: string
  full_path: string
  name: string
  description: string | null
  visibility: Visibility
  /** Null if the repository is empty. */
  default_branch: string | null
  archived: boolean
  /** The full path of the project it was forked from. */
  forked_from: string | null
  features: Record<FeatureSwitch, number>
  /** Further columns, if the server has them. */
  settings: {
    merge_method?: 'merge' | 'rebase_merge' | 'ff'
    squash_option?: (typeof SQUASH_OPTIONS)[number]
    forking_access_level?: number
    operations_access_level?: number
    analytics_access_level?: number
    remove_source_branch_after_merge?: boolean
    allow_merge_on_skipped_pipeline?: boolean
    auto_cancel_pending_pipelines?: boolean
    autoclose_referenced_issues?: boolean
    emails_disabled?: boolean
    merge_commit_template?: string | null
    squash_commit_template?: string | null
    issue_branch_template?: string | null
    suggestion_commit_message?: string | null
    only_allow_merge_if_pipeline_succeeds?: boolean
    only_allow_merge_if_all_discussions_are_resolved?: boolean
    resolve_outdated_diff_discussions?: boolean
    printing_merge_request_link_enabled?: boolean
    request_access_enabled?: boolean
    shared_runners_enabled?: boolean
    container_registry_enabled?: boolean
    lfs_enabled?: boolean
    public_jobs?: boolean
    ci_config_path?: string | null
    build_timeout?: number
    build_git_strategy?: GitStrategy
    ci_default_git_depth?: number
    build_coverage_regex?: string
    restrict_user_defined_variables?: boolean
    keep_latest_artifact?: boolean
    ci_forward_deployment_enabled?: boolean
    tag_list?: string[]
  }
  /** The owner of its namespace; null if unknown. */
  owner: Person | null
  /** The key of the user who created it; null if unknown. */
  creator: string | null
  /** Groups it is shared with, by their full paths. */
  shares: { group: string; level: number; expires_at: string | null }[]
  /** Lists that the server does not have for this project. */
  without: ('issue' | 'merge request')[]
  created_at: Date | null
  updated_at: Date | null
  last_activity_at: Date | null
}

export interface LabelRecord {
  key: string
  title: string
  color: string
  description: string | null
  priority: number | null
}

export interface MilestoneRecord extends Times {
  key: string
  /** Null if the server does not number milestones. */
  iid: number | null
  title: string
  description: string
  closed: boolean
  start_date: string | null
  due_date: string | null
}

interface IssuableRecord extends Times {
  key: string
  iid: number
  title: string
  description: string
  author: Person | null
  assignees: Person[]
  labels: string[]
  /** The milestone's key. */
  milestone: string | null
  discussion_locked: boolean | null
  closed_at: Date | null
  closed_by: Person | null
  time_estimate: number
  total_time_spent: number
}

export interface IssueRecord extends IssuableRecord {
  closed: boolean
  confidential: boolean
  due_date: string | null
}

export interface MergeRequestRecord extends IssuableRecord {
  state: 'opened' | 'closed' | 'merged'
  source_branch: string
  target_branch: string
  /** The key of the source project; null if it was deleted. */
  source_project: string | null
  /** Null if unknown; ignored for open merge requests. */
  merge_status: 'can_be_merged' | 'cannot_be_merged' | null
  /** The head commit, if the server returns it. */
  sha: string | null
  /** The head of the target branch it was compared with, if the server returns it. */
  start: string | null
  merge_commit_sha: string | null
  merged_at: Date | null
  merged_by: Person | null
  reviewers: Person[]
  squash: boolean
  force_remove_source_branch: boolean
  should_remove_source_branch: boolean | null
  allow_collaboration: boolean
}

/** The approvals of a merge request. */
export interface ApprovalsRecord {
  key: string
  people: Person[]
}

/** A version of a merge request; lists have the newest first. */
export interface VersionRecord {
  key: string
  head: string
  start: string
  created_at: Date | null
}

export interface NoteRecord extends Times {
  key: string
  /** The id of its discussion; null if the server has no threads. */
  discussion: string | null
  type: 'DiscussionNote' | 'DiffNote' | null
  body: string
  system: boolean
  author: Person | null
  resolved: boolean
  resolved_at: Date | null
  resolved_by: Person | null
  position: {
    base_sha: string
    start_sha: string
    head_sha: string
    old_path: string
    new_path: string
    old_line: number | null
    new_line: number | null
  } | null
}

export interface SnippetRecord extends Times {
  key: string
  title: string
  file_name: string
  description: string | null
  visibility: Visibility
  author: Person | null
  /** The number of files; only the first is imported. */
  files: number
}

export interface VariableRecord {
  /** Of the ledger: its name with its scope. */
  key: string
  name: string
  value: string
  protected: boolean
  masked: boolean
  raw: boolean
  file: boolean
  environment_scope: string
}

export interface HookRecord {
  key: string
  url: string
  events: HookEvent[]
  enable_ssl_verification: boolean
  push_events_branch_filter: string | null
  created_at: Date | null
}

export interface ProtectedBranchRecord {
  key: string
  push_level: number
  merge_level: number
  allow_force_push: boolean
}

export interface ProtectedTagRecord {
  key: string
  create_level: number
}

export interface ReleaseRecord {
  /** The tag name. */
  key: string
  name: string | null
  description: string
  author: Person | null
  created_at: Date | null
  released_at: Date | null
  /** Titles of milestones. */
  milestones: string[]
  links: { name: string; url: string; filepath?: string | undefined; link_type: 'other' | 'runbook' | 'image' | 'package' }[]
}

/** The record of each kind of list. */
export interface Records {
  user: UserRecord
  /** Looked up by username. */
  'one user': UserRecord
  key: KeyRecord
  group: GroupRecord
  /** Looked up by path. */
  'one group': GroupRecord
  subgroup: GroupRecord
  'group member': MemberRecord
  team: TeamRecord
  'team member': MemberRecord
  /** Keys of projects. */
  'project of a team': { key: string }
  'group label': LabelRecord
  'group milestone': MilestoneRecord
  'group variable': VariableRecord
  'group hook': HookRecord
  project: ProjectRecord
  'one project': ProjectRecord
  'project of a group': ProjectRecord
  member: MemberRecord
  'level of a member': { key: string; level: number | null }
  label: LabelRecord
  milestone: MilestoneRecord
  variable: VariableRecord
  hook: HookRecord
  'deploy key': KeyRecord
  'protected branch': ProtectedBranchRecord
  'protected tag': ProtectedTagRecord
  issue: IssueRecord
  'issue note': NoteRecord
  'merge request': MergeRequestRecord
  version: VersionRecord
  approvals: ApprovalsRecord
  'merge request note': NoteRecord
  release: ReleaseRecord
  snippet: SnippetRecord
  'snippet note': NoteRecord
  'personal snippet': SnippetRecord
}

export type Kind = keyof Records
