import { z } from 'zod'
import type { Access } from '../../../access/access.js'
import {
  fullPathOf,
  getProjectFor,
  getProjectOrDeletedFor,
  onProjectOrDeletedSignedIn,
  onProjectSignedIn,
  type ProjectSubject,
} from '../../../access/rules.js'
import { conflict, Failure, forbidden, invalidRecord } from '../../../failures.js'
import * as documented from '../../../http/documented.js'
import { bool, commaList, file, oneOf, opt, orDefault, str } from '../../../http/params.js'
import { formerPath } from '../../../rules/path.js'
import { SQUASH_OPTIONS } from '../../../rules/squash.js'
import { VISIBILITIES, VISIBILITY_LEVEL, visibilityName } from '../../../rules/visibility.js'
import { groupsToCreateIn } from '../../../services/groups/creatable.js'
import { type ExportStatus, exportStatus, startExport } from '../../../services/projects/archives/export.js'
import type { FeatureLevel } from '../../../services/projects/attributes.js'
import { deleteProject, restoreProject } from '../../../services/projects/deletion.js'
import { unlinkFork } from '../../../services/projects/forks.js'
import { loadProject } from '../../../services/projects/load.js'
import { transferProject, transferTarget } from '../../../services/projects/transfer.js'
import { setArchived, updateProject } from '../../../services/projects/update.js'
import { uploadsSize } from '../../../services/projects/uploads.js'
import { requestHousekeeping } from '../../../services/repository/push/maintenance-job.js'
import { sizeText } from '../../components/facts.js'
import { ActionButton, Checkbox, DataList, Field, FormFaults, FormTag, SelectField, Submit, TextField } from '../../components/form.js'
import { PictureField, pictureOf } from '../../components/people/avatar.js'
import { visibilityChoices } from '../../components/projects/visibility.js'
import { dayText } from '../../components/time.js'
import { fieldsOf } from '../../fields.js'
import { ProjectSettings } from '../../layout/manage.js'
import { DELETED_PROJECTS, homeOfProject } from '../../links.js'
import { form, type PageView, page, Redirect } from '../../page.js'
import { Confirmed, checkTyped, confirmation } from './deletion.js'

const manage = onProjectSignedIn('manage_project')
const titled = (title: string, { project }: ProjectSubject) => `${title} · ${fullPathOf(project)}`
const unchecked = () => orDefault(bool(), false)
const text = () => orDefault(str(), '')

export const settingsPage = page({
  at: 'P/-/settings',
  access: manage,
  show: async ({ subject }) => new Redirect(`${homeOfProject(subject)}/edit`),
})

const general = z.object({
  project: z.object({
    name: opt(documented.projectName()),
    description: opt(str()),
    tag_list: opt(commaList()),
    visibility_level: opt(oneOf(VISIBILITIES)),
    default_branch: opt(str()),
    avatar: opt(file()),
  }),
})

export const generalPage = page({
  at: 'P/edit',
  access: manage,
  async show({ subject, view }) {
    const { project } = subject
    const at = `${homeOfProject(subject)}/edit`
    const highest = project.namespace.kind === 'group' ? project.namespace.visibility : VISIBILITY_LEVEL.public
    const f = fieldsOf(view, general).project
    return {
      title: titled('Settings', subject),
      body: (
        <ProjectSettings view={view} subject={subject} at="edit" title="General">
          <FormTag view={view} action={at} method="PUT" files>
            <FormFaults view={view} />
            {subject.can('rename_project') && <Field {...f.name} label="Name" value={project.name} />}
            <TextField {...f.description} label="Description" value={project.description} rows={3} />
            <Field {...f.tag_list} label="Topics" value={project.tag_list.join(', ')} hint="Separated by commas." />
            {subject.can('change_visibility') && (
              <SelectField
                {...f.visibility_level}
                label="Visibility"
                value={visibilityName(project.visibility)}
                choices={visibilityChoices(view, highest, project.visibility)}
                hint="Forks become no more visible than this."
              />
            )}
            {!project.empty_repo && (
              <Field
                {...f.default_branch}
                label="Default branch"
                value={project.default_branch}
                hint="What a clone checks out, and what merge requests are for unless they say otherwise."
              />
            )}
            <PictureField {...f.avatar} />
            <Submit label="Save changes" />
          </FormTag>
          {project.avatar && (
            <ActionButton view={view} action={`${homeOfProject(subject)}/-/avatar`} method="DELETE" label="Remove the picture" class="danger" />
          )}
        </ProjectSettings>
      ),
    }
  },
})

