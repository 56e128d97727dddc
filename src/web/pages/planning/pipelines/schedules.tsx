import { z } from 'zod'
import type { SignedIn } from '../../../../access/actor.js'
import { fullPathOf, onProjectSignedIn, type ProjectSubject } from '../../../../access/rules.js'
import { forbidden } from '../../../../failures.js'
import * as documented from '../../../../http/documented.js'
import { bool, oneOf, opt, orDefault, rowId } from '../../../../http/params.js'
import { lastOfSchedules, type PipelineBasicRecord } from '../../../../services/ci/pipelines.js'
import { mayAdmin, mayUpdate, type Schedule } from '../../../../services/ci/schedules/row.js'
import { playableSchedules, playSchedule } from '../../../../services/ci/schedules/run.js'
import {
  createSchedule,
  deleteSchedule,
  getSchedule,
  listSchedules,
  type ScheduleRecord,
  takeSchedule,
  updateSchedule,
} from '../../../../services/ci/schedules/schedules.js'
import {
  createScheduleVariable,
  deleteScheduleVariable,
  getScheduleVariable,
  type ScheduleVariable,
  updateScheduleVariable,
} from '../../../../services/ci/schedules/variables.js'
import { PipelineBadge } from '../../../components/files/code.js'
import { ActionButton, Checkbox, DataList, Field, FormFaults, FormTag, SelectField, Submit, TextField } from '../../../components/form.js'
import { Badge, Row, Rows } from '../../../components/list.js'
import { PersonLink } from '../../../components/people/person-link.js'
import { Time } from '../../../components/time.js'
import { type Fields, fieldsOf } from '../../../fields.js'
import { said, t } from '../../../language/language.js'
import { Phrase } from '../../../language/phrase.js'
import { ProjectLayout } from '../../../layout/project.js'
import { projectLinks } from '../../../links.js'
import { form, type PageView, page, Redirect } from '../../../page.js'
import { ciAddress, VariableLines, variableLines, variableValue } from './shared.js'

const AT = 'P/-/pipeline_schedules'
const ONE = `${AT}/:schedule_id`
/** A project has no more. */
const PER_PAGE = 50
const SECRET = { 'cache-control': 'no-store' }
const STATES = ['active', 'inactive'] as const

const reads = onProjectSignedIn('read_pipeline')
const creates = onProjectSignedIn('create_pipeline')
const changes = onProjectSignedIn('update_build')

const attributes = z.object({
  description: orDefault(documented.filled(), ''),
  ref: orDefault(documented.filled(), ''),
  cron: orDefault(documented.filled(), ''),
  cron_timezone: orDefault(documented.filled(), ''),
  active: orDefault(bool(), false),
})
const newSchedule = z.object({ schedule: attributes.extend({ variables: variableLines }) })
const changedSchedule = z.object({ schedule: attributes })
const byId = z.object({ schedule_id: rowId() })

const content = { value: orDefault(variableValue, ''), variable_type: orDefault(oneOf(['env_var', 'file']), 'env_var') }
const newVariable = z.object({ variable: z.object({ key: orDefault(documented.filled(), ''), ...content }) })
const changedVariable = z.object({ variable: z.object(content) })
const byKey = byId.extend({ key: z.string() })
const types = () =>
  [
    { value: 'env_var', label: t('Text') },
    { value: 'file', label: t('File: the variable is its path') },
  ] as const

const listAddress = (subject: ProjectSubject) => ciAddress(subject, 'pipeline_schedules')
const addressOf = (subject: ProjectSubject, id: number, more = '') => `${listAddress(subject)}/${id}${more}`

/** Whether the reader may change the schedule, as it runs with the rights of its owner. */
const mayEdit = (subject: ProjectSubject, reader: SignedIn, schedule: Schedule) => subject.can('update_build') && mayUpdate(subject, reader, schedule)

interface RowProps {
  view: PageView
  subject: ProjectSubject
  reader: SignedIn
  record: ScheduleRecord
  last: PipelineBasicRecord | undefined
  mayPlay: boolean
}

