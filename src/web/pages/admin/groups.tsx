import type { ComponentChildren } from 'preact'
import { z } from 'zod'
import { adminPage, getGroupOrDeletedFor } from '../../../access/rules.js'
import { invalidRecord } from '../../../failures.js'
import { oneOf, opt, orDefault, paging, rowId, searchText, str } from '../../../http/params.js'
import { visibilityName } from '../../../rules/visibility.js'
import { type GroupFilter, listGroups, statisticsFor } from '../../../services/groups/list.js'
import { listDeletedFirst } from '../../../services/operations/deleted.js'
import { deleteGroup, restoreGroup } from '../../../services/operations/group-deletion.js'
import { Facts, sizeText } from '../../components/facts.js'
import { FormFaults } from '../../components/form.js'
import { Badge, Pager, Row, Rows } from '../../components/list.js'
import { Time } from '../../components/time.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { AdminLayout } from '../../layout/admin.js'
import { inUrl } from '../../links.js'
import { form, page, Redirect } from '../../page.js'
import { DeletedRows, ListForm, ListTabs } from './lists.js'
import { DeletionForm } from './projects.js'

const AT = '/admin/groups'
const PER_PAGE = 30
const SORTS = ['created_desc', 'created_asc', 'name_asc', 'path_asc'] as const

const sizes = { statistics: true }

export const adminGroupsPage = page({
  at: AT,
  access: adminPage,
  input: z.object({
    page: paging.page,
    filter: orDefault(oneOf(['all', 'deleted']), 'all'),
    name: opt(searchText()),
    sort: orDefault(oneOf(SORTS), 'created_desc'),
  }),
  async show({ ctx, caller, input, view }) {
    const framed = (content: ComponentChildren) => ({
      title: t('Groups'),
      body: (
        <AdminLayout view={view} at={AT} title={t('Groups')}>
          <ListTabs view={view} at={AT} current={input.filter} tabs={{ all: t('All'), deleted: t('Deleted') }} />
          {content}
        </AdminLayout>
      ),
    })
    if (input.filter === 'deleted') return framed(<DeletedRows view={view} at={AT} deleted={await listDeletedFirst(ctx, 'group')} />)
    const [order, sort] = input.sort.split('_') as [string, GroupFilter['sort']]
    const filter: GroupFilter = {
      all_available: true,
      search: input.name,
      order_by: order === 'created' ? 'id' : (order as 'name' | 'path'),
      sort,
      page: input.page,
      per_page: PER_PAGE,
    }
    const { items, total } = await listGroups(ctx, caller, filter)
    const statistics = await statisticsFor(ctx, caller, sizes, items)
    return framed(
      <>
        <ListForm
          view={view}
          action={AT}
          filter={input.filter}
          orders={SORTS}
          name="name"
          label={t('Name or path')}
          value={input.name}
          order={input.sort}
        />
        <Rows empty={input.name ? t('No group has this in its name or path.') : t('There are no groups.')}>
          {items.map((group) => {
            const own = statistics?.get(group.id)
            return (
              <Row
                key={group.id}
                actions={
                  <span class="dim">
                    {sizeText(
                      (own?.repository_size ?? 0) + (own?.lfs_objects_size ?? 0) + (own?.job_artifacts_size ?? 0) + (own?.packages_size ?? 0),
                    )}
                    {' · '}
                    <Phrase text="since {time}" time={<Time at={group.created_at} />} />
                  </span>
                }
              >
                <span>
                  <a href={`${view.links.prefix}${AT}/${group.id}`}>
                    <strong>{group.full_path}</strong>
                  </a>{' '}
                  <Badge>{visibilityName(group.visibility)}</Badge>
                </span>
                {group.description && <span class="dim">{group.description}</span>}
              </Row>
            )
          })}
        </Rows>
        <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
      </>,
    )
  },
})

const byId = { group_id: rowId() }

export const adminGroupPage = page({
  at: `${AT}/:group_id`,
  access: adminPage,
  input: z.object(byId),
  async show({ ctx, caller, input, view }) {
    const { group } = await getGroupOrDeletedFor(ctx, caller, String(input.group_id))
    const own = (await statisticsFor(ctx, caller, sizes, [group]))?.get(group.id)
    return {
      title: group.full_name,
      body: (
        <AdminLayout view={view} at={AT} title={group.name}>
          <FormFaults view={view} />
          <Facts
            facts={[
              [t('Id'), String(group.id)],
              [t('Path'), <a href={`${view.links.prefix}/groups/${inUrl(group.full_path)}`}>{group.full_path}</a>],
              [t('Visibility'), visibilityName(group.visibility)],
              [t('Repositories'), sizeText(own?.repository_size ?? 0)],
              [t('Git LFS'), sizeText(own?.lfs_objects_size ?? 0)],
              [t('Artifacts'), sizeText(own?.job_artifacts_size ?? 0)],
              [t('Packages'), sizeText(own?.packages_size ?? 0)],
              [t('Created'), <Time at={group.created_at} />],
            ]}
          />
          <p class="dim">{t('Sizes are those of the projects directly in the group.')}</p>
          <DeletionForm view={view} at={`${AT}/${group.id}`} path={group.full_path} kind="group" waits={group.marked_for_deletion_at !== null} />
        </AdminLayout>
      ),
    }
  },
})

export const groupRemoval = form({
  at: `${AT}/:group_id`,
  method: 'DELETE',
  access: adminPage,
  input: z.object({ ...byId, confirm: orDefault(str(), ''), at_once: opt(str()) }),
  on: adminGroupPage,
  async submit({ ctx, caller, input }) {
    const subject = await getGroupOrDeletedFor(ctx, caller, String(input.group_id))
    const { full_path } = subject.group
    if (input.confirm.trim() !== full_path) throw invalidRecord({ confirm: ['is not the path'] })
    await deleteGroup(ctx, subject, { permanently_remove: input.at_once !== undefined })
    return new Redirect(AT, {
      notice: input.at_once === undefined ? t('{path} is deleted.', { path: full_path }) : t('{path} is removed.', { path: full_path }),
    })
  },
})

export const groupRestoration = form({
  at: `${AT}/:group_id/restore`,
  method: 'PUT',
  access: adminPage,
  input: z.object(byId),
  on: adminGroupsPage,
  async submit({ ctx, input }) {
    await restoreGroup(ctx, input.group_id)
    return new Redirect(`${AT}/${input.group_id}`, { notice: t('Group restored.') })
  },
})
