import { fullPathOf, getProjectFor, onProjectOrDeletedSignedIn, onProjectSignedIn } from '../../../../access/rules.js'
import { conflict, Failure, invalidRecord } from '../../../../failures.js'
import { formerPath } from '../../../../rules/path.js'
import { startExport } from '../../../../services/projects/archives/export.js'
import { deleteProject, restoreProject } from '../../../../services/projects/deletion.js'
import { unlinkFork } from '../../../../services/projects/forks.js'
import { transferProject, transferTarget } from '../../../../services/projects/transfer.js'
import { setArchived, updateProject } from '../../../../services/projects/update.js'
import { requestHousekeeping } from '../../../../services/repository/push/maintenance-job.js'
import { t } from '../../../language/language.js'
import { DELETED_PROJECTS, homeOfProject } from '../../../links.js'
import { form, Redirect } from '../../../page.js'
import { checkTyped, confirmation } from '../deletion.js'
import { advanced, advancedPage, newPath, transfer } from './advanced.js'
import { manage } from './settings.js'

export const pathForm = form({
  at: 'P/-/path',
  method: 'PUT',
  access: manage,
  input: newPath,
  on: advancedPage,
  async submit({ ctx, caller, subject, input }) {
    await updateProject(ctx, caller, subject, { path: input.project.path.trim() })
    const moved = await getProjectFor(ctx, caller, String(subject.project.id))
    return new Redirect(advanced(moved), { notice: t('Path updated.') })
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
      throw error instanceof Failure ? refuse(t('is none that you may create projects in')) : error
    })
    await transferProject(ctx, caller, subject.project, target.id, { sameMessage: t('has the project already'), refuse })
    const moved = await getProjectFor(ctx, caller, String(subject.project.id))
    return new Redirect(advanced(moved), { notice: t('Project transferred.') })
  },
})

const archiving = (archived: boolean) =>
  form({
    at: archived ? 'P/-/archive' : 'P/-/unarchive',
    access: onProjectSignedIn('archive_project'),
    on: advancedPage,
    async submit({ ctx, subject }) {
      if (subject.project.archived === archived) throw conflict(archived ? t('The project is archived') : t('The project is not archived'))
      await setArchived(ctx, subject, archived)
      return new Redirect(advanced(subject), { notice: archived ? t('Project archived.') : t('Project unarchived.') })
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
    if (!(await unlinkFork(ctx, subject))) throw conflict(t('The project is no fork'))
    return new Redirect(advanced(subject), { notice: t('The project is no longer a fork.') })
  },
})

export const exportForm = form({
  at: 'P/-/export',
  access: manage,
  on: advancedPage,
  async submit({ ctx, caller, subject }) {
    await startExport(ctx, caller, subject)
    return new Redirect(advanced(subject), { notice: t('The archive is being made.') })
  },
})

export const housekeepingForm = form({
  at: 'P/-/housekeeping',
  access: manage,
  on: advancedPage,
  async submit({ ctx, subject, view }) {
    if (!view.settings.housekeeping_enabled) throw conflict(t('Repositories are not packed here'))
    await requestHousekeeping(ctx, subject.project.id)
    return new Redirect(advanced(subject), { notice: t('The repository is being packed.') })
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
    return new Redirect(DELETED_PROJECTS, {
      notice: t('The project {formerPath} is deleted.', { formerPath: formerPath(fullPathOf(subject.project)) }),
    })
  },
})

export const projectRestoration = form({
  at: 'P/-/restore',
  access: onProjectOrDeletedSignedIn('remove_project'),
  on: advancedPage,
  async submit({ ctx, caller, subject }) {
    await restoreProject(ctx, caller.user, subject.project.id)
    const restored = await getProjectFor(ctx, caller, String(subject.project.id))
    return new Redirect(homeOfProject(restored), { notice: t('Project restored.') })
  },
})
