import { z } from 'zod'
import { actorOf, type Caller, type SignedIn } from '../../access/actor.js'
import { canProject } from '../../access/can.js'
import { admin, anyone, onProjectOrDeleted, onProjectOrDeletedSignedIn, onProjectSignedIn, signedIn } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { withAttributes } from '../../entities/custom-attribute.js'
import { FEATURE_LEVELS } from '../../entities/groups/levels.js'
import { Project, ProjectStatistics, presentProject, withLicense } from '../../entities/projects/project.js'
import { notFound, refused } from '../../failures.js'
import * as documented from '../../http/documented.js'
import { Answer, endpoint } from '../../http/endpoint.js'
import { bool, clearable, clearableFile, clearableInt, commaList, int, needsOneOf, oneOf, opt, rowId, str } from '../../http/params.js'
import type { View } from '../../http/view.js'
import { GIT_STRATEGIES, PAGES_LEVELS } from '../../rules/project-settings.js'
import { SQUASH_OPTIONS } from '../../rules/squash.js'
import { VISIBILITIES } from '../../rules/visibility.js'
import { runnersTokenFor } from '../../services/ci/runners/runners.js'
import { attributesFor } from '../../services/core/custom-attributes.js'
import { getUser, getUserNamed } from '../../services/identity/users.js'
import { createProject, type NewProject } from '../../services/projects/create.js'
import { deleteProject, restoreProject } from '../../services/projects/deletion.js'
import { getFetchStatistics } from '../../services/projects/fetch-statistics.js'
import { completeProject, loadProject } from '../../services/projects/load.js'
import { transferProject, transferTarget } from '../../services/projects/transfer.js'
import { setArchived, setStar, updateProject } from '../../services/projects/update.js'
import { licenseOf } from '../../services/repository/license.js'
import { requestHousekeeping } from '../../services/repository/push/maintenance-job.js'
import { archives } from './archives.js'
import { forks } from './forks.js'
import { insight } from './insight.js'
import { AnyProject, listOf } from './list.js'
import { listParameters } from './list-input.js'
import { sharing } from './sharing.js'

const feature = () => opt(oneOf(FEATURE_LEVELS))

const attributes = {
  description: opt(clearable()),
  visibility: opt(oneOf(VISIBILITIES)),
  issues_enabled: opt(bool()),
  merge_requests_enabled: opt(bool()),
  wiki_enabled: opt(bool()),
  snippets_enabled: opt(bool()),
  jobs_enabled: opt(bool()),
  issues_access_level: feature(),
  merge_requests_access_level: feature(),
  wiki_access_level: feature(),
  snippets_access_level: feature(),
  builds_access_level: feature(),
  repository_access_level: feature(),
  forking_access_level: feature(),
  operations_access_level: feature(),
  analytics_access_level: feature(),
  container_registry_enabled: opt(bool()),
  container_registry_access_level: opt(oneOf(['disabled', 'enabled'])),
  container_expiration_policy_attributes: z
    .object({
      enabled: opt(bool()),
      cadence: opt(str()),
      keep_n: opt(clearableInt()),
      older_than: opt(clearable()),
      name_regex_delete: opt(str()),
      name_regex: opt(str()),
      name_regex_keep: opt(clearable()),
    })
    .optional(),
  lfs_enabled: opt(bool()),
  shared_runners_enabled: opt(bool()),
  public_jobs: opt(bool()),
  public_builds: opt(bool()),
  request_access_enabled: opt(bool()),
  only_allow_merge_if_pipeline_succeeds: opt(bool()),
  only_allow_merge_if_all_discussions_are_resolved: opt(bool()),
  printing_merge_request_link_enabled: opt(bool()),
  resolve_outdated_diff_discussions: opt(bool()),
  merge_method: opt(oneOf(['merge', 'rebase_merge', 'ff'])),
  squash_option: opt(oneOf([...SQUASH_OPTIONS])),
  tag_list: opt(commaList()),
  topics: opt(commaList()),
  ci_config_path: opt(clearable()),
  build_timeout: opt(int()),
  build_git_strategy: opt(oneOf(GIT_STRATEGIES)),
  ci_default_git_depth: opt(int()),
  build_coverage_regex: opt(clearable()),
  restrict_user_defined_variables: opt(bool()),
  keep_latest_artifact: opt(bool()),
  ci_forward_deployment_enabled: opt(bool()),
  packages_enabled: opt(bool()),
  pages_access_level: opt(oneOf(PAGES_LEVELS)),
  remove_source_branch_after_merge: opt(bool()),
  allow_merge_on_skipped_pipeline: opt(bool()),
  auto_cancel_pending_pipelines: opt(oneOf(['enabled', 'disabled'])),
  autoclose_referenced_issues: opt(bool()),
  merge_commit_template: opt(clearable()),
  squash_commit_template: opt(clearable()),
  issue_branch_template: opt(clearable()),
  suggestion_commit_message: opt(clearable()),
  emails_disabled: opt(bool()),
  emails_enabled: opt(bool()),
  avatar: opt(clearableFile()),
}

