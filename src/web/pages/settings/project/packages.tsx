import { z } from 'zod'
import { onProjectSignedIn, type ProjectSubject } from '../../../../access/rules.js'
import * as documented from '../../../../http/documented.js'
import { oneOf, orDefault, rowId } from '../../../../http/params.js'
import { type ProtectionLevel, wordOf } from '../../../../rules/packages/protection.js'
import { PACKAGE_TYPES } from '../../../../rules/packages/types.js'
import { createProtectionRule, deleteProtectionRule, listProtectionRules, MAX_RULES } from '../../../../services/packages/protection.js'
import { ActionButton, Field, FormFaults, FormTag, SelectField, Submit } from '../../../components/form.js'
import { Badge, Row, Rows } from '../../../components/list.js'
import { FORMATS } from '../../../components/packages/formats.js'
import { fieldsOf } from '../../../fields.js'
import { t } from '../../../language/language.js'
import { Phrase } from '../../../language/phrase.js'
import { ProjectSettings } from '../../../layout/manage.js'
import { homeOfProject } from '../../../links.js'
import { form, page, Redirect } from '../../../page.js'
import { titled } from './settings.js'

const at = 'P/-/settings/packages'
const access = onProjectSignedIn('admin_package')
const addressOf = (subject: Pick<ProjectSubject, 'project'>) => `${homeOfProject(subject)}/-/settings/packages`

const WORDS = ['maintainer', 'owner', 'admin'] as const
const labelOf = (level: ProtectionLevel) => ({ maintainer: t('Maintainers'), owner: t('Owners'), admin: t('Administrators') })[level]
const choices = (nobody: string) => [{ value: 'role', label: nobody }, ...WORDS.map((value) => ({ value, label: labelOf(value) }))]

const level = () => orDefault(oneOf(['role', ...WORDS]), 'role')
/** `role`: none of its own. */
const levelOf = (given: 'role' | ProtectionLevel) => (given === 'role' ? null : given)
const newRule = z.object({
  rule: z.object({
    package_type: orDefault(oneOf(PACKAGE_TYPES), 'npm'),
    package_name_pattern: orDefault(documented.filled({ maxLength: 255 }), ''),
    push_level: level(),
    delete_level: level(),
  }),
})

/** Which packages are protected (PK-92). */
export const packageRulesPage = page({
  at,
  access,
  async show({ ctx, subject, view }) {
    const { items } = await listProtectionRules(ctx, subject, { page: 1, per_page: MAX_RULES })
    const f = fieldsOf(view, newRule).rule
    const here = addressOf(subject)
    return {
      title: titled(t('Packages'), subject),
      body: (
        <ProjectSettings view={view} subject={subject} at="-/settings/packages" title={t('Packages')}>
          <p>{t('Developers publish packages, and maintainers delete them, unless a rule for their names asks for more.')}</p>
          <Rows empty={t('No packages are protected.')}>
            {items.map(({ id, package_type, package_name_pattern, minimum_push_level, minimum_delete_level }) => {
              const [push, remove] = [wordOf(minimum_push_level), wordOf(minimum_delete_level)]
              return (
                <Row
                  key={id}
                  actions={
                    <ActionButton
                      view={view}
                      action={`${here}/${id}`}
                      method="DELETE"
                      label={t('Delete')}
                      what={package_name_pattern}
                      class="danger"
                    />
                  }
                >
                  <span class="wrap">
                    <code>{package_name_pattern}</code> <Badge kind="outline">{FORMATS[package_type]}</Badge>
                  </span>
                  <span class="dim wrap">
                    {push && <Phrase text="Published by: {who}" who={labelOf(push)} />}
                    {push && remove && ' · '}
                    {remove && <Phrase text="Deleted by: {who}" who={labelOf(remove)} />}
                  </span>
                </Row>
              )
            })}
          </Rows>
          <h2>{t('Protect packages')}</h2>
          <FormTag view={view} action={here} once>
            <FormFaults view={view} />
            <SelectField
              {...f.package_type}
              label={t('Format')}
              value="npm"
              choices={PACKAGE_TYPES.map((value) => ({ value, label: FORMATS[value] }))}
            />
            <Field
              {...f.package_name_pattern}
              label={t('Names')}
              hint={
                <Phrase
                  text="A name, or a part of names with {code} for any text: {example}."
                  code={<code>*</code>}
                  example={<code>@scope/app-*</code>}
                />
              }
              autocomplete="off"
            />
            <SelectField {...f.push_level} label={t('Who may publish')} value="maintainer" choices={choices(t('Whoever may publish packages'))} />
            <SelectField {...f.delete_level} label={t('Who may delete')} value="role" choices={choices(t('Whoever may delete packages'))} />
            <Submit label={t('Protect')} />
          </FormTag>
        </ProjectSettings>
      ),
    }
  },
})

export const packageRuleForm = form({
  at,
  access,
  input: newRule,
  on: packageRulesPage,
  async submit({ ctx, subject, input: { rule } }) {
    await createProtectionRule(ctx, subject, {
      package_type: rule.package_type,
      package_name_pattern: rule.package_name_pattern,
      minimum_access_level_for_push: levelOf(rule.push_level),
      minimum_access_level_for_delete: levelOf(rule.delete_level),
    })
    return new Redirect(addressOf(subject), { notice: t('The packages are protected.') })
  },
})

export const packageRuleRemoval = form({
  at: `${at}/:rule_id`,
  method: 'DELETE',
  access,
  input: z.object({ rule_id: rowId() }),
  async submit({ ctx, subject, input }) {
    await deleteProtectionRule(ctx, subject, input.rule_id)
    return new Redirect(addressOf(subject), { notice: t('The rule is deleted.') })
  },
})
