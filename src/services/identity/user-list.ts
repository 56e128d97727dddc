import { and, asc, desc, eq, or, sql } from 'drizzle-orm'
import type { Caller } from '../../access/actor.js'
import type { Context } from '../../context.js'
import { inIds } from '../../db/conditions.js'
import { count } from '../../db/decoded.js'
import { conditionsOf, type FilterNames, type Filters, usedFilters } from '../../db/filters.js'
import { type Fuzzy, fuzzy, fuzzyMatch } from '../../db/fuzzy.js'
import { emails, identities, users } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { forbidden, invalidInput } from '../../failures.js'
import type { Keyset } from '../../lib/keyset.js'
import { VISIBILITY_LEVEL } from '../../rules/visibility.js'
import { attributePairs, hasCustomAttributes } from '../core/custom-attributes.js'
import { versionOf } from '../core/list-cache.js'
import { limits, type Page, type Paging, rowFilters } from '../core/page.js'
import { isRestricted, readSettings } from '../core/settings.js'
import { extendedColumns, toRecord, type UserRecord } from './users.js'

export const USER_ORDERS = ['id', 'name', 'username', 'created_at', 'updated_at'] as const

export interface UserFilter extends Paging, Keyset {
  active?: boolean | undefined
  blocked?: boolean | undefined
  deactivated?: boolean | undefined
  /** Whether they are banned. */
  banned?: boolean | undefined
  /** Whether they wait for approval; for administrators only. */
  waiting?: boolean | undefined
  external?: boolean | undefined
  exclude_internal?: boolean | undefined
  without_project_bots?: boolean | undefined
  /** For administrators only. */
  admins?: boolean | undefined
  /** For administrators only. */
  two_factor?: 'enabled' | 'disabled' | undefined
  search?: string | undefined
  username?: string | undefined
  extern_uid?: string | undefined
  provider?: string | undefined
  created_before?: Date | undefined
  created_after?: Date | undefined
  custom_attributes?: [string, string][] | undefined
  order_by: (typeof USER_ORDERS)[number]
  sort: 'asc' | 'desc'
}

/** What the SQL text of the list query depends on. */
interface ListShape {
  admin: boolean
  filters: FilterName[]
  search: Fuzzy['shape']
  order: (typeof USER_ORDERS)[number]
  descending: boolean
}

type FilterName = FilterNames<UserFilter, 'search' | 'provider'>

const FILTERS = {
  active: { where: () => sql`(${users.state} = 'active' and ${users.kind} = 'human')`, value: ({ active }) => active || undefined },
  blocked: { where: () => sql`${users.state} not in ('active', 'deactivated')`, value: ({ blocked }) => blocked || undefined },
  deactivated: { where: () => sql`${users.state} = 'deactivated'`, value: ({ deactivated }) => deactivated || undefined },
  banned: { where: (banned) => sql`(${users.state} = 'banned') = ${banned}`, value: ({ banned }) => banned },
  waiting: { where: (waits) => sql`(${users.state} = 'blocked_pending_approval') = ${waits}`, value: ({ waiting }) => waiting },
  external: { where: () => sql`${users.external}`, value: ({ external }) => external || undefined },
  exclude_internal: { where: () => sql`${users.kind} = 'human'`, value: ({ exclude_internal }) => exclude_internal || undefined },
  without_project_bots: { where: () => sql`${users.kind} <> 'bot'`, value: ({ without_project_bots }) => without_project_bots || undefined },
  admins: { where: () => sql`${users.admin}`, value: ({ admins }) => admins || undefined },
  two_factor: { where: (state) => sql`${users.two_factor_enabled} = (${state} = 'enabled')`, value: ({ two_factor }) => two_factor },
  username: { where: (name) => sql`lower(${users.username}) = lower(${name})`, value: ({ username }) => username },
  extern_uid: {
    where: (uid) =>
      sql`${users.id} in (select i.user_id from ${identities} i where i.provider = ${sql.placeholder('provider')} and lower(i.extern_uid) = lower(${uid}))`,
    value: ({ extern_uid }) => extern_uid,
  },
  created_before: {
    where: (time) => sql`${users.created_at} <= ${time}::timestamptz`,
    value: ({ created_before }) => created_before?.toISOString(),
  },
  created_after: {
    where: (time) => sql`${users.created_at} >= ${time}::timestamptz`,
    value: ({ created_after }) => created_after?.toISOString(),
  },
  ...rowFilters(sql`${users.id}`),
  custom_attributes: {
    where: () => hasCustomAttributes('user', users.id),
    value: ({ custom_attributes }) => attributePairs(custom_attributes),
    cacheable: false,
  },
} satisfies Filters<UserFilter, FilterName>

const wholeTerm = sql`lower(${sql.placeholder('whole')})`

/**
 * Administrators find accounts by a part of any of their addresses. Others find their own account by a part of its
 * address, and must give those of other accounts whole (U-13, SEC-44).
 */
