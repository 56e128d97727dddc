import type { ComponentChildren } from 'preact'
import { z } from 'zod'
import { adminPage, fullPathOf, getProjectFor, getProjectOrDeletedFor } from '../../../access/rules.js'
import { invalidRecord } from '../../../failures.js'
import * as documented from '../../../http/documented.js'
import { oneOf, opt, orDefault, paging, rowId, searchText, str } from '../../../http/params.js'
import { visibilityName } from '../../../rules/visibility.js'
import { listDeletedFirst } from '../../../services/operations/deleted.js'
import { deleteProject, restoreProject } from '../../../services/projects/deletion.js'
import { listProjects, type ProjectFilter } from '../../../services/projects/list.js'
import type { ProjectRecord } from '../../../services/projects/load.js'
import { type PendingMove, pendingMove } from '../../../services/projects/storage-moves.js'
import { updateProject } from '../../../services/projects/update.js'
import { Facts, numberText, sizeText } from '../../components/facts.js'
import { ActionButton, Field, FormFaults, FormTag, SelectField, Submit } from '../../components/form.js'
import { Badge, Pager, Row, Rows } from '../../components/list.js'
import { projectsOf } from '../../components/projects/project-rows.js'
import { Time } from '../../components/time.js'
import { fieldsOf } from '../../fields.js'
import { plural, t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { AdminLayout } from '../../layout/admin.js'
import { inUrl } from '../../links.js'
import { form, type PageView, page, Redirect } from '../../page.js'
import { DeletedRows, ListForm, ListTabs } from './lists.js'

const AT = '/admin/projects'
const PER_PAGE = 30

const SORTS = ['created_desc', 'created_asc', 'last_activity_desc', 'storage_size_desc', 'name_asc'] as const
const ORDERS = {
  last_activity_desc: ['last_activity_at', 'desc'],
  storage_size_desc: ['storage_size', 'desc'],
  name_asc: ['name', 'asc'],
  created_desc: ['created_at', 'desc'],
  created_asc: ['created_at', 'asc'],
} as const satisfies Record<(typeof SORTS)[number], [ProjectFilter['order_by'], ProjectFilter['sort']]>

const bytesOf = ({ project }: Pick<ProjectRecord, 'project'>) =>
  project.repository_size + project.lfs_objects_size + project.job_artifacts_size + project.packages_size

const ProjectRow = ({ view, record }: { view: PageView; record: ProjectRecord }) => (
  <Row
    actions={
      <span class="dim">
        <Phrase text="{size} in {storage}" size={sizeText(bytesOf(record))} storage={record.project.storage} />
        {' · '}
        <Time at={record.project.last_activity_at} />
      </span>
    }
  >
    <span>
      <a href={`${view.links.prefix}${AT}/${record.project.id}`}>
        <span class="dim">{record.namespace.full_path} / </span>
        <strong>{record.project.name}</strong>
      </a>{' '}
      <Badge>{visibilityName(record.project.visibility)}</Badge> {record.project.archived && <Badge kind="waiting">{t('Archived')}</Badge>}
    </span>
  </Row>
)

export const adminProjectsPage = page({
  at: AT,
  access: adminPage,
  input: z.object({
    page: paging.page,
    filter: orDefault(oneOf(['all', 'archived', 'deleted']), 'all'),
    name: opt(searchText()),
    sort: orDefault(oneOf(SORTS), 'created_desc'),
  }),
  async show({ ctx, caller, input, view }) {
    const framed = (content: ComponentChildren) => ({
      title: t('Projects'),
      body: (
        <AdminLayout view={view} at={AT} title={t('Projects')}>
          <ListTabs view={view} at={AT} current={input.filter} tabs={{ all: t('All'), archived: t('Archived'), deleted: t('Deleted') }} />
          {content}
        </AdminLayout>
      ),
    })
    if (input.filter === 'deleted') return framed(<DeletedRows view={view} at={AT} deleted={await listDeletedFirst(ctx, 'project')} />)
    const [order_by, sort] = ORDERS[input.sort]
    const filter: ProjectFilter = {
      search: input.name,
      search_namespaces: true,
      uncounted: true,
      archived: input.filter === 'archived' ? true : undefined,
      order_by,
      sort,
      page: input.page,
      per_page: PER_PAGE,
    }
    const { items, total } = await listProjects(ctx, caller, filter)
    const records = await projectsOf(ctx, caller.user, items)
    return framed(
      <>
        <ListForm
          view={view}
          action={AT}
          filter={input.filter}
          orders={SORTS}
          name="name"
          label={t('Name, path or group')}
          value={input.name}
          order={input.sort}
        />
        <Rows empty={input.name ? t('None of these has this in its name or path.') : t('There are none.')}>
          {records.map((record) => (
            <ProjectRow key={record.project.id} view={view} record={record} />
          ))}
        </Rows>
        <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} counted={false} />
      </>,
    )
  },
})

