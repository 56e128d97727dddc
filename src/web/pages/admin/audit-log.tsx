import { z } from 'zod'
import { adminPage } from '../../../access/rules.js'
import { SHOWN_ENTITY_TYPES, storedEntityType } from '../../../entities/audit-event.js'
import { date, oneOf, oneOfOrBlank, opt, searchText, str } from '../../../http/params.js'
import { type AuditEvent, type AuditFilter, type AuditPlace, auditEventsBefore, matchingEvents } from '../../../services/core/audit.js'
import { Options } from '../../components/form.js'
import { Badge, Table } from '../../components/list.js'
import { Time } from '../../components/time.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { AdminLayout } from '../../layout/admin.js'
import { inUrl } from '../../links.js'
import { Download, type PageView, page } from '../../page.js'
import { adminUserPath } from './user-fields.js'

const AT = '/admin/audit_log'
const PER_PAGE = 50
/** The most entries of a file. */
const MAX_EXPORTED = 100_000

const filters = {
  actor: opt(searchText()),
  action: opt(searchText()),
  entity_type: opt(oneOfOrBlank(SHOWN_ENTITY_TYPES)),
  from: opt(date()),
  to: opt(date()),
}
const given = z.object(filters)
type Given = z.infer<typeof given>

const DAY_MS = 86_400_000

/** Days are those of UTC, both included. */
const filterOf = ({ actor, action, entity_type, from, to }: Given): AuditFilter => ({
  actor: actor?.trim().replace(/^@/, '') || undefined,
  action: action?.trim().replaceAll(' ', '_') || undefined,
  entity_type: entity_type && storedEntityType(entity_type),
  created_after: from === undefined ? undefined : new Date(`${from}T00:00:00Z`),
  created_before: to === undefined ? undefined : new Date(Date.parse(`${to}T00:00:00Z`) + DAY_MS - 1),
})

/** A place in the log as a parameter: the milliseconds and the id. */
const placeText = ({ created_at, id }: AuditPlace) => `${created_at.getTime()}.${id}`
function placeOf(text: string | undefined): AuditPlace | null {
  const [, time, id] = /^(\d{1,14})\.(\d{1,15})$/.exec(text ?? '') ?? []
  return time === undefined ? null : { created_at: new Date(Number(time)), id: Number(id) }
}

const valueText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
const MAX_SHOWN = 300

/** Values that are lists; those of others that are lists of two have the one before and the one after. */
const LISTS = new Set(['scopes', 'redirect_uris'])

/** What changed, in one line. */
function changesText(changes: Record<string, unknown>): string {
  const text = Object.entries(changes)
    .map(([name, value]) =>
      Array.isArray(value) && value.length === 2 && !LISTS.has(name)
        ? `${name}: ${valueText(value[0])} → ${valueText(value[1])}`
        : `${name}: ${valueText(value)}`,
    )
    .join(', ')
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text
}

function Entry({ view, event }: { view: PageView; event: AuditEvent }) {
  const changes = changesText(event.changes)
  return (
    <tr>
      <td>
        <Time at={event.created_at} /> <br />
        <span class="dim">{event.created_at.toISOString().slice(11, 19)}</span>
      </td>
      <td>
        {event.actor === null ? (
          <span class="dim">{t('the service')}</span>
        ) : (
          <a href={view.links.prefix + adminUserPath(event.actor)}>{event.actor}</a>
        )}
        {event.sudoer && (
          <span class="dim">
            {' '}
            <Phrase text="by {sudoer}" sudoer={event.sudoer} />
          </span>
        )}
        {event.address && (
          <>
            {' '}
            <br />
            <span class="dim">{event.address}</span>
          </>
        )}
      </td>
      <td>
        <Badge>{event.action.replaceAll('_', ' ')}</Badge> {event.target}
        {changes && <p class="dim changes">{changes}</p>}
      </td>
    </tr>
  )
}