/** A project that follows another repository (PM-20). */
const following = {
  mirror: opt(bool()),
  mirror_trigger_builds: opt(bool()),
  only_mirror_protected_branches: opt(bool()),
  mirror_overwrites_diverged_branches: opt(bool()),
}

const creation = {
  name: opt(documented.projectName()),
  path: opt(documented.projectPath()),
  namespace_id: opt(rowId()),
  default_branch: opt(str()),
  initialize_with_readme: opt(bool()),
  import_url: opt(documented.importUrl()),
  ...following,
  use_custom_template: opt(bool()),
  template_project_id: opt(rowId()),
  ...attributes,
}

const settable = {
  name: opt(documented.projectName()),
  path: opt(documented.projectPath()),
  default_branch: opt(str()),
  repository_storage: opt(str()),
  import_url: opt(documented.mirrorUrl()),
  mirror_user_id: opt(rowId()),
  ...following,
  ...attributes,
}
const changes = needsOneOf(z.object(settable), ...(Object.keys(settable) as (keyof typeof settable)[]))

/** The answer of a single view and of what makes and changes a project, with the token for runners for those who register them (CI-332). */
async function shownTo(ctx: Context, caller: Caller, id: number, view: View, show: { statistics?: boolean | undefined } = {}) {
  const record = await loadProject(ctx, caller.user, id)
  const shown = presentProject(record, view, show)
  if (!caller.user || !canProject({ ...record, user: caller.user }, 'manage_runners')) return shown
  return Object.assign(shown, { runners_token: await runnersTokenFor(ctx, caller, { group_id: null, project_id: id }) })
}

const create = async (ctx: Context, caller: SignedIn, input: NewProject, view: View) =>
  shownTo(ctx, caller, await createProject(ctx, caller, input), view)

const switches = (action: 'archive' | 'unarchive') =>
  endpoint({
    method: 'POST',
    path: `/projects/:id/${action}`,
    summary: action === 'archive' ? 'Archive a project' : 'Unarchive a project',
    access: onProjectSignedIn('archive_project'),
    output: Project,
    async handler({ ctx, caller, subject, view }) {
      await setArchived(ctx, subject, action === 'archive')
      return presentProject(await loadProject(ctx, caller.user, subject.project.id), view)
    },
  })

const stars = (action: 'star' | 'unstar') =>
  endpoint({
    method: 'POST',
    path: `/projects/:id/${action}`,
    summary: action === 'star' ? 'Star a project' : 'Unstar a project',
    answers: [304],
    access: onProjectSignedIn('star'),
    output: Project,
    async handler({ ctx, caller, subject, view }) {
      if (!(await setStar(ctx, caller, subject, action === 'star'))) return new Answer(304)
      return presentProject(await loadProject(ctx, caller.user, subject.project.id), view)
    },
  })

/** Lists of projects that tell what a user did; a private profile does not show them to others (PT-30). */
const listsOfUser = (['starred', 'contributed'] as const).map((what) =>
  endpoint({
    method: 'GET',
    path: `/users/:user_id/${what}_projects`,
    summary: what === 'starred' ? 'List the projects that a user has starred' : 'List the projects that a user has contributed to within a year',
    access: anyone,
    input: z.object({ user_id: z.string(), ...listParameters }),
    output: z.array(AnyProject),
    async handler({ ctx, caller, input, view }) {
      const user = await getUserNamed(ctx, caller, input.user_id)
      if (user.private_profile && user.id !== caller.user?.id && !caller.user?.admin) throw notFound('User')
      return listOf(ctx, caller, { ...input, [`${what}By`]: user.id }, view)
    },
  }),
)

