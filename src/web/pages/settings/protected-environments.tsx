import { z } from 'zod'
import type { Caller } from '../../../access/actor.js'
import { fullPathOf, getGroupFor, onProjectSignedIn, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { presentProtectedEnvironment } from '../../../entities/ci/protected-environment.js'
import { invalidRecord, notFound, nullOnFailure } from '../../../failures.js'
import * as documented from '../../../http/documented.js'
import { oneOf, oneOrMore, opt, orDefault, rowId, str } from '../../../http/params.js'
import { listEnvironments } from '../../../services/ci/environments/environments.js'
import {
  type GivenLevel,
  listProtectedEnvironments,
  type ProtectedEnvironment,
  protectEnvironment,
  unprotectEnvironment,
  updateProtectedEnvironment,
} from '../../../services/ci/environments/protected.js'
import { findUserByName } from '../../../services/identity/users.js'
import { ActionButton, DataList, Field, FormFaults, FormTag, SelectField, Submit } from '../../components/form.js'
import { Row, Rows } from '../../components/list.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { ProjectSettings } from '../../layout/manage.js'
import { homeOfProject } from '../../links.js'
import { form, page, Redirect } from '../../page.js'

const at = 'P/-/protected_environments'
/** A project has no more. */
const ALL = { page: 1, per_page: 100 }
const access = onProjectSignedIn('manage_protection')
const addressOf = (subject: Pick<ProjectSubject, 'project'>) => `${homeOfProject(subject)}/-/protected_environments`

const roles = () =>
  [
    { value: '40', label: t('Maintainers') },
    { value: '30', label: t('Developers and maintainers') },
    { value: '60', label: t('Administrators') },
    { value: '0', label: t('No role') },
  ] as const

const protection = z.object({
  protected_environment: z.object({
    name: orDefault(documented.title(), ''),
    access_level: orDefault(oneOf(['0', '30', '40', '60']), '40'),
    usernames: opt(oneOrMore(str())),
    group: opt(str()),
  }),
})

/** Who may deploy where (PE-5). */
const environmentsPage = page({
  at,
  access,
  async show({ ctx, subject, view }) {
    const [{ items }, { items: known }] = await Promise.all([
      listProtectedEnvironments(ctx, subject, ALL),
      listEnvironments(ctx, subject, { page: 1, per_page: 100 }),
    ])
    const f = fieldsOf(view, protection).protected_environment
    const here = addressOf(subject)
    return {
      title: `${t('Protected environments')} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectSettings view={view} subject={subject} at="-/protected_environments" title={t('Protected environments')}>
          <p>{t('Only those who are named here deploy to a protected environment and stop it. Jobs of others that deploy there fail.')}</p>
          <Rows empty={t('No environment is protected.')}>
            {items.map((entry) => (
              <Row
                key={entry.id}
                actions={
                  <ActionButton view={view} action={`${here}/${entry.id}`} method="DELETE" label={t('Unprotect')} what={entry.name} class="danger" />
                }
              >
                <strong class="wrap">{entry.name}</strong>
                {presentProtectedEnvironment(entry).deploy_access_levels.map(({ id, access_level_description: who, group_id }) => (
                  <span key={id} class={entry.levels.length > 1 ? 'toolbar' : ''}>
                    <span class="dim wrap">{group_id === null ? who : t('Members of {who}', { who })}</span>
                    {entry.levels.length > 1 && (
                      <ActionButton
                        view={view}
                        action={`${here}/${entry.id}/deploy_access_levels/${id}`}
                        method="DELETE"
                        label={t('Remove')}
                        what={t('{who} from {name}', { who, name: entry.name })}
                      />
                    )}
                  </span>
                ))}
              </Row>
            ))}
          </Rows>
          <h2>{t('Protect an environment')}</h2>
          <FormTag view={view} action={here}>
            <FormFaults view={view} />
            <Field
              {...f.name}
              label={t('Environment')}
              hint={t('It need not be there yet. To one that is protected, others may deploy in addition.')}
              list="environments"
              autocomplete="off"
            />
            <DataList id="environments" values={known.map(({ name }) => name)} />
            <SelectField {...f.access_level} label={t('Role that may deploy')} value="40" choices={roles()} />
            <Field {...f.usernames} label={t('Usernames')} hint={t('Members of the project; several are separated by commas.')} autocomplete="off" />
            <Field
              {...f.group}
              label={t('Group')}
              hint={t('The path of a group above the project, or which it is shared with.')}
              autocomplete="off"
            />
            <Submit label={t('Protect')} />
          </FormTag>
        </ProjectSettings>
      ),
    }
  },
})

async function levelsOf(
  ctx: Context,
  caller: Caller,
  { access_level, usernames = [], group }: z.infer<typeof protection>['protected_environment'],
): Promise<GivenLevel[]> {
  const people = await Promise.all(usernames.map((name) => findUserByName(ctx, name.replace(/^@/, ''))))
  const unknown = usernames.filter((_, i) => !people[i])
  if (unknown.length > 0) throw invalidRecord({ usernames: [`names no account: ${unknown.join(', ')}`] })
  const found = group ? await nullOnFailure(getGroupFor(ctx, caller, group)) : null
  if (group && !found) throw invalidRecord({ group: ['is not there'] })
  const role = Number(access_level)
  return [
    ...(role > 0 ? [{ access_level: role }] : []),
    ...people.flatMap((user) => (user ? [{ user_id: user.id }] : [])),
    ...(found ? [{ group_id: found.group.id }] : []),
  ]
}

const addition = form({
  at,
  access,
  input: protection,
  on: environmentsPage,
  async submit({ ctx, subject, caller, input: { protected_environment: given } }) {
    const name = given.name.trim()
    const levels = await levelsOf(ctx, caller, given)
    const { items } = await listProtectedEnvironments(ctx, subject, ALL)
    const isProtected = items.some((entry) => entry.name === name)
    await (isProtected ? updateProtectedEnvironment : protectEnvironment)(ctx, subject, name, levels)
    return new Redirect(addressOf(subject), { notice: t('{name} is protected.', { name }) })
  },
})

async function entryOf(ctx: Context, subject: ProjectSubject, id: number): Promise<ProtectedEnvironment> {
  const { items } = await listProtectedEnvironments(ctx, subject, ALL)
  const found = items.find((entry) => entry.id === id)
  if (!found) throw notFound()
  return found
}

const levelRemoval = form({
  at: `${at}/:entry_id/deploy_access_levels/:level_id`,
  method: 'DELETE',
  access,
  input: z.object({ entry_id: rowId(), level_id: rowId() }),
  async submit({ ctx, subject, input }) {
    const { name } = await entryOf(ctx, subject, input.entry_id)
    await updateProtectedEnvironment(ctx, subject, name, [{ id: input.level_id, _destroy: true }])
    return new Redirect(addressOf(subject), { notice: t('{name} is changed.', { name }) })
  },
})

const removal = form({
  at: `${at}/:entry_id`,
  method: 'DELETE',
  access,
  input: z.object({ entry_id: rowId() }),
  async submit({ ctx, subject, input }) {
    const { name } = await entryOf(ctx, subject, input.entry_id)
    await unprotectEnvironment(ctx, subject, name)
    return new Redirect(addressOf(subject), { notice: t('{name} is no longer protected.', { name }) })
  },
})

export const protectedEnvironments = [environmentsPage, addition, levelRemoval, removal]
