import { z } from 'zod'
import { canProject, isFeatureOpen } from '../../access/can.js'
import type { View } from '../../http/view.js'
import { dayOf } from '../../lib/text/day.js'
import { NOTIFICATION_NUMBERS, type NotificationLevel } from '../../rules/notifications.js'
import { DEFAULT_GIT_DEPTH, GIT_STRATEGIES, PAGES_LEVELS } from '../../rules/project-settings.js'
import { policyOf } from '../../rules/registry/expiration.js'
import { SQUASH_OPTIONS } from '../../rules/squash.js'
import { VISIBILITIES, visibilityName } from '../../rules/visibility.js'
import type { BasicProjectRecord, ProjectRecord } from '../../services/projects/load.js'
import type { ProjectLicense } from '../../services/repository/license.js'
import { noted } from '../custom-attribute.js'
import { FEATURE_LEVELS, featureName } from '../groups/levels.js'
import { Namespace, presentNamespace } from '../identity/namespace.js'
import { presentUserRef, UserRef } from '../identity/user.js'

const identity = {
  id: z.int(),
  description: z.string().nullable(),
  name: z.string(),
  name_with_namespace: z.string(),
  path: z.string(),
  path_with_namespace: z.string(),
  created_at: z.iso.datetime(),
}

const ContainerExpirationPolicy = z.strictObject({
  enabled: z.boolean(),
  cadence: z.string(),
  keep_n: z.int().nullable(),
  older_than: z.string().nullable(),
  name_regex: z.string(),
  name_regex_keep: z.string().nullable(),
  next_run_at: z.iso.datetime().nullable(),
})

const License = z.strictObject({
  key: z.string(),
  name: z.string(),
  nickname: z.string().nullable(),
  html_url: z.url().nullable(),
  source_url: z.url().nullable(),
})

const basic = {
  ...identity,
  default_branch: z.string().nullable(),
  tag_list: z.array(z.string()),
  topics: z.array(z.string()),
  ssh_url_to_repo: z.string(),
  http_url_to_repo: z.string(),
  web_url: z.url(),
  readme_url: z.string().nullable(),
  avatar_url: z.string().nullable(),
  star_count: z.int(),
  forks_count: z.int(),
  last_activity_at: z.iso.datetime(),
  namespace: Namespace,
  ...noted,
  license: License.nullable().optional(),
  license_url: z.string().nullable().optional(),
}

/** What anonymous callers and `simple=true` get: the search view and the namespace. */
export const BasicProject = z.strictObject(basic).meta({ id: 'BasicProject', description: 'A project, without its settings.' })

/** The day of the deletion, while it can be restored; the two are the same (PR-28). */
export const marked = { marked_for_deletion_at: z.iso.date().nullable(), marked_for_deletion_on: z.iso.date().nullable() }

const Access = z.strictObject({ access_level: z.int(), notification_level: z.int() }).nullable()
const Feature = z.enum(FEATURE_LEVELS)