export const projects = [
  endpoint({
    method: 'GET',
    path: '/projects',
    summary: 'List projects',
    access: anyone,
    input: z.object(listParameters),
    output: z.array(AnyProject),
    handler: ({ ctx, caller, input, view }) => listOf(ctx, caller, input, view),
  }),
  endpoint({
    method: 'GET',
    path: '/users/:user_id/projects',
    summary: "List the projects of a user's personal namespace",
    access: anyone,
    input: z.object({ user_id: z.string(), ...listParameters }),
    output: z.array(AnyProject),
    async handler({ ctx, caller, input, view }) {
      const owner = await getUserNamed(ctx, caller, input.user_id)
      return listOf(ctx, caller, { ...input, ownerId: owner.id }, view)
    },
  }),
  ...listsOfUser,
  endpoint({
    method: 'POST',
    path: '/projects/:id/housekeeping',
    summary: 'Pack the repository of a project',
    access: onProjectSignedIn('manage_project'),
    async handler({ ctx, subject }) {
      await requestHousekeeping(ctx, subject.project.id)
      return new Answer(201)
    },
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/statistics',
    summary: 'Count the fetches of a project in the last 30 days',
    description: 'Over HTTP; a day without any is left out.',
    access: onProjectSignedIn('read_fetches'),
    output: ProjectStatistics,
    handler: async ({ ctx, subject }) => ({ fetches: await getFetchStatistics(ctx, subject) }),
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id',
    summary: 'Get a project',
    access: onProjectOrDeleted('read_project'),
    input: z.object({
      statistics: opt(bool()),
      license: opt(bool()),
      with_custom_attributes: opt(bool()),
      include_pending_delete: opt(bool()),
    }),
    output: AnyProject,
    async handler({ ctx, caller, subject, input, view }) {
      const { id, marked_for_deletion_at } = subject.project
      if (marked_for_deletion_at && !input.include_pending_delete) throw notFound('Project')
      const attributes = await attributesFor(ctx, caller, input, 'project', [id])
      const record = await completeProject(ctx, caller.user, subject.project, subject.can('manage_runners'))
      const shown = withAttributes(presentProject(record, view, input), attributes?.get(id))
      if (caller.user && subject.can('manage_runners'))
        Object.assign(shown, { runners_token: await runnersTokenFor(ctx, caller, { group_id: null, project_id: id }, record.registration_token) })
      return input.license ? withLicense(shown, await licenseOf(ctx, subject)) : shown
    },
  }),
  endpoint({
    method: 'POST',
    path: '/projects',
    summary: 'Create a project',
    description: "Created in the caller's namespace, unless `namespace_id` is given.",
    answers: [404],
    access: signedIn,
    input: needsOneOf(z.object(creation), 'name', 'path'),
    output: Project,
    handler: ({ ctx, caller, input, view }) => create(ctx, caller, input, view),
  }),
  endpoint({
    method: 'POST',
    path: '/projects/user/:user_id',
    summary: 'Create a project for a user',
    access: admin,
    input: z.object({ user_id: rowId(), ...creation, name: documented.projectName() }),
    output: Project,
    async handler({ ctx, caller, input, view }) {
      const owner = actorOf(await getUser(ctx, input.user_id))
      return create(ctx, { ...caller, user: owner }, input, { ...view, viewer: owner })
    },
  }),
  endpoint({
    method: 'PUT',
    path: '/projects/:id',
    summary: 'Update a project',
    access: onProjectSignedIn('manage_project'),
    input: changes,
    output: Project,
    async handler({ ctx, caller, subject, input, view }) {
      await updateProject(ctx, caller, subject, input)
      return shownTo(ctx, caller, subject.project.id, view)
    },
  }),
  endpoint({
    method: 'DELETE',
    path: '/projects/:id',
    summary: 'Delete a project',
    description:
      'The project is hidden immediately, and its path is free. It can be restored for as many days as the setting `deletion_delay_days` says; then it is removed in the background.',
    answers: [412],
    access: onProjectOrDeletedSignedIn('remove_project'),
    status: 202,
    input: z.object({ permanently_remove: opt(bool()), full_path: opt(str()) }),
    output: z.strictObject({ message: z.literal('202 Accepted') }),
    async handler({ ctx, subject, input, unchangedSince }) {
      unchangedSince(subject.project.updated_at)
      await deleteProject(ctx, subject, input)
      return { message: '202 Accepted' }
    },
  }),
  endpoint({
    method: 'POST',
    path: '/projects/:id/restore',
    summary: 'Restore a deleted project',
    description: 'It gets its former path back, unless another project has that now.',
    access: onProjectOrDeletedSignedIn('remove_project'),
    output: Project,
    async handler({ ctx, caller, subject, view }) {
      const { id } = subject.project
      await restoreProject(ctx, caller.user, id)
      return presentProject(await loadProject(ctx, caller.user, id), view)
    },
  }),
  switches('archive'),
  switches('unarchive'),
  stars('star'),
  stars('unstar'),
  endpoint({
    method: 'PUT',
    path: '/projects/:id/transfer',
    summary: 'Transfer a project to another namespace',
    description: 'Git clients that use the former path are redirected.',
    access: onProjectSignedIn('transfer_project'),
    input: z.object({ namespace: str() }),
    output: Project,
    async handler({ ctx, caller, subject, input, view }) {
      const target = await transferTarget(ctx, caller, input.namespace)
      await transferProject(ctx, caller, subject.project, target.id, { sameMessage: 'Project is already in this namespace', refuse: refused })
      return presentProject(await loadProject(ctx, caller.user, subject.project.id), view)
    },
  }),
  ...forks,
  ...sharing,
  ...insight,
  ...archives,
]
