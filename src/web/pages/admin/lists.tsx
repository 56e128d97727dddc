import type { Deleted } from '../../../services/operations/deleted.js'
import { ActionButton, FormFaults, Options } from '../../components/form.js'
import { Row, Rows } from '../../components/list.js'
import { SearchForm } from '../../components/search.js'
import { dayText, Time } from '../../components/time.js'
import type { PageView } from '../../page.js'

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