export const Project = z
  .strictObject({
    ...basic,
    _links: z.strictObject({
      self: z.url(),
      issues: z.url().optional(),
      merge_requests: z.url().optional(),
      repo_branches: z.url(),
      labels: z.url(),
      events: z.url(),
      members: z.url(),
    }),
    owner: UserRef.optional(),
    archived: z.boolean(),
    empty_repo: z.boolean(),
    visibility: z.enum(VISIBILITIES),
    updated_at: z.iso.datetime(),
    ...marked,
    creator_id: z.int().nullable(),
    issues_enabled: z.boolean(),
    merge_requests_enabled: z.boolean(),
    wiki_enabled: z.boolean(),
    jobs_enabled: z.boolean(),
    snippets_enabled: z.boolean(),
    issues_access_level: Feature,
    merge_requests_access_level: Feature,
    wiki_access_level: Feature,
    snippets_access_level: Feature,
    builds_access_level: Feature,
    repository_access_level: Feature,
    forking_access_level: Feature,
    operations_access_level: Feature,
    analytics_access_level: Feature,
    container_registry_enabled: z.boolean(),
    container_registry_access_level: z.enum(['disabled', 'enabled']),
    container_expiration_policy: ContainerExpirationPolicy,
    packages_enabled: z.boolean(),
    pages_access_level: z.enum(PAGES_LEVELS),
    can_create_merge_request_in: z.boolean(),
    service_desk_enabled: z.literal(false),
    service_desk_address: z.null(),
    lfs_enabled: z.boolean(),
    shared_runners_enabled: z.boolean(),
    public_jobs: z.boolean(),
    request_access_enabled: z.boolean(),
    open_issues_count: z.int(),
    import_status: z.enum(['none', 'scheduled', 'started', 'finished', 'failed']),
    import_error: z.string().nullable().optional(),
    forked_from_project: BasicProject.optional(),
    merge_method: z.enum(['merge', 'rebase_merge', 'ff']),
    squash_option: z.enum(SQUASH_OPTIONS),
    mirror: z.boolean(),
    mirror_user_id: z.int().nullable().optional(),
    mirror_trigger_builds: z.boolean().optional(),
    only_mirror_protected_branches: z.boolean().optional(),
    mirror_overwrites_diverged_branches: z.boolean().optional(),
    import_url: z.string().nullable().optional(),
    only_allow_merge_if_pipeline_succeeds: z.boolean(),
    only_allow_merge_if_all_discussions_are_resolved: z.boolean(),
    printing_merge_request_link_enabled: z.boolean(),
    resolve_outdated_diff_discussions: z.boolean(),
    ci_config_path: z.string().nullable(),
    runners_token: z.string().optional(),
    build_timeout: z.int(),
    build_git_strategy: z.enum(GIT_STRATEGIES),
    ci_default_git_depth: z.int(),
    build_coverage_regex: z.string().nullable(),
    restrict_user_defined_variables: z.boolean(),
    keep_latest_artifact: z.boolean(),
    ci_forward_deployment_enabled: z.boolean(),
    auto_devops_enabled: z.literal(false),
    auto_devops_deploy_strategy: z.literal('continuous'),
    repository_storage: z.string().optional(),
    remove_source_branch_after_merge: z.boolean(),
    allow_merge_on_skipped_pipeline: z.boolean(),
    auto_cancel_pending_pipelines: z.enum(['enabled', 'disabled']),
    autoclose_referenced_issues: z.boolean(),
    merge_commit_template: z.string().nullable(),
    squash_commit_template: z.string().nullable(),
    issue_branch_template: z.string().nullable(),
    suggestion_commit_message: z.string().nullable(),
    emails_disabled: z.boolean(),
    emails_enabled: z.boolean(),
    shared_with_groups: z.array(
      z.strictObject({
        group_id: z.int(),
        group_name: z.string(),
        group_full_path: z.string(),
        group_access_level: z.int(),
        expires_at: z.string().nullable(),
      }),
    ),
    permissions: z.strictObject({ project_access: Access, group_access: Access }).optional(),
    statistics: z
      .strictObject({
        commit_count: z.int(),
        storage_size: z.int(),
        repository_size: z.int(),
        lfs_objects_size: z.int(),
        job_artifacts_size: z.int(),
        packages_size: z.int(),
      })
      .optional(),
  })
  .meta({ id: 'Project', description: 'A project.' })

/** What other views show of a project: of imports, archives and jobs. */
export const ProjectIdentity = z.strictObject(identity).meta({ id: 'ProjectIdentity', description: 'The names of a project.' })

export function presentProjectIdentity(record: ProjectRecord, view: View): z.infer<typeof ProjectIdentity> {
  const { id, description, name, name_with_namespace, path, path_with_namespace, created_at } = presentBasicProject(record, view)
  return { id, description, name, name_with_namespace, path, path_with_namespace, created_at }
}

/** The import status of a project (OT-7). */
export const ProjectImport = z
  .strictObject({ ...identity, import_status: Project.shape.import_status, import_error: z.string().nullable() })
  .meta({ id: 'ProjectImport', description: 'The state of the import of a project.' })

/**
 * The reason of a failed import is visible only to maintainers and administrators, as in the project's own view
 * (companions 6).
 */
export function presentProjectImport(record: ProjectRecord, view: View): z.infer<typeof ProjectImport> {
  const { import_status, import_error } = record.project
  const sees = view.viewer?.admin || (view.viewer !== null && record.level >= 40)
  return Object.assign(presentProjectIdentity(record, view), { import_status, import_error: sees ? import_error : null })
}

/** The archive of a project (EX-3). */
export const ProjectExport = z
  .strictObject({
    ...identity,
    export_status: z.enum(['none', 'queued', 'started', 'finished', 'regeneration_in_progress']),
    _links: z.strictObject({ api_url: z.url(), web_url: z.url() }).optional(),
  })
  .meta({ id: 'ProjectExport', description: 'The state of the archive of a project.' })

export function presentProjectExport(
  record: ProjectRecord,
  export_status: z.infer<typeof ProjectExport>['export_status'],
  view: View,
): z.infer<typeof ProjectExport> {
  const made = export_status === 'finished' || export_status === 'regeneration_in_progress'
  const page = view.links.project(`${record.namespace.full_path}/${record.project.path}`)
  return Object.assign(presentProjectIdentity(record, view), {
    export_status,
    _links: made
      ? { api_url: view.links.api(`/projects/${record.project.id}/export/download`), web_url: `${page}/-/exports/archive.tar.gz` }
      : undefined,
  })
}

