import { z } from 'zod'
import { adminPage } from '../../../access/rules.js'
import * as documented from '../../../http/documented.js'
import { bool, orDefault, paging, rowId, str } from '../../../http/params.js'
import { listAttempts, resend } from '../../../services/hooks/attempts.js'
import { createHook, deleteHook, getHook, type Hook, type HookSource, listHooks, updateHook } from '../../../services/hooks/hooks.js'
import { testSystemHook } from '../../../services/hooks/samples.js'
import { ActionButton, Checkbox, Field, FormFaults, FormTag, Submit } from '../../components/form.js'
import { HookState, Outcome } from '../../components/hooks/hook-state.js'
import { Pager, Row, Rows } from '../../components/list.js'
import { Time } from '../../components/time.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { AdminLayout } from '../../layout/admin.js'
import { form, type PageView, page, Redirect } from '../../page.js'

const AT = '/admin/hooks'
const PER_PAGE = 50
const SYSTEM: HookSource = { kind: 'system', id: 0, name: 'system hooks' }

/** The events that a system hook chooses; those of users, groups and projects come in any case. */
const eventsTexts = () =>
  [
    ['push', 'push_events', t('Pushes of branches')],
    ['tag_push', 'tag_push_events', t('Pushes of tags')],
    ['merge_requests', 'merge_requests_events', t('Merge requests')],
    ['repository_update', 'repository_update_events', t('Changes of a repository, each once')],
  ] as const

const HookForm = ({ view, hook }: { view: PageView; hook?: Hook }) => {
  const f = fieldsOf(view, given).hook
  return (
    <FormTag view={view} action={hook ? `${AT}/${hook.id}` : AT} method={hook ? 'PUT' : 'POST'} once={!hook}>
      <FormFaults view={view} />
      <Field {...f.url} label={t('URL')} type="url" value={hook?.url} hint={t('It gets a POST with JSON for each event.')} />
      <Field {...f.name} label={t('Name')} value={hook?.name} />
      <Field
        {...f.token}
        label={t('Secret token')}
        type="password"
        autocomplete="new-password"
        hint={
          hook?.sealed_token
            ? t('One is set; leave this empty to keep it, unless you change the URL.')
            : t('Sent with each delivery, so that the receiver knows us.')
        }
      />
      <fieldset>
        <legend>{t('Events')}</legend>
        <p class="hint">{t('Changes of users, groups, projects, keys and members are sent in any case.')}</p>
        {eventsTexts().map(([event, name, label]) => (
          <Checkbox key={name} {...f[name]} label={label} checked={hook ? hook.events.includes(event) : event === 'repository_update'} />
        ))}
      </fieldset>
      <Checkbox {...f.enable_ssl_verification} label={t('Check the certificate of the receiver')} checked={hook?.enable_ssl_verification ?? true} />
      <Submit label={hook ? t('Save changes') : t('Add hook')} />
    </FormTag>
  )
}

export const hooksPage = page({
  at: AT,
  access: adminPage,
  input: z.object({ page: paging.page }),
  async show({ ctx, input, view }) {
    const { items, total } = await listHooks(ctx, SYSTEM, { page: input.page, per_page: PER_PAGE })
    return {
      title: t('System hooks'),
      body: (
        <AdminLayout view={view} at={AT} title={t('System hooks')}>
          <p>{t('A system hook tells another program what happens in the whole service.')}</p>
          <Rows empty={t('There are no system hooks.')}>
            {items.map((hook) => (
              <Row
                key={hook.id}
                actions={
                  <>
                    <ActionButton view={view} action={`${AT}/${hook.id}/test`} label={t('Test')} what={hook.url} />
                    <ActionButton view={view} action={`${AT}/${hook.id}`} method="DELETE" label={t('Remove')} what={hook.url} class="danger" />
                  </>
                }
              >
                <span class="wrap">
                  <a href={`${view.links.prefix}${AT}/${hook.id}/edit`}>
                    <strong>{hook.name ?? hook.url}</strong>
                  </a>{' '}
                  <HookState hook={hook} now={view.now} />
                </span>
                {hook.name && <span class="dim wrap">{hook.url}</span>}
                <span class="dim">
                  {eventsTexts()
                    .filter(([event]) => hook.events.includes(event))
                    .map(([, , label]) => label)
                    .join(', ')}
                </span>
              </Row>
            ))}
          </Rows>
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
          <h2>{t('New system hook')}</h2>
          <HookForm view={view} />
        </AdminLayout>
      ),
    }
  },
})

