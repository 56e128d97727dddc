import { z } from 'zod'
import { fullPathOf, onProjectSignedIn, type ProjectSubject } from '../../../access/rules.js'
import { bool, list as listed, oneOf, opt, orDefault, paging, str } from '../../../http/params.js'
import { INTEGRATION_EVENTS, type IntegrationEvent } from '../../../rules/integrations/events.js'
import { type HookAttempt, listAttempts } from '../../../services/hooks/attempts.js'
import {
  disableIntegration,
  findIntegration,
  hookOf,
  type Integration,
  listIntegrations,
  serviceOf,
  setIntegration,
} from '../../../services/hooks/integrations/integrations.js'
import { PROPERTIES, SERVICES } from '../../../services/integrations/catalogue.js'
import type { Property, Service } from '../../../services/integrations/service.js'
import { ActionButton, Checkbox, Field, FormFaults, FormTag, SelectField, Submit, TextField, type Typed } from '../../components/form.js'
import { HookState, Outcome } from '../../components/hooks/hook-state.js'
import { Badge, Pager, Row, Rows } from '../../components/list.js'
import { Time } from '../../components/time.js'
import { type Control, fieldsOf } from '../../fields.js'
import { said, t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { homeOfProject } from '../../links.js'
import { form, type PageView, page, Redirect } from '../../page.js'
import { ofProject } from './places.js'

const AT = 'P/-/settings/integrations'
const ONE = `${AT}/:slug/edit` as const
const HERE = '-/settings/integrations'
const PER_PAGE = 20
const access = onProjectSignedIn('manage_hooks')
const listOf = (subject: ProjectSubject) => `${homeOfProject(subject)}/${HERE}`
const pageOf = (subject: ProjectSubject, slug: string) => `${listOf(subject)}/${slug}/edit`
const input = { slug: str() }

const eventLabels = (): Record<IntegrationEvent, string> => ({
  commit: t('Commits'),
  push: t('Pushes to branches'),
  tag_push: t('New and deleted tags'),
  issues: t('Issues'),
  confidential_issues: t('Confidential issues'),
  merge_requests: t('Merge requests'),
  note: t('Comments'),
  confidential_note: t('Comments on confidential issues'),
  pipeline: t('Pipelines'),
  job: t('Jobs'),
  wiki_page: t('Wiki pages'),
})
const branches = (): Record<string, string> => ({
  all: t('All'),
  default: t('The default branch'),
  protected: t('Protected branches'),
  default_and_protected: t('The default branch and protected branches'),
})

const fields = z.object({
  ...Object.fromEntries(Object.entries(PROPERTIES).map(([name, { kind }]) => [name, kind === 'flag' ? orDefault(bool(), false) : opt(str())])),
  events: orDefault(listed(oneOf([...INTEGRATION_EVENTS])), []),
})

export const integrationsPage = page({
  at: AT,
  access,
  input: z.object({}),
  async show({ ctx, subject, view }) {
    const active = new Set((await listIntegrations(ctx, subject)).map(({ slug }) => slug))
    const byTitle = [...SERVICES.values()].sort((a, b) => a.title.localeCompare(b.title))
    const sorted = [...byTitle.filter(({ slug }) => active.has(slug)), ...byTitle.filter(({ slug }) => !active.has(slug))]
    return {
      title: `${t('Integrations')} · ${fullPathOf(subject.project)}`,
      body: (
        <ofProject.Frame view={view} subject={subject} at={HERE} title={t('Integrations')}>
          <p>{t('Other services that get what happens here, or that have the issues or the wiki of the project.')}</p>
          <Rows empty={t('There are none.')}>
            {sorted.map(({ slug, title, description }) => (
              <Row key={slug}>
                <span>
                  <a href={view.links.prefix + pageOf(subject, slug)}>{said(title)}</a>{' '}
                  {active.has(slug) && <Badge kind="success">{t('Active')}</Badge>}
                </span>
                <span class="dim">{said(description)}</span>
              </Row>
            ))}
          </Rows>
        </ofProject.Frame>
      ),
    }
  },
})

export const integrationPage = page({
  at: ONE,
  access,
  input: z.object({ ...input, page: paging.page }),
  async show({ ctx, subject, input, view }) {
    const service = found(input.slug)
    const now = await findIntegration(ctx, subject, service.slug)
    const integration = now?.active ? now : null
    const hook = integration && service.sender ? await hookOf(ctx, integration) : null
    const { items, total } = hook ? await listAttempts(ctx, hook, { page: input.page, per_page: PER_PAGE }) : { items: [], total: 0 }
    const here = pageOf(subject, service.slug)
    return {
      title: `${service.title} · ${fullPathOf(subject.project)}`,
      body: (
        <ofProject.Frame view={view} subject={subject} at={HERE} title={said(service.title)}>
          <p>
            {service.description} {integration && <Badge kind="success">{t('Active')}</Badge>} {hook && <HookState hook={hook} now={view.now} />}
          </p>
          {integration?.unreadable && <p class="flash alert">{t('Its secrets cannot be decrypted: set them again.')}</p>}
          <FormTag view={view} action={here} method="PUT">
            <Properties view={view} service={service} integration={integration} />
            <Submit label={integration ? t('Save changes') : t('Activate')} />
          </FormTag>
          {integration && <ActionButton view={view} action={here} method="DELETE" label={t('Deactivate')} what={service.title} class="danger" />}
          {hook && (
            <>
              <h2>{t('Deliveries of the last seven days')}</h2>
              <Rows empty={t('Nothing was delivered.')}>
                {items.map((each) => (
                  <Attempt key={each.attempt.id} {...each} />
                ))}
              </Rows>
              <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
            </>
          )}
        </ofProject.Frame>
      ),
    }
  },
})

const found = (slug: string) => serviceOf(slug, t('Integration'))

const Attempt = ({ attempt }: HookAttempt) => (
  <Row>
    <span>
      <Outcome attempt={attempt} /> {attempt.url}
    </span>
    <span class="dim">
      <Time at={attempt.created_at} />
      {' · '}
      <Phrase text="{duration} ms" duration={attempt.duration} />
      {attempt.fault && ` · ${attempt.fault}`}
    </span>
  </Row>
)

function Properties({ view, service, integration }: { view: PageView; service: Service; integration: Integration | null }) {
  const f = fieldsOf(view, z.object({ service: fields })).service
  const controls: Record<string, Control<Typed> | undefined> = f
  return (
    <>
      <FormFaults view={view} />
      {Object.entries(service.properties).map(([name, property]) => (
        <PropertyField key={name} control={controls[name] as Control<Typed>} property={property} value={integration?.settings[name]} />
      ))}
      {service.events.length > 0 && (
        <fieldset>
          <legend>{t('Events')}</legend>
          <div class="columns">
            {service.events.map((event) => (
              <Checkbox
                key={event}
                {...f.events}
                value={event}
                label={eventLabels()[event]}
                checked={integration ? integration.events.includes(event) : !service.off?.includes(event)}
              />
            ))}
          </div>
        </fieldset>
      )}
    </>
  )
}

function PropertyField({ control, property, value: given }: { control: Control<Typed>; property: Property; value: unknown }) {
  const { kind, label, hint, secret, required, choices, labels, fallback } = property
  const value = given === undefined ? fallback : given
  const shared = { ...control, label, hint }
  if (kind === 'flag') return <Checkbox {...(control as Control as Control<boolean>)} label={label} hint={hint} checked={value === true} />
  if (choices)
    return (
      <SelectField
        {...shared}
        value={String(value)}
        choices={choices.map((choice) => ({ value: choice, label: (labels ?? branches())[choice] ?? choice }))}
      />
    )
  if (secret)
    return (
      <Field
        {...shared}
        type="password"
        autocomplete="new-password"
        hint={given === undefined ? hint : t('One is set. Empty: it stays.')}
        required={required && given === undefined}
      />
    )
  const text = value === undefined || value === null ? '' : String(value)
  if (kind === 'lines') return <TextField {...shared} value={text} rows={3} />
  return <Field {...shared} value={text} required={required} autocomplete="off" />
}

export const integrationForm = form({
  at: ONE,
  method: 'PUT',
  access,
  input: z.object({ ...input, service: fields }),
  on: integrationPage,
  async submit({ ctx, subject, input: { slug, service: given } }) {
    const service = found(slug)
    const { events, ...values } = given as { events: IntegrationEvent[] } & Record<string, string | boolean | undefined>
    const properties = Object.entries(service.properties).flatMap(([name, { secret, kind }]) => {
      const value = values[name]
      if (secret && (value === undefined || value === '')) return []
      return [[name, kind === 'number' && typeof value === 'string' ? numberOf(value) : (value ?? null)] as const]
    })
    await setIntegration(ctx, subject, slug, {
      properties: Object.fromEntries(properties),
      events: Object.fromEntries(INTEGRATION_EVENTS.map((event) => [event, events.includes(event)])),
    })
    return new Redirect(pageOf(subject, slug), { notice: t('{title} is active.', { title: service.title }) })
  },
})

const numberOf = (text: string) => (/^\d{1,9}$/.test(text.trim()) ? Number(text) : null)

export const integrationRemoval = form({
  at: ONE,
  method: 'DELETE',
  access,
  input: z.object(input),
  async submit({ ctx, subject, input: { slug } }) {
    const { title } = found(slug)
    await disableIntegration(ctx, subject, slug)
    return new Redirect(listOf(subject), { notice: t('{title} is not active any more.', { title }) })
  },
})