function FilterForm({ view, input }: { view: PageView; input: Given }) {
  const field = (name: 'actor' | 'action' | 'from' | 'to', label: string, type: 'text' | 'date') => (
    <div class="field">
      <label for={name}>{label}</label>
      <input
        id={name}
        name={name}
        type={type}
        value={input[name] ?? ''}
        spellcheck={false}
        placeholder={name === 'action' ? t('user blocked') : undefined}
      />
    </div>
  )
  return (
    <search>
      <form method="get" action={view.links.prefix + AT}>
        <div class="filter-fields">
          {field('actor', t('Username'), 'text')}
          {field('action', t('Action'), 'text')}
          <div class="field">
            <label for="entity_type">{t('About a')}</label>
            <select id="entity_type" name="entity_type">
              <option value="">{t('Anything')}</option>
              <Options
                choices={SHOWN_ENTITY_TYPES.map((value) => ({ value, label: value.replace(/(?!^)([A-Z])/g, ' $1') }))}
                chosen={input.entity_type}
              />
            </select>
          </div>
          {field('from', t('From'), 'date')}
          {field('to', t('To'), 'date')}
        </div>
        <div class="toolbar">
          <button type="submit">{t('Filter')}</button>
        </div>
      </form>
    </search>
  )
}

export const auditLogPage = page({
  at: AT,
  access: adminPage,
  input: z.object({ ...filters, before: opt(str()) }),
  async show({ ctx, input: { before, ...input }, view }) {
    const events = await auditEventsBefore(ctx, filterOf(input), placeOf(before), PER_PAGE + 1)
    const shown = events.slice(0, PER_PAGE)
    const last = shown.at(-1)
    const query = (more: Record<string, string>) =>
      new URLSearchParams({
        ...Object.fromEntries(Object.entries(input).flatMap(([name, value]) => (value ? [[name, String(value)]] : []))),
        ...more,
      })
    return {
      title: t('Audit log'),
      body: (
        <AdminLayout view={view} at={AT} title={t('Audit log')}>
          <FilterForm view={view} input={input} />
          {shown.length === 0 ? (
            <p class="empty">{t('There are no such entries.')}</p>
          ) : (
            <Table columns={[t('When (UTC)'), t('Who'), t('What')]} class="values audit">
              {shown.map((event) => (
                <Entry key={event.id} view={view} event={event} />
              ))}
            </Table>
          )}
          <nav class="pager" aria-label={t('Pages')}>
            {before && <a href={`${view.links.prefix}${AT}?${query({})}`}>{t('Newest')}</a>}
            {events.length > PER_PAGE && last && (
              <a href={`${view.links.prefix}${AT}?${query({ before: placeText(last) })}`} rel="next">
                {t('Older')}
              </a>
            )}
          </nav>
          <p class="toolbar">
            <a class="button" href={`${view.links.prefix}${AT}/export?${query({ format: 'csv' })}`}>
              {t('Save as CSV')}
            </a>
            <a class="button" href={`${view.links.prefix}${AT}/export?${query({ format: 'jsonl' })}`}>
              {t('Save as JSON lines')}
            </a>
            <span class="dim">{t('At most the newest 100 000 of these entries; choose days for others.')}</span>
          </p>
        </AdminLayout>
      ),
    }
  },
})

const COLUMNS = ['id', 'created_at', 'actor', 'sudoer', 'address', 'action', 'target_type', 'target_id', 'target', 'changes', 'request_id'] as const

/** A cell of a table; a text that a spreadsheet would take for a formula gets a quote before it. */
function cell(value: unknown): string {
  const text = value === null ? '' : value instanceof Date ? value.toISOString() : typeof value === 'object' ? JSON.stringify(value) : String(value)
  const plain = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain
}

async function* asCsv(events: AsyncIterable<AuditEvent>): AsyncGenerator<string> {
  yield `${COLUMNS.join(',')}\r\n`
  for await (const event of events) yield `${COLUMNS.map((name) => cell(event[name])).join(',')}\r\n`
}

async function* asLines(events: AsyncIterable<AuditEvent>): AsyncGenerator<string> {
  for await (const event of events) yield `${JSON.stringify(event)}\n`
}

export const auditExport = page({
  at: `${AT}/export`,
  access: adminPage,
  input: z.object({ ...filters, format: oneOf(['csv', 'jsonl']) }),
  async show({ ctx, input: { format, ...input } }) {
    const events = matchingEvents(ctx, filterOf(input), MAX_EXPORTED)
    const name = `audit-log-${inUrl(ctx.now().toISOString().slice(0, 10))}.${format}`
    return format === 'csv'
      ? new Download('text/csv; charset=utf-8', name, asCsv(events))
      : new Download('application/jsonl; charset=utf-8', name, asLines(events))
  },
})
