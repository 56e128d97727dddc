import type { HookEvent } from '../../../db/schema/index.js'
import type { Visibility } from '../../../lib/visibility.js'

/** Somebody as other things name them. */
export interface Person {
  username: string
  name: string
  /** Null: the server does not show it. */
  email: string | null
}

interface Times {
  /** Null: the server does not say. */
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
  created_at: Date | null
}

/** A group of people of whom each has the same level on a group, or on some of its projects. */
export interface TeamRecord {
  key: string
  name: string
  /** Null: they may do nothing that there is a level for. */
  level: number | null
  /** Whether it is for all projects of the group. */
  everywhere: boolean
}

export interface MemberRecord {
  key: string
  person: Person
  /** Null: the list does not say. */
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
  /** Null: it is empty. */
  default_branch: string | null
  archived: boolean
  /** The full path of what it was forked from. */
  forked_from: string | null
  features: Record<FeatureSwitch, number>
  /** Other columns, where the server has them. */
  settings: {
    merge_method?: 'merge' | 'rebase_merge' | 'ff'
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
    tag_list?: string[]
  }
  /** Whose namespace it is in; null: not known. */
  owner: Person | null
  /** The key of the user who made it; null: not known. */
  creator: string | null
  /** Groups it is shared with, by their full paths. */
  shares: { group: string; level: number; expires_at: string | null }[]
  /** What the server has no list of for this one. */
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
  /** Null: the server has no numbers. */
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
  assignee: Person | null
  /** How many further assignees there are; only one is brought. */
  more_assignees: number
  labels: string[]
  /** Its key. */
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
  /** The project of the source branch; null: it is gone. */
  source_project: string | null
  /** Of one that is not open; null: not known. */
  merge_status: 'can_be_merged' | 'cannot_be_merged' | null
  /** Its head, where the server says so. */
  sha: string | null
  /** The head of the target branch that it was compared with, where the server says so. */
  start: string | null
  merge_commit_sha: string | null
  merged_at: Date | null
  merged_by: Person | null
  squash: boolean
  force_remove_source_branch: boolean
  should_remove_source_branch: boolean | null
  allow_collaboration: boolean
}

/** A version of a merge request; the newest one comes first. */
export interface VersionRecord {
  key: string
  head: string
  start: string
  created_at: Date | null
}

export interface NoteRecord extends Times {
  key: string
  /** What its replies have in common; null: the server has no threads. */
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
  /** How many files it has; only the first is brought. */
  files: number
}

export interface VariableRecord {
  key: string
  value: string
  protected: boolean
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
  /** Its tag. */
  key: string
  name: string | null
  description: string
  author: Person | null
  created_at: Date | null
  released_at: Date | null
  /** Titles. */
  milestones: string[]
  links: { name: string; url: string; filepath?: string | undefined; link_type: 'other' | 'runbook' | 'image' | 'package' }[]
}

/** What can be listed. */
export interface Records {
  user: UserRecord
  /** By name. */
  'one user': UserRecord
  key: KeyRecord
  group: GroupRecord
  /** The same, by its path, and what is below it. */
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
  'merge request note': NoteRecord
  release: ReleaseRecord
  snippet: SnippetRecord
  'snippet note': NoteRecord
  'personal snippet': SnippetRecord
}

export type Kind = keyof Records
