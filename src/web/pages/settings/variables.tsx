import { z } from 'zod'
import type { GroupSubject, ProjectSubject } from '../../../access/rules.js'
import * as documented from '../../../http/documented.js'
import { bool, orDefault, paging, str } from '../../../http/params.js'
import { createVariable, deleteVariable, getVariable, listVariables, updateVariable } from '../../../services/projects/variables.js'
import { ActionButton, Checkbox, Field, FormFaults, FormTag, Submit, TextField } from '../../components/form.js'
import { Badge, Pager, Row, Rows } from '../../components/list.js'
import { type Control, fieldsOf } from '../../fields.js'
import { form, page, Redirect } from '../../page.js'
import { ofGroup, ofProject, type Place } from './places.js'

const PER_PAGE = 20
const byKey = { key: z.string() }
const SECRET = { 'cache-control': 'no-store' }

const contents = z.object({ value: orDefault(str(), ''), protected: orDefault(bool(), false) })
const changedVariable = z.object({ variable: contents })

const newVariable = z.object({ variable: contents.extend({ key: orDefault(documented.filled(), '') }) })

const ProtectedBox = ({ field, checked }: { field: Control<boolean>; checked: boolean }) => (
  <Checkbox {...field} label="Protected" hint="Meant for protected branches and tags; the API says so." checked={checked} />
)

/** Variables, whose values are shown one at a time, on demand (WB-155). */
function variablesOf<Subject extends ProjectSubject | GroupSubject>(of: Place<Subject>) {
  const at = `${of.at}/variables` as const
  const access = of.on('manage_variables')
  const list = (subject: Subject) => `${of.home(subject)}/-/variables`

  const variablesPage = page({
    at,
    access,
    input: z.object({ page: paging.page }),
    async show({ ctx, subject, input, view }) {
      const { items, total } = await listVariables(ctx, of.source(subject), { page: input.page, per_page: PER_PAGE })
      const f = fieldsOf(view, newVariable).variable
      return {
        title: `Variables · ${of.source(subject).name}`,
        body: (
          <of.Frame view={view} subject={subject} at="-/variables" title="Variables">
            <p>CI reads these over the API. They are stored encrypted.</p>
            <Rows empty="There are no variables.">
              {items.map(({ key, protected: isProtected }) => (
                <Row
                  key={key}
                  actions={
                    <>
                      <a class="button" href={`${view.links.prefix}${list(subject)}/${key}`} aria-label={`Show ${key}`}>
                        Show
                      </a>
                      <ActionButton view={view} action={`${list(subject)}/${key}`} method="DELETE" label="Delete" what={key} class="danger" />
                    </>
                  }
                >
                  <span>
                    <code>{key}</code> {isProtected && <Badge>protected</Badge>}
                  </span>
                </Row>
              ))}
            </Rows>
            <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
            <h2>New variable</h2>
            <FormTag view={view} action={list(subject)}>
              <FormFaults view={view} />
              <Field {...f.key} label="Key" hint="Letters, digits and _." autocomplete="off" />
              <TextField {...f.value} label="Value" rows={3} class="code" spellcheck={false} />
              <ProtectedBox field={f.protected} checked={false} />
              <Submit label="Add variable" />
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
      const variable = await getVariable(ctx, of.source(subject), input.key)
      const f = fieldsOf(view, changedVariable).variable
      return {
        title: `${variable.key} · ${of.source(subject).name}`,
        headers: SECRET,
        body: (
          <of.Frame view={view} subject={subject} at="-/variables" title={variable.key}>
            <FormTag view={view} action={`${list(subject)}/${variable.key}`} method="PUT">
              <FormFaults view={view} />
              {variable.value === null && <p class="flash alert">The value cannot be decrypted. Set it again.</p>}
              <TextField {...f.value} label="Value" value={variable.value} rows={6} class="code" spellcheck={false} />
              <ProtectedBox field={f.protected} checked={variable.protected} />
              <Submit label="Save changes" />
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
      const { key } = await createVariable(ctx, of.source(subject), variable)
      return new Redirect(list(subject), { notice: `The variable ${key} is added.` })
    },
  })

  const change = form({
    at: `${at}/:key`,
    method: 'PUT',
    access,
    input: changedVariable.extend(byKey),
    on: variablePage,
    async submit({ ctx, subject, input: { key, variable } }) {
      await updateVariable(ctx, of.source(subject), key, variable)
      return new Redirect(list(subject), { notice: `The variable ${key} is changed.` })
    },
  })

  const removal = form({
    at: `${at}/:key`,
    method: 'DELETE',
    access,
    input: z.object(byKey),
    async submit({ ctx, subject, input }) {
      await deleteVariable(ctx, of.source(subject), input.key)
      return new Redirect(list(subject), { notice: `The variable ${input.key} is deleted.` })
    },
  })

  return [variablesPage, variablePage, addition, change, removal]
}

export const projectVariables = variablesOf(ofProject)
export const groupVariables = variablesOf(ofGroup)
