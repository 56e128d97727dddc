import { z } from 'zod'
import { anyone, signedIn } from '../../../access/rules.js'
import { opt, paging, searchText } from '../../../http/params.js'
import { listGroups } from '../../../services/groups/list.js'
import { Pager } from '../../components/list.js'
import { DashboardHeading, DashboardTabs } from '../../components/projects/dashboard.js'
import { GroupRows } from '../../components/projects/group-rows.js'
import { SearchForm } from '../../components/search.js'
import { t } from '../../language/language.js'
import { page } from '../../page.js'

const PER_PAGE = 20

const groupsAt = (at: string, title: () => string, all_available: boolean, empty: () => string) =>
  page({
    at,
    access: all_available ? anyone : signedIn,
    ownerOnly: false,
    input: z.object({ page: paging.page, name: opt(searchText()) }),
    async show({ ctx, caller, input: { page: number, name }, view }) {
      const filter = { all_available, search: name, order_by: 'path', sort: 'asc', page: number, per_page: PER_PAGE } as const
      const { items, total } = await listGroups(ctx, caller, filter)
      return {
        title: title(),
        body: (
          <>
            <DashboardHeading view={view} title={title()} />
            {view.viewer && <DashboardTabs view={view} at={at} />}
            <SearchForm action={`${view.links.prefix}${at}`} label={t('Find a group')} name="name" value={name} />
            <GroupRows view={view} groups={items} empty={name ? t('No group has this in its name.') : empty()} />
            <Pager view={view} page={number} perPage={PER_PAGE} total={total} />
          </>
        ),
      }
    },
  })

export const ownGroupsPage = groupsAt(
  '/dashboard/groups',
  () => t('Your groups'),
  false,
  () => t('You are in no group yet.'),
)
export const exploreGroupsPage = groupsAt(
  '/explore/groups',
  () => t('Explore groups'),
  true,
  () => t('There is no group that you may see.'),
)