const byId = { project_id: rowId() }

const storageMove = z.object({ repository_storage: orDefault(str(), '') })

export const adminProjectPage = page({
  at: `${AT}/:project_id`,
  access: adminPage,
  input: z.object(byId),
  async show({ ctx, caller, input, view }) {
    const { project } = await getProjectOrDeletedFor(ctx, caller, String(input.project_id))
    const path = fullPathOf(project)
    const storages = Object.keys(ctx.config.storages)
    const move = await pendingMove(ctx, project.id)
    const at = `${AT}/${project.id}`
    const f = fieldsOf(view, storageMove)
    return {
      title: project.name,
      body: (
        <AdminLayout view={view} at={AT} title={project.name}>
          <FormFaults view={view} />
          <Facts
            facts={[
              [t('Id'), String(project.id)],
              [t('Path'), <a href={`${view.links.prefix}/${inUrl(path)}`}>{path}</a>],
              [t('Visibility'), visibilityName(project.visibility)],
              [t('Storage'), project.storage],
              [t('Repository'), sizeText(project.repository_size)],
              [t('Git LFS'), sizeText(project.lfs_objects_size)],
              [t('Artifacts'), sizeText(project.job_artifacts_size)],
              [t('Packages'), sizeText(project.packages_size)],
              [t('Stars, forks'), `${numberText(project.star_count)}, ${numberText(project.forks_count)}`],
              [t('Created'), <Time at={project.created_at} />],
              [t('Last activity'), <Time at={project.last_activity_at} />],
            ]}
          />
          {!project.marked_for_deletion_at && (storages.length > 1 || move) && (
            <>
              <h2>{t('Move to another storage')}</h2>
              {move && <Moving view={view} move={move} at={at} />}
              <FormTag view={view} action={`${at}/storage`} method="PUT">
                <SelectField
                  {...f.repository_storage}
                  label={t('Storage')}
                  value={project.storage}
                  choices={storages.map((value) => ({ value, label: value }))}
                  hint={t('Repository and wiki are copied while they are in use.')}
                />
                <Submit label={t('Move')} class="" />
              </FormTag>
            </>
          )}
          <DeletionForm view={view} at={at} path={path} kind="project" waits={project.marked_for_deletion_at !== null} />
        </AdminLayout>
      ),
    }
  },
})

/** What becomes of a move that is not finished. */
function Moving({ view, move, at }: { view: PageView; move: PendingMove; at: string }) {
  const { storage, state, attempts, error, job } = move
  return (
    <p class={state === 'failed' ? 'flash alert' : 'flash'}>
      {state === 'failed' &&
        `${plural(attempts, 'The move to {storage} has failed, after {count} attempt.', 'The move to {storage} has failed, after {count} attempts.', { storage })} `}
      {state === 'running' && `${t('The repository is being copied to {storage}.', { storage })} `}
      {state === 'waiting' &&
        `${attempts > 0 ? t('The move to {storage} waits to be tried again.', { storage }) : t('The move to {storage} waits for its turn.', { storage })} `}
      {error !== null && <span class="fault">{error}</span>}{' '}
      {job === null ? (
        <a href={view.links.prefix + at}>{t('How far is it now?')}</a>
      ) : (
        <a href={`${view.links.prefix}/admin/jobs`}>{t('Try it again, or remove it, in the list of jobs')}</a>
      )}
    </p>
  )
}

