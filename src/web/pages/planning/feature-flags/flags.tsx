import { z } from 'zod'
import { fullPathOf, onProjectSignedIn, type ProjectSubject } from '../../../../access/rules.js'
import * as documented from '../../../../http/documented.js'
import { bool, commaList, oneOf, opt, orDefault, paging, rowId } from '../../../../http/params.js'
import { STICKINESS, type Strategy as StrategyName } from '../../../../rules/features/feature-flags.js'
import { clientToken, resetClientToken } from '../../../../services/projects/feature-flags/clients.js'
import {
  createFlag,
  deleteFlag,
  type FeatureFlag,
  FLAG_SCOPES,
  type FlagStrategy,
  type GivenStrategy,
  getFlag,
  listFlags,
  updateFlag,
} from '../../../../services/projects/feature-flags/flags.js'
import { listUserLists, type UserList } from '../../../../services/projects/feature-flags/user-lists.js'
import { ActionButton, Checkbox, Copied, Field, FormFaults, FormTag, SelectField, Submit, TextField } from '../../../components/form.js'
import { Badge, Pager, Row, Rows } from '../../../components/list.js'
import { fieldsOf } from '../../../fields.js'
import { plural, t } from '../../../language/language.js'
import { Phrase } from '../../../language/phrase.js'
import { ProjectLayout } from '../../../layout/project.js'
import { homeOfProject, projectLinks } from '../../../links.js'
import { form, type PageView, page, Redirect } from '../../../page.js'

const AT = 'P/-/feature_flags'
const ONE = `${AT}/:iid`
const PER_PAGE = 50
/** A project has no more. */
const LISTS = 100
const SECRET = { 'cache-control': 'no-store' }

const reads = onProjectSignedIn('read_feature_flag')
const manages = onProjectSignedIn('manage_feature_flag')
const managesClient = onProjectSignedIn('manage_feature_flag_client')

const kindsTexts = (): { value: StrategyName; label: string }[] => [
  { value: 'default', label: t('All users') },
  { value: 'flexibleRollout', label: t('A percentage of users') },
  { value: 'userWithId', label: t('Users by name') },
  { value: 'gitlabUserList', label: t('Users of a list') },
]
const sticky = () => ({
  default: t('Whatever the program knows of a user'),
  userId: t('The name of a user'),
  sessionId: t('The session'),
  random: t('Each question anew'),
})

const strategy = z.object({
  name: orDefault(oneOf(['default', 'flexibleRollout', 'userWithId', 'gitlabUserList']), 'default'),
  environments: orDefault(commaList(), []),
  rollout: orDefault(documented.short(), ''),
  stickiness: orDefault(oneOf(STICKINESS), 'default'),
  user_ids: orDefault(documented.filled({ maxLength: 1_000_000, minLength: 0 }), ''),
  user_list_id: opt(rowId()),
})
const attributes = { name: orDefault(documented.filled({ maxLength: 63 }), ''), description: orDefault(documented.short(), '') }
const newFlag = z.object({ flag: z.object({ ...attributes, active: orDefault(bool(), false) }), strategy })
const changedFlag = z.object({ flag: z.object(attributes) })
const newStrategy = z.object({ strategy })
const byIid = z.object({ iid: rowId() })

const addressOf = (subject: Pick<ProjectSubject, 'project'>, more = '') => `${homeOfProject(subject)}/-/feature_flags${more}`

/** A strategy of the form, as the service takes it. */
function given({ name, environments, rollout, stickiness, user_ids, user_list_id }: z.output<typeof strategy>): GivenStrategy {
  const parameters: Partial<Record<StrategyName, Record<string, string>>> = {
    flexibleRollout: { groupId: 'default', rollout, stickiness },
    userWithId: { userIds: user_ids },
  }
  const scopes = (environments.length > 0 ? environments : ['*']).map((environment_scope) => ({ environment_scope }))
  return { name, parameters: parameters[name] ?? {}, scopes, ...(name === 'gitlabUserList' && { user_list_id }) }
}

