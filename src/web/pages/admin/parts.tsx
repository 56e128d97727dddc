import { z } from 'zod'
import { bool, opt, orDefault, str } from '../../../http/params.js'
import type { UserRecord } from '../../../services/identity/users.js'
import type { Deleted } from '../../../services/operations/deleted.js'
import { ActionButton, Checkbox, Field, FormFaults, Options, SelectField } from '../../components/form.js'
import { Badge, Row, Rows } from '../../components/list.js'
import { SearchForm } from '../../components/search.js'
import { dayText, Time } from '../../components/time.js'
import type { Fields } from '../../fields.js'
import { inUrl } from '../../links.js'
import type { PageView } from '../../page.js'

export const adminUserPath = (username: string) => `/admin/users/${inUrl(username)}`

/** What an account is besides active. */
export const StateBadges = ({ user }: { user: Pick<UserRecord, 'state' | 'admin' | 'external' | 'confirmed_at' | 'two_factor_enabled'> }) => (
  <>
    {user.state === 'blocked_pending_approval' && <Badge kind="waiting">waits for approval</Badge>}{' '}
    {user.state === 'deactivated' && <Badge>deactivated</Badge>} {user.state === 'blocked' && <Badge kind="danger">blocked</Badge>}{' '}
    {user.state === 'ldap_blocked' && <Badge kind="danger">blocked by the directory</Badge>}{' '}
    {user.admin && <Badge kind="success">administrator</Badge>} {user.external && <Badge>external</Badge>}{' '}
    {user.confirmed_at === null && <Badge kind="waiting">address not confirmed</Badge>}
  </>
)

interface ListFormProps {
  view: PageView
  action: string
  name: string
  label: string
  value: string | undefined
  orders: readonly Order[]
  order: Order
  /** Which of the lists of the page it is. */
  filter: string
}

const ORDERS = {
  created_desc: 'Newest first',
  created_asc: 'Oldest first',
  name_asc: 'By name',
  path_asc: 'By path',
  username_asc: 'By username',
  updated_desc: 'Changed last',
  last_activity_desc: 'Active last',
  storage_size_desc: 'Largest first',
}
type Order = keyof typeof ORDERS

/** Searches and sorts a list. */
export const ListForm = ({ view, action, name, label, value, orders, order, filter }: ListFormProps) => (
  <SearchForm action={view.links.prefix + action} label={label} value={value} name={name} hidden={{ filter }}>
    <select name="sort" aria-label="Order">
      <Options choices={orders.map((each) => ({ value: each, label: ORDERS[each] }))} chosen={order} />
    </select>
  </SearchForm>
)

interface KindsProps {
  view: PageView
  fields: Fields<z.infer<typeof kinds>>
  user?: UserRecord
  /** They are the last active administrator. */
  last?: boolean
}

/** What an account may do. */
export const Kinds = ({ view, fields: f, user, last = false }: KindsProps) => {
  return (
    <>
      <SelectField
        {...f.admin}
        label="Access"
        value={user?.admin ? '1' : '0'}
        {...(last && { hint: 'The only administrator keeps these rights: make somebody else one first.' })}
        choices={[...(last ? [] : [{ value: '0', label: 'Regular' }]), { value: '1', label: 'Administrator: may do and see everything' }]}
      />
      <Checkbox
        {...f.external}
        label="External"
        hint="Sees only projects of which they are a member, and public ones; makes no projects and groups."
        checked={user?.external ?? view.settings.user_default_external}
      />
      <Checkbox {...f.can_create_group} label="May create groups" checked={user?.can_create_group ?? true} />
      <Field
        {...f.projects_limit}
        type="number"
        label="Personal projects at most"
        value={String(user?.projects_limit ?? view.settings.default_projects_limit)}
      />
    </>
  )
}

/** The fields of `Kinds`. */
export const kinds = z.object({
  admin: orDefault(bool(), false),
  external: orDefault(bool(), false),
  can_create_group: orDefault(bool(), false),
  projects_limit: opt(str()),
})

/** A number that was typed; what is none is refused as a number out of range is. */
export const limitOf = (text: string | undefined): number | undefined =>
  text === undefined || text === '' ? undefined : /^\d{1,15}$/.test(text) ? Number(text) : -1

/** Lists of one page, told apart by `filter`. */
export const ListTabs = ({ view, at, current, tabs }: { view: PageView; at: string; current: string; tabs: Record<string, string> }) => (
  <nav class="tabs" aria-label="Lists">
    {Object.entries(tabs).map(([name, label]) => (
      <a key={name} href={`${view.links.prefix}${at}?filter=${name}`} {...(name === current && { 'aria-current': 'page' })}>
        {label}
      </a>
    ))}
  </nav>
)

/** What is deleted and can be restored. */
export const DeletedRows = ({ view, at, deleted: { items, more } }: { view: PageView; at: string; deleted: { items: Deleted[]; more: boolean } }) => (
  <>
    <FormFaults view={view} />
    <Rows empty="Nothing waits for its removal.">
      {items.map(({ id, path, deleted_at, due_at }) => (
        <Row
          key={id}
          actions={
            <>
              <ActionButton view={view} action={`${at}/${id}/restore`} method="PUT" label="Restore" what={path} />
              <a class="button" href={`${view.links.prefix}${at}/${id}`} aria-label={`Details of ${path}`}>
                Details
              </a>
            </>
          }
        >
          <strong>{path}</strong>
          <span class="dim">
            Deleted <Time at={deleted_at} />, removed on {dayText(due_at)}
          </span>
        </Row>
      ))}
    </Rows>
    {more && <p class="dim">There are more than these {items.length}: restore those by the command line.</p>}
  </>
)
