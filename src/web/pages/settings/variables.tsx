import type { VNode } from 'preact'
import { z } from 'zod'
import type { Access } from '../../../access/access.js'
import { adminPage } from '../../../access/rules.js'
import * as documented from '../../../http/documented.js'
import { bool, oneOf, opt, orDefault, paging, str } from '../../../http/params.js'
import {
  createVariable,
  deleteVariable,
  getVariable,
  INSTANCE_VARIABLES,
  listVariables,
  updateVariable,
  type Variable,
  type VariableSource,
} from '../../../services/projects/variables.js'
import { ActionButton, Checkbox, Field, FormFaults, FormTag, SelectField, Submit, TextField } from '../../components/form.js'
import { Badge, Pager, Row, Rows } from '../../components/list.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { AdminLayout } from '../../layout/admin.js'
import type { SettingsProps } from '../../layout/manage.js'
import { form, type PageView, page, Redirect } from '../../page.js'
import { ofGroup, ofProject, type Place } from './places.js'

const PER_PAGE = 20
/** Which variable it is, where several have its key. */
const byKey = { key: z.string(), scope: opt(str()) }
const SECRET = { 'cache-control': 'no-store' }

const types = () =>
  [
    { value: 'env_var', label: t('Text') },
    { value: 'file', label: t('File: the variable is its path') },
  ] as const

const contents = z.object({
  value: orDefault(str(), ''),
  variable_type: orDefault(oneOf(['env_var', 'file']), 'env_var'),
  environment_scope: orDefault(str(), '*'),
  protected: orDefault(bool(), false),
  masked: orDefault(bool(), false),
  raw: orDefault(bool(), false),
  description: orDefault(str(), ''),
})
const changedVariable = z.object({ variable: contents })

const newVariable = z.object({ variable: contents.extend({ key: orDefault(documented.filled(), ''), hidden: orDefault(bool(), false) }) })

/** The attributes of a variable, with its type as a flag. */
const stored = <Given extends z.infer<typeof contents>>({ variable_type, description, ...given }: Given) => ({
  ...given,
  file: variable_type === 'file',
  description: description || null,
})

/** What the variables of the service, of a group and of a project differ in. */
interface VariablePlace<Subject> {
  at: string
  access: Access<Subject, true>
  /** The address of the list, without the prefix of the service. */
  list(subject: Subject): string
  name(subject: Subject): string
  source(subject: Subject): VariableSource
  /** Whether they may be for some environments only. */
  hasScopes: boolean
  Frame(props: Omit<SettingsProps<Subject>, 'at'>): VNode
}

const placeOf = <Subject,>(of: Place<Subject>): VariablePlace<Subject> => ({
  at: `${of.at}/variables`,
  access: of.on('manage_variables'),
  list: (subject) => `${of.home(subject)}/-/variables`,
  name: (subject) => of.source(subject).name,
  source: of.source,
  hasScopes: true,
  Frame: (props) => <of.Frame at="-/variables" {...props} />,
})

const theService: VariablePlace<null> = {
  at: '/admin/variables',
  access: adminPage,
  list: () => '/admin/variables',
  name: () => t('Administration'),
  source: () => INSTANCE_VARIABLES,
  hasScopes: false,
  Frame: ({ view, title, children }) => (
    <AdminLayout view={view} at="/admin/variables" title={title}>
      {children}
    </AdminLayout>
  ),
}

const addressOf = (list: string, { key, environment_scope: scope }: Pick<Variable, 'key' | 'environment_scope'>) =>
  scope === '*' ? `${list}/${key}` : `${list}/${key}?scope=${encodeURIComponent(scope)}`

/** What is said of a variable beside its key. */
const nameOf = ({ key, environment_scope: scope }: Pick<Variable, 'key' | 'environment_scope'>) =>
  scope === '*' ? key : t('{key} in {scope}', { key, scope })

const Attributes = ({ view, variable, hasScopes }: { view: PageView; variable: Variable | null; hasScopes: boolean }) => {
  const f = fieldsOf(view, changedVariable).variable
  return (
    <>
      <SelectField {...f.variable_type} label={t('Type')} value={variable?.file ? 'file' : 'env_var'} choices={types()} />
      <Field {...f.description} label={t('Description')} value={variable?.description ?? ''} autocomplete="off" />
      {hasScopes && (
        <Field
          {...f.environment_scope}
          label={t('Environments')}
          hint={t('The name of an environment, or a pattern such as review/*. * is all jobs.')}
          value={variable?.environment_scope ?? '*'}
          autocomplete="off"
        />
      )}
      <Checkbox {...f.protected} label={t('Protected')} hint={t('For protected branches and tags only.')} checked={variable?.protected ?? false} />
      {variable?.hidden ? (
        // a field that is not sent would take the mask away
        <input type="hidden" name={f.masked.name} value="1" />
      ) : (
        <Checkbox
          {...f.masked}
          label={t('Masked')}
          hint={t('Logs show [MASKED] in its place. At least 8 characters in one line, of letters, digits and _+=/@:.~-.')}
          checked={variable?.masked ?? false}
        />
      )}
      <Checkbox {...f.raw} label={t('Raw')} hint={t('$NAME in its value stays as it is.')} checked={variable?.raw ?? false} />
    </>
  )
}

