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
import { plural, t } from '../../../language/language.js'
import { Phrase } from '../../../language/phrase.js'
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
      <h2>{t('Export')}</h2>
      <p>
        {t(
          'An archive with the repository, wiki, files, issues, merge requests and all that belongs to them, from which another Roost makes this project. Variables, webhooks and tokens are not in it.',
        )}
      </p>
      <div class="row start">
        {running ? (
          <span class="dim">{t('The archive is being made. Open this page again in a while.')}</span>
        ) : (
          <ActionButton view={view} action={`${home}/-/export`} label={status === 'finished' ? t('Make a new archive') : t('Make an archive')} />
        )}
        {(status === 'finished' || status === 'regeneration_in_progress') && (
          <a class="button" href={`${view.links.prefix}${home}/-/exports/archive.tar.gz`}>
            {t('Download')}
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
      [t('Repository'), project.repository_size],
      [t('Git LFS objects'), project.lfs_objects_size],
      [t('Artifacts of jobs'), project.job_artifacts_size],
      [t('Uploaded files'), uploads],
    ]
    return {
      title: titled(t('Advanced settings'), subject),
      body: (
        <ProjectSettings view={view} subject={subject} at="-/settings/advanced" title={t('Advanced')}>
          <FormFaults view={view} />
          {waits ? (
            <Waiting view={view} subject={subject} />
          ) : (
            <>
              <h2>{t('Space')}</h2>
              <table class="sizes">
                <tbody>
                  {[...sizes, [t('All'), sizes.reduce((sum, [, size]) => sum + size, 0)] as const].map(([label, size]) => (
                    <tr key={label}>
                      <th scope="row">{label}</th>
                      <td>{sizeText(size)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
              {view.settings.housekeeping_enabled && subject.can('manage_project') && (
                <div class="row start">
                  <ActionButton view={view} action={`${homeOfProject(subject)}/-/housekeeping`} label={t('Run housekeeping')} />
                  <span class="dim">{t('Done by itself after some pushes.')}</span>
                </div>
              )}
              {exported && <Exporting view={view} subject={subject} status={exported} />}
              <Moving view={view} subject={subject} places={[caller.user.username, ...groups.map(({ full_path }) => full_path)]} />
              {forked_from && subject.can('unlink_fork') && (
                <>
                  <h2>{t('Fork')}</h2>
                  <p>
                    <Phrase
                      text="This is a fork of {fullPath}/{path}. Without the relation, merge requests can no longer be sent there."
                      fullPath={forked_from.namespace.full_path}
                      path={forked_from.project.path}
                    />
                  </p>
                  <ActionButton
                    view={view}
                    action={`${homeOfProject(subject)}/-/fork`}
                    method="DELETE"
                    label={t('Remove fork relationship')}
                    class="danger"
                  />
                </>
              )}
              {subject.can('archive_project') && (
                <>
                  <h2>{project.archived ? t('Unarchive') : t('Archive')}</h2>
                  <p>
                    {project.archived ? t('The project can be changed again.') : t('An archived project can be read and cloned, but not changed.')}
                  </p>
                  <ActionButton
                    view={view}
                    action={`${homeOfProject(subject)}/-/${project.archived ? 'unarchive' : 'archive'}`}
                    label={project.archived ? t('Unarchive project') : t('Archive project')}
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
          <h2>{t('Change the path')}</h2>
          <FormTag view={view} action={`${home}/-/path`} method="PUT">
            <Field {...path} label={t('Path')} value={project.path} hint={t('Clones of the former address go on, until another project has it.')} />
            <Submit label={t('Change path')} class="" />
          </FormTag>
        </>
      )}
      {subject.can('transfer_project') && (
        <>
          <h2>{t('Transfer')}</h2>
          <p>{t('The project moves to another user or group. Members of the present group lose the access that they have by it.')}</p>
          <FormTag view={view} action={`${home}/-/transfer`} method="PUT">
            <Field {...namespace} label={t('New namespace')} list="namespaces" />
            <DataList id="namespaces" values={others} />
            <Submit label={t('Transfer project')} class="danger" />
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
      <h2>{t('Delete')}</h2>
      <p>
        <Phrase
          text="The repository, issues, merge requests and everything else of the project are deleted. {after}"
          after={
            days > 0
              ? plural(
                  days,
                  'It is hidden at once, and can be restored for {count} day.',
                  'It is hidden at once, and can be restored for {count} days.',
                )
              : t('This cannot be undone.')
          }
        />
      </p>
      <Confirmed view={view} action={homeOfProject(subject)} fullPath={fullPathOf(subject.project)} label={t('Delete project')} />
    </>
  )
}

function Waiting({ view, subject }: { view: PageView; subject: ProjectSubject }) {
  const { project } = subject
  const due = project.deletion_due_at
  const former = formerPath(fullPathOf(project))
  if (!due) return <p class="empty">{t('The group of this project waits for its removal. Restore the group to restore the project.')}</p>
  return (
    <>
      <p class="flash alert">{t('This project, formerly {former}, is deleted for good on {day}.', { former, day: dayText(due) })}</p>
      <ActionButton view={view} action={`${homeOfProject(subject)}/-/restore`} label={t('Restore project')} class="primary" />
      <h2>{t('Delete now')}</h2>
      <p>{t('This cannot be undone.')}</p>
      <Confirmed view={view} action={homeOfProject(subject)} fullPath={former} label={t('Delete for good')} now />
    </>
  )
}

export const advanced = (subject: ProjectSubject) => `${homeOfProject(subject)}/-/settings/advanced`
