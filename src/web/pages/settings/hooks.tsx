import { z } from 'zod'
import type { GroupSubject, ProjectSubject } from '../../../access/rules.js'
import * as documented from '../../../http/documented.js'
import { bool, list as listed, oneOf, orDefault, paging, rowId, str } from '../../../http/params.js'
import { getAttempt, type HookAttempt, listAttempts, resend } from '../../../services/hooks/attempts.js'
import { triggerOf } from '../../../services/hooks/event.js'
import { createHook, deleteHook, getHook, HOOK_EVENTS, type Hook, type HookEvent, listHooks, updateHook } from '../../../services/hooks/hooks.js'
import { TRIGGERS, testHook } from '../../../services/hooks/samples.js'
import { ActionButton, Checkbox, Field, FormFaults, FormTag, SelectField, Submit } from '../../components/form.js'
import { HookState, Outcome } from '../../components/hooks/hook-state.js'
import { Pager, Row, Rows } from '../../components/list.js'
import { Time } from '../../components/time.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { form, type PageView, page, Redirect } from '../../page.js'
import { ofGroup, ofProject, type Place } from './places.js'

const PER_PAGE = 20
/** Characters of a body that are shown. */
const MAX_SHOWN = 50_000
const byId = { hook_id: rowId() }

const eventLabels = (): [HookEvent, string][] => [
  ['push', t('Pushes to branches')],
  ['tag_push', t('New and deleted tags')],
  ['merge_requests', t('Merge requests')],
  ['issues', t('Issues')],
  ['confidential_issues', t('Confidential issues')],
  ['note', t('Comments')],
  ['confidential_note', t('Comments on confidential issues')],
  ['pipeline', t('Pipelines')],
  ['job', t('Jobs')],
  ['deployment', t('Deployments')],
  ['feature_flag', t('Feature flags')],
  ['wiki_page', t('Wiki pages')],
  ['releases', t('Releases')],
  ['subgroup', t('Subgroups')],
  ['repository_update', t('Updates of the repository')],
]
const eventsFor = (kind: Place<unknown>['kind']) => eventLabels().filter(([event]) => kind === 'group' || event !== 'subgroup')
/** A trigger of a test, `push_events`, or of a delivery, `push_hooks`. */
const triggerLabel = (trigger: string) => eventLabels().find(([event]) => [`${event}_events`, triggerOf(event)].includes(trigger))?.[1] ?? trigger

const HookFields = ({ view, kind, hook }: { view: PageView; kind: Place<unknown>['kind']; hook?: Hook }) => {
  const f = fieldsOf(view, z.object({ hook: fields })).hook
  return (
    <>
      <FormFaults view={view} />
      <Field {...f.url} label={t('Address')} type="url" value={hook?.url} hint={hook && t('Another address clears the secret.')} />
      <div class="columns">
        <Field {...f.name} label={t('Name')} value={hook?.name} />
        <Field
          {...f.token}
          label={t('Secret')}
          type="password"
          autocomplete="new-password"
          hint={hook?.sealed_token ? t('One is set. Empty: it stays.') : t('Sent with each delivery, so that the receiver knows it.')}
        />
      </div>
      <fieldset>
        <legend>{t('Events')}</legend>
        <div class="columns">
          {eventsFor(kind).map(([event, label]) => (
            <Checkbox key={event} {...f.events} value={event} label={label} checked={hook ? hook.events.includes(event) : event === 'push'} />
          ))}
        </div>
      </fieldset>
      <Field
        {...f.push_events_branch_filter}
        label={t('Only branches')}
        value={hook?.push_events_branch_filter}
        hint={t('A name, or a pattern such as release/*. Empty: all.')}
      />
      <Checkbox {...f.enable_ssl_verification} label={t('Enable SSL verification')} checked={hook?.enable_ssl_verification ?? true} />
    </>
  )
}

const fields = z.object({
  url: orDefault(documented.filled(), ''),
  name: orDefault(str(), ''),
  token: orDefault(str(), ''),
  events: orDefault(listed(oneOf([...HOOK_EVENTS])), []),
  push_events_branch_filter: orDefault(str(), ''),
  enable_ssl_verification: orDefault(bool(), false),
})

function attributesOf(kind: Place<unknown>['kind'], { token, events, ...rest }: z.infer<typeof fields>) {
  const switches = Object.fromEntries(eventsFor(kind).map(([event]) => [event, events.includes(event)]))
  return { ...rest, token: token === '' ? undefined : token, events: switches }
}

const sample = z.object({ trigger: oneOf(TRIGGERS) })

