import { z } from 'zod'
import type { Access } from '../../../../access/access.js'
import { fullPathOf, getProjectOrDeletedFor, type ProjectSubject } from '../../../../access/rules.js'
import { forbidden } from '../../../../failures.js'
import * as documented from '../../../../http/documented.js'
import { orDefault } from '../../../../http/params.js'
import { formerPath } from '../../../../rules/path.js'
import { groupsToCreateIn } from '../../../../services/groups/creatable.js'
import { type ExportStatus, exportStatus } from '../../../../services/projects/archives/export.js'
import { loadProject } from '../../../../services/projects/load.js'
import { uploadsSize } from '../../../../services/projects/uploads.js'
import { sizeText } from '../../../components/facts.js'
import { ActionButton, DataList, Field, FormFaults, FormTag, Submit } from '../../../components/form.js'
import { dayText } from '../../../components/time.js'
import { fieldsOf } from '../../../fields.js'
import { ProjectSettings } from '../../../layout/manage.js'
import { homeOfProject } from '../../../links.js'
import { type PageView, page } from '../../../page.js'
import { Confirmed } from '../deletion.js'
import { manage, titled } from './settings.js'

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
      ['Artifacts of jobs', project.job_artifacts_size],
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
                  <ActionButton view={view} action={`${homeOfProject(subject)}/-/housekeeping`} label="Run housekeeping" />
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
                  <ActionButton
                    view={view}
                    action={`${homeOfProject(subject)}/-/fork`}
                    method="DELETE"
                    label="Remove fork relationship"
                    class="danger"
                  />
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

export const newPath = z.object({ project: z.object({ path: orDefault(documented.projectPath(), '') }) })

export const transfer = z.object({ project: z.object({ namespace: orDefault(documented.filled(), '') }) })

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

export const advanced = (subject: ProjectSubject) => `${homeOfProject(subject)}/-/settings/advanced`