export const generalForm = form({
  at: 'P/edit',
  method: 'PUT',
  access: manage,
  input: general,
  files: true,
  on: generalPage,
  async submit({ ctx, caller, subject, input: { project } }) {
    const { avatar, visibility_level, default_branch, ...rest } = project
    await updateProject(ctx, caller, subject, {
      ...rest,
      visibility: visibility_level,
      default_branch: default_branch || undefined,
      avatar: pictureOf(avatar),
    })
    return new Redirect(`${homeOfProject(subject)}/edit`, { notice: 'The settings are saved.' })
  },
})

export const avatarRemoval = form({
  at: 'P/-/avatar',
  method: 'DELETE',
  access: manage,
  async submit({ ctx, caller, subject }) {
    await updateProject(ctx, caller, subject, { avatar: null })
    return new Redirect(`${homeOfProject(subject)}/edit`, { notice: 'The picture is removed.' })
  },
})

const FEATURE_CHOICES = [
  { value: 'enabled', label: 'Everyone who sees the project' },
  { value: 'private', label: 'Members only' },
  { value: 'disabled', label: 'Off' },
] as const
const WORDS: Record<number, FeatureLevel> = { 0: 'disabled', 10: 'private', 20: 'enabled' }

const FEATURES = [
  ['repository', 'Repository', 'Without it there are no merge requests and no CI either.'],
  ['merge_requests', 'Merge requests', undefined],
  ['issues', 'Issues', undefined],
  ['wiki', 'Wiki', undefined],
  ['snippets', 'Snippets', undefined],
  ['builds', 'CI', 'Pipelines and jobs, as statuses of commits.'],
  ['forking', 'Forks', undefined],
] as const
const SWITCHES = [
  ['request_access_enabled', 'People may request access', 'Who sees the project without being a member asks, and maintainers answer.'],
  ['public_jobs', 'Everyone who sees the project sees its pipelines', undefined],
  ['lfs_enabled', 'Git LFS', 'Large files are kept outside the repository.'],
  ['emails_disabled', 'Send no mail about what happens here', undefined],
] as const

const level = () => opt(oneOf(['enabled', 'private', 'disabled']))
const features = z.object({
  project: z.object({
    repository_access_level: level(),
    merge_requests_access_level: level(),
    issues_access_level: level(),
    wiki_access_level: level(),
    snippets_access_level: level(),
    builds_access_level: level(),
    forking_access_level: level(),
    request_access_enabled: unchecked(),
    public_jobs: unchecked(),
    lfs_enabled: unchecked(),
    emails_disabled: unchecked(),
  }),
})

export const featuresPage = page({
  at: 'P/-/settings/features',
  access: manage,
  async show({ subject, view }) {
    const { project } = subject
    const f = fieldsOf(view, features).project
    return {
      title: titled('Features', subject),
      body: (
        <ProjectSettings view={view} subject={subject} at="-/settings/features" title="Features">
          <FormTag view={view} action={`${homeOfProject(subject)}/-/settings/features`} method="PUT">
            <FormFaults view={view} />
            <div class="columns">
              {FEATURES.map(([feature, label, hint]) => (
                <SelectField
                  key={feature}
                  {...f[`${feature}_access_level`]}
                  label={label}
                  value={WORDS[project[`${feature}_access_level`]] ?? 'enabled'}
                  choices={FEATURE_CHOICES}
                  hint={hint}
                />
              ))}
            </div>
            {SWITCHES.map(([name, label, hint]) => (
              <Checkbox key={name} {...f[name]} label={label} hint={hint} checked={project[name]} />
            ))}
            <Submit label="Save changes" />
          </FormTag>
        </ProjectSettings>
      ),
    }
  },
})