function ScheduleRow({ view, subject, reader, record: { schedule, owner }, last, mayPlay }: RowProps) {
  const { id, description, ref, cron, cron_timezone, active, next_run_at, last_fault } = schedule
  const isAdmin = subject.can('update_build') && mayAdmin(subject, reader, schedule)
  const act = { view, what: description }
  const edit = `${view.links.prefix}${addressOf(subject, id, '/edit')}`
  return (
    <Row
      actions={
        <>
          {mayPlay && <ActionButton {...act} action={addressOf(subject, id, '/play')} label={t('Run now')} />}
          {isAdmin && schedule.owner_id !== reader.user.id && (
            <ActionButton {...act} action={addressOf(subject, id, '/take_ownership')} label={t('Take ownership')} />
          )}
          {mayEdit(subject, reader, schedule) && (
            <a class="button" href={edit} aria-label={t('Edit {description}', { description })}>
              {t('Edit')}
            </a>
          )}
          {isAdmin && <ActionButton {...act} action={addressOf(subject, id)} method="DELETE" label={t('Delete')} class="danger" />}
        </>
      }
    >
      <span class="wrap">
        <strong>{description}</strong> {!active && <Badge>{t('inactive')}</Badge>}
      </span>
      <span class="dim wrap">
        {ref} · <code>{cron}</code> {cron_timezone}
        {active && (
          <>
            {' · '}
            <Phrase text="next run {time}" time={<Time at={next_run_at} />} />
          </>
        )}{' '}
        · {owner ? <PersonLink view={view} user={owner} /> : t('no owner')}
      </span>
      {last && (
        <span class="dim">
          <Phrase
            text="Last pipeline {link} {pipelineBadge} {time}"
            link={<a href={projectLinks(view, fullPathOf(subject.project)).page(`pipelines/${last.id}`)}>#{last.id}</a>}
            pipelineBadge={<PipelineBadge state={last.status} />}
            time={<Time at={last.created_at} />}
          />
        </span>
      )}
      {last_fault !== null && (
        <span class="fault wrap">
          <Phrase text="Made no pipeline the last time: {lastFault}" lastFault={last_fault} />
        </span>
      )}
    </Row>
  )
}

export const schedulesPage = page({
  at: AT,
  access: reads,
  input: z.object({ scope: opt(oneOf(STATES)) }),
  async show({ ctx, caller, subject, input: { scope }, view }) {
    const { items } = await listSchedules(ctx, subject, { scope, page: 1, per_page: PER_PAGE })
    const schedules = items.map(({ schedule }) => schedule)
    const [last, playable] = await Promise.all([
      lastOfSchedules(
        ctx,
        subject,
        schedules.map(({ id }) => id),
      ),
      subject.can('create_pipeline') ? playableSchedules(ctx, subject, schedules) : new Set<number>(),
    ])
    const links = projectLinks(view, fullPathOf(subject.project))
    const tools = (
      <>
        <nav class="group" aria-label={t('State of schedules')}>
          {[undefined, ...STATES].map((state) => (
            <a
              key={state}
              class="button"
              href={`${links.page('pipeline_schedules')}${state ? `?scope=${state}` : ''}`}
              {...(state === scope && { 'aria-current': 'page' })}
            >
              {state ? said(state.charAt(0).toUpperCase() + state.slice(1)) : t('All')}
            </a>
          ))}
        </nav>
        <a class="button" href={links.page('pipelines')}>
          {t('Pipelines')}
        </a>
        {subject.can('create_pipeline') && (
          <a class="button primary" href={links.page('pipeline_schedules/new')}>
            {t('New schedule')}
          </a>
        )}
      </>
    )
    return {
      title: `${t('Schedules')} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="ci" heading={t('Schedules')} tools={tools}>
          <Rows empty={scope ? t('There are no such schedules.') : t('There is no schedule yet: one makes pipelines at times that you choose.')}>
            {items.map((record) => (
              <ScheduleRow
                key={record.schedule.id}
                view={view}
                subject={subject}
                reader={caller}
                record={record}
                last={last.get(record.schedule.id)}
                mayPlay={playable.has(record.schedule.id)}
              />
            ))}
          </Rows>
        </ProjectLayout>
      ),
    }
  },
})

type Attributes = z.output<typeof attributes>

const AttributeFields = ({ fields: f, values }: { fields: Fields<Attributes>; values: Attributes }) => (
  <>
    <Field {...f.description} label={t('Description')} value={values.description} />
    <Field {...f.ref} label={t('Branch or tag')} value={values.ref} />
    <Field
      {...f.cron}
      label={t('When')}
      hint={
        <Phrase
          text="Minute, hour, day of the month, month and day of the week: {code} is each day at 4:00, {code2} from Monday to Friday at 9:30. Or {code3}, {code4}, {code5}, {code6}."
          code={<code>0 4 * * *</code>}
          code2={<code>30 9 * * 1-5</code>}
          code3={<code>@hourly</code>}
          code4={<code>@daily</code>}
          code5={<code>@weekly</code>}
          code6={<code>@monthly</code>}
        />
      }
      value={values.cron}
      autocomplete="off"
    />
    <Field
      {...f.cron_timezone}
      label={t('Time zone')}
      hint={t('A name of the IANA database, such as America/New_York.')}
      value={values.cron_timezone}
      list="zones"
      autocomplete="off"
    />
    <DataList id="zones" values={['UTC', ...Intl.supportedValuesOf('timeZone')]} />
    <Checkbox {...f.active} label={t('Active')} checked={values.active} />
  </>
)

export const newSchedulePage = page({
  at: `${AT}/new`,
  access: creates,
  input: z.object({}),
  async show({ subject, view }) {
    const f = fieldsOf(view, newSchedule).schedule
    const values = { description: '', ref: subject.project.default_branch ?? '', cron: '', cron_timezone: 'UTC', active: true }
    return {
      title: `${t('New schedule')} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="ci">
          <h1>{t('New schedule')}</h1>
          <p>{t('Its pipelines are made as you, with the rights that you have then.')}</p>
          <FormTag view={view} action={listAddress(subject)} once>
            <FormFaults view={view} />
            <AttributeFields fields={f} values={values} />
            <VariableLines
              fields={f.variables}
              hint={t('They count above those of the project, for pipelines of this schedule. Without a key a line is left out.')}
            />
            <Submit label={t('Create schedule')} />
          </FormTag>
        </ProjectLayout>
      ),
    }
  },
})

