import type { ComponentChildren } from 'preact'
import { z } from 'zod'
import { adminPage } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { invalidRecord, notFound } from '../../../failures.js'
import { isBag } from '../../../http/form.js'
import { bool, list, orDefault, str } from '../../../http/params.js'
import { readValue } from '../../../routes/settings/values.js'
import { VISIBILITY_LEVEL } from '../../../rules/visibility.js'
import { type SettingsInput, showSettings, updateSettings } from '../../../services/core/settings.js'
import { SECRETS, SETTINGS, type SettingName, type Settings, WITHOUT_EFFECT } from '../../../services/core/settings-table.js'
import { configuredProviders } from '../../../services/identity/sign-in/sign-on.js'
import { checkVersion, versionOf } from '../../components/editor/version.js'
import { Checkbox, Faults, Field, FormFaults, FormTag, Hidden, SelectField, Submit, TextField, typed } from '../../components/form.js'
import { Badge, Row, Rows } from '../../components/list.js'
import { type Fields, fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { AdminLayout } from '../../layout/admin.js'
import { form, type PageView, page, Redirect } from '../../page.js'
import { subjects } from './setting-subjects.js'

const AT = '/admin/application_settings'

export const settingsPage = page({
  at: AT,
  access: adminPage,
  async show({ view }) {
    return {
      title: t('Settings'),
      body: (
        <AdminLayout view={view} at={AT} title={t('Settings')}>
          <Rows empty="">
            {Object.entries(subjects()).map(([name, { title, about, settings }]) => (
              <Row
                key={name}
                actions={
                  <span class="dim">
                    <Phrase text="{count} settings" count={settings.length} />
                  </span>
                }
              >
                <a href={`${view.links.prefix}${AT}/${name}`}>
                  <strong>{title}</strong>
                </a>
                <span class="dim">{about}</span>
              </Row>
            ))}
          </Rows>
          <p class="dim">{t('A change takes effect with the next request, in other processes within a second. The audit log has all changes.')}</p>
        </AdminLayout>
      ),
    }
  },
})

const subjectOf = (name: string) => {
  const subject = Object.hasOwn(subjects(), name) ? subjects()[name] : undefined
  if (!subject) throw notFound()
  return subject
}

const nameText = (name: string) => (name.charAt(0).toUpperCase() + name.slice(1)).replaceAll('_', ' ')

/** A text with words in backticks as code. */
const withCode = (text: string): ComponentChildren => text.split('`').map((part, i) => (i % 2 === 1 ? <code key={part}>{part}</code> : part))

/** What a setting does, its rule and its default; that it does nothing, where it does. */
function Hint({ name }: { name: SettingName }) {
  const attribute = SETTINGS[name]
  const { least, most, above, below } = attribute as { least?: number; most?: number; above?: number; below?: number }
  const bounds = [
    least !== undefined && t('at least {least}', { least }),
    above !== undefined && t('more than {above}', { above }),
    most !== undefined && t('at most {most}', { most }),
    below !== undefined && t('less than {below}', { below }),
  ].filter(Boolean)
  const unset = attribute.default === null || (Array.isArray(attribute.default) && attribute.default.length === 0)
  const effect = attribute.effect ?? ''
  return (
    <>
      {attribute.effect === null ? (
        <Phrase
          text="{badge} Stored only: {withCode}."
          badge={<Badge kind="waiting">{t('no effect')}</Badge>}
          withCode={withCode(WITHOUT_EFFECT[name] ?? '')}
        />
      ) : (
        <>{withCode(effect.charAt(0).toUpperCase() + effect.slice(1))}.</>
      )}
      {bounds.length > 0 && ` ${nameText(bounds.join(', '))}.`}
      {!unset && attribute.kind !== 'bool' && (
        <>
          {' '}
          <Phrase text="Default: {default}." default={<code>{String(attribute.default)}</code>} />
        </>
      )}
    </>
  )
}

/** The values are read by the table of settings. */
const values = Object.fromEntries(Object.keys(SETTINGS).map((name) => [name, z.any().optional()])) as Record<SettingName, z.ZodOptional<z.ZodAny>>

const given = z.object({
  version: orDefault(str(), ''),
  cleared: orDefault(list(str()), []),
  application_setting: z.preprocess((bag) => (isBag(bag) ? bag : {}), z.object(values)),
})

interface SettingProps {
  view: PageView
  ctx: Pick<Context, 'config'>
  name: SettingName
  value: Settings[SettingName]
}

/** What the values of a list are chosen from; null for those that are typed. */
function choicesOf(ctx: Pick<Context, 'config'>, name: SettingName): string[] | null {
  if (name === 'restricted_visibility_levels') return Object.keys(VISIBILITY_LEVEL)
  if (name === 'repository_storages') return Object.keys(ctx.config.storages)
  if (name === 'disabled_oauth_sign_in_sources') return configuredProviders(ctx).map((provider) => provider.name)
  return name === 'import_sources' ? ['git'] : null
}

/** The field of a setting, by its kind. */
function SettingField({ view, ctx, name, value }: SettingProps) {
  const attribute = SETTINGS[name]
  const f = fieldsOf(view, given)
  const field = { ...f.application_setting[name], label: nameText(name), hint: <Hint name={name} /> }
  const text = value === null ? '' : String(value)
  switch (attribute.kind) {
    case 'bool':
      return <Checkbox {...field} checked={value === true} />
    case 'secret':
      return (
        <>
          <Field
            {...field}
            type="password"
            autocomplete="new-password"
            hint={
              <>
                {field.hint} {value === null ? t('It is not set.') : t('It is set; leave this empty to keep it.')}
              </>
            }
          />
          {value !== null && <Checkbox {...f.cleared} value={name} label={t('Remove the {name}', { name: nameText(name).toLowerCase() })} />}
        </>
      )
    case 'word':
      return <SelectField {...field} value={text} choices={attribute.words.map((word) => ({ value: word, label: nameText(word) }))} />
    case 'level':
      return <SelectField {...field} value={text} choices={attribute.levels.map((level) => ({ value: String(level), label: String(level) }))} />
    case 'protocol':
      return (
        <SelectField
          {...field}
          value={text}
          choices={[
            { value: '', label: t('Both') },
            { value: 'ssh', label: t('SSH') },
            { value: 'http', label: t('HTTP') },
          ]}
        />
      )
    case 'list':
      return <ListField {...field} items={(value ?? []) as string[]} choices={choicesOf(ctx, name)} />
    case 'int':
    case 'bits':
      return <Field {...field} value={text} inputmode="numeric" />
    default:
      return name.endsWith('_text') || name.endsWith('_message') ? <TextField {...field} value={text} rows={4} /> : <Field {...field} value={text} />
  }
}

type SettingControl = Fields<z.infer<typeof given>>['application_setting'][SettingName]

interface ListProps extends SettingControl {
  label: string
  hint: ComponentChildren
  items: string[]
  choices: string[] | null
}

/** Several values: chosen from those that there are, or typed one a line. */
const ListField = ({ choices, items, ...field }: ListProps) =>
  choices === null ? (
    <TextField {...field} value={items.join('\n')} rows={4} hint={<Phrase text="{hint} One a line." hint={field.hint} />} spellcheck={false} />
  ) : (
    <fieldset>
      <legend>{field.label}</legend>
      <Hidden {...field} name={`${field.name}[]`} value="" />
      {choices.map((choice) => (
        <Checkbox key={choice} {...field} hint={undefined} name={`${field.name}[]`} value={choice} label={choice} checked={items.includes(choice)} />
      ))}
      {choices.length === 0 && <p class="dim">{t('There is nothing to choose from.')}</p>}
      <Faults {...field} />
      <p class="hint">{field.hint}</p>
    </fieldset>
  )

const shownVersion = (settings: readonly SettingName[], values: Settings) => settings.map((name) => JSON.stringify(values[name]))

export const settingSubjectPage = page({
  at: `${AT}/:subject`,
  access: adminPage,
  input: z.object({ subject: str() }),
  async show({ ctx, input, view }) {
    const { title, about, settings } = subjectOf(input.subject)
    const { values } = await showSettings(ctx)
    return {
      title,
      headers: { 'cache-control': 'no-store' },
      body: (
        <AdminLayout view={view} at={AT} title={title}>
          <p>
            {about} <a href={view.links.prefix + AT}>{t('All settings')}</a>
          </p>
          <FormTag view={view} action={`${AT}/${input.subject}`} method="PUT">
            <FormFaults view={view} />
            <Hidden {...fieldsOf(view, given).version} value={versionOf(...shownVersion(settings, values))} />
            {settings.map((name) => (
              <div class="setting" key={name}>
                <SettingField view={view} ctx={ctx} name={name} value={values[name]} />
              </div>
            ))}
            <Submit label={t('Save changes')} />
          </FormTag>
        </AdminLayout>
      ),
    }
  },
})

/** What a form says about a setting; undefined leaves it as it is. */
function submittedValue(name: SettingName, given: Partial<Record<SettingName, unknown>>, cleared: string[]): unknown {
  const { kind } = SETTINGS[name]
  const value = given[name]
  if (kind === 'bool') return value !== undefined
  if (SECRETS.has(name)) return cleared.includes(name) ? null : value || undefined
  return kind === 'list' && typeof value === 'string' && value.trim() !== '' ? value.split(/\n|,/) : value
}

export const settingsForm = form({
  at: `${AT}/:subject`,
  method: 'PUT',
  access: adminPage,
  openWhen: ['read_only'],
  input: given.extend({ subject: str() }),
  on: settingSubjectPage,
  async submit({ ctx, caller, input }) {
    const { settings, title } = subjectOf(input.subject)
    const { values } = await showSettings(ctx)
    checkVersion(input.version, ...shownVersion(settings, values))
    const faults: Record<string, string[]> = {}
    const changes: Record<string, unknown> = {}
    for (const name of settings) {
      const value = submittedValue(name, input.application_setting, input.cleared)
      if (value === undefined) continue
      const read = readValue(SETTINGS[name], value)
      if ('texts' in read) faults[name] = read.texts
      // what is as it was is not validated again
      else if (JSON.stringify(read.value) !== JSON.stringify(values[name])) changes[name] = read.value
    }
    if (Object.keys(faults).length > 0) throw invalidRecord(faults)
    await updateSettings(ctx, caller, changes as SettingsInput)
    return new Redirect(`${AT}/${input.subject}`, { notice: t('{title}: the settings are saved.', { title }) })
  },
})

const MAINTENANCE = '/admin/maintenance'

const maintenance = z.object({ maintenance_mode: orDefault(bool(), false), maintenance_mode_message: orDefault(str(), '') })

export const maintenancePage = page({
  at: MAINTENANCE,
  access: adminPage,
  async show({ view }) {
    const { maintenance_mode: on, maintenance_mode_message: message } = view.settings
    const f = fieldsOf(view, maintenance)
    return {
      title: t('Read-only mode'),
      body: (
        <AdminLayout view={view} at={MAINTENANCE} title={t('Read-only mode')}>
          <p>{on ? <Badge kind="waiting">{t('The service is read-only')}</Badge> : <Badge kind="success">{t('Changes are possible')}</Badge>}</p>
          <p>
            {t(
              'While the service is read-only, everybody reads, clones and fetches; pushes, forms and calls of the API that change something are refused with 503 and the message. Signing in and the settings work. Jobs in the background go on.',
            )}
          </p>
          <FormTag view={view} action={MAINTENANCE} method="PUT">
            <FormFaults view={view} />
            <TextField
              {...f.maintenance_mode_message}
              label={t('Message')}
              value={typed(view, 'maintenance_mode_message') ?? message}
              rows={3}
              hint={t('Why, and until when. It is shown at the top of all pages.')}
            />
            <Hidden {...f.maintenance_mode} value={on ? '0' : '1'} />
            <Submit label={on ? t('Allow changes again') : t('Make the service read-only')} />
          </FormTag>
          <p class="dim">
            <Phrase text="On the machine: {code} and {code2}." code={<code>roost maintenance on</code>} code2={<code>roost maintenance off</code>} />
          </p>
        </AdminLayout>
      ),
    }
  },
})

export const maintenanceForm = form({
  at: MAINTENANCE,
  method: 'PUT',
  access: adminPage,
  openWhen: ['read_only'],
  input: maintenance,
  on: maintenancePage,
  async submit({ ctx, caller, input: { maintenance_mode, maintenance_mode_message } }) {
    await updateSettings(ctx, caller, { maintenance_mode, maintenance_mode_message: maintenance_mode_message.trim() || null })
    return new Redirect(MAINTENANCE, { notice: maintenance_mode ? t('The service is read-only now.') : t('Changes are possible again.') })
  },
})