export const featuresForm = form({
  at: 'P/-/settings/features',
  method: 'PUT',
  access: manage,
  input: features,
  on: featuresPage,
  async submit({ ctx, caller, subject, input }) {
    await updateProject(ctx, caller, subject, input.project)
    return new Redirect(`${homeOfProject(subject)}/-/settings/features`, { notice: 'The features are saved.' })
  },
})

const METHODS = [
  { value: 'merge', label: 'Merge commit' },
  { value: 'rebase_merge', label: 'Merge commit, only when the branch is up to date' },
  { value: 'ff', label: 'Fast-forward, without merge commits' },
] as const
const SQUASHES = [
  { value: 'default_off', label: 'Allowed, off at first' },
  { value: 'default_on', label: 'Allowed, on at first' },
  { value: 'always', label: 'Always' },
  { value: 'never', label: 'Never' },
] as const
const RULES = [
  ['only_allow_merge_if_pipeline_succeeds', 'Pipelines must succeed', 'Nothing is merged while the newest pipeline of its head runs or has failed.'],
  ['allow_merge_on_skipped_pipeline', 'A skipped pipeline counts as one that succeeded', undefined],
  ['only_allow_merge_if_all_discussions_are_resolved', 'All threads must be resolved', undefined],
  ['remove_source_branch_after_merge', 'Delete source branches after the merge, unless a merge request says otherwise', undefined],
  ['resolve_outdated_diff_discussions', 'Resolve threads on lines that a later push changes', undefined],
  ['printing_merge_request_link_enabled', 'Git prints a link to open a merge request after a push', undefined],
  ['autoclose_referenced_issues', 'Close the issues that commits and merge requests say they close', undefined],
] as const
const TEMPLATES = [
  [
    'merge_commit_template',
    'Message of merge commits',
    'Such as %{title}, %{description}, %{source_branch}, %{target_branch}, %{reference}. Empty: the usual one.',
  ],
  ['squash_commit_template', 'Message of squashed commits', 'The same placeholders. Empty: the title.'],
] as const
const LINES = [
  ['suggestion_commit_message', 'Message of applied suggestions', 'Such as %{files_count}, %{file_paths}, %{username}. Empty: the usual one.'],
  ['issue_branch_template', 'Name of branches made from issues', 'With %{id} and %{title}. Empty: %{id}-%{title}.'],
] as const

const mergeRules = z.object({
  project: z.object({
    merge_method: opt(oneOf(['merge', 'rebase_merge', 'ff'])),
    squash_option: opt(oneOf([...SQUASH_OPTIONS])),
    only_allow_merge_if_pipeline_succeeds: unchecked(),
    allow_merge_on_skipped_pipeline: unchecked(),
    only_allow_merge_if_all_discussions_are_resolved: unchecked(),
    remove_source_branch_after_merge: unchecked(),
    resolve_outdated_diff_discussions: unchecked(),
    printing_merge_request_link_enabled: unchecked(),
    autoclose_referenced_issues: unchecked(),
    merge_commit_template: text(),
    squash_commit_template: text(),
    suggestion_commit_message: text(),
    issue_branch_template: text(),
  }),
})

export const mergeRulesPage = page({
  at: 'P/-/settings/merge_requests',
  access: manage,
  async show({ subject, view }) {
    const { project } = subject
    const f = fieldsOf(view, mergeRules).project
    return {
      title: titled('Merge requests', subject),
      body: (
        <ProjectSettings view={view} subject={subject} at="-/settings/merge_requests" title="Merge requests">
          <FormTag view={view} action={`${homeOfProject(subject)}/-/settings/merge_requests`} method="PUT">
            <FormFaults view={view} />
            <div class="columns">
              <SelectField {...f.merge_method} label="Method" value={project.merge_method} choices={METHODS} />
              <SelectField {...f.squash_option} label="Squash commits" value={project.squash_option} choices={SQUASHES} />
            </div>
            {RULES.map(([name, label, hint]) => (
              <Checkbox key={name} {...f[name]} label={label} hint={hint} checked={project[name]} />
            ))}
            {TEMPLATES.map(([name, label, hint]) => (
              <TextField key={name} {...f[name]} label={label} hint={hint} value={project[name]} rows={3} class="code" />
            ))}
            {LINES.map(([name, label, hint]) => (
              <Field key={name} {...f[name]} label={label} hint={hint} value={project[name]} />
            ))}
            <Submit label="Save changes" />
          </FormTag>
        </ProjectSettings>
      ),
    }
  },
})