/** For whom a flag is on, in words. */
export function strategyText({ name, parameters, user_list }: FlagStrategy): string {
  const count = (text = '') => plural(text === '' ? 0 : text.split(',').length, '{count} users by name', '{count} users by name')
  switch (name) {
    case 'default':
      return t('All users')
    case 'userWithId':
      return count(parameters['userIds'])
    case 'gitlabUserList':
      return t('Users of {name}', { name: user_list?.name ?? '' })
    case 'flexibleRollout':
      return t('{share} % of users', { share: parameters['rollout'] ?? '' })
    case 'gradualRolloutUserId':
      return t('{share} % of users by name', { share: parameters['percentage'] ?? '' })
  }
}

const scopesText = ({ scopes }: FlagStrategy) =>
  scopes.length === 0
    ? t('in no environment')
    : scopes.map(({ environment_scope: scope }) => (scope === '*' ? t('all environments') : scope)).join(', ')

interface Props {
  view: PageView
  subject: ProjectSubject
  flag: FeatureFlag
}

const FlagRow = ({ view, subject, flag }: Props) => (
  <Row
    actions={
      subject.can('manage_feature_flag') && (
        <>
          <ActionButton
            view={view}
            action={addressOf(subject, `/${flag.iid}/switch`)}
            label={flag.active ? t('Switch off') : t('Switch on')}
            what={flag.name}
            fields={{ active: String(!flag.active) }}
          />
          <a
            class="button"
            href={`${view.links.prefix}${addressOf(subject, `/${flag.iid}/edit`)}`}
            aria-label={t('Edit {name}', { name: flag.name })}
          >
            {t('Edit')}
          </a>
        </>
      )
    }
  >
    <span class="wrap">
      <strong>{flag.name}</strong> <Badge kind={flag.active ? 'success' : 'outline'}>{flag.active ? t('on') : t('off')}</Badge>
    </span>
    {flag.description && <span class="wrap">{flag.description}</span>}
    <span class="dim wrap">
      {flag.strategies.length === 0 ? t('For no users') : flag.strategies.map((each) => `${strategyText(each)}: ${scopesText(each)}`).join(' · ')}
    </span>
  </Row>
)

/** How programs get the flags, for those who may give the token away. */
const Connection = ({ view, subject, token }: Omit<Props, 'flag'> & { token: string | null }) => (
  <>
    <h2>{t('Connect a program')}</h2>
    <p>
      <Phrase text="A program gets the flags with a client of Unleash. Its name ({code}) is the environment." code={<code>appName</code>} />
    </p>
    <div class="field">
      <label for="unleash_url">{t('URL')}</label>
      <Copied id="unleash_url" value={view.links.api(`/feature_flags/unleash/${subject.project.id}`)} />
    </div>
    {token !== null && (
      <div class="field">
        <label for="unleash_instance">{t('Instance ID, which is the token')}</label>
        <Copied id="unleash_instance" value={token} />
      </div>
    )}
    <ActionButton
      view={view}
      action={addressOf(subject, '_client/reset_token')}
      label={token === null ? t('Make a token') : t('Reset the token')}
      class={token === null ? '' : 'danger'}
    />
  </>
)