interface DeletionProps {
  view: PageView
  at: string
  path: string
  kind: 'project' | 'group'
  waits: boolean
}

const confirmation = z.object({ confirm: orDefault(documented.filled(), ''), at_once: opt(str()) })

/** Deletes a project or group, so that it can be restored for some days, or at once. */
export function DeletionForm({ view, at, path, kind, waits }: DeletionProps) {
  const days = view.settings.deletion_delay_days
  const f = fieldsOf(view, confirmation)
  return (
    <>
      <h2>{t('Delete')}</h2>
      {waits ? (
        <>
          <p>{t('It is deleted, and is removed when its time to be restored is over.')}</p>
          <ActionButton view={view} action={`${at}/restore`} method="PUT" label={t('Restore')} />
        </>
      ) : (
        <p>
          {days === 0
            ? kind === 'project'
              ? t('The project is removed at once, with all that is in it.')
              : t('The group is removed at once, with all that is in it.')
            : kind === 'project'
              ? plural(
                  days,
                  'The project is hidden, and can be restored for {count} day; or it is removed at once, with all that is in it.',
                  'The project is hidden, and can be restored for {count} days; or it is removed at once, with all that is in it.',
                )
              : plural(
                  days,
                  'The group is hidden, and can be restored for {count} day; or it is removed at once, with all that is in it.',
                  'The group is hidden, and can be restored for {count} days; or it is removed at once, with all that is in it.',
                )}
        </p>
      )}
      <FormTag view={view} action={at} method="DELETE">
        <Field {...f.confirm} label={t('Type {path} to confirm', { path })} autocomplete="off" />
        <div class="toolbar">
          {!waits && days > 0 && <Submit label={kind === 'project' ? t('Delete project') : t('Delete group')} class="danger" />}
          <Submit label={t('Remove at once')} name={f.at_once.name} value="1" class="danger" />
        </div>
      </FormTag>
    </>
  )
}

export const projectStorage = form({
  at: `${AT}/:project_id/storage`,
  method: 'PUT',
  access: adminPage,
  input: storageMove.extend(byId),
  on: adminProjectPage,
  async submit({ ctx, caller, input }) {
    const subject = await getProjectFor(ctx, caller, String(input.project_id))
    await updateProject(ctx, caller, subject, { repository_storage: input.repository_storage })
    return new Redirect(`${AT}/${input.project_id}`, {
      notice: t('The project is being moved to {repositoryStorage}.', { repositoryStorage: input.repository_storage }),
    })
  },
})

export const projectRemoval = form({
  at: `${AT}/:project_id`,
  method: 'DELETE',
  access: adminPage,
  input: confirmation.extend(byId),
  on: adminProjectPage,
  async submit({ ctx, caller, input }) {
    const subject = await getProjectOrDeletedFor(ctx, caller, String(input.project_id))
    const path = fullPathOf(subject.project)
    if (input.confirm.trim() !== path) throw invalidRecord({ confirm: ['is not the path'] })
    await deleteProject(ctx, subject, { permanently_remove: input.at_once !== undefined })
    return new Redirect(AT, {
      notice:
        input.at_once === undefined && subject.project.marked_for_deletion_at === null
          ? t('{path} is deleted.', { path })
          : t('{path} is removed.', { path }),
    })
  },
})

export const projectRestoration = form({
  at: `${AT}/:project_id/restore`,
  method: 'PUT',
  access: adminPage,
  input: z.object(byId),
  on: adminProjectsPage,
  async submit({ ctx, input }) {
    await restoreProject(ctx, null, input.project_id)
    return new Redirect(`${AT}/${input.project_id}`, { notice: t('Project restored.') })
  },
})