export const mergeRulesForm = form({
  at: 'P/-/settings/merge_requests',
  method: 'PUT',
  access: manage,
  input: mergeRules,
  on: mergeRulesPage,
  async submit({ ctx, caller, subject, input: { project } }) {
    await updateProject(ctx, caller, subject, {
      ...project,
      merge_commit_template: project.merge_commit_template || null,
      squash_commit_template: project.squash_commit_template || null,
      suggestion_commit_message: project.suggestion_commit_message || null,
      issue_branch_template: project.issue_branch_template || null,
    })
    return new Redirect(`${homeOfProject(subject)}/-/settings/merge_requests`, { notice: 'The rules are saved.' })
  },
})

/** For those who manage a project, and for owners while it waits for its removal. */
const onAdvanced: Access<ProjectSubject, true> = {
  ...manage,
  rule: 'signed in, project: manage_project or remove_project',
  async find(ctx, caller, params) {
    const subject = await getProjectOrDeletedFor(ctx, caller, params['id'] as string)
    if (!subject.can('manage_project') && !subject.can('remove_project')) throw forbidden()
    return subject
  },
}

function Exporting({ view, subject, status }: { view: PageView; subject: ProjectSubject; status: ExportStatus }) {
  const home = homeOfProject(subject)
  const running = status !== 'none' && status !== 'finished'
  return (
    <>
      <h2>Export</h2>
      <p>
        An archive with the repository, wiki, files, issues, merge requests and all that belongs to them, from which another Roost makes this project.
        Variables, webhooks and tokens are not in it.
      </p>
      <div class="row start">
        {running ? (
          <span class="dim">The archive is being made. Open this page again in a while.</span>
        ) : (
          <ActionButton view={view} action={`${home}/-/export`} label={status === 'finished' ? 'Make a new archive' : 'Make an archive'} />
        )}
        {(status === 'finished' || status === 'regeneration_in_progress') && (
          <a class="button" href={`${view.links.prefix}${home}/-/exports/archive.tar.gz`}>
            Download
          </a>
        )}
      </div>
    </>
  )
}