const matches = (admin: boolean, search: Fuzzy['shape']) =>
  admin
    ? or(
        fuzzyMatch([users.name, users.username, users.email], search),
        sql`${users.id} in (select ${emails.user_id} from ${emails} where ${fuzzyMatch([emails.email], search)})`,
      )
    : or(
        fuzzyMatch([users.name, users.username], search),
        sql`lower(${users.email}) = ${wholeTerm}`,
        and(eq(users.id, sql.placeholder('viewer')), fuzzyMatch([users.email], search)),
      )

/** A bot has the name of a token, and says that there is a project, which may be hidden: only administrators are listed any (PT-8). */
const conditions = ({ admin, filters, search }: Pick<ListShape, 'admin' | 'filters' | 'search'>) =>
  and(...conditionsOf(FILTERS, filters, null), admin ? undefined : sql`${users.kind} <> 'bot'`, search === 'all' ? undefined : matches(admin, search))

/** Changes whenever the row does: it contains the id of the transaction that wrote it (`xmin`). */
const basicKey = sql<string>`concat(${users.id}, ' ', ${users}.xmin)`
/** Changes also whenever anything else changes that administrators see. */
const adminKey = sql<string>`concat(${users.id}, ' ', ${users}.xmin, ' ', ${extendedColumns.namespace_id}, ' ', ${extendedColumns.personal_projects}, ' ', ${extendedColumns.identities})`

/** A user of a list page, not loaded yet; `key` changes whenever their representation does. */
export interface ListedUser {
  id: number
  key: string
}

const selectUsers = statement('user records', (db, admin: boolean) =>
  db
    .select({ user: users, ...(admin && extendedColumns), key: admin ? adminKey : basicKey })
    .from(users)
    .where(inIds(users.id)),
)

/** Users by id, in any order. The columns beyond the row are filled only for administrators. */
export async function loadUsers(ctx: Context, { user: viewer }: Pick<Caller, 'user'>, ids: number[]): Promise<(UserRecord & ListedUser)[]> {
  const rows = await selectUsers(ctx.db, viewer?.admin ?? false).execute({ ids })
  return rows.map((row) => ({ ...toRecord({ ...NO_EXTENDED_COLUMNS, ...row }), key: row.key }))
}

/** Selects the ids of one page first, so that only their rows are joined with the displayed columns. */
const selectPage = statement('users', (db, shape: ListShape) => {
  const { admin, search, order, descending } = shape
  const direction = descending ? desc : asc
  const column = order === 'name' || order === 'username' ? sql`lower(${users[order]})` : users[order]
  // for callers other than administrators the best match comes first (U-16)
  const rank = sql`case when lower(${users.name}) = ${wholeTerm} then 0 when lower(${users.username}) = ${wholeTerm} then 1 when lower(${users.email}) = ${wholeTerm} then 2 else 3 end`
  const ordered = admin
    ? order === 'id'
      ? [direction(users.id)]
      : [direction(column), direction(users.id)]
    : search === 'all'
      ? [desc(users.id)]
      : [asc(rank), asc(sql`lower(${users.name})`), asc(users.id)]
  const page = db
    .select({ id: users.id })
    .from(users)
    .where(conditions(shape))
    .orderBy(...ordered)
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset'))
    .as('page')
  return db
    .select({ id: users.id, key: admin ? adminKey : basicKey, version: versionOf('users') })
    .from(users)
    .innerJoin(page, eq(page.id, users.id))
    .orderBy(...ordered)
})

const selectTotal = statement('number of users', (db, shape: Omit<ListShape, 'order' | 'descending'>) =>
  db
    .select({ total: count(), version: versionOf('users') })
    .from(users)
    .where(conditions(shape)),
)

const NO_EXTENDED_COLUMNS = { identities: [], namespace_id: null, personal_projects: 0 }

/** The users that this caller may list (U-8 to U-16). */
export async function listUsers(ctx: Context, { user: viewer }: Pick<Caller, 'user'>, filter: UserFilter): Promise<Page<ListedUser>> {
  const admin = viewer?.admin ?? false
  const hidden = !viewer && isRestricted(await readSettings(ctx), VISIBILITY_LEVEL.public)
  if (hidden || (!viewer && !filter.username?.trim())) throw forbidden('Not authorized to access /api/v4/users')
  if (filter.admins && !admin) throw invalidInput('admins is not supported')
  if (filter.two_factor && !admin) throw invalidInput('two_factor is not supported')
  const words = fuzzy(filter.search, 'part')
  const used = usedFilters(FILTERS, viewer ? filter : { ...filter, created_before: undefined, created_after: undefined })
  const shape = { admin, filters: used.names, search: words.shape }
  const values = { ...used.values, ...words.values, provider: filter.provider, whole: filter.search?.trim() ?? '', viewer: viewer?.id ?? null }
  const rows = await selectPage(ctx.db, { ...shape, order: filter.order_by, descending: filter.sort === 'desc' }).execute({
    ...values,
    ...limits(filter),
  })
  const count = () => selectTotal(ctx.db, shape).execute(values)
  // secondary addresses are not part of the list's version
  const key = used.cacheable && !(admin && words.shape !== 'all') ? JSON.stringify([shape, values]) : null
  return ctx.caches.lists.page('users', key, rows, filter, count)
}