export function presentBasicProject({ project, namespace }: BasicProjectRecord, view: View): z.infer<typeof BasicProject> {
  const fullPath = `${namespace.full_path}/${project.path}`
  const branch = project.empty_repo ? null : project.default_branch
  return {
    id: project.id,
    description: project.description,
    name: project.name,
    name_with_namespace: `${namespace.full_name} / ${project.name}`,
    path: project.path,
    path_with_namespace: fullPath,
    created_at: project.created_at.toISOString(),
    default_branch: branch,
    tag_list: project.tag_list,
    topics: project.tag_list,
    ssh_url_to_repo: view.links.ssh(fullPath),
    http_url_to_repo: view.links.http(fullPath),
    web_url: view.links.project(fullPath),
    readme_url: branch === null ? null : `${view.links.project(fullPath)}/-/blob/${branch.split('/').map(encodeURIComponent).join('/')}/README.md`,
    avatar_url: project.avatar ? `${view.links.base}/uploads/-/system/project/avatar/${project.id}/${project.avatar}` : null,
    star_count: project.star_count,
    forks_count: project.forks_count,
    last_activity_at: project.last_activity_at.toISOString(),
    namespace: presentNamespace(namespace, view),
  }
}

/** Adds the licence if the caller requested it (PR-60). */
export const withLicense = <T extends { web_url: string; default_branch: string | null }>(shown: T, found: ProjectLicense | null) => ({
  ...shown,
  license: found?.license ?? null,
  license_url: found && `${shown.web_url}/-/blob/${shown.default_branch}/${encodeURIComponent(found.path)}`,
})

/** Exactly these fields (GR-19). */
export const ProjectAddress = z
  .strictObject({ id: z.int(), name: z.string(), path: z.string(), web_url: z.url() })
  .meta({ id: 'ProjectAddress', description: 'Name, path and URL of a project.' })

export const presentProjectAddress = ({ project, namespace }: BasicProjectRecord, view: View): z.infer<typeof ProjectAddress> => ({
  id: project.id,
  name: project.name,
  path: project.path,
  web_url: view.links.project(`${namespace.full_path}/${project.path}`),
})

const access = (level: number, notified: NotificationLevel | null) =>
  level ? { access_level: level, notification_level: NOTIFICATION_NUMBERS[notified ?? 'global'] } : null

/** The view for the caller that the record was loaded for; anonymous callers get the basic view (companions 6). */
export const presentProject = (record: ProjectRecord, view: View, show: { statistics?: boolean | undefined } = {}) =>
  view.viewer ? presentWholeProject(record, view, show) : presentBasicProject(record, view)

