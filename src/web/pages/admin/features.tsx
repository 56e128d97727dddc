import { z } from 'zod'
import { adminPage } from '../../../access/rules.js'
import { bool, str } from '../../../http/params.js'
import { featureState, INSTANCE_FEATURES, isInstanceFeature } from '../../../rules/features/instance-features.js'
import { type Feature, listFeatures, removeFeature, setFeature } from '../../../services/core/instance-features.js'
import { ActionButton } from '../../components/form.js'
import { Badge, Row, Rows } from '../../components/list.js'
import { said, t } from '../../language/language.js'
import { AdminLayout } from '../../layout/admin.js'
import { form, type PageView, page, Redirect } from '../../page.js'

const AT = '/admin/features'

/** For whom a feature is on, where it is for some. */
function gatesText({ actors, percentage_of_actors: some, percentage_of_time: now }: Feature): string {
  const parts = [
    ...(actors.length > 0 ? [t('for {names}', { names: actors.join(', ') })] : []),
    ...(some > 0 ? [t('for {some} % of users, projects and groups', { some })] : []),
    ...(now > 0 ? [t('{now} % of the time', { now })] : []),
  ]
  return t('On {parts}.', { parts: parts.join(', ') })
}

function FeatureRow({ view, name, switched }: { view: PageView; name: string; switched: Feature | undefined }) {
  const state = switched ? featureState(switched) : 'on'
  const act = { view, action: `${AT}/${encodeURIComponent(name)}`, what: name }
  return (
    <Row
      actions={
        <>
          {isInstanceFeature(name) && (
            <ActionButton {...act} label={state === 'on' ? t('Switch off') : t('Switch on')} fields={{ value: String(state !== 'on') }} />
          )}
          {switched && <ActionButton {...act} method="DELETE" label={t('Reset')} />}
        </>
      }
    >
      <span class="wrap">
        <strong>{name}</strong> <Badge kind={state === 'on' ? 'success' : 'outline'}>{said(state)}</Badge>
      </span>
      <span class="dim wrap">{isInstanceFeature(name) ? INSTANCE_FEATURES[name] : t('No feature of this service: nothing depends on it.')}</span>
      {switched && state === 'conditional' && <span class="dim wrap">{gatesText(switched)}</span>}
    </Row>
  )
}

/** The features of the service (FF-53). */
export const featuresPage = page({
  at: AT,
  access: adminPage,
  async show({ ctx, view }) {
    const switched = new Map((await listFeatures(ctx)).map((feature) => [feature.name, feature]))
    const names = [...Object.keys(INSTANCE_FEATURES), ...[...switched.keys()].filter((name) => !isInstanceFeature(name))]
    return {
      title: t('Features'),
      body: (
        <AdminLayout view={view} at={AT} title={t('Features')}>
          <p>{t('What can be switched off while it troubles the service. The API switches them for single users, projects and groups, too.')}</p>
          <Rows empty={t('There are none.')}>
            {names.map((name) => (
              <FeatureRow key={name} view={view} name={name} switched={switched.get(name)} />
            ))}
          </Rows>
        </AdminLayout>
      ),
    }
  },
})

export const featureSwitch = form({
  at: `${AT}/:name`,
  access: adminPage,
  input: z.object({ name: str(), value: bool() }),
  async submit({ ctx, input: { name, value } }) {
    await setFeature(ctx, name, { value, key: 'percentage_of_time', actors: [] })
    return new Redirect(AT, { notice: value ? t('{name} is on.', { name }) : t('{name} is off.', { name }) })
  },
})

export const featureReset = form({
  at: `${AT}/:name`,
  method: 'DELETE',
  access: adminPage,
  input: z.object({ name: str() }),
  async submit({ ctx, input: { name } }) {
    await removeFeature(ctx, name)
    return new Redirect(AT, { notice: t('{name} is as it was at first.', { name }) })
  },
})
