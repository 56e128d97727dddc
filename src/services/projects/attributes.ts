import type { ActorUser } from '../../access/actor.js'
import type { projects } from '../../db/schema/index.js'
import { compilePattern } from '../../rules/ci/regex.js'
import { MAX_PROJECT_DESCRIPTION } from '../../rules/descriptions.js'
import { templateFaults } from '../../rules/message-templates.js'
import { lengthOf, tooLong } from '../../rules/path.js'
import { type GitStrategy, MAX_BUILD_TIMEOUT_S, MAX_GIT_DEPTH, MIN_BUILD_TIMEOUT_S, type PagesLevel } from '../../rules/project-settings.js'
import { type ExpirationPolicy, policyFaults, policyOf, secondsOf } from '../../rules/registry/expiration.js'
import type { SQUASH_OPTIONS } from '../../rules/squash.js'
import { VISIBILITY_LEVEL, type Visibility, visibilityName } from '../../rules/visibility.js'
import { isRestricted, type Settings } from '../core/settings.js'

export type FeatureLevel = 'disabled' | 'private' | 'enabled'
const FEATURE_LEVEL = { disabled: 0, private: 10, enabled: 20 } as const

/** Attributes that creation and update both accept (companions 8.2). */
export interface ProjectAttributes {
  description?: string | null | undefined
  visibility?: Visibility | undefined
  issues_enabled?: boolean | undefined
  merge_requests_enabled?: boolean | undefined
  wiki_enabled?: boolean | undefined
  snippets_enabled?: boolean | undefined
  jobs_enabled?: boolean | undefined
  issues_access_level?: FeatureLevel | undefined
  merge_requests_access_level?: FeatureLevel | undefined
  wiki_access_level?: FeatureLevel | undefined
  snippets_access_level?: FeatureLevel | undefined
  builds_access_level?: FeatureLevel | undefined
  repository_access_level?: FeatureLevel | undefined
  forking_access_level?: FeatureLevel | undefined
  operations_access_level?: FeatureLevel | undefined
  analytics_access_level?: FeatureLevel | undefined
  container_registry_enabled?: boolean | undefined
  container_registry_access_level?: 'disabled' | 'enabled' | undefined
  container_expiration_policy_attributes?: GivenPolicy | undefined
  lfs_enabled?: boolean | undefined
  shared_runners_enabled?: boolean | undefined
  public_jobs?: boolean | undefined
  public_builds?: boolean | undefined
  request_access_enabled?: boolean | undefined
  only_allow_merge_if_pipeline_succeeds?: boolean | undefined
  only_allow_merge_if_all_discussions_are_resolved?: boolean | undefined
  printing_merge_request_link_enabled?: boolean | undefined
  resolve_outdated_diff_discussions?: boolean | undefined
  merge_method?: 'merge' | 'rebase_merge' | 'ff' | undefined
  squash_option?: (typeof SQUASH_OPTIONS)[number] | undefined
  tag_list?: string[] | undefined
  topics?: string[] | undefined
  ci_config_path?: string | null | undefined
  build_timeout?: number | undefined
  build_git_strategy?: GitStrategy | undefined
  ci_default_git_depth?: number | undefined
  build_coverage_regex?: string | null | undefined
  restrict_user_defined_variables?: boolean | undefined
  keep_latest_artifact?: boolean | undefined
  ci_forward_deployment_enabled?: boolean | undefined
  packages_enabled?: boolean | undefined
  pages_access_level?: PagesLevel | undefined
  remove_source_branch_after_merge?: boolean | undefined
  allow_merge_on_skipped_pipeline?: boolean | undefined
  auto_cancel_pending_pipelines?: 'enabled' | 'disabled' | undefined
  autoclose_referenced_issues?: boolean | undefined
  merge_commit_template?: string | null | undefined
  squash_commit_template?: string | null | undefined
  issue_branch_template?: string | null | undefined
  suggestion_commit_message?: string | null | undefined
  emails_disabled?: boolean | undefined
  /** The opposite, as later versions call it. */
  emails_enabled?: boolean | undefined
  /** Null removes the avatar. */
  avatar?: { data: Buffer } | null | undefined
}

/** The parts of a policy that are given; `name_regex_delete` is another name of `name_regex`. */
type GivenPolicy = { [Name in keyof ExpirationPolicy]?: ExpirationPolicy[Name] | undefined } & { name_regex_delete?: string | undefined }

const policyGiven = ({ name_regex_delete, ...given }: GivenPolicy): Partial<ExpirationPolicy> =>
  JSON.parse(
    JSON.stringify({
      ...given,
      name_regex: name_regex_delete ?? given.name_regex,
      // an empty text clears them, as null does
      ...(given.older_than === '' && { older_than: null }),
      ...(given.name_regex_keep === '' && { name_regex_keep: null }),
    }),
  ) as Partial<ExpirationPolicy>

/** The columns of a policy for the tags of images: what is given of it and, while it is on, its next time (OCI-81). */
export function policyColumns(
  { container_expiration_policy_attributes: given }: ProjectAttributes,
  now: Date,
  former: Partial<ExpirationPolicy> | null,
) {
  if (!given) return {}
  const policy = { ...former, ...policyGiven(given) }
  const { enabled, cadence } = policyOf(policy)
  return {
    container_expiration_policy: policy,
    container_expiration_next_run_at: enabled ? new Date(now.getTime() + secondsOf(cadence) * 1_000) : null,
  }
}

