import { z } from 'zod'
import type { Access } from '../../../access/access.js'
import type { SignedIn } from '../../../access/actor.js'
import { type GroupSubject, onGroupSignedIn, onProjectSignedIn, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { paging } from '../../../http/params.js'
import { type AuditEvent, listAuditEvents } from '../../../services/core/audit.js'
import { loadUsers } from '../../../services/identity/user-list.js'
import { Pager, Row, Rows } from '../../components/list.js'
import { levelName } from '../../components/projects/levels.js'
import { Time } from '../../components/time.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { page } from '../../page.js'
import { ofGroup, ofProject, type Place } from './places.js'

const PER_PAGE = 20
/** Characters of a changed value that are shown. */
const MAX_VALUE = 200

/** The members that events are about, by id. */
async function membersIn(ctx: Context, caller: SignedIn, events: AuditEvent[]): Promise<Map<number, string>> {
  const ids = [...new Set(events.flatMap(({ changes }) => (typeof changes['user_id'] === 'number' ? [changes['user_id']] : [])))]
  const found = ids.length > 0 ? await loadUsers(ctx, caller, ids) : []
  return new Map(found.map(({ id, username }) => [id, `@${username}`]))
}

const ROLES = new Set(['access_level', 'group_access', 'push_level', 'merge_level', 'create_level'])

function valueText(name: string, value: unknown): string {
  if (typeof value === 'number' && ROLES.has(name)) return value === 0 ? t('no one') : levelName(value)
  if (value === null) return t('none')
  return (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, MAX_VALUE)
}

/** A change as text: of a pair the value before and the one after. */
function changeText(name: string, value: unknown, members: Map<number, string>): string {
  if (name === 'user_id' && typeof value === 'number') return t('user {name}', { name: members.get(value) ?? value })
  const label = name.replaceAll('_', ' ')
  return Array.isArray(value) && value.length === 2
    ? `${label} ${valueText(name, value[0])} → ${valueText(name, value[1])}`
    : `${label} ${valueText(name, value)}`
}

/** Who has changed what in a project or group: what the audit log has of it, without addresses (WB-157). */
const auditOf = <Subject extends ProjectSubject | GroupSubject>(of: Place<Subject>, access: Access<Subject, true>) =>
  page({
    at: `${of.at}/audit_events`,
    access,
    input: z.object({ page: paging.page }),
    async show({ ctx, caller, subject, input, view }) {
      const { kind, id, name } = of.source(subject)
      const { items, total } = await listAuditEvents(ctx, { entity_type: kind, entity_id: id }, { page: input.page, per_page: PER_PAGE })
      const members = await membersIn(ctx, caller, items)
      return {
        title: `${t('Audit log')} · ${name}`,
        body: (
          <of.Frame view={view} subject={subject} at="-/audit_events" title={t('Audit log')}>
            <Rows empty={t('Nothing was changed.')}>
              {items.map((event) => (
                <Row
                  key={event.id}
                  actions={
                    <span class="dim">
                      <Time at={event.created_at} />
                    </span>
                  }
                >
                  <span>
                    <Phrase
                      text="{action} by {name}"
                      action={<strong>{event.action.replaceAll('_', ' ')}</strong>}
                      name={event.sudoer ?? event.actor ?? t('the service')}
                    />
                  </span>
                  <span class="dim">
                    {Object.entries(event.changes)
                      .map(([field, value]) => changeText(field, value, members))
                      .join(' · ')}
                  </span>
                </Row>
              ))}
            </Rows>
            <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
          </of.Frame>
        ),
      }
    },
  })

export const projectAuditPage = auditOf(ofProject, onProjectSignedIn('manage_project'))
export const groupAuditPage = auditOf(ofGroup, onGroupSignedIn('manage_group'))