export const flagsPage = page({
  at: AT,
  access: reads,
  input: z.object({ scope: opt(oneOf(FLAG_SCOPES)), page: paging.page }),
  async show({ ctx, subject, input: { scope, page: number }, view }) {
    const connects = subject.can('manage_feature_flag_client')
    const [{ items, total }, token] = await Promise.all([
      listFlags(ctx, subject, { scope, page: number, per_page: PER_PAGE }),
      connects ? clientToken(ctx, subject) : null,
    ])
    const links = projectLinks(view, fullPathOf(subject.project))
    const tools = (
      <>
        <nav class="group" aria-label={t('State of feature flags')}>
          {[undefined, ...FLAG_SCOPES].map((each) => (
            <a
              key={each}
              class="button"
              href={`${links.page('feature_flags')}${each ? `?scope=${each}` : ''}`}
              {...(each === scope && { 'aria-current': 'page' })}
            >
              {each ? (each === 'enabled' ? t('On') : t('Off')) : t('All')}
            </a>
          ))}
        </nav>
        <a class="button" href={links.page('feature_flags_user_lists')}>
          {t('User lists')}
        </a>
        {subject.can('manage_feature_flag') && (
          <a class="button primary" href={links.page('feature_flags/new')}>
            {t('New feature flag')}
          </a>
        )}
      </>
    )
    return {
      title: `${t('Feature flags')} · ${fullPathOf(subject.project)}`,
      headers: SECRET,
      body: (
        <ProjectLayout view={view} subject={subject} tab="ci" heading={t('Feature flags')} tools={tools}>
          <Rows empty={scope ? t('There are no such feature flags.') : t('There is no feature flag yet: programs ask for them to know what is on.')}>
            {items.map((flag) => (
              <FlagRow key={flag.id} view={view} subject={subject} flag={flag} />
            ))}
          </Rows>
          <Pager view={view} page={number} perPage={PER_PAGE} total={total} />
          {connects && <Connection view={view} subject={subject} token={token} />}
        </ProjectLayout>
      ),
    }
  },
})

function StrategyFields({ view, lists }: { view: PageView; lists: UserList[] }) {
  const f = fieldsOf(view, newStrategy).strategy
  const kinds = lists.length > 0 ? kindsTexts() : kindsTexts().filter(({ value }) => value !== 'gitlabUserList')
  return (
    <>
      <SelectField {...f.name} label={t('For whom')} choices={kinds} />
      <Field {...f.environments} label={t('Environments')} hint={t('With commas between them; * is any text.')} value="*" autocomplete="off" />
      <Field {...f.rollout} label={t('Percentage')} hint={t('Of users, from 0 to 100.')} inputmode="numeric" autocomplete="off" />
      <SelectField
        {...f.stickiness}
        label={t('A user is known by')}
        choices={STICKINESS.map((value) => ({ value, label: sticky()[value] }))}
        hint={t('Who has the flag by a percentage keeps it.')}
      />
      <TextField {...f.user_ids} label={t('Users by name')} hint={t('As the program names them, with commas between them.')} rows={2} />
      {lists.length > 0 && (
        <SelectField {...f.user_list_id} label={t('List')} choices={lists.map(({ id, name }) => ({ value: String(id), label: name }))} />
      )}
    </>
  )
}

export const newFlagPage = page({
  at: `${AT}/new`,
  access: manages,
  input: z.object({}),
  async show({ ctx, subject, view }) {
    const { items: lists } = await listUserLists(ctx, subject, { page: 1, per_page: LISTS })
    const f = fieldsOf(view, newFlag).flag
    return {
      title: `${t('New feature flag')} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="ci">
          <h1>{t('New feature flag')}</h1>
          <FormTag view={view} action={addressOf(subject)} once>
            <FormFaults view={view} />
            <Field {...f.name} label={t('Name')} hint={t('Lower-case letters, digits, _ and -.')} autocomplete="off" />
            <Field {...f.description} label={t('Description')} />
            <Checkbox {...f.active} label={t('On')} checked />
            <h2>{t('Strategy')}</h2>
            <StrategyFields view={view} lists={lists} />
            <Submit label={t('Create feature flag')} />
          </FormTag>
        </ProjectLayout>
      ),
    }
  },
})

export const editFlagPage = page({
  at: `${ONE}/edit`,
  access: manages,
  input: byIid,
  async show({ ctx, subject, input, view }) {
    const [flag, { items: lists }] = await Promise.all([getFlag(ctx, subject, input.iid), listUserLists(ctx, subject, { page: 1, per_page: LISTS })])
    const f = fieldsOf(view, changedFlag).flag
    const at = addressOf(subject, `/${flag.iid}`)
    return {
      title: `${flag.name} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="ci">
          <h1>{flag.name}</h1>
          <FormTag view={view} action={at} method="PUT">
            <FormFaults view={view} />
            <Field {...f.name} label={t('Name')} value={flag.name} autocomplete="off" />
            <Field {...f.description} label={t('Description')} value={flag.description} />
            <Submit label={t('Save changes')} />
          </FormTag>
          <h2>{t('Strategies')}</h2>
          <p>{t('The flag is on for those of any of these.')}</p>
          <Rows empty={t('There are no strategies: it is on for no users.')}>
            {flag.strategies.map((each) => (
              <Row
                key={each.id}
                actions={
                  <ActionButton
                    view={view}
                    action={`${at}/strategies/${each.id}`}
                    method="DELETE"
                    label={t('Remove')}
                    what={strategyText(each)}
                    class="danger"
                  />
                }
              >
                <strong class="wrap">{strategyText(each)}</strong>
                <span class="dim wrap">{scopesText(each)}</span>
              </Row>
            ))}
          </Rows>
          <h2>{t('New strategy')}</h2>
          <FormTag view={view} action={`${at}/strategies`}>
            <StrategyFields view={view} lists={lists} />
            <Submit label={t('Add strategy')} />
          </FormTag>
          <h2>{t('Delete')}</h2>
          <p>{t('Programs that ask for it take it for off.')}</p>
          <ActionButton view={view} action={at} method="DELETE" label={t('Delete feature flag')} class="danger" />
        </ProjectLayout>
      ),
    }
  },
})