const SAME_NAME = [
  'description',
  'container_registry_enabled',
  'lfs_enabled',
  'shared_runners_enabled',
  'request_access_enabled',
  'only_allow_merge_if_pipeline_succeeds',
  'only_allow_merge_if_all_discussions_are_resolved',
  'printing_merge_request_link_enabled',
  'resolve_outdated_diff_discussions',
  'merge_method',
  'squash_option',
  'ci_config_path',
  'build_timeout',
  'build_git_strategy',
  'ci_default_git_depth',
  'restrict_user_defined_variables',
  'keep_latest_artifact',
  'ci_forward_deployment_enabled',
  'packages_enabled',
  'pages_access_level',
  'remove_source_branch_after_merge',
  'allow_merge_on_skipped_pipeline',
  'autoclose_referenced_issues',
  'merge_commit_template',
  'squash_commit_template',
  'issue_branch_template',
  'suggestion_commit_message',
  'emails_disabled',
] as const

const FEATURES = ['issues', 'merge_requests', 'wiki', 'snippets'] as const

/** The columns of the given attributes. `*_access_level` takes precedence over `*_enabled`. */
export function columnsOf(given: ProjectAttributes): Partial<typeof projects.$inferInsert> {
  const columns: Record<string, unknown> = {}
  if (given.emails_enabled !== undefined) columns['emails_disabled'] = !given.emails_enabled
  for (const name of SAME_NAME) if (given[name] !== undefined) columns[name] = given[name]
  const set = (feature: string, enabled: boolean | undefined, level: FeatureLevel | undefined) => {
    if (level !== undefined) columns[`${feature}_access_level`] = FEATURE_LEVEL[level]
    else if (enabled !== undefined) columns[`${feature}_access_level`] = enabled ? FEATURE_LEVEL.enabled : FEATURE_LEVEL.disabled
  }
  for (const feature of FEATURES) set(feature, given[`${feature}_enabled`], given[`${feature}_access_level`])
  set('builds', given.jobs_enabled, given.builds_access_level)
  for (const feature of ['repository', 'forking', 'operations', 'analytics'] as const) set(feature, undefined, given[`${feature}_access_level`])
  if (given.build_coverage_regex !== undefined) columns['build_coverage_regex'] = given.build_coverage_regex || null
  if (given.auto_cancel_pending_pipelines !== undefined) columns['auto_cancel_pending_pipelines'] = given.auto_cancel_pending_pipelines === 'enabled'
  const registry = given.container_registry_access_level
  if (registry !== undefined) columns['container_registry_enabled'] = registry === 'enabled'
  const jobs = given.public_jobs ?? given.public_builds
  if (jobs !== undefined) columns['public_jobs'] = jobs
  const tags = given.tag_list ?? given.topics
  if (tags !== undefined) columns['tag_list'] = [...new Set(tags)].sort()
  if (given.visibility !== undefined) columns['visibility'] = VISIBILITY_LEVEL[given.visibility]
  return columns as Partial<typeof projects.$inferInsert>
}

/** Field → messages for attributes that can be validated without other rows. */
export function attributeFaults(given: ProjectAttributes): Record<string, string[]> {
  const faults: Record<string, string[]> = {}
  if (given.description && lengthOf(given.description) > MAX_PROJECT_DESCRIPTION) faults['description'] = [tooLong(MAX_PROJECT_DESCRIPTION)]
  if (given.ci_config_path && lengthOf(given.ci_config_path) > 255) faults['ci_config_path'] = [tooLong(255)]
  if (given.build_timeout !== undefined && (given.build_timeout < MIN_BUILD_TIMEOUT_S || given.build_timeout >= MAX_BUILD_TIMEOUT_S))
    faults['build_timeout'] = ['needs to be between 10 minutes and 1 month']
  if (given.build_coverage_regex && lengthOf(given.build_coverage_regex) > 255) faults['build_coverage_regex'] = [tooLong(255)]
  else if (given.build_coverage_regex && !compilePattern(given.build_coverage_regex))
    faults['build_coverage_regex'] = ['must be a valid regular expression']
  if ((given.ci_default_git_depth ?? 0) < 0) faults['ci_default_git_depth'] = ['must be greater than or equal to 0']
  if ((given.ci_default_git_depth ?? 0) > MAX_GIT_DEPTH) faults['ci_default_git_depth'] = [`must be less than or equal to ${MAX_GIT_DEPTH}`]
  if ([...(given.tag_list ?? []), ...(given.topics ?? [])].some((tag) => lengthOf(tag) > 255)) faults['tag_list'] = [tooLong(255)]
  for (const name of ['issue_branch_template', 'suggestion_commit_message'] as const)
    if (lengthOf(given[name] ?? '') > 255) faults[name] = [tooLong(255)]
  for (const name of ['merge_commit_template', 'squash_commit_template'] as const) {
    const texts = templateFaults(given[name] ?? '')
    if (texts.length > 0) faults[name] = texts
  }
  if (given.container_expiration_policy_attributes) Object.assign(faults, policyFaults(policyGiven(given.container_expiration_policy_attributes)))
  return faults
}

/** Messages for a visibility restricted to administrators (PR-15), or above that of the group (AC-5). */
export function visibilityFaults(user: ActorUser, settings: Settings, level: number, ceiling: number | null): string[] {
  const word = visibilityName(level)
  const faults: string[] = []
  if (!user.admin && isRestricted(settings, level)) faults.push(`${word} has been restricted by your administrator`)
  if (ceiling !== null && level > ceiling) faults.push(`${word} is not allowed in a ${visibilityName(ceiling)} group.`)
  return faults
}