/** Webhooks with their deliveries (HK-1 to HK-7). */
function hooksOf<Subject extends ProjectSubject | GroupSubject>(of: Place<Subject>) {
  const at = `${of.at}/hooks` as const
  const access = of.on('manage_hooks')
  const list = (subject: Subject) => `${of.home(subject)}/-/hooks`

  const hooksPage = page({
    at,
    access,
    input: z.object({ page: paging.page }),
    async show({ ctx, subject, input, view }) {
      const { items, total } = await listHooks(ctx, of.source(subject), { page: input.page, per_page: PER_PAGE })
      return {
        title: `${t('Webhooks')} · ${of.source(subject).name}`,
        body: (
          <of.Frame view={view} subject={subject} at="-/hooks" title={t('Webhooks')}>
            <p>{t('A webhook sends what happens to another program, as JSON.')}</p>
            <Rows empty={t('There are no webhooks.')}>
              {items.map((hook) => (
                <Row
                  key={hook.id}
                  actions={
                    <>
                      <a
                        class="button"
                        href={`${view.links.prefix}${list(subject)}/${hook.id}/edit`}
                        aria-label={t('Change {url}', { url: hook.url })}
                      >
                        {t('Change')}
                      </a>
                      <ActionButton
                        view={view}
                        action={`${list(subject)}/${hook.id}`}
                        method="DELETE"
                        label={t('Delete')}
                        what={hook.url}
                        class="danger"
                      />
                    </>
                  }
                >
                  <span>
                    {hook.name && <strong>{hook.name} </strong>}
                    <code>{hook.url}</code> <HookState hook={hook} now={view.now} />
                  </span>
                  <span class="dim">
                    {eventLabels()
                      .filter(([event]) => hook.events.includes(event))
                      .map(([, label]) => label)
                      .join(', ') || t('No events')}
                  </span>
                </Row>
              ))}
            </Rows>
            <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
            <h2>{t('New webhook')}</h2>
            <FormTag view={view} action={list(subject)} once>
              <HookFields view={view} kind={of.kind} />
              <Submit label={t('Add webhook')} />
            </FormTag>
          </of.Frame>
        ),
      }
    },
  })

  const hookPage = page({
    at: `${at}/:hook_id/edit`,
    access,
    input: z.object({ ...byId, page: paging.page }),
    async show({ ctx, subject, input, view }) {
      const hook = await getHook(ctx, of.source(subject), input.hook_id)
      const { items, total } = await listAttempts(ctx, hook, { page: input.page, per_page: PER_PAGE })
      const here = `${list(subject)}/${hook.id}`
      const f = fieldsOf(view, sample)
      return {
        title: `${hook.url} · ${of.source(subject).name}`,
        body: (
          <of.Frame view={view} subject={subject} at="-/hooks" title={t('Webhook')}>
            <FormTag view={view} action={here} method="PUT">
              <HookFields view={view} kind={of.kind} hook={hook} />
              <Submit label={t('Save changes')} />
            </FormTag>
            <h2>{t('Test')}</h2>
            <FormTag view={view} action={`${here}/test`} class="form inline">
              <SelectField
                {...f.trigger}
                label={t('Event')}
                value="push_events"
                choices={TRIGGERS.map((value) => ({ value, label: triggerLabel(value) }))}
              />
              <Submit label={t('Send a sample')} class="" />
            </FormTag>
            <h2>{t('Deliveries of the last seven days')}</h2>
            <Rows empty={t('Nothing was delivered.')}>
              {items.map(({ attempt, delivery }) => (
                <Row
                  key={attempt.id}
                  actions={
                    <ActionButton
                      view={view}
                      action={`${here}/hook_logs/${attempt.id}/retry`}
                      label={t('Send again')}
                      what={t('delivery {id}', { id: attempt.id })}
                    />
                  }
                >
                  <span>
                    <Outcome attempt={attempt} /> <a href={`${view.links.prefix}${here}/hook_logs/${attempt.id}`}>{triggerLabel(delivery.trigger)}</a>
                  </span>
                  <span class="dim">
                    <Time at={attempt.created_at} />
                    {' · '}
                    <Phrase text="{duration} ms" duration={attempt.duration} />
                    {attempt.fault && ` · ${attempt.fault}`}
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

  const attemptPage = page({
    at: `${at}/:hook_id/hook_logs/:attempt_id`,
    access,
    input: z.object({ ...byId, attempt_id: rowId() }),
    async show({ ctx, subject, input, view }) {
      const hook = await getHook(ctx, of.source(subject), input.hook_id)
      const { attempt, delivery } = await getAttempt(ctx, hook, input.attempt_id)
      const here = `${list(subject)}/${hook.id}`
      return {
        title: `${t('Delivery {id}', { id: attempt.id })} · ${of.source(subject).name}`,
        headers: { 'cache-control': 'no-store' },
        body: (
          <of.Frame view={view} subject={subject} at="-/hooks" title={t('Delivery {id}', { id: attempt.id })}>
            <p>
              <Phrase
                text="{outcome} {triggerLabel} to {url}, {time}, {duration} ms"
                outcome={<Outcome attempt={attempt} />}
                triggerLabel={triggerLabel(delivery.trigger)}
                url={<code>{attempt.url}</code>}
                time={<Time at={attempt.created_at} />}
                duration={attempt.duration}
              />
            </p>
            {attempt.fault && <p class="flash alert">{attempt.fault}</p>}
            <div class="row start">
              <ActionButton view={view} action={`${here}/hook_logs/${attempt.id}/retry`} label={t('Send again')} class="primary" />
              <a href={`${view.links.prefix}${here}/edit`}>{t('The webhook')}</a>
            </div>
            <h2>{t('Sent')}</h2>
            <Headers headers={attempt.request_headers} />
            <Body text={indented(delivery.body)} />
            {attempt.status !== null && (
              <>
                <h2>{t('Answered')}</h2>
                <Headers headers={attempt.response_headers} />
                <Body text={attempt.response_body} />
              </>
            )}
          </of.Frame>
        ),
      }
    },
  })

  const addition = form({
    at,
    access,
    input: z.object({ hook: fields }),
    on: hooksPage,
    async submit({ ctx, subject, input }) {
      const hook = await createHook(ctx, of.source(subject), attributesOf(of.kind, input.hook))
      return new Redirect(`${list(subject)}/${hook.id}/edit`, { notice: t('The webhook is added. Test it below.') })
    },
  })

  const change = form({
    at: `${at}/:hook_id`,
    method: 'PUT',
    access,
    input: z.object({ ...byId, hook: fields }),
    on: hookPage,
    async submit({ ctx, subject, input }) {
      await updateHook(ctx, of.source(subject), input.hook_id, attributesOf(of.kind, input.hook))
      return new Redirect(`${list(subject)}/${input.hook_id}/edit`, { notice: t('Webhook updated.') })
    },
  })

  const removal = form({
    at: `${at}/:hook_id`,
    method: 'DELETE',
    access,
    input: z.object(byId),
    async submit({ ctx, subject, input }) {
      await deleteHook(ctx, of.source(subject), input.hook_id)
      return new Redirect(list(subject), { notice: t('Webhook deleted.') })
    },
  })

  const test = form({
    at: `${at}/:hook_id/test`,
    access,
    input: sample.extend(byId),
    on: hookPage,
    async submit({ ctx, caller, subject, input }) {
      const hook = await getHook(ctx, of.source(subject), input.hook_id)
      const { attempt } = await testHook(ctx, hook, await of.sampleProject(ctx, subject), input.trigger, caller.user.id)
      return new Redirect(`${list(subject)}/${hook.id}/edit`, answered(attempt))
    },
  })

  const retry = form({
    at: `${at}/:hook_id/hook_logs/:attempt_id/retry`,
    access,
    input: z.object({ ...byId, attempt_id: rowId() }),
    on: hookPage,
    async submit({ ctx, subject, input }) {
      const hook = await getHook(ctx, of.source(subject), input.hook_id)
      const { attempt } = await resend(ctx, hook, input.attempt_id)
      return new Redirect(`${list(subject)}/${hook.id}/edit`, answered(attempt))
    },
  })

  return [hooksPage, hookPage, attemptPage, addition, change, removal, test, retry]
}

function answered({ status }: HookAttempt['attempt']) {
  const text = t('The receiver has answered {status}.', { status })
  return status !== null && status < 300 ? { notice: text } : { alert: text }
}

const Headers = ({ headers }: { headers: Record<string, string> }) => (
  <pre>
    <code>
      {Object.entries(headers)
        .map(([name, value]) => `${name}: ${value}`)
        .join('\n')}
    </code>
  </pre>
)

/** Our own JSON, as people read it. */
const indented = (body: string) => (body.length > MAX_SHOWN ? body : JSON.stringify(JSON.parse(body), null, 2))

const Body = ({ text }: { text: string }) =>
  text === '' ? (
    <p class="dim">{t('Without a body.')}</p>
  ) : (
    <>
      <pre>
        <code>{text.slice(0, MAX_SHOWN)}</code>
      </pre>
      {text.length > MAX_SHOWN && <p class="hint">{t('{count} more characters are not shown.', { count: text.length - MAX_SHOWN })}</p>}
    </>
  )

export const projectHooks = hooksOf(ofProject)
export const groupHooks = hooksOf(ofGroup)