export const scheduleCreation = form({
  at: AT,
  access: creates,
  input: newSchedule,
  on: newSchedulePage,
  async submit({ ctx, caller, subject, input }) {
    const { variables, ...given } = input.schedule
    const lines = variables.filter(({ key }) => key !== '').map((line) => ({ ...line, file: false }))
    await createSchedule(ctx, caller, subject, given, lines)
    return new Redirect(listAddress(subject), { notice: t('The schedule is created.') })
  },
})

const VariableRow = ({ view, at, variable: { key, file } }: { view: PageView; at: string; variable: ScheduleVariable }) => (
  <Row
    actions={
      <>
        <a class="button" href={`${view.links.prefix}${at}/${key}`} aria-label={t('Show {key}', { key })}>
          {t('Show')}
        </a>
        <ActionButton view={view} action={`${at}/${key}`} method="DELETE" label={t('Delete')} what={key} class="danger" />
      </>
    }
  >
    <span class="wrap">
      <code>{key}</code> {file && <Badge>{t('file')}</Badge>}
    </span>
  </Row>
)

export const editSchedulePage = page({
  at: `${ONE}/edit`,
  access: changes,
  input: byId,
  async show({ ctx, caller, subject, input, view }) {
    const { schedule, variables } = await getSchedule(ctx, caller, subject, input.schedule_id)
    if (!mayEdit(subject, caller, schedule)) throw forbidden()
    const at = addressOf(subject, schedule.id, '/variables')
    const f = fieldsOf(view, newVariable).variable
    return {
      title: `${schedule.description} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="ci">
          <h1>{t('Edit schedule')}</h1>
          <FormTag view={view} action={addressOf(subject, schedule.id)} method="PUT">
            <FormFaults view={view} />
            <AttributeFields fields={fieldsOf(view, changedSchedule).schedule} values={schedule} />
            <Submit label={t('Save changes')} />
          </FormTag>
          <h2>{t('Variables')}</h2>
          <p>{t('Its pipelines get these; they count above those of the project. They are stored encrypted.')}</p>
          <Rows empty={t('There are no variables.')}>
            {(variables ?? []).map((variable) => (
              <VariableRow key={variable.key} view={view} at={at} variable={variable} />
            ))}
          </Rows>
          <h2>{t('New variable')}</h2>
          <FormTag view={view} action={at}>
            <Field {...f.key} label={t('Key')} hint={t('Letters, digits and _.')} autocomplete="off" />
            <TextField {...f.value} label={t('Value')} rows={3} class="code" spellcheck={false} />
            <SelectField {...f.variable_type} label={t('Type')} value="env_var" choices={types()} />
            <Submit label={t('Add variable')} />
          </FormTag>
        </ProjectLayout>
      ),
    }
  },
})

export const scheduleVariablePage = page({
  at: `${ONE}/variables/:key`,
  access: changes,
  input: byKey,
  async show({ ctx, caller, subject, input: { schedule_id: id, key }, view }) {
    const { value, file } = await getScheduleVariable(ctx, caller, subject, id, key)
    const { schedule } = await getSchedule(ctx, caller, subject, id)
    if (!mayEdit(subject, caller, schedule)) throw forbidden()
    const f = fieldsOf(view, changedVariable).variable
    return {
      title: `${key} · ${fullPathOf(subject.project)}`,
      headers: SECRET,
      body: (
        <ProjectLayout view={view} subject={subject} tab="ci">
          <h1>{key}</h1>
          <p>
            <Phrase
              text="Of the schedule {link}"
              link={<a href={`${view.links.prefix}${addressOf(subject, id, '/edit')}`}>{schedule.description}</a>}
            />
          </p>
          <FormTag view={view} action={addressOf(subject, id, `/variables/${key}`)} method="PUT">
            <FormFaults view={view} />
            {value === null && <p class="flash alert">{t('The value cannot be decrypted. Set it again.')}</p>}
            <TextField {...f.value} label={t('Value')} value={value} rows={6} class="code" spellcheck={false} />
            <SelectField {...f.variable_type} label={t('Type')} value={file ? 'file' : 'env_var'} choices={types()} />
            <Submit label={t('Save changes')} />
          </FormTag>
        </ProjectLayout>
      ),
    }
  },
})

/** What is done with a schedule and its variables (CI-223). */
export const scheduleForms = [
  form({
    at: ONE,
    method: 'PUT',
    access: changes,
    input: changedSchedule.extend(byId.shape),
    on: editSchedulePage,
    async submit({ ctx, caller, subject, input }) {
      await updateSchedule(ctx, caller, subject, input.schedule_id, input.schedule)
      return new Redirect(listAddress(subject), { notice: t('The changes are saved.') })
    },
  }),
  form({
    at: ONE,
    method: 'DELETE',
    access: changes,
    input: byId,
    async submit({ ctx, caller, subject, input }) {
      await deleteSchedule(ctx, caller, subject, input.schedule_id)
      return new Redirect(listAddress(subject), { notice: t('The schedule is deleted; its pipelines stay.') })
    },
  }),
  form({
    at: `${ONE}/play`,
    access: creates,
    input: byId,
    async submit({ ctx, caller, subject, input }) {
      await playSchedule(ctx, caller, subject, input.schedule_id)
      return new Redirect(listAddress(subject), { notice: t('The schedule runs: its pipeline is made in a moment.') })
    },
  }),
  form({
    at: `${ONE}/take_ownership`,
    access: changes,
    input: byId,
    async submit({ ctx, caller, subject, input }) {
      await takeSchedule(ctx, caller, subject, input.schedule_id)
      return new Redirect(listAddress(subject), { notice: t('The schedule is yours: its pipelines are made as you.') })
    },
  }),
  form({
    at: `${ONE}/variables`,
    access: changes,
    input: newVariable.extend(byId.shape),
    on: editSchedulePage,
    async submit({ ctx, caller, subject, input: { schedule_id: id, variable } }) {
      const { variable_type, ...given } = variable
      await createScheduleVariable(ctx, caller, subject, id, { ...given, file: variable_type === 'file' })
      return new Redirect(addressOf(subject, id, '/edit'), { notice: t('The variable {key} is added.', { key: given.key }) })
    },
  }),
  form({
    at: `${ONE}/variables/:key`,
    method: 'PUT',
    access: changes,
    input: changedVariable.extend(byKey.shape),
    on: scheduleVariablePage,
    async submit({ ctx, caller, subject, input: { schedule_id: id, key, variable } }) {
      await updateScheduleVariable(ctx, caller, subject, id, { key, value: variable.value, file: variable.variable_type === 'file' })
      return new Redirect(addressOf(subject, id, '/edit'), { notice: t('The variable {key} is changed.', { key }) })
    },
  }),
  form({
    at: `${ONE}/variables/:key`,
    method: 'DELETE',
    access: changes,
    input: byKey,
    async submit({ ctx, caller, subject, input: { schedule_id: id, key } }) {
      await deleteScheduleVariable(ctx, caller, subject, id, key)
      return new Redirect(addressOf(subject, id, '/edit'), { notice: t('The variable {key} is deleted.', { key }) })
    },
  }),
]
