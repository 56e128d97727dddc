import { z } from 'zod'
import { adminPage } from '../../../access/rules.js'
import * as documented from '../../../http/documented.js'
import { oneOf, opt, orDefault, paging, searchText, str } from '../../../http/params.js'
import { listUsers, loadUsers, type UserFilter } from '../../../services/identity/user-list.js'
import { createUser, type UserRecord } from '../../../services/identity/users.js'
import { countUsers } from '../../../services/operations/overview.js'
import { numberText } from '../../components/facts.js'
import { Field, FormFaults, FormTag, Submit } from '../../components/form.js'
import { Pager, Row, Rows } from '../../components/list.js'
import { Avatar } from '../../components/people/avatar.js'
import { dayText, Time } from '../../components/time.js'
import { fieldsOf } from '../../fields.js'
import { plural, t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { AdminLayout } from '../../layout/admin.js'
import { form, type PageView, page, Redirect } from '../../page.js'
import { ListForm } from './lists.js'
import { adminUserPath, Kinds, kinds, limitOf, StateBadges } from './user-fields.js'

const AT = '/admin/users'
const PER_PAGE = 30

/** The lists of the page: how each is called, and what it filters by. */
const filters = () =>
  ({
    all: { label: t('All'), count: 'all', filter: {} },
    active: { label: t('Active'), count: 'active', filter: { active: true } },
    waiting: { label: t('Waiting'), count: 'waiting', filter: { waiting: true } },
    blocked: { label: t('Blocked'), count: 'blocked', filter: { blocked: true, waiting: false, banned: false } },
    banned: { label: t('Banned'), count: 'banned', filter: { banned: true } },
    deactivated: { label: t('Deactivated'), count: 'deactivated', filter: { deactivated: true } },
    admins: { label: t('Administrators'), count: 'admins', filter: { admins: true } },
    external: { label: t('External'), count: 'external', filter: { external: true } },
    two_factor: { label: t('Second factor'), count: 'two_factor', filter: { two_factor: 'enabled' } },
  }) as const satisfies Record<string, { label: string; count: string; filter: Partial<UserFilter> }>
const FILTER_NAMES = ['all', 'active', 'waiting', 'blocked', 'banned', 'deactivated', 'admins', 'external', 'two_factor'] as const

const SORTS = ['created_desc', 'created_asc', 'name_asc', 'username_asc', 'updated_desc'] as const

const UserRow = ({ view, user }: { view: PageView; user: UserRecord }) => (
  <Row
    before={<Avatar view={view} user={user} />}
    actions={
      <span class="dim">
        {user.last_activity_on ? t('Active {day}', { day: dayText(new Date(user.last_activity_on)) }) : t('Never active')}
        {' · '}
        <Phrase text="since {time}" time={<Time at={user.created_at} />} />
      </span>
    }
  >
    <span>
      <a href={view.links.prefix + adminUserPath(user.username)}>
        <strong>{user.name}</strong> <span class="dim">@{user.username}</span>
      </a>{' '}
      <StateBadges user={user} />
    </span>
    <span class="dim">
      {user.email}
      {user.personal_projects > 0 &&
        ` · ${plural(user.personal_projects, '{count} personal project', '{count} personal projects', { count: numberText(user.personal_projects) })}`}
    </span>
  </Row>
)

export const adminUsersPage = page({
  at: AT,
  access: adminPage,
  input: z.object({
    page: paging.page,
    filter: orDefault(oneOf(FILTER_NAMES), 'all'),
    search_query: opt(searchText()),
    sort: orDefault(oneOf(SORTS), 'created_desc'),
  }),
  async show({ ctx, caller, input, view }) {
    const [order, direction] = input.sort.split('_') as [string, 'asc' | 'desc']
    const wanted: UserFilter = {
      ...filters()[input.filter].filter,
      exclude_internal: true,
      search: input.search_query,
      order_by: order === 'created' || order === 'updated' ? `${order}_at` : (order as 'name' | 'username'),
      sort: direction,
      page: input.page,
      per_page: PER_PAGE,
    }
    const [counts, { items, total }] = await Promise.all([countUsers(ctx), listUsers(ctx, caller, wanted)])
    const records = new Map(
      (
        await loadUsers(
          ctx,
          caller,
          items.map(({ id }) => id),
        )
      ).map((user) => [user.id, user]),
    )
    const query = (filter: string) =>
      new URLSearchParams({ filter, sort: input.sort, ...(input.search_query && { search_query: input.search_query }) })
    return {
      title: t('Users'),
      body: (
        <AdminLayout view={view} at={AT} title={t('Users')}>
          <nav class="tabs" aria-label={t('Users')}>
            {FILTER_NAMES.map((name) => (
              <a key={name} href={`${view.links.prefix}${AT}?${query(name)}`} {...(name === input.filter && { 'aria-current': 'page' })}>
                {filters()[name].label} <span class="count">{numberText(counts[filters()[name].count])}</span>
              </a>
            ))}
          </nav>
          <div class="row">
            <ListForm
              view={view}
              action={AT}
              filter={input.filter}
              orders={SORTS}
              name="search_query"
              label={t('Name, username or address')}
              value={input.search_query}
              order={input.sort}
            />
            <span class="toolbar">
              <a class="button" href={`${view.links.prefix}${AT}/import`}>
                {t('From a file')}
              </a>
              <a class="button" href={`${view.links.prefix}${AT}/new`}>
                {t('New user')}
              </a>
            </span>
          </div>
          <Rows empty={input.search_query ? t('None of these has this in a name or an address.') : t('There are none.')}>
            {items.flatMap(({ id }) => {
              const user = records.get(id)
              return user ? [<UserRow key={id} view={view} user={user} />] : []
            })}
          </Rows>
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
        </AdminLayout>
      ),
    }
  },
})

const account = z.object({
  user: z.object({
    username: orDefault(documented.namespacePath(), ''),
    name: orDefault(documented.title(), ''),
    email: orDefault(documented.email(), ''),
    password: opt(str()),
    ...kinds.shape,
  }),
})

export const newUserPage = page({
  at: `${AT}/new`,
  access: adminPage,
  async show({ ctx, view }) {
    const f = fieldsOf(view, account).user
    return {
      title: t('New user'),
      body: (
        <AdminLayout view={view} at={AT} title={t('New user')}>
          <FormTag view={view} action={AT} once>
            <FormFaults view={view} />
            <Field {...f.username} label={t('Username')} hint={t('Part of the address of their projects.')} />
            <Field {...f.name} label={t('Name')} />
            <Field {...f.email} label={t('E-mail address')} />
            <Field
              {...f.password}
              label={t('Password')}
              type="password"
              autocomplete="new-password"
              hint={
                ctx.mail
                  ? t('At least 8 characters. Empty: a mail with a link to set one is sent.')
                  : t('At least 8 characters. No mail is sent by this service.')
              }
            />
            <Kinds view={view} fields={f} />
            <Submit label={t('Create user')} />
          </FormTag>
        </AdminLayout>
      ),
    }
  },
})

export const newUserForm = form({
  at: AT,
  access: adminPage,
  input: account,
  on: newUserPage,
  async submit({ ctx, input: { user } }) {
    const { password, projects_limit, ...given } = user
    const byMail = !password && ctx.mail !== null
    const { username } = await createUser(ctx, {
      ...given,
      name: given.name.trim() || given.username,
      ...(byMail ? { reset_password: true } : { password: password ?? '' }),
      skip_confirmation: !byMail,
      projects_limit: limitOf(projects_limit),
    })
    return new Redirect(adminUserPath(username), {
      notice: byMail
        ? t('{username} is created, and gets a mail with a link to set a password.', { username })
        : t('{username} is created.', { username }),
    })
  },
})