/** Variables, whose values are shown one at a time, on demand (WB-155). */
function variablesOf<Subject>(of: VariablePlace<Subject>) {
  const { at, access, list } = of

  const variablesPage = page({
    at,
    access,
    input: z.object({ page: paging.page }),
    async show({ ctx, subject, input, view }) {
      const { items, total } = await listVariables(ctx, of.source(subject), { page: input.page, per_page: PER_PAGE })
      const f = fieldsOf(view, newVariable).variable
      return {
        title: `${t('Variables')} · ${of.name(subject)}`,
        body: (
          <of.Frame view={view} subject={subject} title={t('Variables')}>
            <p>{t('Jobs get these as variables of their environment, and CI reads them over the API. They are stored encrypted.')}</p>
            <Rows empty={t('There are no variables.')}>
              {items.map((variable) => (
                <Row
                  key={nameOf(variable)}
                  actions={
                    <>
                      <a
                        class="button"
                        href={`${view.links.prefix}${addressOf(list(subject), variable)}`}
                        aria-label={t('Show {name}', { name: nameOf(variable) })}
                      >
                        {t('Show')}
                      </a>
                      <ActionButton
                        view={view}
                        action={`${list(subject)}/${variable.key}`}
                        method="DELETE"
                        label={t('Delete')}
                        what={nameOf(variable)}
                        fields={{ scope: variable.environment_scope }}
                        class="danger"
                      />
                    </>
                  }
                >
                  <span class="wrap">
                    <code>{variable.key}</code> {variable.environment_scope !== '*' && <Badge kind="outline">{variable.environment_scope}</Badge>}{' '}
                    {variable.protected && <Badge>{t('protected')}</Badge>} {variable.masked && <Badge>{t('masked')}</Badge>}{' '}
                    {variable.file && <Badge>{t('file')}</Badge>} {variable.raw && <Badge>{t('raw')}</Badge>}{' '}
                    {variable.hidden && <Badge>{t('hidden')}</Badge>}
                    {variable.description !== null && <span class="dim"> {variable.description}</span>}
                  </span>
                </Row>
              ))}
            </Rows>
            <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
            <h2>{t('New variable')}</h2>
            <FormTag view={view} action={list(subject)}>
              <FormFaults view={view} />
              <Field {...f.key} label={t('Key')} hint={t('Letters, digits and _.')} autocomplete="off" />
              <TextField {...f.value} label={t('Value')} rows={3} class="code" spellcheck={false} />
              <Attributes view={view} variable={null} hasScopes={of.hasScopes} />
              {of.hasScopes && (
                <Checkbox {...f.hidden} label={t('Hidden')} hint={t('Masked, and no one sees its value again. This stays so.')} checked={false} />
              )}
              <Submit label={t('Add variable')} />
            </FormTag>
          </of.Frame>
        ),
      }
    },
  })

  const variablePage = page({
    at: `${at}/:key`,
    access,
    input: z.object(byKey),
    async show({ ctx, subject, input, view }) {
      const variable = await getVariable(ctx, of.source(subject), input)
      const f = fieldsOf(view, changedVariable).variable
      return {
        title: `${variable.key} · ${of.name(subject)}`,
        headers: SECRET,
        body: (
          <of.Frame view={view} subject={subject} title={variable.key}>
            <FormTag view={view} action={`${list(subject)}/${variable.key}`} method="PUT">
              <FormFaults view={view} />
              {variable.value === null && !variable.hidden && <p class="flash alert">{t('The value cannot be decrypted. Set it again.')}</p>}
              <input type="hidden" name="scope" value={variable.environment_scope} />
              <TextField
                {...f.value}
                label={t('Value')}
                value={variable.hidden ? '' : variable.value}
                hint={variable.hidden ? t('The value is hidden. Leave this empty to keep it.') : undefined}
                rows={6}
                class="code"
                spellcheck={false}
              />
              <Attributes view={view} variable={variable} hasScopes={of.hasScopes} />
              <Submit label={t('Save changes')} />
            </FormTag>
          </of.Frame>
        ),
      }
    },
  })

  const addition = form({
    at,
    access,
    input: newVariable,
    on: variablesPage,
    async submit({ ctx, subject, input: { variable } }) {
      const { key } = await createVariable(ctx, of.source(subject), { ...stored(variable), hidden: of.hasScopes && variable.hidden })
      return new Redirect(list(subject), { notice: t('The variable {key} is added.', { key }) })
    },
  })

  const change = form({
    at: `${at}/:key`,
    method: 'PUT',
    access,
    input: changedVariable.extend(byKey),
    on: variablePage,
    async submit({ ctx, subject, input: { key, scope, variable } }) {
      await updateVariable(ctx, of.source(subject), { key, scope }, stored(variable))
      return new Redirect(list(subject), { notice: t('The variable {key} is changed.', { key }) })
    },
  })

  const removal = form({
    at: `${at}/:key`,
    method: 'DELETE',
    access,
    input: z.object(byKey),
    async submit({ ctx, subject, input }) {
      await deleteVariable(ctx, of.source(subject), input)
      return new Redirect(list(subject), { notice: t('The variable {key} is deleted.', { key: input.key }) })
    },
  })

  return [variablesPage, variablePage, addition, change, removal]
}

export const projectVariables = variablesOf(placeOf(ofProject))
export const groupVariables = variablesOf(placeOf(ofGroup))
export const serviceVariables = variablesOf(theService)
