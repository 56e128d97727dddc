import type { Deleted } from '../../../services/operations/deleted.js'
import { ActionButton, FormFaults, Options } from '../../components/form.js'
import { Row, Rows } from '../../components/list.js'
import { SearchForm } from '../../components/search.js'
import { dayText, Time } from '../../components/time.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
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

const ordersTexts = () => ({
  created_desc: t('Newest first'),
  created_asc: t('Oldest first'),
  name_asc: t('By name'),
  path_asc: t('By path'),
  username_asc: t('By username'),
  updated_desc: t('Changed last'),
  last_activity_desc: t('Active last'),
  storage_size_desc: t('Largest first'),
})
type Order = keyof ReturnType<typeof ordersTexts>

/** Searches and sorts a list. */
export const ListForm = ({ view, action, name, label, value, orders, order, filter }: ListFormProps) => (
  <SearchForm action={view.links.prefix + action} label={label} value={value} name={name} hidden={{ filter }}>
    <select name="sort" aria-label={t('Order')}>
      <Options choices={orders.map((each) => ({ value: each, label: ordersTexts()[each] }))} chosen={order} />
    </select>
  </SearchForm>
)

/** Lists of one page, told apart by `filter`. */
export const ListTabs = ({ view, at, current, tabs }: { view: PageView; at: string; current: string; tabs: Record<string, string> }) => (
  <nav class="tabs" aria-label={t('Lists')}>
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
    <Rows empty={t('Nothing waits for its removal.')}>
      {items.map(({ id, path, deleted_at, due_at }) => (
        <Row
          key={id}
          actions={
            <>
              <ActionButton view={view} action={`${at}/${id}/restore`} method="PUT" label={t('Restore')} what={path} />
              <a class="button" href={`${view.links.prefix}${at}/${id}`} aria-label={t('Details of {path}', { path })}>
                {t('Details')}
              </a>
            </>
          }
        >
          <strong>{path}</strong>
          <span class="dim">
            <Phrase text="Deleted {time}, removed on {day}" time={<Time at={deleted_at} />} day={dayText(due_at)} />
          </span>
        </Row>
      ))}
    </Rows>
    {more && (
      <p class="dim">
        <Phrase text="There are more than these {count}: restore those by the command line." count={items.length} />
      </p>
    )}
  </>
)
