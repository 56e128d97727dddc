import { z } from 'zod'
import { adminPage } from '../../../access/rules.js'
import * as documented from '../../../http/documented.js'
import { int, orDefault, rowId } from '../../../http/params.js'
import { listOwnLimits, removeOwnLimit, setOwnLimit } from '../../../services/operations/request-limits.js'
import { Facts, numberText } from '../../components/facts.js'
import { ActionButton, Field, FormFaults, FormTag, Submit } from '../../components/form.js'
import { Row, Rows } from '../../components/list.js'
import { Time } from '../../components/time.js'
import { fieldsOf } from '../../fields.js'
import { plural, t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { AdminLayout } from '../../layout/admin.js'
import { form, type PageView, page, Redirect } from '../../page.js'
import { adminUserPath } from './user-fields.js'

const AT = '/admin/request_limits'

const periodText = (seconds: number) => plural(seconds, 'second', '{count} seconds', { count: numberText(seconds) })

/** The limit of a kind of request, as the settings or the configuration have it. */
function General({ view, config }: { view: PageView; config: { user: number; anonymous: number; window: number } }) {
  const { settings } = view
  const text = (on: boolean, set: [number, number], configured: number) => {
    const [requests, period] = on ? set : [configured, config.window]
    return requests === 0 ? t('no limit') : t('{requests} in {period}', { requests: numberText(requests), period: periodText(period) })
  }
  return (
    <Facts
      facts={[
        [
          t('Calls of a user to the API'),
          text(
            settings.throttle_authenticated_api_enabled,
            [settings.throttle_authenticated_api_requests_per_period, settings.throttle_authenticated_api_period_in_seconds],
            config.user,
          ),
        ],
        [
          t('Requests of a user for pages'),
          text(
            settings.throttle_authenticated_web_enabled,
            [settings.throttle_authenticated_web_requests_per_period, settings.throttle_authenticated_web_period_in_seconds],
            config.user,
          ),
        ],
        [
          t('Requests of an address without a credential'),
          text(
            settings.throttle_unauthenticated_enabled,
            [settings.throttle_unauthenticated_requests_per_period, settings.throttle_unauthenticated_period_in_seconds],
            config.anonymous,
          ),
        ],
      ]}
    />
  )
}

const limit = z.object({ caller: orDefault(documented.filled(), ''), requests: orDefault(int(), -1) })

/** The limits of requests, general ones and those of single callers (WB-206). */
export const requestLimitsPage = page({
  at: AT,
  access: adminPage,
  async show({ ctx, view }) {
    const own = await listOwnLimits(ctx)
    const { prefix } = view.links
    const f = fieldsOf(view, limit)
    return {
      title: t('Limits of requests'),
      body: (
        <AdminLayout view={view} at={AT} title={t('Limits of requests')}>
          <General view={view} config={ctx.config.requests} />
          <p class="dim">
            <Phrase text="{link} change these at once." link={<a href={`${prefix}/admin/application_settings/requests`}>{t('Settings')}</a>} />
          </p>
          <h2>{t('Single callers')}</h2>
          <p>{t('A user or an address without a credential may have more requests in the same period, or fewer.')}</p>
          <Rows empty={t('Every caller has the limits above.')}>
            {own.map(({ id, username, address, requests, created_at }) => (
              <Row
                key={id}
                actions={
                  <ActionButton
                    view={view}
                    action={`${AT}/${id}`}
                    method="DELETE"
                    label={t('Remove')}
                    what={t('the limit of {username}', { username: username ?? address })}
                  />
                }
              >
                <span class="within">
                  {username === null ? <strong>{address}</strong> : <a href={prefix + adminUserPath(username)}>@{username}</a>}:{' '}
                  {requests === 0 ? t('no limit') : numberText(requests)}
                </span>
                <span class="dim">
                  <Phrase text="Since {time}" time={<Time at={created_at} />} />
                </span>
              </Row>
            ))}
          </Rows>
          <h2>{t('Set a limit')}</h2>
          <FormTag view={view} action={AT} class="form inline">
            <FormFaults view={view} />
            <Field {...f.caller} label={t('Username or IP address')} autocomplete="off" />
            <Field {...f.requests} required label={t('Requests in a period')} inputmode="numeric" hint={t('0: no limit')} />
            <Submit label={t('Set limit')} />
          </FormTag>
        </AdminLayout>
      ),
    }
  },
})

export const requestLimitForm = form({
  at: AT,
  access: adminPage,
  input: limit,
  on: requestLimitsPage,
  async submit({ ctx, input }) {
    const caller = input.caller.trim().replace(/^@/, '')
    await setOwnLimit(ctx, caller, input.requests)
    return new Redirect(AT, { notice: t('The limit of {caller} is set.', { caller }) })
  },
})

export const requestLimitRemoval = form({
  at: `${AT}/:id`,
  method: 'DELETE',
  access: adminPage,
  input: z.object({ id: rowId() }),
  async submit({ ctx, input }) {
    await removeOwnLimit(ctx, input.id)
    return new Redirect(AT, { notice: t('Limit removed.') })
  },
})