const byId = { hook_id: rowId() }

export const hookPage = page({
  at: `${AT}/:hook_id/edit`,
  access: adminPage,
  input: z.object({ ...byId, page: paging.page }),
  async show({ ctx, input, view }) {
    const hook = await getHook(ctx, SYSTEM, input.hook_id)
    const { items, total } = await listAttempts(ctx, hook, { page: input.page, per_page: 20 })
    return {
      title: t('System hook'),
      body: (
        <AdminLayout view={view} at={AT} title={t('System hook')}>
          <HookForm view={view} hook={hook} />
          <h2>{t('Deliveries of the last days')}</h2>
          <Rows empty={t('Nothing was delivered yet.')}>
            {items.map(({ attempt, delivery }) => (
              <Row
                key={attempt.id}
                actions={
                  <ActionButton
                    view={view}
                    action={`${AT}/${hook.id}/hook_logs/${attempt.id}/retry`}
                    label={t('Send again')}
                    what={t('delivery {id}', { id: attempt.id })}
                  />
                }
              >
                <span>
                  <Outcome attempt={attempt} /> {delivery.trigger.replaceAll('_', ' ')}
                </span>
                {attempt.fault && <span class="fault">{attempt.fault}</span>}
                <span class="dim">
                  <Phrase text="{time}, {duration} ms" time={<Time at={attempt.created_at} />} duration={attempt.duration} />
                </span>
              </Row>
            ))}
          </Rows>
          <Pager view={view} page={input.page} perPage={20} total={total} />
        </AdminLayout>
      ),
    }
  },
})

const flag = orDefault(bool(), false)
const given = z.object({
  hook: z.object({
    url: orDefault(documented.filled(), ''),
    name: orDefault(str(), ''),
    token: orDefault(str(), ''),
    push_events: flag,
    tag_push_events: flag,
    merge_requests_events: flag,
    repository_update_events: flag,
    enable_ssl_verification: flag,
  }),
})

/** The fields of the form as attributes; an empty token leaves it as it is. */
const attributesOf = ({ url, name, token, enable_ssl_verification, ...events }: z.infer<typeof given>['hook']) => ({
  url: url.trim(),
  name: name.trim() || null,
  ...(token && { token }),
  enable_ssl_verification,
  events: Object.fromEntries(eventsTexts().map(([event, field]) => [event, events[field]])),
})

export const hookForm = form({
  at: AT,
  access: adminPage,
  input: given,
  on: hooksPage,
  async submit({ ctx, input }) {
    await createHook(ctx, SYSTEM, attributesOf(input.hook))
    return new Redirect(AT, { notice: t('Hook added.') })
  },
})

export const hookChange = form({
  at: `${AT}/:hook_id`,
  method: 'PUT',
  access: adminPage,
  input: given.extend(byId),
  on: hookPage,
  async submit({ ctx, input }) {
    await updateHook(ctx, SYSTEM, input.hook_id, attributesOf(input.hook))
    return new Redirect(AT, { notice: t('Hook updated.') })
  },
})

export const hookRemoval = form({
  at: `${AT}/:hook_id`,
  method: 'DELETE',
  access: adminPage,
  input: z.object(byId),
  async submit({ ctx, input }) {
    await deleteHook(ctx, SYSTEM, input.hook_id)
    return new Redirect(AT, { notice: t('Hook removed.') })
  },
})

export const hookTest = form({
  at: `${AT}/:hook_id/test`,
  access: adminPage,
  input: z.object(byId),
  on: hooksPage,
  async submit({ ctx, input }) {
    await testSystemHook(ctx, await getHook(ctx, SYSTEM, input.hook_id))
    return new Redirect(AT, { notice: t('A sample is delivered.') })
  },
})

export const hookResend = form({
  at: `${AT}/:hook_id/hook_logs/:attempt_id/retry`,
  access: adminPage,
  input: z.object({ ...byId, attempt_id: rowId() }),
  on: hookPage,
  async submit({ ctx, input }) {
    const { attempt } = await resend(ctx, await getHook(ctx, SYSTEM, input.hook_id), input.attempt_id)
    return new Redirect(`${AT}/${input.hook_id}/edit`, { notice: t('It is sent again; the receiver answered {status}.', { status: attempt.status }) })
  },
})