const byStrategy = byIid.extend({ strategy_id: rowId() })

/** What is done with flags (FF-7). */
export const flagForms = [
  form({
    at: AT,
    access: manages,
    input: newFlag,
    on: newFlagPage,
    async submit({ ctx, subject, input: { flag, strategy: chosen } }) {
      await createFlag(ctx, subject, { ...flag, description: flag.description || null, strategies: [given(chosen)] })
      return new Redirect(addressOf(subject), { notice: t('The feature flag {name} is created.', { name: flag.name }) })
    },
  }),
  form({
    at: ONE,
    method: 'PUT',
    access: manages,
    input: changedFlag.extend(byIid.shape),
    on: editFlagPage,
    async submit({ ctx, subject, input: { iid, flag } }) {
      await updateFlag(ctx, subject, iid, { ...flag, description: flag.description || null })
      return new Redirect(addressOf(subject), { notice: t('The changes are saved.') })
    },
  }),
  form({
    at: `${ONE}/switch`,
    access: manages,
    input: byIid.extend({ active: bool() }),
    async submit({ ctx, subject, input: { iid, active } }) {
      const { name } = await updateFlag(ctx, subject, iid, { active })
      return new Redirect(addressOf(subject), { notice: active ? t('{name} is on.', { name }) : t('{name} is off.', { name }) })
    },
  }),
  form({
    at: ONE,
    method: 'DELETE',
    access: manages,
    input: byIid,
    async submit({ ctx, subject, input }) {
      const { name } = await deleteFlag(ctx, subject, input.iid)
      return new Redirect(addressOf(subject), { notice: t('The feature flag {name} is deleted.', { name }) })
    },
  }),
  form({
    at: `${ONE}/strategies`,
    access: manages,
    input: newStrategy.extend(byIid.shape),
    on: editFlagPage,
    async submit({ ctx, subject, input: { iid, strategy: chosen } }) {
      await updateFlag(ctx, subject, iid, { strategies: [given(chosen)] })
      return new Redirect(addressOf(subject, `/${iid}/edit`), { notice: t('The strategy is added.') })
    },
  }),
  form({
    at: `${ONE}/strategies/:strategy_id`,
    method: 'DELETE',
    access: manages,
    input: byStrategy,
    async submit({ ctx, subject, input: { iid, strategy_id: id } }) {
      await updateFlag(ctx, subject, iid, { strategies: [{ id, _destroy: true }] })
      return new Redirect(addressOf(subject, `/${iid}/edit`), { notice: t('The strategy is removed.') })
    },
  }),
  form({
    at: `${AT}_client/reset_token`,
    access: managesClient,
    input: z.object({}),
    async submit({ ctx, subject }) {
      await resetClientToken(ctx, subject)
      return new Redirect(addressOf(subject), { notice: t('There is a new token: programs that have another one get no flags any more.') })
    },
  }),
]