export const advancedPage = page({
  at: 'P/-/settings/advanced',
  access: onAdvanced,
  async show({ ctx, caller, subject, view }) {
    const { project } = subject
    const waits = project.marked_for_deletion_at !== null
    const mayTransfer = subject.can('transfer_project')
    const [uploads, groups, { forked_from }, exported] = await Promise.all([
      uploadsSize(ctx, project.id),
      mayTransfer ? groupsToCreateIn(ctx, caller, 'project') : [],
      loadProject(ctx, caller.user, project.id),
      view.settings.project_export_enabled && subject.can('manage_project') ? exportStatus(ctx, subject) : null,
    ])
    const sizes: [string, number][] = [
      ['Repository', project.repository_size],
      ['Git LFS objects', project.lfs_objects_size],
      ['Uploaded files', uploads],
    ]
    return {
      title: titled('Advanced settings', subject),
      body: (
        <ProjectSettings view={view} subject={subject} at="-/settings/advanced" title="Advanced">
          <FormFaults view={view} />
          {waits ? (
            <Waiting view={view} subject={subject} />
          ) : (
            <>
              <h2>Space</h2>
              <table class="sizes">
                <tbody>
                  {[...sizes, ['All', sizes.reduce((sum, [, size]) => sum + size, 0)] as const].map(([label, size]) => (
                    <tr key={label}>
                      <th scope="row">{label}</th>
                      <td>{sizeText(size)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
              {view.settings.housekeeping_enabled && subject.can('manage_project') && (
                <div class="row start">
                  <ActionButton view={view} action={`${homeOfProject(subject)}/-/housekeeping`} label="Pack the repository now" />
                  <span class="dim">Done by itself after some pushes.</span>
                </div>
              )}
              {exported && <Exporting view={view} subject={subject} status={exported} />}
              <Moving view={view} subject={subject} places={[caller.user.username, ...groups.map(({ full_path }) => full_path)]} />
              {forked_from && subject.can('unlink_fork') && (
                <>
                  <h2>Fork</h2>
                  <p>
                    This is a fork of {forked_from.namespace.full_path}/{forked_from.project.path}. Without the relation, merge requests can no longer
                    be sent there.
                  </p>
                  <ActionButton view={view} action={`${homeOfProject(subject)}/-/fork`} method="DELETE" label="Remove the relation" class="danger" />
                </>
              )}
              {subject.can('archive_project') && (
                <>
                  <h2>{project.archived ? 'Unarchive' : 'Archive'}</h2>
                  <p>{project.archived ? 'The project can be changed again.' : 'An archived project can be read and cloned, but not changed.'}</p>
                  <ActionButton
                    view={view}
                    action={`${homeOfProject(subject)}/-/${project.archived ? 'unarchive' : 'archive'}`}
                    label={project.archived ? 'Unarchive project' : 'Archive project'}
                  />
                </>
              )}
              {subject.can('remove_project') && <Removal view={view} subject={subject} />}
            </>
          )}
        </ProjectSettings>
      ),
    }
  },
})

const newPath = z.object({ project: z.object({ path: orDefault(documented.projectPath(), '') }) })

const transfer = z.object({ project: z.object({ namespace: orDefault(documented.filled(), '') }) })

function Moving({ view, subject, places }: { view: PageView; subject: ProjectSubject; places: string[] }) {
  const { project } = subject
  const home = homeOfProject(subject)
  const others = places.filter((path) => path !== project.namespace.full_path)
  const { path } = fieldsOf(view, newPath).project
  const { namespace } = fieldsOf(view, transfer).project
  return (
    <>
      {subject.can('manage_project') && (
        <>
          <h2>Change the path</h2>
          <FormTag view={view} action={`${home}/-/path`} method="PUT">
            <Field {...path} label="Path" value={project.path} hint="Clones of the former address go on, until another project has it." />
            <Submit label="Change path" class="" />
          </FormTag>
        </>
      )}
      {subject.can('transfer_project') && (
        <>
          <h2>Transfer</h2>
          <p>The project moves to another user or group. Members of the present group lose the access that they have by it.</p>
          <FormTag view={view} action={`${home}/-/transfer`} method="PUT">
            <Field {...namespace} label="New namespace" list="namespaces" />
            <DataList id="namespaces" values={others} />
            <Submit label="Transfer project" class="danger" />
          </FormTag>
        </>
      )}
    </>
  )
}

function Removal({ view, subject }: { view: PageView; subject: ProjectSubject }) {
  const days = view.settings.deletion_delay_days
  return (
    <>
      <h2>Delete</h2>
      <p>
        The repository, issues, merge requests and everything else of the project are deleted.{' '}
        {days > 0 ? `It is hidden at once, and can be restored for ${days} ${days === 1 ? 'day' : 'days'}.` : 'This cannot be undone.'}
      </p>
      <Confirmed view={view} action={homeOfProject(subject)} fullPath={fullPathOf(subject.project)} label="Delete project" />
    </>
  )
}

function Waiting({ view, subject }: { view: PageView; subject: ProjectSubject }) {
  const { project } = subject
  const due = project.deletion_due_at
  const former = formerPath(fullPathOf(project))
  if (!due) return <p class="empty">The group of this project waits for its removal. Restore the group to restore the project.</p>
  return (
    <>
      <p class="flash alert">{`This project, formerly ${former}, is deleted for good on ${dayText(due)}.`}</p>
      <ActionButton view={view} action={`${homeOfProject(subject)}/-/restore`} label="Restore project" class="primary" />
      <h2>Delete now</h2>
      <p>This cannot be undone.</p>
      <Confirmed view={view} action={homeOfProject(subject)} fullPath={former} label="Delete for good" now />
    </>
  )
}

const advanced = (subject: ProjectSubject) => `${homeOfProject(subject)}/-/settings/advanced`

export const pathForm = form({
  at: 'P/-/path',
  method: 'PUT',
  access: manage,
  input: newPath,
  on: advancedPage,
  async submit({ ctx, caller, subject, input }) {
    await updateProject(ctx, caller, subject, { path: input.project.path.trim() })
    const moved = await getProjectFor(ctx, caller, String(subject.project.id))
    return new Redirect(advanced(moved), { notice: 'The path is changed.' })
  },
})

export const transferForm = form({
  at: 'P/-/transfer',
  method: 'PUT',
  access: onProjectSignedIn('transfer_project'),
  input: transfer,
  on: advancedPage,
  async submit({ ctx, caller, subject, input }) {
    const refuse = (reason: string) => invalidRecord({ namespace: [reason] })
    const target = await transferTarget(ctx, caller, input.project.namespace.trim()).catch((error: unknown) => {
      throw error instanceof Failure ? refuse('is none that you may create projects in') : error
    })
    await transferProject(ctx, caller, subject.project, target.id, { sameMessage: 'has the project already', refuse })
    const moved = await getProjectFor(ctx, caller, String(subject.project.id))
    return new Redirect(advanced(moved), { notice: 'The project is transferred.' })
  },
})

const archiving = (archived: boolean) =>
  form({
    at: archived ? 'P/-/archive' : 'P/-/unarchive',
    access: onProjectSignedIn('archive_project'),
    on: advancedPage,
    async submit({ ctx, subject }) {
      if (subject.project.archived === archived) throw conflict(`The project is ${archived ? '' : 'not '}archived`)
      await setArchived(ctx, subject, archived)
      return new Redirect(advanced(subject), { notice: archived ? 'The project is archived.' : 'The project is no longer archived.' })
    },
  })
export const archiveForm = archiving(true)
export const unarchiveForm = archiving(false)

export const forkRelationRemoval = form({
  at: 'P/-/fork',
  method: 'DELETE',
  access: onProjectSignedIn('unlink_fork'),
  on: advancedPage,
  async submit({ ctx, subject }) {
    if (!(await unlinkFork(ctx, subject))) throw conflict('The project is no fork')
    return new Redirect(advanced(subject), { notice: 'The project is no longer a fork.' })
  },
})

export const exportForm = form({
  at: 'P/-/export',
  access: manage,
  on: advancedPage,
  async submit({ ctx, caller, subject }) {
    await startExport(ctx, caller, subject)
    return new Redirect(advanced(subject), { notice: 'The archive is being made.' })
  },
})

export const housekeepingForm = form({
  at: 'P/-/housekeeping',
  access: manage,
  on: advancedPage,
  async submit({ ctx, subject, view }) {
    if (!view.settings.housekeeping_enabled) throw conflict('Repositories are not packed here')
    await requestHousekeeping(ctx, subject.project.id)
    return new Redirect(advanced(subject), { notice: 'The repository is being packed.' })
  },
})

export const projectRemoval = form({
  at: 'P',
  method: 'DELETE',
  access: onProjectOrDeletedSignedIn('remove_project'),
  input: confirmation,
  on: advancedPage,
  async submit({ ctx, subject, input }) {
    checkTyped(input.full_path, fullPathOf(subject.project))
    await deleteProject(ctx, subject, { permanently_remove: input.permanently_remove })
    return new Redirect(DELETED_PROJECTS, { notice: `The project ${formerPath(fullPathOf(subject.project))} is deleted.` })
  },
})

export const projectRestoration = form({
  at: 'P/-/restore',
  access: onProjectOrDeletedSignedIn('remove_project'),
  on: advancedPage,
  async submit({ ctx, caller, subject }) {
    await restoreProject(ctx, caller.user, subject.project.id)
    const restored = await getProjectFor(ctx, caller, String(subject.project.id))
    return new Redirect(homeOfProject(restored), { notice: 'The project is restored.' })
  },
})
