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
import { form, type PageView, page, Redirect } from '../../page.js'
import { ofGroup, ofProject, type Place } from './places.js'

const PER_PAGE = 20
/** Characters of a body that are shown. */
const MAX_SHOWN = 50_000
const byId = { hook_id: rowId() }

const EVENT_LABELS: [HookEvent, string][] = [
  ['push', 'Pushes to branches'],
  ['tag_push', 'New and deleted tags'],
  ['merge_requests', 'Merge requests'],
  ['issues', 'Issues'],
  ['confidential_issues', 'Confidential issues'],
  ['note', 'Comments'],
  ['confidential_note', 'Comments on confidential issues'],
  ['pipeline', 'Pipelines'],
  ['job', 'Jobs'],
  ['deployment', 'Deployments'],
  ['feature_flag', 'Feature flags'],
  ['wiki_page', 'Wiki pages'],
  ['releases', 'Releases'],
  ['subgroup', 'Subgroups'],
  ['repository_update', 'Updates of the repository'],
]
const eventsFor = (kind: Place<unknown>['kind']) => EVENT_LABELS.filter(([event]) => kind === 'group' || event !== 'subgroup')
/** A trigger of a test, `push_events`, or of a delivery, `push_hooks`. */
const triggerLabel = (trigger: string) => EVENT_LABELS.find(([event]) => [`${event}_events`, triggerOf(event)].includes(trigger))?.[1] ?? trigger

const HookFields = ({ view, kind, hook }: { view: PageView; kind: Place<unknown>['kind']; hook?: Hook }) => {
  const f = fieldsOf(view, z.object({ hook: fields })).hook
  return (
    <>
      <FormFaults view={view} />
      <Field {...f.url} label="Address" type="url" value={hook?.url} hint={hook && 'Another address clears the secret.'} />
      <div class="columns">
        <Field {...f.name} label="Name" value={hook?.name} />
        <Field
          {...f.token}
          label="Secret"
          type="password"
          autocomplete="new-password"
          hint={hook?.sealed_token ? 'One is set. Empty: it stays.' : 'Sent with each delivery, so that the receiver knows it.'}
        />
      </div>
      <fieldset>
        <legend>Events</legend>
        <div class="columns">
          {eventsFor(kind).map(([event, label]) => (
            <Checkbox key={event} {...f.events} value={event} label={label} checked={hook ? hook.events.includes(event) : event === 'push'} />
          ))}
        </div>
      </fieldset>
      <Field
        {...f.push_events_branch_filter}
        label="Only branches"
        value={hook?.push_events_branch_filter}
        hint="A name, or a pattern such as release/*. Empty: all."
      />
      <Checkbox {...f.enable_ssl_verification} label="Enable SSL verification" checked={hook?.enable_ssl_verification ?? true} />
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
        title: `Webhooks · ${of.source(subject).name}`,
        body: (
          <of.Frame view={view} subject={subject} at="-/hooks" title="Webhooks">
            <p>A webhook sends what happens to another program, as JSON.</p>
            <Rows empty="There are no webhooks.">
              {items.map((hook) => (
                <Row
                  key={hook.id}
                  actions={
                    <>
                      <a class="button" href={`${view.links.prefix}${list(subject)}/${hook.id}/edit`} aria-label={`Change ${hook.url}`}>
                        Change
                      </a>
                      <ActionButton
                        view={view}
                        action={`${list(subject)}/${hook.id}`}
                        method="DELETE"
                        label="Delete"
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
                    {EVENT_LABELS.filter(([event]) => hook.events.includes(event))
                      .map(([, label]) => label)
                      .join(', ') || 'No events'}
                  </span>
                </Row>
              ))}
            </Rows>
            <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
            <h2>New webhook</h2>
            <FormTag view={view} action={list(subject)} once>
              <HookFields view={view} kind={of.kind} />
              <Submit label="Add webhook" />
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
          <of.Frame view={view} subject={subject} at="-/hooks" title="Webhook">
            <FormTag view={view} action={here} method="PUT">
              <HookFields view={view} kind={of.kind} hook={hook} />
              <Submit label="Save changes" />
            </FormTag>
            <h2>Test</h2>
            <FormTag view={view} action={`${here}/test`} class="form inline">
              <SelectField
                {...f.trigger}
                label="Event"
                value="push_events"
                choices={TRIGGERS.map((value) => ({ value, label: triggerLabel(value) }))}
              />
              <Submit label="Send a sample" class="" />
            </FormTag>
            <h2>Deliveries of the last seven days</h2>
            <Rows empty="Nothing was delivered.">
              {items.map(({ attempt, delivery }) => (
                <Row
                  key={attempt.id}
                  actions={
                    <ActionButton view={view} action={`${here}/hook_logs/${attempt.id}/retry`} label="Send again" what={`delivery ${attempt.id}`} />
                  }
                >
                  <span>
                    <Outcome attempt={attempt} /> <a href={`${view.links.prefix}${here}/hook_logs/${attempt.id}`}>{triggerLabel(delivery.trigger)}</a>
                  </span>
                  <span class="dim">
                    <Time at={attempt.created_at} /> · {attempt.duration} ms{attempt.fault && ` · ${attempt.fault}`}
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
        title: `Delivery ${attempt.id} · ${of.source(subject).name}`,
        headers: { 'cache-control': 'no-store' },
        body: (
          <of.Frame view={view} subject={subject} at="-/hooks" title={`Delivery ${attempt.id}`}>
            <p>
              <Outcome attempt={attempt} /> {triggerLabel(delivery.trigger)} to <code>{attempt.url}</code>, <Time at={attempt.created_at} />,{' '}
              {attempt.duration} ms
            </p>
            {attempt.fault && <p class="flash alert">{attempt.fault}</p>}
            <div class="row start">
              <ActionButton view={view} action={`${here}/hook_logs/${attempt.id}/retry`} label="Send again" class="primary" />
              <a href={`${view.links.prefix}${here}/edit`}>The webhook</a>
            </div>
            <h2>Sent</h2>
            <Headers headers={attempt.request_headers} />
            <Body text={indented(delivery.body)} />
            {attempt.status !== null && (
              <>
                <h2>Answered</h2>
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
      return new Redirect(`${list(subject)}/${hook.id}/edit`, { notice: 'The webhook is added. Test it below.' })
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
      return new Redirect(`${list(subject)}/${input.hook_id}/edit`, { notice: 'Webhook updated.' })
    },
  })

  const removal = form({
    at: `${at}/:hook_id`,
    method: 'DELETE',
    access,
    input: z.object(byId),
    async submit({ ctx, subject, input }) {
      await deleteHook(ctx, of.source(subject), input.hook_id)
      return new Redirect(list(subject), { notice: 'Webhook deleted.' })
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
  const text = `The receiver has answered ${status}.`
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
    <p class="dim">Without a body.</p>
  ) : (
    <>
      <pre>
        <code>{text.slice(0, MAX_SHOWN)}</code>
      </pre>
      {text.length > MAX_SHOWN && <p class="hint">{`${text.length - MAX_SHOWN} more characters are not shown.`}</p>}
    </>
  )

export const projectHooks = hooksOf(ofProject)
export const groupHooks = hooksOf(ofGroup)