/** The full view, which responses about groups show to every caller (GR-4, companions 6). */
export function presentWholeProject(record: ProjectRecord, view: View, show: { statistics?: boolean | undefined } = {}): z.infer<typeof Project> {
  const { project, owner, shares, direct, group, forked_from, pull } = record
  const standing = { user: view.viewer, level: record.level }
  const level = view.viewer?.admin ? 50 : record.level
  const open = (feature: number) => isFeatureOpen(feature, standing)
  const self = view.links.api(`/projects/${project.id}`)
  const markedOn = project.marked_for_deletion_at && dayOf(project.marked_for_deletion_at)
  const issues = open(project.issues_access_level)
  const repository = open(project.repository_access_level)
  const mergeRequests = repository && open(project.merge_requests_access_level)
  return Object.assign(presentBasicProject(record, view), {
    _links: {
      self,
      issues: issues ? `${self}/issues` : undefined,
      merge_requests: mergeRequests ? `${self}/merge_requests` : undefined,
      repo_branches: `${self}/repository/branches`,
      labels: `${self}/labels`,
      events: `${self}/events`,
      members: `${self}/members`,
    },
    owner: owner ? presentUserRef(owner, view) : undefined,
    archived: project.archived,
    empty_repo: project.empty_repo,
    visibility: visibilityName(project.visibility),
    updated_at: project.updated_at.toISOString(),
    marked_for_deletion_at: markedOn,
    marked_for_deletion_on: markedOn,
    creator_id: project.creator_id,
    issues_enabled: issues,
    merge_requests_enabled: mergeRequests,
    wiki_enabled: open(project.wiki_access_level),
    jobs_enabled: repository && open(project.builds_access_level),
    snippets_enabled: open(project.snippets_access_level),
    issues_access_level: featureName(project.issues_access_level),
    merge_requests_access_level: featureName(project.merge_requests_access_level),
    wiki_access_level: featureName(project.wiki_access_level),
    snippets_access_level: featureName(project.snippets_access_level),
    builds_access_level: featureName(project.builds_access_level),
    repository_access_level: featureName(project.repository_access_level),
    forking_access_level: featureName(project.forking_access_level),
    operations_access_level: featureName(project.operations_access_level),
    analytics_access_level: featureName(project.analytics_access_level),
    container_registry_enabled: project.container_registry_enabled,
    container_registry_access_level: project.container_registry_enabled ? ('enabled' as const) : ('disabled' as const),
    container_expiration_policy: {
      ...policyOf(project.container_expiration_policy),
      next_run_at: project.container_expiration_next_run_at?.toISOString() ?? null,
    },
    packages_enabled: project.packages_enabled ?? true,
    pages_access_level: project.pages_access_level ?? ('disabled' as const),
    can_create_merge_request_in: canProject({ ...standing, project }, 'propose_merge_request'),
    service_desk_enabled: false as const,
    service_desk_address: null,
    // enabled only if both the project and its group allow it (LF-1)
    lfs_enabled: project.lfs_enabled && record.namespace.lfs_enabled,
    shared_runners_enabled: project.shared_runners_enabled,
    public_jobs: project.public_jobs,
    request_access_enabled: project.request_access_enabled,
    open_issues_count: issues ? project.open_issues_count + (level >= 20 ? project.open_confidential_issues_count : record.own_confidential) : 0,
    import_status: project.import_status,
    import_error: level >= 40 ? project.import_error : undefined,
    forked_from_project: forked_from ? presentBasicProject(forked_from, view) : undefined,
    merge_method: project.merge_method,
    squash_option: project.squash_option,
    mirror: project.mirror,
    mirror_user_id: pull?.user_id,
    mirror_trigger_builds: pull?.trigger_builds,
    only_mirror_protected_branches: pull?.only_protected_branches,
    mirror_overwrites_diverged_branches: pull?.overwrites_diverged,
    import_url: level >= 40 ? project.import_url : undefined,
    only_allow_merge_if_pipeline_succeeds: project.only_allow_merge_if_pipeline_succeeds,
    only_allow_merge_if_all_discussions_are_resolved: project.only_allow_merge_if_all_discussions_are_resolved,
    printing_merge_request_link_enabled: project.printing_merge_request_link_enabled,
    resolve_outdated_diff_discussions: project.resolve_outdated_diff_discussions,
    ci_config_path: project.ci_config_path,
    build_timeout: project.build_timeout,
    build_git_strategy: project.build_git_strategy,
    ci_default_git_depth: project.ci_default_git_depth ?? DEFAULT_GIT_DEPTH,
    build_coverage_regex: project.build_coverage_regex,
    restrict_user_defined_variables: project.restrict_user_defined_variables,
    keep_latest_artifact: project.keep_latest_artifact,
    ci_forward_deployment_enabled: project.ci_forward_deployment_enabled,
    auto_devops_enabled: false as const,
    auto_devops_deploy_strategy: 'continuous' as const,
    repository_storage: view.viewer?.admin ? project.storage : undefined,
    remove_source_branch_after_merge: project.remove_source_branch_after_merge,
    allow_merge_on_skipped_pipeline: project.allow_merge_on_skipped_pipeline,
    auto_cancel_pending_pipelines: project.auto_cancel_pending_pipelines ? ('enabled' as const) : ('disabled' as const),
    autoclose_referenced_issues: project.autoclose_referenced_issues,
    merge_commit_template: project.merge_commit_template,
    squash_commit_template: project.squash_commit_template,
    issue_branch_template: project.issue_branch_template,
    suggestion_commit_message: project.suggestion_commit_message,
    emails_disabled: project.emails_disabled,
    emails_enabled: !project.emails_disabled,
    shared_with_groups: shares ?? [],
    permissions: view.viewer ? { project_access: access(direct, record.notified), group_access: access(group, record.group_notified) } : undefined,
    statistics:
      show.statistics && level >= 20
        ? {
            commit_count: project.commit_count,
            storage_size: project.repository_size + project.lfs_objects_size + project.job_artifacts_size + project.packages_size,
            repository_size: project.repository_size,
            lfs_objects_size: project.lfs_objects_size,
            job_artifacts_size: project.job_artifacts_size,
            packages_size: project.packages_size,
          }
        : undefined,
  })
}

/** How often a project is fetched (RX-10). */
export const ProjectStatistics = z
  .strictObject({ fetches: z.strictObject({ total: z.int(), days: z.array(z.strictObject({ count: z.int(), date: z.iso.date() })) }) })
  .meta({ id: 'ProjectStatistics', description: 'How often a project was fetched in the last 30 days.' })
